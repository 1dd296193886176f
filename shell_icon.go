package main

import _ "embed"

// icon is what the window manager shows.
//
//go:embed build/icons/icon-128.png
var icon []byte
