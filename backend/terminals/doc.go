// Package terminals owns the terminals of the app: pseudo terminals with a
// login shell or a command in each. A terminal lives in the host, not in a
// window: any number of windows attach to it, none has to.
//
// One goroutine owns one terminal. It reads what the program writes, takes
// device queries out and answers them exactly once, keeps what a new window
// needs to show the screen (the keeper), and hands everything else to the
// attached windows, never faster than the slowest of them acknowledges.
//
// What windows receive is the program's output with the queries, clipboard
// requests, titles, notifications and status reports cut out, always in whole
// characters and whole escape sequences. Where the size changed, the stream
// has "CSI 8 ; rows ; cols t"; programs cannot put one there.
package terminals
