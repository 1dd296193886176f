package model

// Terminal is one of our terminals.
type Terminal struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	Cwd       string `json:"cwd"`
	Command   string `json:"command"` // what was started, first word
	Pid       int    `json:"pid"`
	Cols      int    `json:"cols"`
	Rows      int    `json:"rows"`
	StartedAt int64  `json:"startedAt"`
	// Running is false after the leader ended; ExitCode is then set.
	Running  bool   `json:"running"`
	ExitCode *int   `json:"exitCode,omitempty"`
	Signal   string `json:"signal,omitempty"`
	Bell     bool   `json:"bell,omitempty"`
	ChatID   string `json:"chatId,omitempty"` // opened by "Continue in terminal"
	// Program is the status its program reports by OSC 7501.
	Program *ProgramStatus `json:"program,omitempty"`
	Busy    bool           `json:"busy,omitempty"` // something runs beside the shell
}

// ProgramStatus is an OSC 7501 report.
type ProgramStatus struct {
	State string `json:"state"` // idle working blocked done error
	App   string `json:"app,omitempty"`
	Kind  string `json:"kind,omitempty"` // permission question auth
	Text  string `json:"text,omitempty"` // stripped and bounded
	At    int64  `json:"at"`
}
