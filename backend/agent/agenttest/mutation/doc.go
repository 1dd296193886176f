// Package mutation holds the test of the contract suites themselves: a small
// harness that keeps every rule (the puppet), and one that breaks it for each
// rule. A suite that does not fail for such a mutant, or fails somewhere else,
// is wrong.
package mutation
