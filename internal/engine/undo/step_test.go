package undo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestFilesOfAStep(t *testing.T) {
	change := func(path session.FilePath, before, after string) session.FileChange {
		c := session.FileChange{Path: path}
		if before != "" {
			c.Before = session.PathState{Blob: before, Mode: session.ModeFile}
		}
		if after != "" {
			c.After = session.PathState{Blob: after, Mode: session.ModeFile}
		}
		return c
	}
	for name, c := range map[string]struct {
		changes []session.FileChange
		want    []string
	}{
		"nothing":            {nil, nil},
		"two files, sorted":  {[]session.FileChange{change("b", "1", "2"), change("a", "", "3")}, []string{"a", "b"}},
		"the same content":   {[]session.FileChange{change("a", "1", "1")}, nil},
		"there and back":     {[]session.FileChange{change("a", "1", "2"), change("a", "2", "1")}, nil},
		"written twice":      {[]session.FileChange{change("a", "1", "2"), change("a", "2", "2")}, []string{"a"}},
		"created, then gone": {[]session.FileChange{change("a", "", "2"), change("a", "2", "")}, nil},
	} {
		step := &Step{changed: map[session.FilePath]session.FileChange{}}
		step.addChanges(c.changes)
		end := &session.StepEnded{}
		step.FillEnd(t.Context(), end)
		if diff := cmp.Diff(c.want, end.Files); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if named := end.Before != "" && end.Snapshot != "" && end.Before != end.Snapshot; named != (c.want != nil) {
			t.Errorf("%s: states %q and %q", name, end.Before, end.Snapshot)
		}
	}
}
