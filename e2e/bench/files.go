//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/whippletree-app/whippletree/backend/api"
)

const mentionedFiles = 100_000

// mentions are what a person types letter by letter, and what fits nothing.
var mentions = []string{"", "f", "fi", "file", "file_", "file_99", "file_99999.ts", "p", "pa", "part12mod", "src/mod", "pkgsrcmodts", "module3/file_0", "zzz", "index", "packages/"}

// measureFiles: the answer to one @ in a repository of 100,000 files over the
// socket, and the first listing beside the one run of git that it needs.
func measureFiles(l *Lab) []Figure {
	find := Figure{What: "@ in 100,000 files, slowest answer", Unit: "ms", Target: atMost(50, "ms"), Note: fmt.Sprintf("%d queries each run, request to answer over the socket", len(mentions))}
	mid := Figure{What: "@ in 100,000 files, median answer", Unit: "ms", Target: atMost(25, "ms")}
	cold := Figure{What: "@ first listing of 100,000 files", Unit: "ms", Target: atMostTimes(3), Note: "floor: git ls-files -co --exclude-standard"}
	held := Figure{What: "memory of a listing of 100,000 files", Unit: "MB", Target: atMost(32, "MB"), Note: "what the host's PSS grew by, garbage included"}
	if err := l.files(&find, &mid, &cold, &held); err != nil {
		find.Err, mid.Err, cold.Err, held.Err = err, err, err, err
	}
	return []Figure{find, mid, cold, held}
}

func (l *Lab) files(find, mid, cold, held *Figure) error {
	host, err := l.Host()
	if err != nil {
		return err
	}
	home, err := l.Home()
	if err != nil {
		return err
	}
	dir := filepath.Join(home, "many")
	if err := manyFiles(dir); err != nil {
		return err
	}
	r, client, _, err := l.Serve(host, home)
	if err != nil {
		return err
	}
	defer r.Stop()
	defer client.Close()
	time.Sleep(settle)
	ask := func(query string, fresh bool) (time.Duration, error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		began := time.Now()
		got, err := api.Call[api.FilesResult](ctx, client, "files.find", api.FilesRequest{Cwd: dir, Query: query, Limit: 40, Fresh: fresh})
		if err == nil && got.Total < mentionedFiles {
			err = fmt.Errorf("only %d files are listed", got.Total)
		}
		return time.Since(began), err
	}
	before := pss(r.Pid())
	for range l.Runs {
		began := time.Now()
		cmd := exec.Command("git", "ls-files", "-co", "--exclude-standard", "-z")
		cmd.Dir, cmd.Env, cmd.Stdout = dir, env(home), io.Discard
		if err := cmd.Run(); err != nil {
			return err
		}
		cold.Floor = append(cold.Floor, ms(time.Since(began)))
		took, err := ask("file", true)
		if err != nil {
			return err
		}
		cold.Ours = append(cold.Ours, ms(took))
		var all []float64
		for _, q := range mentions {
			took, err := ask(q, false)
			if err != nil {
				return err
			}
			all = append(all, ms(took))
		}
		find.Ours = append(find.Ours, quantile(all, 1))
		mid.Ours = append(mid.Ours, quantile(all, 0.5))
	}
	held.Ours = append(held.Ours, mb(pss(r.Pid())-before))
	return nil
}

// manyFiles makes a repository that holds what one mentions and what is ignored.
func manyFiles(dir string) error {
	var errs []error
	for i := range mentionedFiles {
		name := filepath.Join(dir, fmt.Sprintf("packages/part%03d/src/module%02d/file_%05d.ts", i%300, i%40, i))
		if i < 300*40 {
			errs = append(errs, os.MkdirAll(filepath.Dir(name), 0o755))
		}
		errs = append(errs, os.WriteFile(name, nil, 0o644))
	}
	errs = append(errs, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("node_modules/\n*.log\n"), 0o644))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	cmd := exec.Command("git", "init", "-q")
	cmd.Dir = dir
	return cmd.Run()
}
