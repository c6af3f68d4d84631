package tui

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/transfer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// askExport asks where the session is written to.
func askExport(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	title := "Write the session to (.md: Markdown, else JSON)"
	m.openDialog(dialog.NewLineInput(title, string(m.session.ID)+".md", func(path string) tea.Cmd {
		return exportSession(m, path)
	}))
	return nil
}

// exportSession writes the session to a new file of this machine, without secrets: as Markdown if its name ends with
// .md, else in OpenCode's JSON. If that fails, the command is in the composer again.
func exportSession(m *model, path string) tea.Cmd {
	if path == "" || !m.hasSession() {
		return nil
	}
	typed := "/export " + path
	// The path is one of this machine; on another machine's server, of the process's own directory.
	if home := m.options.Env("HOME"); strings.HasPrefix(path, "~/") && home != "" {
		path = filepath.Join(home, path[2:])
	}
	if !filepath.IsAbs(path) && !m.options.Remote {
		path = filepath.Join(m.api.Directory, path)
	}
	// Write in the background, because a long session takes a while.
	s, left := *m.session, 0 // events change the model's
	e := transfer.Export{API: m.api}
	m.note = "exporting"
	return m.wait(func(ctx context.Context) tea.Msg {
		var err error
		if path, err = filepath.Abs(path); err == nil && m.options.Secrets != nil {
			e.Known, err = m.options.Secrets(ctx)
		}
		if err == nil {
			left, err = writeExport(ctx, &e, &s, path)
		}
		return func() tea.Cmd {
			if m.returnUnsent(typed, err) {
				return nil
			}
			m.note = "written to " + path
			if left > 0 {
				m.note += "; secrets were removed from " + terminal.FormatPlural(left, "text")
			}
			return nil
		}
	})
}

// writeExport writes a new file; one that cannot be completed is removed.
func writeExport(ctx context.Context, e *transfer.Export, s *session.Session, path string) (left int, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md":
		left, err = e.WriteMarkdown(ctx, w, s)
	case ".html":
		left, err = e.WriteHTML(ctx, w, s)
	default:
		left, err = e.Write(ctx, w, s)
	}
	if err = errors.Join(err, w.Flush(), f.Close()); err != nil {
		_ = os.Remove(path) // incomplete
	}
	return left, err
}
