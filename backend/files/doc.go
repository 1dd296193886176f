// Package files knows which files a folder holds, for a person who mentions one.
//
// A listing is what git would show (tracked and untracked, without what is
// ignored); outside of a repository a walk honours .gitignore files by itself.
// Listings are made when somebody asks and never by a timer or a watch: a known
// one answers at once and a newer one is made beside it when it is older than a
// moment. That costs no watch descriptor, however large the folder is, and
// nothing while nobody mentions files.
//
// Memory is bounded: a few folders, each with at most a bounded number of paths
// in one block of bytes. What was not used for a while is forgotten.
package files
