package builtin_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
)

// record are the results of a session, as they are recorded.
type record []result

type result struct {
	name       string
	structured jsontext.Value
}

// results is tool.Call.Results.
func (r *record) results(_ context.Context, visit func(string, jsontext.Value) bool) error {
	for i := len(*r) - 1; i >= 0; i-- {
		if !visit((*r)[i].name, (*r)[i].structured) {
			return nil
		}
	}
	return nil
}

// do calls a tool in a session with that record, and adds the result to it.
func (r *record) do(b *bench, name string, input in) tool.Settlement {
	c := toolCall(name)
	c.Results = r.results
	s := b.callWith(b.t.Context(), c, input)
	if s.Error == nil {
		*r = append(*r, result{name, s.Output.Structured})
	}
	return s
}

// What a session saw of files is known after a restart: from the results that are recorded.
func TestWhatWasReadIsKnownAfterARestart(t *testing.T) {
	var r record
	b := newBench(t)
	again := func() *bench { // another process in the same place
		return newBench(t, func(c *configOf) { c.Directory, c.Worktree = b.dir, b.dir })
	}
	for _, name := range []string{"same", "changed", "touched", "edited", "written", "patched", "gone", "twice", "never"} {
		b.file(name, "alpha\nbeta\n")
		if name != "never" {
			if s := r.do(b, "read", in{"filePath": name}); s.Error != nil {
				t.Fatal(says(s))
			}
		}
	}
	for _, s := range []tool.Settlement{
		r.do(b, "edit", in{"filePath": "edited", "oldString": "alpha", "newString": "ALPHA"}),
		r.do(b, "write", in{"filePath": "written", "content": "alpha written\n"}),
		r.do(b, "apply_patch", patchOf("*** Update File: patched", "@@", "-alpha", "+alpha patched", "*** Delete File: gone")),
	} {
		if s.Error != nil {
			t.Fatal(says(s))
		}
	}
	b.file("changed", "alpha\nbeta\nand more\n")
	b.file("gone", "alpha is back\n")
	b.file("twice", "alpha changed, and read since\n")
	r.do(b, "read", in{"filePath": "twice"})
	if err := os.Chtimes(b.path("touched"), time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"same", "touched", "edited", "written", "patched", "twice", "never", "gone"} {
		p := again()
		if s := r.do(p, "edit", in{"filePath": b.path(name), "oldString": "alpha", "newString": "omega"}); s.Error != nil && name != "edited" {
			t.Errorf("%s: %s", name, says(s))
		}
	}
	p := again()
	for tries := range 2 {
		s := r.do(p, "edit", in{"filePath": b.path("changed"), "oldString": "alpha", "newString": "omega"})
		if s.Error == nil || !strings.Contains(says(s), "since you last read it, so nothing was written") {
			t.Fatalf("%d: %s", tries, says(s))
		}
	}
	b.file("same", "alpha: somebody else was here\n")
	s := r.do(p, "write", in{"filePath": b.path("same"), "content": "mine\n"})
	if s.Error == nil || b.content("same") != "alpha: somebody else was here\n" {
		t.Fatal(says(s))
	}
	r.do(p, "read", in{"filePath": b.path("same")})
	if s := r.do(p, "write", in{"filePath": b.path("same"), "content": "mine\n"}); s.Error != nil {
		t.Fatal(says(s))
	}
}

// Only results of our own tools count, whatever stands in them, and while they cannot be read nothing is written.
func TestRecallIsCareful(t *testing.T) {
	b := newBench(t)
	path := b.file("f", "alpha\n")
	odd := record{
		{"server_tool", mustJSON(in{"seen": in{path: "AAAAAAAAAAAAAAAAAAAAAA"}})},
		{"read", jsontext.Value(`{"seen":3}`)},
		{"read", jsontext.Value(`{"truncated":true}`)},
		{"read", nil},
		{"read", mustJSON(in{"seen": in{path: "not a print"}})},
		{"read", mustJSON(in{"seen": in{path: "1@2@3"}})},
		{"read", mustJSON(in{"seen": in{path: "AAAA"}})},
	}
	if s := odd.do(b, "edit", in{"filePath": path, "oldString": "alpha", "newString": "omega"}); s.Error != nil {
		t.Fatal(says(s))
	}
	b = newBench(t)
	b.file("f", "alpha\n")
	c := toolCall("edit")
	c.Results = func(context.Context, func(string, jsontext.Value) bool) error { return errors.New("the disk is gone") }
	if s := b.callWith(t.Context(), c, in{"filePath": "f", "oldString": "alpha", "newString": "omega"}); s.Error == nil || b.content("f") != "alpha\n" {
		t.Fatal(says(s))
	}
}
