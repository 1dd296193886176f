// Package sessions makes the Agents panel's rows out of what session sources
// report, what our own chats know and what the kernel says of processes.
//
// The rules in one place:
//
//   - A row is one (harness, native id), whoever reports it. The state comes from
//     the best evidence: our chat, the agent's server, what its terminal was told
//     (OSC 7501, while the agent is in the foreground), its registry, transcripts.
//   - Death beats all: when the process is gone the live row goes within two
//     seconds, whatever a source says. A turn that was open, or an end nobody has
//     seen, stays as done, failed or canceled without a pid until acknowledged.
//   - A turn that ended after the row was first seen, and after its last
//     acknowledgement, is unread. While the process lives such a row is idle and
//     unread, or failed or canceled.
//   - A harness that is switched off loses its rows at once.
//   - The place is proved by process ancestry; a claim of a source decides nothing.
//
// Nothing runs while nothing happens: the only clocks are one-shot deadlines (a
// running row that became silent, a row whose process is about to end, an
// inferred state that flaps).
package sessions
