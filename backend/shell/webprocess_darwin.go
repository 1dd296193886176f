package shell

// WebProcessLives is not known on macOS: web processes belong to the system and
// WKWebView brings a dead one back by itself.
func WebProcessLives() (lives, known bool) { return false, false }
