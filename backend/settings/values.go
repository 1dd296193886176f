package settings

// Values are the effective settings: what the file says over the defaults of
// schema.json, whose descriptions say what each one means.
type Values struct {
	General       General            `json:"general"`
	Chats         Chats              `json:"chats"`
	Terminal      Terminal           `json:"terminal"`
	Approvals     Approvals          `json:"approvals"`
	Notifications Notifications      `json:"notifications"`
	Editor        Editor             `json:"editor"`
	Search        Search             `json:"search"`
	Webview       Webview            `json:"webview"`
	Harnesses     map[string]Harness `json:"harnesses"`
}

type General struct {
	Theme       string  `json:"theme"`
	Density     string  `json:"density"`
	FontSize    float64 `json:"fontSize"`
	ChatFont    string  `json:"chatFont"`
	CodeFont    string  `json:"codeFont"`
	Zoom        int     `json:"zoom"`
	KeepRunning bool    `json:"keepRunning"`
	Language    string  `json:"language"`
}

// Chats: ReleaseIdleAfter in minutes (0 never), SilentAfter in seconds; SendWith is
// enter or ctrlEnter; KeepArchivedDays 0 keeps archived chats for ever.
type Chats struct {
	ReleaseIdleAfter int    `json:"releaseIdleAfter"`
	SilentAfter      int    `json:"silentAfter"`
	SendWith         string `json:"sendWith"`
	KeepArchivedDays int    `json:"keepArchivedDays"`
}

// Terminal: Scrollback in lines; ClipboardWrite is never, ask or always.
type Terminal struct {
	Shell          string  `json:"shell"`
	Font           string  `json:"font"`
	FontSize       float64 `json:"fontSize"`
	Scrollback     int     `json:"scrollback"`
	App            string  `json:"app"`
	ClipboardWrite string  `json:"clipboardWrite"`
}

type Approvals struct {
	AllowAutoMode bool `json:"allowAutoMode"`
	AllowRules    bool `json:"allowRules"`
}

type Notifications struct {
	Enabled  bool `json:"enabled"`
	Waiting  bool `json:"waiting"`
	Finished bool `json:"finished"`
	Failed   bool `json:"failed"`
	ShowText bool `json:"showText"`
	Sound    bool `json:"sound"`
}

// Search: Sessions lets the host read sessions that are no chats, to find them by
// their text.
type Search struct {
	Sessions bool `json:"sessions"`
}

// Editor: Command is argv with {file} and {line}.
type Editor struct {
	Command []string `json:"command"`
}

// Webview: each auto, on or off.
type Webview struct {
	GPU     string `json:"gpu"`
	Wayland string `json:"wayland"`
}

// Harness is what a person changed about one agent. Enabled nil means on.
// Extends makes an agent of its own out of a built-in one, shown as Label.
type Harness struct {
	Enabled *bool             `json:"enabled,omitempty"`
	Extends string            `json:"extends,omitempty"`
	Label   string            `json:"label,omitempty"`
	Binary  string            `json:"binary,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	EnvFile string            `json:"envFile,omitempty"`
}

// On reports whether the harness is switched on.
func (h Harness) On() bool { return h.Enabled == nil || *h.Enabled }

// Harness returns the settings of one harness; one that the file does not name
// is on, with nothing changed.
func (v Values) Harness(id string) Harness { return v.Harnesses[id] }
