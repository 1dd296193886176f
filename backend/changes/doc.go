// Package changes tells what an agent changed: from its own tool rows, by file,
// for one turn or a whole chat, and beside it what git sees in the folder.
//
// The two are not the same and are not mixed. The rows tell who did it and in
// which turn, also outside of a repository and after a commit; they know nothing
// of what a command did. git knows all of what is there now, and not whose it is.
//
// git is asked when a person looks, with bounds, without locks, and without
// running what a repository brings along (package git).
package changes
