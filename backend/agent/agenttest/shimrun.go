package agenttest

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/whippletree-app/whippletree/backend/agent"
)

// shimPackage is the program that stands between a provider and its agent.
const shimPackage = "github.com/whippletree-app/whippletree/backend/agent/agenttest/shim"

// disturbance is the plan of the shim; the fields are described there.
type disturbance struct {
	Program    string       `json:"program"`
	Cuts       []int        `json:"cuts,omitempty"`
	Noise      bool         `json:"noise,omitempty"`
	Pretty     bool         `json:"pretty,omitempty"`
	Giant      int          `json:"giant,omitempty"`
	Flood      int          `json:"flood,omitempty"`
	HoldOutput bool         `json:"holdOutput,omitempty"`
	Moves      []LineMove   `json:"moves,omitempty"`
	Repeats    []LineMove   `json:"repeats,omitempty"`
	Inserts    []LineInsert `json:"inserts,omitempty"`
	Deaf       string       `json:"deaf,omitempty"`
}

// shim builds the program once a run and puts it before the agent.
type shim struct {
	agent string
	build func() (string, error)
}

func newShim(t *testing.T, binary, built string) *shim {
	if built != "" {
		return &shim{binary, func() (string, error) { return built, nil }}
	}
	dir := t.TempDir()
	return &shim{binary, sync.OnceValues(func() (string, error) {
		path := filepath.Join(dir, "shim")
		out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, shimPackage).CombinedOutput()
		if err != nil {
			t.Logf("the shim could not be built: %s", out)
		}
		return path, err
	})}
}

// before makes the provider start the shim, and the shim the agent.
func (s *shim) before(t *testing.T, req *agent.OpenRequest, d disturbance) {
	t.Helper()
	path, err := s.build()
	if err != nil {
		t.Fatal(err)
	}
	d.Program = s.agent
	plan, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"AGENTTEST_SHIM": string(plan)}
	for k, v := range req.Env {
		env[k] = v
	}
	req.Binary, req.Env = path, env
}
