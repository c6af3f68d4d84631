package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/tool"
)

// forkWorld is a world with a session of two prompts; the first answer calls a tool.
type forkWorld struct {
	*world
	messages []session.Message // of ses_a
}

func newForkWorld(t *testing.T, last script.Turn) *forkWorld {
	t.Helper()
	text := func(s string) script.Turn { return script.Turn{Steps: []script.Step{{Text: script.Chunks{s}}}} }
	call := script.Turn{Steps: []script.Step{
		{
			Text: script.Chunks{"Looking."},
		}, {Call: &script.Call{ID: "c1", Name: "echo", Arguments: []byte(`{"text":"fine"}`)}},
	}}
	w := &forkWorld{
		world: newWorld(t, script.Script{Turns: []script.Turn{call, text("It is fine."), text("Second."), last}}),
	}
	r := admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/work"}, Title: "T"}
	r.Permission = []session.Rule{{Action: "bash", Resource: "*", Effect: session.Deny}}
	if _, err := w.engine.Commands.CreateSession(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	w.prompt(t, "ses_a", "one")
	w.prompt(t, "ses_a", "two")
	w.messages = w.read(t, "ses_a")
	return w
}

func (w *forkWorld) prompt(t *testing.T, id session.ID, text string) {
	t.Helper()
	r := admit.PromptRequest{SessionID: id, Prompt: session.Prompt{Text: text}}
	if _, err := w.engine.Commands.AdmitPrompt(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func (w *forkWorld) read(t *testing.T, id session.ID) (ms []session.Message) {
	t.Helper()
	err := w.store.View(t.Context(), func(r store.Reader) (err error) {
		ms, err = store.ReadMessages(r, id, store.MessageQuery{After: -1})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

// lastRequest returns the newest request, a line per message.
func (w *forkWorld) lastRequest() (out []string) {
	rs := w.player.ListRequests()
	for _, m := range rs[len(rs)-1].Messages {
		line := string(m.Role)
		for _, p := range m.Parts {
			if text, ok := p.(llm.Text); ok {
				line += " " + text.Text
			} else {
				line += fmt.Sprintf(" %T", p)
			}
		}
		out = append(out, line)
	}
	return out
}

// A fork shows its model what the source's model saw before the point. It has ids of its own, the source's rules, and
// costs nothing; the source does not change.
func TestFork(t *testing.T) {
	all := []string{
		"user one",
		"assistant Looking. llm.ToolCall",
		"tool llm.ToolResult",
		"assistant It is fine.",
		"user two",
		"assistant Second.",
	}
	for name, c := range map[string]struct {
		end    func(w *forkWorld) admit.CopyEnd
		staged bool // a revert to the first prompt is staged
		want   []string
	}{
		"all": {func(*forkWorld) admit.CopyEnd { return admit.CopyEnd{} }, false, all},
		"before a prompt": {func(w *forkWorld) admit.CopyEnd {
			return admit.CopyEnd{Before: w.messages[3].Meta().ID}
		}, false, all[:4]},
		"before an answer": {func(w *forkWorld) admit.CopyEnd {
			return admit.CopyEnd{Before: w.messages[2].Meta().ID}
		}, false, all[:3]},
		"before a call": {func(w *forkWorld) admit.CopyEnd {
			a := w.messages[1].(*session.Assistant)
			return admit.CopyEnd{Before: a.ID, PartID: a.Content[1].ItemID()}
		}, false, []string{"user one", "assistant Looking."}},
		"before the first part": {func(w *forkWorld) admit.CopyEnd {
			a := w.messages[1].(*session.Assistant)
			return admit.CopyEnd{Before: a.ID, PartID: a.Content[0].ItemID()}
		}, false, []string{"user one"}},
		"what a revert hides": {func(*forkWorld) admit.CopyEnd { return admit.CopyEnd{} }, true, all[:4]},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newForkWorld(t, script.Turn{Steps: []script.Step{{Text: script.Chunks{"Next."}}}})
				defer w.close(t)
				if c.staged {
					p := undo.Point{MessageID: w.messages[3].Meta().ID, Messages: true, Files: true}
					first := undo.Target{Point: p, Before: true}
					if _, err := w.engine.Commands.StageRevert(t.Context(), "ses_a", first); err != nil {
						t.Fatal(err)
					}
				}
				s, err := w.engine.Commands.ForkSession(t.Context(), "ses_a", c.end(w))
				if err != nil {
					t.Fatal(err)
				}
				if s.Title != "T (fork #1)" || s.Cost != 0 || s.Fork.From != "ses_a" || len(s.Permission) != 1 ||
					s.ParentID != "" {
					t.Errorf("the fork is %+v", s)
				}
				for _, m := range w.read(t, s.ID) {
					if slices.ContainsFunc(
						w.messages,
						func(o session.Message) bool { return o.Meta().ID == m.Meta().ID },
					) {
						t.Errorf("message %s is in both", m.Meta().ID)
					}
					if a, ok := m.(*session.Assistant); ok && (a.Open() || a.ParentID == "") {
						t.Errorf("the turn is open, or answers nothing: %+v", a)
					}
				}
				w.prompt(t, s.ID, "now")
				if d := cmp.Diff(append(slices.Clone(c.want), "user now"), w.lastRequest()); d != "" {
					t.Errorf("the request of the fork (-want +got):\n%s", d)
				}
				if d := cmp.Diff(w.messages, w.read(t, "ses_a")); d != "" {
					t.Errorf("the source changed:\n%s", d)
				}
				again, err := w.engine.Commands.ForkSession(t.Context(), s.ID, admit.CopyEnd{})
				if err != nil || again.Title != "T (fork #2)" || again.Fork.Root != "ses_a" {
					t.Errorf("the fork of the fork is %+v: %v", again, err)
				}
				prove(t, w.world)
				if err := w.engine.Commands.DeleteSession(t.Context(), "ses_a"); err != nil {
					t.Error(err)
				}
				w.prompt(t, again.ID, "after the source is gone")
				if got := w.lastRequest(); got[0] != "user one" {
					t.Errorf("the request of the fork of the fork is %q", got)
				}
			})
		})
	}
}

// The output files of a deleted session are removed at once, except for those that a fork names: they are removed with the
// last of the forks.
func TestDeletedForkOutputs(t *testing.T) {
	for name, c := range map[string]struct {
		order string   // of deletions: the source, its fork, and the fork of that
		left  []string // whose files are left after each
	}{
		"middle first":   {"abs", []string{"abs", "s", ""}},
		"fork last":      {"sba", []string{"abs", "as", ""}},
		"source last":    {"bas", []string{"as", "s", ""}},
		"in their order": {"sab", []string{"abs", "abs", ""}},
		"last fork last": {"asb", []string{"abs", "abs", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testDeletedForkOutputs(t, c.order, c.left) })
		})
	}
}

