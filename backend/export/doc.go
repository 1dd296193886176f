// Package export writes a chat out as a document of its own: Markdown for people,
// JSON for programs (docs/cli.md says what is in it). Everything that the window
// shows is in both, texts whole; the JSON also holds the whole cards and what
// programs need (ids, places, times). Of attachments both have the names.
//
// A document is read in chunks with a cursor, so that neither the host nor a
// reader holds all of it: nothing is kept between two chunks. It shows the chat as
// it is when a chunk is read; a chat that goes on meanwhile has later rows later.
package export
