// Package agentkit holds what a harness needs to talk to its agent and to
// watch its files: a process in its own group, a tolerant line reader, a file
// tail, one shared directory watcher, and the look-up of the agent's binary.
package agentkit
