package claudecode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

func sessionsDir(config string) string { return filepath.Join(config, "sessions") }

// entry is one file of the agent's live registry, sessions/<pid>.json: a claim
// that the process must confirm.
type entry struct {
	Pid         int    `json:"pid"`
	SessionID   string `json:"sessionId"`
	Cwd         string `json:"cwd"`
	StartedAt   int64  `json:"startedAt"`
	ProcStart   any    `json:"procStart"`
	Version     string `json:"version"`
	Entrypoint  string `json:"entrypoint"`
	Name        string `json:"name"`
	NameSource  string `json:"nameSource"`
	Status      string `json:"status"`
	WaitingFor  string `json:"waitingFor"`
	UpdatedAt   int64  `json:"updatedAt"`
	StatusSince int64  `json:"statusUpdatedAt"`
	// Spare marks a process that was started ahead of need: no session yet. A
	// session that was moved into a background job names it as ParkedJobID; the
	// process of the job names it as JobID and stands for the session.
	Spare       bool   `json:"spare"`
	JobID       string `json:"jobId"`
	ParkedJobID string `json:"parkedJobId"`

	identity agentkit.Identity
	link     agent.Link
	file     string
}

// root is the data folder that the entry stands in.
func (e *entry) root() string { return filepath.Dir(filepath.Dir(e.file)) }

func (e *entry) procStart() string {
	switch v := e.ProcStart.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(e.ProcStart)
}

// registry is what a folder of live entries says now.
type registry struct {
	live []entry // confirmed by their processes, by pid
	torn []int   // pids whose file could not be read just now
	keys []int   // pids that have a key only: started, not yet in a session
}

// maxRegistryFile bounds one entry in bytes.
const maxRegistryFile = 1 << 20

// readRegistry reads the folder and checks each claim against its process. A
// missing folder is empty.
func readRegistry(config string) (registry, error) {
	dir := sessionsDir(config)
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return registry{}, nil
	}
	if err != nil {
		return registry{}, err
	}
	var r registry
	named := map[int]bool{}
	var keyed []int
	for _, f := range files {
		base, _, _ := strings.Cut(f.Name(), ".")
		pid, err := strconv.Atoi(base)
		if err != nil || pid <= 0 {
			continue
		}
		switch {
		case strings.HasSuffix(f.Name(), ".key"):
			keyed = append(keyed, pid)
			continue
		case f.Name() != base+".json":
			continue
		}
		named[pid] = true
		e, err := readEntry(filepath.Join(dir, f.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			r.torn = append(r.torn, pid)
		case e.Pid == pid && e.confirm():
			r.live = append(r.live, e)
		}
	}
	for _, pid := range keyed {
		if !named[pid] {
			r.keys = append(r.keys, pid)
		}
	}
	slices.SortFunc(r.live, func(a, b entry) int { return a.Pid - b.Pid })
	return r, nil
}

// sessionEntries are the entries that stand for a session of a person: no spare
// process, and of a session that was parked only its job.
func sessionEntries(live []entry) []entry {
	jobs := map[string]bool{}
	for _, e := range live {
		if e.JobID != "" {
			jobs[e.JobID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(live), func(e entry) bool {
		return e.Spare || e.ParkedJobID != "" && e.ParkedJobID != e.JobID && jobs[e.ParkedJobID]
	})
}

func readEntry(file string) (entry, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return entry{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRegistryFile {
		return entry{}, agentkit.ErrNotRegular
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return entry{}, err
	}
	e := entry{file: file}
	if err := lenient(data, &e); err != nil {
		return entry{}, err // rewritten in place: it may be half of it
	}
	if checkID(e.SessionID) != nil || !filepath.IsAbs(e.Cwd) {
		return entry{}, errors.New("an entry without a session")
	}
	return e, nil
}

// confirm checks the claim: the process lives and is the one that wrote it. A
// file without a start time is only a guess.
func (e *entry) confirm() bool {
	id, err := agentkit.Identify(e.Pid)
	if err != nil {
		return false
	}
	e.identity = id
	claim := e.procStart()
	if claim == "" {
		e.link = agent.LinkInferred
		return true
	}
	e.link = agent.LinkProved
	return startedAs(id, claim)
}

// status translates the agent's words.
func (e *entry) status() (agent.Status, agent.WaitingKind) {
	switch e.Status {
	case "busy", "running", "shell": // shell: a command that the person runs in it
		return agent.StatusRunning, ""
	case "idle":
		return agent.StatusIdle, ""
	case "waiting":
		switch w := strings.ToLower(e.WaitingFor); {
		case w == "permission prompt", strings.HasPrefix(w, "approve "), w == "sandbox request":
			return agent.StatusWaiting, agent.WaitApproval
		case w == "input needed":
			return agent.StatusWaiting, agent.WaitQuestion
		case strings.Contains(w, "plan"):
			return agent.StatusWaiting, agent.WaitPlan
		}
		return agent.StatusWaiting, agent.WaitUnknown
	case "":
		return agent.StatusStarting, ""
	}
	return "", "" // a newer word: keep what was known
}

func (e *entry) evidence() string {
	text := "sessions/" + filepath.Base(e.file)
	if e.Status != "" {
		text += ": " + e.Status
	}
	if e.WaitingFor != "" {
		text += ", " + e.WaitingFor
	}
	return cutTo(text, agent.LimitEvidence)
}

// cutTo cuts a text to so many UTF-16 units.
func cutTo(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := 0
	for i, r := range s {
		if n++; r > 0xffff {
			n++
		}
		if n > limit {
			return s[:i]
		}
	}
	return s
}
