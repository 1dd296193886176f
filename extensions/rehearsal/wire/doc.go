// Package wire holds the shapes that the rehearsal agent speaks and stores:
// the JSON-lines protocol of its structured mode, its session file and its
// live registry. FORMAT.md beside the extension describes them in words.
//
// The program writes them and the harness reads them; like with any other
// agent, nothing else is shared between the two.
package wire
