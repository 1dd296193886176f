package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/wailsapp/wails/v2/pkg/runtime"

	"github.com/whippletree-app/whippletree/backend/api"
)

// SaveExport asks where a chat is to be written (markdown or json) and writes it
// there, readable by this person only: whole, or not at all. It returns the path,
// "" when the dialog was closed. The page never names a path by itself.
func (a *App) SaveExport(chatID, format string) (string, error) {
	client := a.client.Load()
	if client == nil {
		return "", errors.New("the host is not connected")
	}
	r := api.ExportRequest{ChatID: chatID, Format: format}
	first, err := api.Call[api.ExportResult](a.ctx, client, "chats.export", r)
	if err != nil {
		return "", err
	}
	path, err := runtime.SaveFileDialog(a.ctx, runtime.SaveDialogOptions{
		Title: "Export the chat", DefaultFilename: filepath.Base(first.Name), CanCreateDirectories: true,
	})
	if err != nil || path == "" {
		return "", err
	}
	return path, writeWhole(path, func(w io.Writer) error { return exported(a.ctx, client, r, first, w) })
}

// exported writes all parts of a document.
func exported(ctx context.Context, client *api.Client, r api.ExportRequest, part api.ExportResult, w io.Writer) (err error) {
	for {
		if _, err := io.WriteString(w, part.Text); err != nil {
			return err
		}
		if r.Cursor = part.Next; r.Cursor == "" {
			return nil
		}
		if part, err = api.Call[api.ExportResult](ctx, client, "chats.export", r); err != nil {
			return err
		}
	}
}

// writeWhole puts a file in place of another one once it is complete.
func writeWhole(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".whippletree-export-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	w := bufio.NewWriter(f)
	if err = errors.Join(write(w), w.Flush()); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
