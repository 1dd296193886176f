// Package agenttest holds the contract suites that every chat provider, session
// source and handover passes, built in or not, and the recorders that apply the
// host's rules to what they publish.
//
// A suite takes a config that makes the thing under test and says how to
// provoke what it has to show; what an agent does not offer is left empty and
// is not run. The suites run real processes and wait for events, never for
// time; every wait has a deadline.
package agenttest
