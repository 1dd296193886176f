// Package store keeps everything Whippletree must find again: chats, their
// rows, turns, queues and approvals, rules, trust, the ledger of helper
// processes, lineage, leases, window state and the index of stored sessions.
// It is one SQLite file in WAL mode.
//
// # Writing
//
// One goroutine owns the one writing connection. It takes commands from a
// bounded channel in order, runs what is waiting in one transaction (at most
// 50 commands or 2 ms, and it never waits for more) and answers each sender
// after the commit: an answer without error means durable. Every typed
// function of [Store] that changes something is one command; several changes
// that must be one are put into [Store.Do], whose [Tx] has the same functions.
// [Store.Send] does not wait, and keeps its place in the order.
//
// # Reading
//
// Readers are a small pool of query_only connections; they go on while the
// disk is full. A reader sees everything that was answered before it began.
//
// # Full disk
//
// When the disk is full an ordinary command fails with [ErrFull] and leaves
// nothing. Commands sent with [Store.DoUrgent] (the end of a turn, an answer)
// may use up a ballast file kept for that. As soon as the ballast can be
// written again everything is accepted again.
package store
