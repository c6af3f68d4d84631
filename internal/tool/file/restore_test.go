package file_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// callRecord holds the recorded results of a session.
type callRecord []result

type result struct {
	name       string
	structured jsontext.Value
}

// results implements tool.Call.Results.
func (r *callRecord) results(_ context.Context, visit func(string, jsontext.Value) bool) error {
	for i := len(*r) - 1; i >= 0; i-- {
		if !visit((*r)[i].name, (*r)[i].structured) {
			return nil
		}
	}
	return nil
}

// runCall runs a tool call in a session with the record and adds its result.
func (r *callRecord) runCall(b *tooltest.Bench, name string, input tooltest.Input) tool.Settlement {
	c := tool.Call{Name: name}
	c.Results = r.results
	s := b.CallWith(b.T.Context(), c, input)
	if s.Error == nil {
		*r = append(*r, result{name, s.Output.Structured})
	}
	return s
}

// After a restart, the state of files that the session saw is restored from its recorded results.
func TestSeenFilesAreRestored(t *testing.T) {
	var r callRecord
	b := tooltest.New(t)
	again := func() *tooltest.Bench { // a second process in the same Location
		return tooltest.New(t, func(c *tooltest.Config) { c.SetPaths(workpath.Resolver{Directory: b.Dir, Worktree: b.Dir}) })
	}
	for _, name := range []string{"same", "changed", "touched", "edited", "written", "patched", "gone", "twice", "never"} {
		b.WriteFile(name, "alpha\nbeta\n")
		if name != "never" {
			if s := r.runCall(b, "read", tooltest.Input{"filePath": name}); s.Error != nil {
				t.Fatal(tooltest.TextOf(s))
			}
		}
	}
	for _, s := range []tool.Settlement{
		r.runCall(b, "edit", tooltest.Input{"filePath": "edited", "oldString": "alpha", "newString": "ALPHA"}),
		r.runCall(b, "write", tooltest.Input{"filePath": "written", "content": "alpha written\n"}),
		r.runCall(
			b, "apply_patch", patchInput("*** Update File: patched", "@@", "-alpha", "+alpha patched", "*** Delete File: gone"),
		),
	} {
		if s.Error != nil {
			t.Fatal(tooltest.TextOf(s))
		}
	}
	b.WriteFile("changed", "alpha\nbeta\nand more\n")
	b.WriteFile("gone", "alpha is back\n")
	b.WriteFile("twice", "alpha changed, and read since\n")
	r.runCall(b, "read", tooltest.Input{"filePath": "twice"})
	if err := os.Chtimes(b.Path("touched"), time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"same", "touched", "edited", "written", "patched", "twice", "never", "gone"} {
		p := again()
		if s := r.runCall(
			p, "edit", tooltest.Input{"filePath": b.Path(name), "oldString": "alpha", "newString": "omega"},
		); s.Error != nil && name != "edited" {
			t.Errorf("%s: %s", name, tooltest.TextOf(s))
		}
	}
	p := again()
	for tries := range 2 {
		s := r.runCall(p, "edit", tooltest.Input{"filePath": b.Path("changed"), "oldString": "alpha", "newString": "omega"})
		if s.Error == nil || !strings.Contains(tooltest.TextOf(s), "since you last read it, so nothing was written") {
			t.Fatalf("%d: %s", tries, tooltest.TextOf(s))
		}
	}
	b.WriteFile("same", "alpha: changed by another program\n")
	s := r.runCall(p, "write", tooltest.Input{"filePath": b.Path("same"), "content": "mine\n"})
	if s.Error == nil || b.ReadFile("same") != "alpha: changed by another program\n" {
		t.Fatal(tooltest.TextOf(s))
	}
	r.runCall(p, "read", tooltest.Input{"filePath": b.Path("same")})
	if s := r.runCall(p, "write", tooltest.Input{"filePath": b.Path("same"), "content": "mine\n"}); s.Error != nil {
		t.Fatal(tooltest.TextOf(s))
	}
}

// Only results of the tools of this package are restored. While results cannot be read, nothing is written.
func TestRestoreIgnoresOtherResults(t *testing.T) {
	b := tooltest.New(t)
	path := b.WriteFile("f", "alpha\n")
	odd := callRecord{
		{"server_tool", seenJSON(path, "AAAAAAAAAAAAAAAAAAAAAA")},
		{"read", jsontext.Value(`{"seen":3}`)},
		{"read", jsontext.Value(`{"truncated":true}`)},
		{"read", nil},
		{"read", seenJSON(path, "not a print")},
		{"read", seenJSON(path, "1@2@3")},
		{"read", seenJSON(path, "AAAA")},
	}
	if s := odd.runCall(
		b, "edit", tooltest.Input{"filePath": path, "oldString": "alpha", "newString": "omega"},
	); s.Error != nil {
		t.Fatal(tooltest.TextOf(s))
	}
	b = tooltest.New(t)
	b.WriteFile("f", "alpha\n")
	c := tool.Call{Name: "edit"}
	c.Results = func(context.Context, func(string, jsontext.Value) bool) error { return errors.New("the disk is gone") }
	if s := b.CallWith(
		t.Context(), c, tooltest.Input{"filePath": "f", "oldString": "alpha", "newString": "omega"},
	); s.Error == nil || b.ReadFile("f") != "alpha\n" {
		t.Fatal(tooltest.TextOf(s))
	}
}

// seenJSON is a result with the fingerprint of a file.
func seenJSON(path, fingerprint string) jsontext.Value {
	return jsontext.Value(`{"seen":{` + tooltest.Quote(path) + `:` + tooltest.Quote(fingerprint) + `}}`)
}
