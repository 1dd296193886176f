// Package agenttest holds the contract of the agents as tables of named rules
// (docs/contract.md lists them), and the recorders that apply the host's rules to
// what is published. Every chat provider, session source and handover passes
// them, built in or not; [Hold] runs all for one harness.
//
// A config makes the thing under test and says how to bring it where a rule
// looks; what an agent does not offer is left empty and is not run, and where that
// must have a reason, a rule asks for it. The rules run real processes and wait
// for events, never for time; every wait has a deadline. The wire between
// a provider and its agent is disturbed by a program of its own (package shim).
// Package mutation shows that every rule can fail.
package agenttest
