package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/whippletree-app/whippletree/backend/api"
	"github.com/whippletree-app/whippletree/backend/model"
)

func (p *program) exportCommand() *cobra.Command {
	var format, file string
	var force bool
	c := &cobra.Command{
		Use: "export CHAT", Short: "Write a chat out as Markdown or JSON", Args: args(1, "one chat"),
		Long: "Prints the document, or writes it into a file or a folder with --output. The formats are described in docs/cli.md.",
		RunE: func(c *cobra.Command, a []string) error {
			return p.withChat(c.Context(), a[0], func(s *session, chat model.ChatSummary) error {
				if file == "" {
					out := p.out
					if f, ok := out.(*os.File); ok && terminal(f) {
						out = safely{out}
					}
					_, err := exportTo(c.Context(), s, chat.ID, format, out)
					return err
				}
				written, err := p.exportFile(c.Context(), s, chat.ID, format, file, force)
				if err == nil {
					p.line("%s", written)
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&format, "format", "markdown", "markdown or json")
	c.Flags().StringVarP(&file, "output", "o", "", "file or folder to write to")
	c.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	return c
}

// exportTo writes a document and returns what a file for it could be called.
func exportTo(ctx context.Context, s *session, chat, format string, w io.Writer) (name string, err error) {
	r := api.ExportRequest{ChatID: chat, Format: format}
	for {
		got, err := api.Call[api.ExportResult](ctx, s.Client, "chats.export", r)
		if err != nil {
			return "", err
		}
		if _, err := io.WriteString(w, got.Text); err != nil {
			return "", err
		}
		if r.Cursor = got.Next; r.Cursor == "" {
			return got.Name, nil
		}
	}
}

// exportFile writes a document into a file that only the person can read: whole,
// or not at all.
func (p *program) exportFile(ctx context.Context, s *session, chat, format, file string, force bool) (string, error) {
	path, err := absolute(p.cwd, file)
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(path)
	info, err := os.Stat(path)
	folder := err == nil && info.IsDir()
	if folder {
		dir = path
	}
	part, err := os.CreateTemp(dir, ".whippletree-export-*")
	if err != nil {
		return "", fail(exitFailed, "", "the file cannot be written: %w", err)
	}
	defer func() { _ = os.Remove(part.Name()) }()
	w := bufio.NewWriter(part)
	name, err := exportTo(ctx, s, chat, format, w)
	err = errors.Join(err, w.Flush())
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return "", err
	}
	if folder {
		path = filepath.Join(dir, filepath.Base(name))
	}
	if force {
		return path, os.Rename(part.Name(), path)
	}
	// A link never replaces what is there.
	if err = os.Link(part.Name(), path); errors.Is(err, fs.ErrExist) {
		return "", fail(exitFailed, fmt.Sprintf("whippletree export %s --output %s --force", chat, path), "%s exists", path)
	} else if err != nil {
		return "", err
	}
	return path, nil
}
