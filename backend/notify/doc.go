// Package notify tells a person through the desktop what waits for them when no
// window of ours shows it: one notification per agent and request, taken back
// when the request is settled, many at once as one. A click opens what it was
// about; nothing is answered by it (DECISIONS 14).
//
// Center holds the rules and knows no desktop. A Desktop shows: on Linux the
// freedesktop notification service, spoken to over the session bus (Bus). On
// macOS the window shows them itself, because only a bundle with a window may.
package notify
