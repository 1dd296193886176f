package claudecode

import (
	"context"
	"encoding/json"
	"os"
	"slices"

	"github.com/whippletree-app/whippletree/backend/agent"
	"github.com/whippletree-app/whippletree/backend/agentkit"
)

// rewindSince is the version in which the requests to go back were seen.
const rewindSince = "2.1.332"

// checkpoints makes the program keep a copy of each file before it changes it,
// as its own interface does; without it files cannot be put back.
const checkpoints = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"

// Rewind goes back to before a message of the person's. The program writes down
// by itself where the conversation goes on, so that a resume follows; what was
// cut off stays in the transcript as a branch.
func (s *session) Rewind(ctx context.Context, nativeID string) error {
	if err := s.mayRewind(nativeID); err != nil {
		return err
	}
	// It goes back only for one who has seen all of the conversation: it is told
	// the newest message of the person's, as this process knows it, else as it is
	// stored (nothing was said in this process, or what was said was not taken).
	s.mu.Lock()
	seen := []string{s.saidLast}
	s.mu.Unlock()
	path, _ := transcriptPath(configDir(s.host, s.launch.handle.Env), s.launch.handle.NativeID, s.launch.handle.Cwd)
	if stored := lastSaid(path); stored != seen[0] {
		seen = append(seen, stored)
	}
	why := ""
	for _, last := range seen {
		if last == "" {
			continue
		}
		raw, err := s.control(ctx, map[string]any{
			"subtype": "rewind_conversation", "target_message_uuid": nativeID, "last_seen_user_message_uuid": last,
		})
		if err != nil {
			return err
		}
		var got struct {
			Rewound bool   `json:"rewound"`
			Reason  string `json:"reason"`
			Error   string `json:"error"`
		}
		if err := lenient(raw, &got); err != nil {
			return err
		}
		if got.Rewound {
			s.mu.Lock()
			s.saidLast = ""
			s.mu.Unlock()
			return nil
		}
		why = or(refusedRewind[got.Reason], "Claude Code did not go back: "+or(got.Error, got.Reason, "it gives no reason"))
		if got.Reason != "stale_target" && got.Reason != "unseen_later_turn" {
			break
		}
	}
	return failure(or(why, "Nothing was said in this session yet."))
}

// refusedRewind are the program's reasons in words.
var refusedRewind = map[string]string{
	"target_not_found":        "This message is not in what Claude Code holds of the conversation; it may be from before a compaction.",
	"turn_running":            "A turn runs; going back waits for its end.",
	"commands_queued":         "A message waits in Claude Code's queue; going back waits for it.",
	"prompt_pending":          "Claude Code waits for an answer; going back waits for it.",
	"stale_target":            "The conversation has gone on elsewhere meanwhile.",
	"unseen_later_turn":       "The conversation has gone on elsewhere meanwhile.",
	"target_splits_tool_call": "This message was taken in the middle of a step; going back to before it is not possible.",
	"poll_tool_result_target": "This message was taken in the middle of a step; going back to before it is not possible.",
}

// PreviewRewind tells which files would change.
func (s *session) PreviewRewind(ctx context.Context, nativeID string) (agent.FileRewind, error) {
	return s.rewindFiles(ctx, nativeID, true)
}

// RewindFiles puts back what the program's own tools changed since the message;
// what commands changed it does not know.
func (s *session) RewindFiles(ctx context.Context, nativeID string) (agent.FileRewind, error) {
	would, err := s.rewindFiles(ctx, nativeID, true)
	if err != nil || !would.Possible {
		return would, err
	}
	done, err := s.rewindFiles(ctx, nativeID, false)
	if err == nil && done.Possible { // the second answer does not name them
		would.Skipped = done.Skipped
		return would, nil
	}
	return done, err
}

func (s *session) rewindFiles(ctx context.Context, nativeID string, dry bool) (agent.FileRewind, error) {
	if err := s.mayRewind(nativeID); err != nil {
		return agent.FileRewind{}, err
	}
	raw, err := s.control(ctx, map[string]any{"subtype": "rewind_files", "user_message_id": nativeID, "dry_run": dry})
	if err != nil {
		return agent.FileRewind{}, err
	}
	var got struct {
		Can        bool     `json:"canRewind"`
		Error      string   `json:"error"`
		Files      []string `json:"filesChanged"`
		Insertions int      `json:"insertions"`
		Deletions  int      `json:"deletions"`
		Skipped    int      `json:"skippedLinks"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return agent.FileRewind{}, err
	}
	r := agent.FileRewind{Possible: got.Can, Files: got.Files, Insertions: got.Insertions, Deletions: got.Deletions, Skipped: got.Skipped}
	if !got.Can {
		r.WhyNot = or(got.Error, "Claude Code gives no reason.")
	}
	return r, nil
}

func (s *session) mayRewind(nativeID string) error {
	switch {
	case s.launch.confined:
		return failure("A confined chat keeps no session and cannot go back.")
	case !s.launch.version.atLeast(rewindSince):
		return failure("This version of Claude Code cannot go back, " + rewindSince + " can; update it: claude update")
	}
	if err := checkID(nativeID); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prompt != nil || s.own != nil {
		return failure("A turn runs; going back waits for its end.")
	}
	return nil
}

// lastSaid returns the id of the newest message of the person's on the branch
// that a resume follows, "" when there is none.
func lastSaid(transcript string) string {
	f, err := os.Open(transcript)
	if err != nil {
		return "" // nothing was said yet
	}
	defer f.Close()
	lines, c := agentkit.NewLines(f, agentkit.LinesOptions{}), newChain()
	for {
		l, err := lines.Next()
		if err != nil {
			break
		}
		if r, ok := cheap(l); ok {
			c.add(&r)
		}
	}
	on := c.path()
	for _, id := range slices.Backward(c.order) {
		if on[id] && c.prompt[id] {
			return id
		}
	}
	return ""
}

var (
	_ agent.Rewinder     = (*session)(nil)
	_ agent.FileRewinder = (*session)(nil)
)
