package tui

import (
	"bytes"
	"context"
	"errors"
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

// noteLine returns the line for AGENTS.md that the composer has: one that begins with noteMark. A pasted heading is a
// prompt, and so is text of several lines.
func (m *model) noteLine() (line string, ok bool) {
	line, ok = strings.CutPrefix(m.editor.Text(), noteMark)
	line = strings.TrimSpace(line)
	return line, ok && line != "" && !m.editor.BeginsWithPaste() && !strings.Contains(line, "\n")
}

// previewNote shows what adding a line to the project's AGENTS.md changes; Enter adds it and takes the typed text out
// of the composer.
func previewNote(m *model, line, typed string) tea.Cmd {
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
				Enter: func() tea.Cmd { return writeNote(m, edit, typed) }, EnterLabel: "add it", Type: m.typeText,
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
	var err error
	if e.before, err = statefile.ReadRegular(e.path, maxInstructions); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return e, err
	}
	e.after = bytes.Clone(e.before)
	if n := len(e.after); n > 0 && e.after[n-1] != '\n' {
		e.after = append(e.after, '\n')
	}
	e.after = append(e.after, "- "+line+"\n"...)
	return e, nil
}

// write writes the file unless it has changed since it was read.
func (e noteEdit) write() error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(e.path); err == nil {
		mode = info.Mode().Perm()
	}
	now, err := statefile.ReadRegular(e.path, maxInstructions)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case !bytes.Equal(now, e.before):
		return errors.New("it has changed meanwhile; press enter again")
	}
	return statefile.Replace(e.path, e.after, mode)
}

// writeNote writes the file in the background, and takes its text out of the composer if that is still there.
func writeNote(m *model, e noteEdit, typed string) tea.Cmd {
	return m.callAPI("add a line to AGENTS.md", func(context.Context) error { return e.write() }, func() tea.Cmd {
		m.history.Add(typed)
		m.clearIfTyped(typed)
		m.note = "added to " + e.path + "; the model reads it with its next request"
		return nil
	})
}
