package agent

// Inspection is what a living agent says of itself. A part that the agent does
// not tell stays nil; Notes say in words why one that it should tell is missing.
type Inspection struct {
	Account *Account      `json:"account,omitempty"`
	Servers []ServerState `json:"servers,omitempty"`
	Hooks   []HookState   `json:"hooks,omitempty"`
	// Plan is how much of the person's plan is used up; nil when the sign-in has
	// no plan or the agent did not tell.
	Plan *PlanUse `json:"plan,omitempty"`
	// Session is what this session used so far; its cost is an estimate.
	Session *Usage   `json:"session,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// Account is whom the agent is signed in as. Source says where the sign-in comes
// from in the agent's words; it is never the secret itself.
type Account struct {
	Email        string `json:"email,omitempty"`
	Organization string `json:"organization,omitempty"`
	Plan         string `json:"plan,omitempty"`
	Source       string `json:"source,omitempty"`
}

// ServerState is one MCP server: Status in the agent's words (connected, failed,
// needs-auth, pending, disabled ...), Scope where it is set up (user, project,
// local, dynamic ...). Tools are the names it offers.
type ServerState struct {
	Name   string   `json:"name"`
	Status string   `json:"status"`
	Scope  string   `json:"scope,omitempty"`
	Error  string   `json:"error,omitempty"`
	Tools  []string `json:"tools,omitempty"`
}

// HookState is one hook that is set up. Source says where in the agent's words,
// Command what it runs.
type HookState struct {
	Event    string `json:"event"`
	Matcher  string `json:"matcher,omitempty"`
	Source   string `json:"source,omitempty"`
	Type     string `json:"type,omitempty"`
	Command  string `json:"command,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
}

// PlanUse are the windows of a plan, as the agent last knew them.
type PlanUse struct {
	Name    string       `json:"name,omitempty"`
	Windows []PlanWindow `json:"windows"`
}

// FileRewind is what going back does to files. Possible false comes with a
// reason. Files are paths; Insertions and Deletions count lines.
type FileRewind struct {
	Possible   bool     `json:"possible"`
	WhyNot     string   `json:"whyNot,omitempty"`
	Files      []string `json:"files,omitempty"`
	Insertions int      `json:"insertions,omitempty"`
	Deletions  int      `json:"deletions,omitempty"`
	// Skipped counts files that are left as they are (links).
	Skipped int `json:"skipped,omitempty"`
}
