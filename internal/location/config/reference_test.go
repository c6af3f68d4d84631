package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A reference that the context does not list is reported with the reason.
func TestUnusedReferences(t *testing.T) {
	p := newPlace(t, map[string]string{userFile: `{"references": {
  "a": {"path": "p", "description": "d"}, "b": {"path": "p", "description": "d", "hidden": true},
  "c": "./c",
  "d": {"repository": "https://example.com/d", "description": "d"},
  "e": {"description": "d"},
  "f": {"path": "p"}}}`})
	var got []string
	for _, w := range p.mustLoad().Warnings {
		got = append(got, string(w.Kind)+" "+strings.TrimPrefix(p.short(w.String()), userFile+":"))
	}
	want := []string{
		"unused 3:8: references.c has no effect: agents see a reference with a description only: write path " +
			"and description",
		"unused 4:8: references.d has no effect: cairn does not clone repositories: clone it, and write the path of " +
			"the clone",
		"unused 5:8: references.e has no effect: it has no path",
		"unused 6:8: references.f has no effect: agents see a reference with a description only",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
