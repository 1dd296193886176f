// Package handoff knows who may write to a session and passes it between the
// app and a terminal, so that there are never two writers.
//
// An idle agent still holds its history and would write from a stale tip: only
// the end of its process frees a session. So a chat is released by ending its
// agent and proving that nothing of it lives, and taken back when the
// terminal's process has ended (or was asked to).
//
// Three things run per chat at most, each a goroutine with an owner: a vigil
// watches for foreign writers while the app holds the session, a sentry mirrors
// and watches while somebody else does, and a lease (a row in the store and a
// locked file) keeps other hosts of ours away. Nothing polls.
//
// When it is unclear who owns a session nothing is written, and the reason is
// shown.
package handoff
