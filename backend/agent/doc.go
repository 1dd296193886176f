// Package agent is the contract between Whippletree and the coding agents
// (harnesses) it knows: what a chat provider and a session source must do, the
// shapes they exchange with the host, and the limits and validation of those
// shapes.
//
// It imports nothing else of this module. The rules beside the types are the
// contract; the suites in agent/agenttest hold every built-in and external
// implementation to them.
//
// Providers publish snapshots, the host derives deltas: an item published
// twice under one id is one row, and live stream, replay, mirror and import of
// the same conversation give the same rows (compare with [SameRow]).
package agent