func testDeletedForkOutputs(t *testing.T, order string, left []string) {
	call := script.Turn{Steps: []script.Step{
		{Call: &script.Call{ID: "c1", Name: "echo", Arguments: []byte(`{"text":"one\ntwo\nthree"}`)}},
	}}
	text := script.Turn{Steps: []script.Step{{Text: script.Chunks{"Done."}}}}
	w := &forkWorld{world: newWorld(t, script.Script{Turns: []script.Turn{call, text, call, text, call, text}})}
	defer w.close(t)
	w.tools = tool.NewRegistry(tool.Config{Outputs: w.outputs, Limits: tool.Limits{Lines: 1}})
	if _, err := w.tools.Register(w.testTools()...); err != nil {
		t.Fatal(err)
	}
	// Each session has a file of its own, and names those of the ones that it was copied from.
	r := admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/work"}, Title: "T"}
	if _, err := w.engine.Commands.CreateSession(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	ids := map[rune]session.ID{'s': "ses_a"}
	w.prompt(t, ids['s'], "go")
	for _, step := range []struct{ from, to rune }{{'s', 'a'}, {'a', 'b'}} {
		s, err := w.engine.Commands.ForkSession(t.Context(), ids[step.from], admit.CopyEnd{})
		if err != nil {
			t.Fatal(err)
		}
		ids[step.to] = s.ID
		w.prompt(t, s.ID, "go")
	}
	listFiles := func() (left string) {
		for _, c := range "abs" {
			if len(w.outputs.List(ids[c])) == 1 {
				left += string(c)
			}
		}
		return left
	}
	if got := listFiles(); got != "abs" {
		t.Fatalf("files of %q, want one of each session", got)
	}
	for i, c := range order {
		if err := w.engine.Commands.DeleteSession(t.Context(), ids[c]); err != nil {
			t.Fatal(err)
		}
		if got := listFiles(); got != left[i] {
			t.Errorf("after the deletion of %q: files of %q are left, want %q", order[:i+1], got, left[i])
		}
	}
}

// A working session is forked with what it has: the running call is interrupted in the fork, and goes on in the source.
func TestForkOfWorkingSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newForkWorld(t, script.Turn{Steps: []script.Step{{Text: script.Chunks{"Half"}, Open: true}, {Gate: "g"}}})
		defer w.close(t)
		w.player.Gates = map[string]chan struct{}{"g": make(chan struct{})}
		w.prompt(t, "ses_a", "three")
		s, err := w.engine.Commands.ForkSession(t.Context(), "ses_a", admit.CopyEnd{})
		if err != nil {
			t.Fatal(err)
		}
		ms := w.read(t, s.ID)
		a, ok := ms[len(ms)-1].(*session.Assistant)
		if !ok || a.Error == nil || a.Error.Reason != session.ReasonAborted ||
			!strings.Contains(a.Error.Message, "forked") {
			t.Errorf("the last message is %+v, %+v", a, a.Error)
		}
		if err := w.engine.Interrupt(t.Context(), "ses_a"); err != nil {
			t.Error(err)
		}
		prove(t, w.world)
	})
}

func TestForkIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newForkWorld(t, script.Turn{Steps: []script.Step{{Text: script.Chunks{"Next."}}}})
		defer w.close(t)
		for _, c := range []struct {
			id  session.ID
			end admit.CopyEnd
		}{
			{"ses_none", admit.CopyEnd{}},
			{"ses_a", admit.CopyEnd{Before: "msg_none"}},
			{"ses_a", admit.CopyEnd{Before: w.messages[1].Meta().ID, PartID: "prt_none"}},
			{"ses_a", admit.CopyEnd{Before: w.messages[0].Meta().ID, PartID: "prt_none"}},
		} {
			_, err := w.engine.Commands.ForkSession(t.Context(), c.id, c.end)
			if e, ok := errors.AsType[*session.Error](err); !ok || e.Code != session.CodeNotFound {
				t.Errorf("%s %+v: %v", c.id, c.end, err)
			}
		}
	})
}

// An unknown point changes nothing, and neither does a revert of a working session.
func TestRevertIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newForkWorld(t, script.Turn{Steps: []script.Step{{Gate: "g"}}})
		defer w.close(t)
		stage := func(p undo.Point, before bool) session.Code {
			p.Messages, p.Files = true, true
			_, err := w.engine.Commands.StageRevert(t.Context(), "ses_a", undo.Target{Point: p, Before: before})
			e, _ := errors.AsType[*session.Error](err)
			if e == nil {
				t.Fatalf("%+v: %v", p, err)
			}
			return e.Code
		}
		turn := w.messages[1].Meta().ID
		for _, before := range []bool{false, true} {
			for _, p := range []undo.Point{{MessageID: "msg_none"}, {MessageID: turn, PartID: "prt_none"}} {
				if got := stage(p, before); got != session.CodeNotFound {
					t.Errorf("%+v, before %v: %s", p, before, got)
				}
			}
		}
		w.player.Gates = map[string]chan struct{}{"g": make(chan struct{})}
		w.prompt(t, "ses_a", "three")
		if got := stage(undo.Point{MessageID: turn}, true); got != session.CodeConflict {
			t.Errorf("at work: %s", got)
		}
		if s, err := w.engine.journal.ReadSession(t.Context(), "ses_a"); err != nil || s.Revert != nil {
			t.Errorf("a revert is staged: %+v, %v", s.Revert, err)
		}
		if err := w.engine.Interrupt(t.Context(), "ses_a"); err != nil {
			t.Error(err)
		}
	})
}

// What a process left of a revert when it died is completed before a prompt or another revert is accepted.
func TestHalfRevertIsCompleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newForkWorld(t, script.Turn{Steps: []script.Step{{Text: script.Chunks{"Next."}}}})
		defer w.close(t)
		half := session.Revert{MessageID: w.messages[2].Meta().ID, Exclusive: true, Phase: session.RevertApplying}
		read := func() *session.Revert {
			s, err := w.engine.journal.ReadSession(t.Context(), "ses_a")
			if err != nil {
				t.Fatal(err)
			}
			return s.Revert
		}
		for what, act := range []func(){
			func() {
				target := undo.Target{Before: true, Point: undo.Point{Messages: true, Files: true}}
				if _, err := w.engine.Commands.StageRevert(t.Context(), "ses_a", target); err != nil {
					t.Error("revert:", err)
				}
			},
			func() { w.prompt(t, "ses_a", "three") },
		} {
			err := w.engine.journal.AppendFacts(t.Context(), "ses_a", &session.RevertStaged{Revert: half})
			if err != nil {
				t.Fatal(err)
			}
			act()
			synctest.Wait()
			if r := read(); r != nil && r.Phase != session.RevertDone {
				t.Errorf("after step %d the revert is %s", what, r.Phase)
			}
			if _, err := w.engine.Commands.ClearRevert(t.Context(), "ses_a"); err != nil {
				t.Fatal(err)
			}
		}
	})
}
