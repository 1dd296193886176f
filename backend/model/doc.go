// Package model holds the shapes that the domain packages (chats, sessions,
// handoff, terminals, settings) publish and that package api carries to every
// front end. The TypeScript types are generated from here and from package
// agent. It imports only package agent and has no behaviour beyond small
// predicates over its own data.
//
// All times are epoch milliseconds, 0 is unknown.
package model
