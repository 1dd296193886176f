// Package chats owns every chat of the host: its turns, its timeline, its queue
// and its approvals.
//
// One goroutine owns one chat. Commands of people, events of the agent, returns
// of calls to the agent and deadlines all arrive in one mailbox and are handled
// one after the other; what comes out is an ordered stream of events. The
// goroutine never waits for the agent: every call to a provider runs beside it
// and posts its return. What a turn may do next stands in one table (turn.go).
//
// Data first: a prompt is stored before it is sent, a row before it is shown as
// settled, an answer before the agent gets it. A prompt whose delivery a crash
// left unknown is looked up in the agent's own transcript and shown, never sent
// again by itself.
//
// The package knows no harness and no API. It talks to the store, the ownership
// guard (package handoff), the event hub and the list of harnesses through the
// small interfaces of seams.go.
package chats
