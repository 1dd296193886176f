package chats

// phase is where the foreground turn of a chat stands. The table below is the
// whole of what can happen; the chat executes it and adds no rule of its own.
type phase uint8

const (
	phIdle       phase = iota // no turn, nothing owed
	phProbing                 // ownership is probed before a prompt; no turn yet
	phOpening                 // a turn has begun, the agent is being started
	phAborting                // stopped while the agent was being started
	phRunning                 // a turn runs
	phDying                   // the process is gone, the turn's own end may still come
	phCancelling              // a turn runs, Cancel is in flight
	phAwaitEnd                // Cancel is settled, the turn's end is awaited
	phOwed                    // a turn runs, Cancel failed and is still owed
	phDraining                // the turn ended, Cancel is in flight
	phDrainOwed               // the turn ended, Cancel failed and is still owed
	phKilling                 // the bound passed: Close is in flight
	phStuck                   // Close failed: nothing is written until it succeeds
	phShared                  // the bound passed, and a shared server is not ended for one chat
	phases
)

// happening is what moves a turn.
type happening uint8

const (
	hapSend         happening = iota // there is a prompt to send and the session is ours
	hapProbeOK                       // nobody else writes
	hapProbeNo                       // somebody else may write: no turn begins
	hapOpened                        // the agent is ready
	hapOpenFailed                    // the agent could not be started
	hapAgentTurn                     // the agent woke by itself
	hapEnded                         // the turn's own end
	hapRefused                       // the agent did not take the prompt
	hapStop                          // a person pressed Stop
	hapCancelOK                      // Cancel returned: what ran cannot run any more
	hapCancelFailed                  // Cancel returned an error
	hapBound                         // the bound of stopping (or dying) passed
	hapShared                        // the same, and the agent's server is not this chat's alone
	hapRestart                       // a person ends the shared server
	hapDead                          // the agent's program does not answer any more
	hapClosed                        // Close returned: the group is gone
	hapCloseFailed                   // Close returned an error
	hapExit                          // the agent's process ended
	hapKill                          // end it now (chat closed, host stopping)
	happenings
)

// action is one thing the chat does for a move, in order.
type action uint8

const (
	actProbe       action = iota // ask the guard
	actPark                      // nothing is sent now; answer who waits for it
	actOpen                      // start the agent, or go on with the living one
	actPrompt                    // hand the prompt to the agent
	actBeginAgent                // number a turn of the agent's own
	actAbort                     // cancel the start of the agent
	actAbandon                   // the start ignores its cancel: whatever comes of it is closed
	actCancel                    // call Cancel
	actBound                     // arm the bound of stopping
	actDyingBound                // arm the short bound of a dying process
	actClearBound                // nothing is owed any more
	actKill                      // call Close
	actRestart                   // end the server that others share
	actEnd                       // give the turn its end, if it has none
	actEndCanceled               // give the turn the end "canceled", if it has none
	actEndKilled                 // the same, unless the agent had completed it
	actEndCrashed                // give the turn the end "crashed", if it has none
	actEndDead                   // give the turn the end "unresponsive", if it has none
	actEndRefused                // give the turn the end "refused", mark the prompt failed
	actEndOpen                   // give the turn the end "could not be started"
	actForget                    // let go of the session: closed and awaited in the background
	actWithdraw                  // every open approval of the turn is withdrawn
	actLate                      // it came after the end: dropped and counted
	actPump                      // look whether something waits in the queue
)

type move struct {
	to   phase
	acts []action
}

func to(p phase, acts ...action) move { return move{p, acts} }

