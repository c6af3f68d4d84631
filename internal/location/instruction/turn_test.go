package instruction

import (
	"os"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// follow renders the contexts one after the other: the baseline of the first, then the updates.
func follow(t *testing.T, contexts ...func() systemcontext.Context) (texts []string) {
	t.Helper()
	var snapshot jsontext.Value
	for i, c := range contexts {
		if i == 0 {
			g, err := systemcontext.Initialize(t.Context(), c())
			if err != nil {
				t.Fatal(err)
			}
			texts, snapshot = append(texts, g.Baseline), g.Snapshot
			continue
		}
		o, err := systemcontext.Reconcile(t.Context(), c(), snapshot)
		if err != nil {
			t.Fatal(err)
		}
		if o.Kind == systemcontext.OutcomeUpdated {
			snapshot = o.Generation.Snapshot
		}
		texts = append(texts, o.Text)
	}
	return texts
}

// Instruction files below the location are found along the way to a path, announced together, and again when they
// change or are gone.
func TestNestedInstructions(t *testing.T) {
	w := newWorld(t, map[string]string{
		"repo/sub/deep/a/AGENTS.md": "outer", "repo/sub/deep/a/CLAUDE.md": "not this one",
		"repo/sub/deep/a/b/CLAUDE.md": "inner", "repo/sub/deep/a/b/x.go": "package b",
		"repo/sub/deep/AGENTS.md":  "here",
		"repo/sub/other/AGENTS.md": "beside",
	})
	found := w.opts.FindNested([]string{
		w.path("repo/sub/deep/a/b/x.go"), w.path("repo/sub/deep/main.go"), w.path("repo/sub/other/x.go"), "/etc/passwd",
	})
	want := []session.NestedInstruction{
		{Path: w.path("repo/sub/deep/a/AGENTS.md"), Root: w.opts.Directory},
		{Path: w.path("repo/sub/deep/a/b/CLAUDE.md"), Root: w.opts.Directory},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	now := func() systemcontext.Context { return w.opts.NestedContext(t.Context(), found) }
	got := follow(t, now, now, func() systemcontext.Context {
		w.write("repo/sub/deep/a/AGENTS.md", "new")
		return now()
	}, func() systemcontext.Context {
		if err := os.RemoveAll(w.path("repo/sub/deep/a")); err != nil {
			t.Fatal(err)
		}
		return now()
	})
	const a = "Instructions from: repo/sub/deep/a/AGENTS.md\n"
	const b = "\n\nInstructions from: repo/sub/deep/a/b/CLAUDE.md\ninner"
	wantTexts := []string{
		"These instructions apply to the files below the directory of each.\n\n" + a + "outer" + b, "",
		"The instructions for single directories have changed. What follows replaces all of them that you were given " +
			"earlier.\n\n" + a + "new" + b,
		"The instructions for single directories given earlier no longer apply; their files are gone: " +
			"repo/sub/deep/a/AGENTS.md, repo/sub/deep/a/b/CLAUDE.md",
	}
	for i := range got {
		got[i] = w.short(got[i])
	}
	if diff := cmp.Diff(wantTexts, got); diff != "" {
		t.Error(diff)
	}
	outside := append(found, session.NestedInstruction{Path: "/etc/hostname", Root: "/etc"})
	if c := w.opts.NestedContext(t.Context(), outside); c != nil {
		t.Errorf("a file outside of the project is read: %v", c)
	}
	w.opts.DisableProject = true
	w.write("repo/sub/deep/a/AGENTS.md", "again")
	if w.opts.FindNested([]string{w.path("repo/sub/deep/a/x")}) != nil || now() != nil {
		t.Error("project files are read although they are disabled")
	}
}

// The mode of planning is stated with the file of the plan, and its end is, too.
func TestModes(t *testing.T) {
	s := &session.Session{Slug: "brave-otter"}
	s.Time.Created = 42
	if got := PlanPath(s, "/repo", "/data/plans"); got != "/repo/.opencode/plans/42-brave-otter.md" {
		t.Error(got)
	}
	if got := PlanPath(s, "", "/data/plans"); got != "/data/plans/42-brave-otter.md" {
		t.Error(got)
	}
	in := func(agent string) func() systemcontext.Context {
		return func() systemcontext.Context { return ModeContext(agent, "/plan.md") }
	}
	got := follow(t, in("build"), in("plan"), in("plan"), in("build"), in("build"))
	ended := "The mode has changed from planning to work: files may be changed and commands may be run again, as the " +
		"rules allow. If /plan.md exists, it is the plan to carry out."
	want := []string{"", renderMode(mode{"plan", "/plan.md"}), "", ended, ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Entries of clients and references are stated, changed and removed one by one.
func TestEntriesAndReferences(t *testing.T) {
	entries := func(entries ...session.ContextEntry) func() systemcontext.Context {
		return func() systemcontext.Context { return EntryContext(entries) }
	}
	one, two := session.ContextEntry{Key: "a.b", Value: jsontext.Value(`"be <brief>"`)},
		session.ContextEntry{Key: "a.b", Value: jsontext.Value(`{"x":1}`)}
	got := follow(t, entries(one), entries(one), entries(two), entries())
	want := []string{
		"The client's context \"a.b\":\nbe <brief>", "", "The client's context \"a.b\" is now:\n{\"x\":1}",
		"The client's context \"a.b\" no longer applies.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	references := func(list ...Reference) func() systemcontext.Context {
		return func() systemcontext.Context { return ReferenceContext(list) }
	}
	got = follow(
		t, references(Reference{"docs", "/docs", "The manual."}), references(Reference{"api", "/api", "The API."}),
		references(),
	)
	want = []string{
		"These directories hold further material. Look there when a task is about what is described:\n" +
			"- docs (/docs): The manual.",
		"The directories with further material have changed. These, and no others, count now:\n- api (/api): The API.",
		"There are no directories with further material any more.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
