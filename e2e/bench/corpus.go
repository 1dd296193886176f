//go:build linux

package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// storedCount is how many stored sessions a host must cope with.
const storedCount = 5000

// Corpus returns a home folder whose Claude Code folder holds n stored sessions
// of about size bytes. It is generated from the seed and kept in the cache; each
// user of it gets the same folder and must not write there.
func (l *Lab) Corpus(n, size int) (string, error) {
	dir := filepath.Join(l.cache, fmt.Sprintf("corpus-%d-%d-%d", l.Seed, n, size))
	if _, err := os.Stat(filepath.Join(dir, ".complete")); err == nil {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	rng := rand.New(rand.NewPCG(l.Seed, 7))
	for i := range n {
		cwd := fmt.Sprintf("/home/dev/project-%02d", i%40)
		folder := filepath.Join(dir, ".claude", "projects", strings.ReplaceAll(cwd, "/", "-"))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return "", err
		}
		if err := writeSession(folder, cwd, i, size, rng); err != nil {
			return "", err
		}
	}
	return dir, os.WriteFile(filepath.Join(dir, ".complete"), nil, 0o600)
}

var words = strings.Fields("the agent reads a file changes one line runs every test finds what broke and says why it did so before it goes on")

func writeSession(folder, cwd string, i, size int, rng *rand.Rand) error {
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x", rng.Uint32(), i)
	f, err := os.Create(filepath.Join(folder, id+".jsonl"))
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	parent := "null"
	for n, written := 0, 0; written < size; n++ {
		var text strings.Builder
		for range 20 + rng.IntN(200) {
			text.WriteString(words[rng.IntN(len(words))])
			text.WriteByte(' ')
		}
		uuid := fmt.Sprintf("%08x-%04x-4000-8000-%012x", i, n, rng.Uint32())
		stamp := fmt.Sprintf("2026-%02d-%02dT10:%02d:%02d.000Z", 1+i%10, 1+i%28, n/60%60, n%60)
		line := fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":%q,"sessionId":%q,"version":"2.1.332","gitBranch":"main",`, parent, cwd, id)
		if n%2 == 0 {
			line += fmt.Sprintf(`"type":"user","message":{"role":"user","content":%q},"uuid":%q,"timestamp":%q}`, text.String(), uuid, stamp)
		} else {
			line += fmt.Sprintf(`"type":"assistant","message":{"id":"msg_%08x","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":%q}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":%d}},"requestId":"req_%08x","uuid":%q,"timestamp":%q}`,
				rng.Uint32(), text.String(), rng.IntN(500), rng.Uint32(), uuid, stamp)
		}
		parent = fmt.Sprintf("%q", uuid)
		k, err := fmt.Fprintln(w, line)
		if err != nil {
			return err
		}
		written += k
	}
	return w.Flush()
}

// StoredHome is a fresh home folder with the stored sessions in it (a link: the
// host only reads there).
func (l *Lab) StoredHome() (string, error) {
	size := 10 << 10
	if l.Full {
		size = 100 << 10
	}
	corpus, err := l.Corpus(storedCount, size)
	if err != nil {
		return "", err
	}
	home, err := l.Home()
	if err != nil {
		return "", err
	}
	claude := filepath.Join(home, ".claude")
	if err := os.MkdirAll(filepath.Join(claude, "sessions"), 0o700); err != nil {
		return "", err
	}
	return home, os.Symlink(filepath.Join(corpus, ".claude", "projects"), filepath.Join(claude, "projects"))
}