// table has a move for every phase and happening. "every cancel issued is
// awaited, a new prompt waits for both the turn's end and the cancel" reads
// from it: only phIdle reacts to hapSend, and phIdle is reached from a stop
// only when both are settled, the process is gone, or a shared server said that
// nothing of the turn can run any more. A happening that a phase does not react
// to leads back to it without an action.
var table = [phases][happenings]move{
	phIdle: {
		hapSend:         to(phProbing, actProbe),
		hapProbeOK:      to(phIdle),
		hapProbeNo:      to(phIdle),
		hapOpened:       to(phIdle),
		hapOpenFailed:   to(phIdle),
		hapAgentTurn:    to(phRunning, actBeginAgent),
		hapEnded:        to(phIdle, actLate),
		hapRefused:      to(phIdle, actLate),
		hapStop:         to(phIdle),
		hapCancelOK:     to(phIdle),
		hapCancelFailed: to(phIdle),
		hapBound:        to(phIdle),
		hapShared:       to(phIdle),
		hapRestart:      to(phIdle),
		hapDead:         to(phIdle),
		hapClosed:       to(phIdle),
		hapCloseFailed:  to(phIdle),
		hapExit:         to(phIdle, actForget),
		hapKill:         to(phIdle, actForget),
	},
	phProbing: {
		hapSend:         to(phProbing),
		hapProbeOK:      to(phOpening, actOpen),
		hapProbeNo:      to(phIdle, actPark),
		hapOpened:       to(phProbing),
		hapOpenFailed:   to(phProbing),
		hapAgentTurn:    to(phRunning, actPark, actBeginAgent),
		hapEnded:        to(phProbing, actLate),
		hapRefused:      to(phProbing, actLate),
		hapStop:         to(phIdle, actPark),
		hapCancelOK:     to(phProbing),
		hapCancelFailed: to(phProbing),
		hapBound:        to(phProbing),
		hapShared:       to(phProbing),
		hapRestart:      to(phProbing),
		hapDead:         to(phProbing),
		hapClosed:       to(phProbing),
		hapCloseFailed:  to(phProbing),
		hapExit:         to(phProbing, actForget),
		hapKill:         to(phIdle, actPark, actForget),
	},
	phOpening: {
		hapSend:         to(phOpening),
		hapProbeOK:      to(phOpening),
		hapProbeNo:      to(phOpening),
		hapOpened:       to(phRunning, actPrompt),
		hapOpenFailed:   to(phIdle, actEndOpen, actForget),
		hapAgentTurn:    to(phOpening),
		hapEnded:        to(phOpening, actLate),
		hapRefused:      to(phOpening, actLate),
		hapStop:         to(phAborting, actAbort, actBound, actWithdraw),
		hapCancelOK:     to(phOpening),
		hapCancelFailed: to(phOpening),
		hapBound:        to(phOpening),
		hapShared:       to(phOpening),
		hapRestart:      to(phOpening),
		hapDead:         to(phOpening),
		hapClosed:       to(phOpening),
		hapCloseFailed:  to(phOpening),
		hapExit:         to(phOpening),
		hapKill:         to(phAborting, actAbort, actBound, actWithdraw),
	},
	phAborting: {
		hapSend:         to(phAborting),
		hapProbeOK:      to(phAborting),
		hapProbeNo:      to(phAborting),
		hapOpened:       to(phIdle, actClearBound, actEndCanceled, actForget, actPump),
		hapOpenFailed:   to(phIdle, actClearBound, actEndCanceled, actForget, actPump),
		hapAgentTurn:    to(phAborting),
		hapEnded:        to(phAborting, actLate),
		hapRefused:      to(phAborting, actLate),
		hapStop:         to(phAborting),
		hapCancelOK:     to(phAborting),
		hapCancelFailed: to(phAborting),
		hapBound:        to(phIdle, actEndCanceled, actAbandon, actPump),
		hapShared:       to(phAborting),
		hapRestart:      to(phAborting),
		hapDead:         to(phAborting),
		hapClosed:       to(phAborting),
		hapCloseFailed:  to(phAborting),
		hapExit:         to(phAborting),
		hapKill:         to(phAborting),
	},
	phRunning: {
		hapSend:         to(phRunning),
		hapProbeOK:      to(phRunning),
		hapProbeNo:      to(phRunning),
		hapOpened:       to(phRunning),
		hapOpenFailed:   to(phRunning),
		hapAgentTurn:    to(phRunning),
		hapEnded:        to(phIdle, actEnd, actPump),
		hapRefused:      to(phIdle, actEndRefused, actPump),
		hapStop:         to(phCancelling, actCancel, actBound, actWithdraw),
		hapCancelOK:     to(phRunning),
		hapCancelFailed: to(phRunning),
		hapBound:        to(phRunning),
		hapShared:       to(phRunning),
		hapRestart:      to(phRunning),
		hapDead:         to(phKilling, actEndDead, actKill),
		hapClosed:       to(phRunning),
		hapCloseFailed:  to(phRunning),
		hapExit:         to(phDying, actDyingBound),
		hapKill:         to(phKilling, actWithdraw, actKill),
	},
	phDying: {
		hapSend:         to(phDying),
		hapProbeOK:      to(phDying),
		hapProbeNo:      to(phDying),
		hapOpened:       to(phDying),
		hapOpenFailed:   to(phDying),
		hapAgentTurn:    to(phDying),
		hapEnded:        to(phIdle, actClearBound, actEnd, actForget, actPump),
		hapRefused:      to(phIdle, actClearBound, actEndRefused, actForget, actPump),
		hapStop:         to(phDying),
		hapCancelOK:     to(phDying),
		hapCancelFailed: to(phDying),
		hapBound:        to(phIdle, actEndCrashed, actForget, actPump),
		hapShared:       to(phDying),
		hapRestart:      to(phDying),
		hapDead:         to(phDying),
		hapClosed:       to(phDying),
		hapCloseFailed:  to(phDying),
		hapExit:         to(phDying),
		hapKill:         to(phIdle, actClearBound, actEndCrashed, actForget),
	},
	phCancelling: {
		hapSend:         to(phCancelling),
		hapProbeOK:      to(phCancelling),
		hapProbeNo:      to(phCancelling),
		hapOpened:       to(phCancelling),
		hapOpenFailed:   to(phCancelling),
		hapAgentTurn:    to(phCancelling),
		hapEnded:        to(phDraining, actEnd),
		hapRefused:      to(phDraining, actEndRefused),
		hapStop:         to(phCancelling),
		hapCancelOK:     to(phAwaitEnd),
		hapCancelFailed: to(phOwed),
		hapBound:        to(phKilling, actKill),
		hapShared:       to(phShared, actClearBound, actEndCanceled),
		hapRestart:      to(phCancelling),
		hapDead:         to(phCancelling),
		hapClosed:       to(phCancelling),
		hapCloseFailed:  to(phCancelling),
		hapExit:         to(phIdle, actClearBound, actEndCanceled, actForget, actPump),
		hapKill:         to(phKilling, actKill),
	},
	phAwaitEnd: {
		hapSend:         to(phAwaitEnd),
		hapProbeOK:      to(phAwaitEnd),
		hapProbeNo:      to(phAwaitEnd),
		hapOpened:       to(phAwaitEnd),
		hapOpenFailed:   to(phAwaitEnd),
		hapAgentTurn:    to(phAwaitEnd),
		hapEnded:        to(phIdle, actClearBound, actEnd, actPump),
		hapRefused:      to(phIdle, actClearBound, actEndRefused, actPump),
		hapStop:         to(phAwaitEnd),
		hapCancelOK:     to(phAwaitEnd),
		hapCancelFailed: to(phAwaitEnd),
		hapBound:        to(phKilling, actKill),
		hapShared:       to(phShared, actClearBound, actEndCanceled),
		hapRestart:      to(phAwaitEnd),
		hapDead:         to(phAwaitEnd),
		hapClosed:       to(phAwaitEnd),
		hapCloseFailed:  to(phAwaitEnd),
		hapExit:         to(phIdle, actClearBound, actEndCanceled, actForget, actPump),
		hapKill:         to(phKilling, actKill),
	},
	phOwed: {
		hapSend:         to(phOwed),
		hapProbeOK:      to(phOwed),
		hapProbeNo:      to(phOwed),
		hapOpened:       to(phOwed),
		hapOpenFailed:   to(phOwed),
		hapAgentTurn:    to(phOwed),
		hapEnded:        to(phDrainOwed, actEnd),
		hapRefused:      to(phDrainOwed, actEndRefused),
		hapStop:         to(phCancelling, actCancel),
		hapCancelOK:     to(phOwed),
		hapCancelFailed: to(phOwed),
		hapBound:        to(phKilling, actKill),
		hapShared:       to(phShared, actClearBound, actEndCanceled),
		hapRestart:      to(phOwed),
		hapDead:         to(phOwed),
		hapClosed:       to(phOwed),
		hapCloseFailed:  to(phOwed),
		hapExit:         to(phIdle, actClearBound, actEndCanceled, actForget, actPump),
		hapKill:         to(phKilling, actKill),
	},
	phDraining: {
		hapSend:         to(phDraining),
		hapProbeOK:      to(phDraining),
		hapProbeNo:      to(phDraining),
		hapOpened:       to(phDraining),
		hapOpenFailed:   to(phDraining),
		hapAgentTurn:    to(phDraining),
		hapEnded:        to(phDraining, actLate),
		hapRefused:      to(phDraining, actLate),
		hapStop:         to(phDraining),
		hapCancelOK:     to(phIdle, actClearBound, actPump),
		hapCancelFailed: to(phDrainOwed),
		hapBound:        to(phKilling, actKill),
		hapShared:       to(phShared, actClearBound),
		hapRestart:      to(phDraining),
		hapDead:         to(phDraining),
		hapClosed:       to(phDraining),
		hapCloseFailed:  to(phDraining),
		hapExit:         to(phIdle, actClearBound, actForget, actPump),
		hapKill:         to(phKilling, actKill),
	},
	phDrainOwed: {
		hapSend:         to(phDrainOwed),
		hapProbeOK:      to(phDrainOwed),
		hapProbeNo:      to(phDrainOwed),
		hapOpened:       to(phDrainOwed),
		hapOpenFailed:   to(phDrainOwed),
		hapAgentTurn:    to(phDrainOwed),
		hapEnded:        to(phDrainOwed, actLate),
		hapRefused:      to(phDrainOwed, actLate),
		hapStop:         to(phDraining, actCancel),
		hapCancelOK:     to(phDrainOwed),
		hapCancelFailed: to(phDrainOwed),
		hapBound:        to(phKilling, actKill),
		hapShared:       to(phShared, actClearBound),
		hapRestart:      to(phDrainOwed),
		hapDead:         to(phDrainOwed),
		hapClosed:       to(phDrainOwed),
		hapCloseFailed:  to(phDrainOwed),
		hapExit:         to(phIdle, actClearBound, actForget, actPump),
		hapKill:         to(phKilling, actKill),
	},
	phKilling: {
		hapSend:         to(phKilling),
		hapProbeOK:      to(phKilling),
		hapProbeNo:      to(phKilling),
		hapOpened:       to(phKilling),
		hapOpenFailed:   to(phKilling),
		hapAgentTurn:    to(phKilling),
		hapEnded:        to(phKilling, actEndKilled),
		hapRefused:      to(phKilling, actEndCanceled),
		hapStop:         to(phKilling),
		hapCancelOK:     to(phKilling),
		hapCancelFailed: to(phKilling),
		hapBound:        to(phKilling),
		hapShared:       to(phKilling),
		hapRestart:      to(phKilling),
		hapDead:         to(phKilling),
		hapClosed:       to(phIdle, actClearBound, actEndCanceled, actForget, actPump),
		hapCloseFailed:  to(phStuck, actEndCanceled),
		hapExit:         to(phKilling),
		hapKill:         to(phKilling),
	},
	phStuck: {
		hapSend:         to(phStuck),
		hapProbeOK:      to(phStuck),
		hapProbeNo:      to(phStuck),
		hapOpened:       to(phStuck),
		hapOpenFailed:   to(phStuck),
		hapAgentTurn:    to(phStuck),
		hapEnded:        to(phStuck, actLate),
		hapRefused:      to(phStuck, actLate),
		hapStop:         to(phKilling, actKill),
		hapCancelOK:     to(phStuck),
		hapCancelFailed: to(phStuck),
		hapBound:        to(phStuck),
		hapShared:       to(phStuck),
		hapRestart:      to(phStuck),
		hapDead:         to(phStuck),
		hapClosed:       to(phIdle, actForget, actPump),
		hapCloseFailed:  to(phStuck),
		hapExit:         to(phIdle, actForget, actPump),
		hapKill:         to(phKilling, actKill),
	},
	phShared: {
		hapSend:         to(phShared),
		hapProbeOK:      to(phShared),
		hapProbeNo:      to(phShared),
		hapOpened:       to(phShared),
		hapOpenFailed:   to(phShared),
		hapAgentTurn:    to(phShared),
		hapEnded:        to(phShared, actLate),
		hapRefused:      to(phShared, actLate),
		hapStop:         to(phShared, actCancel),
		hapCancelOK:     to(phIdle, actForget, actPump),
		hapCancelFailed: to(phShared),
		hapBound:        to(phShared),
		hapShared:       to(phShared),
		hapRestart:      to(phKilling, actRestart),
		hapDead:         to(phShared),
		hapClosed:       to(phShared),
		hapCloseFailed:  to(phShared),
		hapExit:         to(phIdle, actForget, actPump),
		hapKill:         to(phIdle, actForget),
	},
}
