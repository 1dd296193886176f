// Package attachments keeps what a person adds to prompts: pictures, files, long
// pasted texts. Every chat has a folder of its own below the data home (0700);
// in it each content has a folder named after its digest and in that the file
// under a readable name (0600), because an agent that takes no files gets the
// path. The folder goes with the chat.
//
// Ids come from outside and are checked against what the package itself makes
// before they become a part of a path.
package attachments
