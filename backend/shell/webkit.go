package shell

// Display is what is known of the machine before the webview starts.
type Display struct {
	// Nvidia: the proprietary driver is loaded (/sys/module/nvidia exists).
	// WebKitGTK shows blank windows with its DMA-BUF renderer there.
	Nvidia bool
	// SafeGPU: the person asked for --safe-gpu.
	SafeGPU bool
	// Backend is the setting: "" or auto, x11, wayland.
	Backend string
}

// Variables of WebKitGTK and GDK that the shell decides.
const (
	envDMABuf      = "WEBKIT_DISABLE_DMABUF_RENDERER"
	envCompositing = "WEBKIT_DISABLE_COMPOSITING_MODE"
	envGDK         = "GDK_BACKEND"
)

// WebKitEnv says which variables to set before the webview starts. What the
// person set already stays, an explicit 0 too; only --safe-gpu, which is typed
// later and means it, goes over that.
func WebKitEnv(lookup func(string) (string, bool), d Display) map[string]string {
	set := map[string]string{}
	if _, given := lookup(envDMABuf); d.SafeGPU || d.Nvidia && !given {
		set[envDMABuf] = "1"
	}
	if d.SafeGPU {
		set[envCompositing] = "1"
	}
	if v, given := lookup(envGDK); given && v != "" {
		return set
	}
	switch d.Backend {
	case "x11", "wayland":
		set[envGDK] = d.Backend
	default:
		// Fractional scaling makes WebKitGTK stutter on Wayland: XWayland where
		// there is one.
		if v, _ := lookup("DISPLAY"); v != "" {
			set[envGDK] = "x11"
		}
	}
	return set
}
