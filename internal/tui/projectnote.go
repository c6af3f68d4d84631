package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/linediff"
	"github.com/cairn-dev/cairn/internal/statefile"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// noteMark begins a prompt that is a line for AGENTS.md, if it is typed first.
const noteMark = "# "

// maxInstructions bounds the file to which a line is added.
const maxInstructions = 1 << 20

// noteTyped keeps track of whether the text begins with a typed noteMark. A pasted heading is a prompt.
func (m *model) noteTyped() {
	text := m.editor.Text()
	m.isNote = strings.HasPrefix(text, noteMark) && (m.isNote || text == noteMark)
}

// previewNote shows what adding a line to the project's AGENTS.md changes; Enter adds it.
func previewNote(m *model, line string) tea.Cmd {
	if m.options.Remote {
		m.note = "AGENTS.md is on the server's machine: ask the model to add the line there"
		return nil
	}
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg {
		at, err := c.Location(ctx)
		var edit noteEdit
		if err == nil {
			edit, err = readNoteEdit(at.Directory, at.Project.Directory, line)
		}
		return func() tea.Cmd {
			if err != nil {
				m.showError("add a line to AGENTS.md", err)
				return nil
			}
			m.openDialog(&dialog.Text{
				Title: "Add this line to " + edit.path + "?", Changes: []dialog.FilePatch{{Path: edit.path, Patch: edit.patch()}},
				Enter: func() tea.Cmd { return writeNote(m, edit) }, EnterLabel: "add it", Type: m.typeText,
			})
			return nil
		}
	})
}

// noteEdit is a line that is added to a file.
type noteEdit struct {
	path          string
	before, after []byte
}

func (e noteEdit) patch() string { return linediff.Compare(e.before, e.after, 3).FormatPatch(e.path) }

// readNoteEdit returns the edit that adds the line: to the AGENTS.md of the directory, or else of the project.
func readNoteEdit(dir, project, line string) (noteEdit, error) {
	e := noteEdit{path: filepath.Join(dir, "AGENTS.md")}
	if _, err := os.Stat(e.path); errors.Is(err, fs.ErrNotExist) && filepath.IsAbs(project) && project != "/" {
		e.path = filepath.Join(project, "AGENTS.md")
	}
	info, err := os.Stat(e.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return e, err
	case !info.Mode().IsRegular() || info.Size() > maxInstructions:
		return e, fmt.Errorf("%s is not a regular file of at most 1 MiB", e.path)
	default:
		if e.before, err = os.ReadFile(e.path); err != nil {
			return e, err
		}
	}
	e.after = bytes.Clone(e.before)
	if n := len(e.after); n > 0 && e.after[n-1] != '\n' {
		e.after = append(e.after, '\n')
	}
	e.after = append(e.after, "- "+line+"\n"...)
	return e, nil
}

// writeNote writes the file unless it has changed since it was shown.
func writeNote(m *model, e noteEdit) tea.Cmd {
	mode := fs.FileMode(0o644)
	now, err := os.ReadFile(e.path)
	info, serr := os.Stat(e.path)
	if serr == nil {
		mode = info.Mode().Perm()
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
	case !bytes.Equal(now, e.before):
		err = errors.New("it has changed meanwhile; press enter again")
	default:
		err = statefile.Replace(e.path, e.after, mode)
	}
	if err != nil {
		m.showError("add a line to AGENTS.md", err)
		return nil
	}
	m.takeTyped(strings.TrimSpace(m.editor.Text()))
	m.note = "added to " + e.path + "; the model reads it with its next request"
	return nil
}
