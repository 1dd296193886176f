package main

import "github.com/charmbracelet/x/term"

func isTerminal(fd uintptr) bool { return term.IsTerminal(fd) }
