package engine

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/compaction"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// titler is a model for titles: it answers the n-th request.
type titler func(ctx context.Context, n int) (string, error)

// entitling is a world in which model test/small generates titles with say.
func entitling(t *testing.T, say titler) (*world, *[]*llm.Request) {
	t.Helper()
	w := newWorld(
		t, script.Script{Turns: []script.Turn{{Repeat: true, Steps: []script.Step{{Text: script.Chunks{"ok"}}}}}},
	)
	var asked []*llm.Request
	w.agents[titleAgent] = session.Agent{ID: titleAgent, Hidden: true, System: "You name."}
	ref := session.ModelRef{ID: "small", ProviderID: "test"}
	w.small = &ref
	w.models[ref.String()] = &scope.Model{Ref: ref, APIName: "small", Cost: price, Client: modelFunc(func(
		ctx context.Context, req *llm.Request,
	) iter.Seq2[llm.Event, error] {
		asked = append(asked, req)
		return func(yield func(llm.Event, error) bool) {
			text, err := say(ctx, len(asked))
			if err != nil {
				yield(nil, err)
				return
			}
			_ = yield(llm.TextStart{ID: "t"}, nil) && yield(
				llm.TextDelta{ID: "t", Delta: text}, nil,
			) && yield(llm.TextEnd{ID: "t"}, nil) &&
				yield(llm.Finish{Reason: llm.FinishStop, Usage: llm.Usage{Input: 40, Output: 2}}, nil)
		}
	})}
	return w, &asked
}

type modelFunc func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error]

func (f modelFunc) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return f(ctx, req)
}

// begin creates session ses_a and prompts it.
func (w *world) begin(t *testing.T, r admit.CreateRequest, prompts ...string) {
	t.Helper()
	r.ID, r.Location = "ses_a", session.Location{Directory: "/w"}
	if _, err := w.engine.Commands.CreateSession(t.Context(), r); err != nil {
		t.Fatal("create the session:", err)
	}
	for _, p := range prompts {
		if _, err := w.engine.Commands.AdmitPrompt(
			t.Context(), admit.PromptRequest{SessionID: r.ID, Prompt: session.Prompt{Text: p}},
		); err != nil {
			t.Fatal("admit the prompt:", err)
		}
		if err := w.engine.Wait(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// spent returns the recorded cost of the small model and its number of rows.
func (w *world) spent(t *testing.T) (cost session.USD, lines int) {
	t.Helper()
	err := w.store.View(t.Context(), func(r store.Reader) error {
		all, err := r.Spent("ses_a", 0)
		for _, l := range all {
			if l.Model.ID == "small" {
				cost, lines = cost+l.Cost, lines+1
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return cost, lines
}

// The small model gets one request, concurrent with the first turn, with the first prompt only. Its cost is recorded as
// spend, not in the session's totals.
func TestGenerateTitle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, asked := entitling(t, func(context.Context, int) (string, error) {
			return "<think>so\nmuch</think>\n\n  Fixing the\tparser \nmore", nil
		})
		w.begin(t, admit.CreateRequest{}, "Fix the parser", "And the lexer")
		synctest.Wait()
		s, err := w.engine.journal.ReadSession(t.Context(), "ses_a")
		if err != nil || s.Title != "Fixing the parser" || s.TitledBy != "auto" {
			t.Errorf("%+v %v", s, err)
		}
		if cost, lines := w.spent(t); cost != 42*session.Dollar/1_000_000 || lines != 1 || s.Tokens.Input != 0 {
			t.Errorf("spent %v in %d lines, the session %+v", cost, lines, s.Tokens)
		}
		if len(*asked) != 1 {
			t.Fatalf("%d requests", len(*asked))
		}
		q := (*asked)[0]
		said := []llm.Message{
			{Role: llm.RoleUser, Parts: history.TextParts(compaction.TitleInstruction)}, {
				Role: llm.RoleUser, Parts: history.TextParts("Fix the parser"),
			},
		}
		if diff := cmp.Diff(said, q.Messages); diff != "" || !slices.Equal(
			q.System, []string{"You name."},
		) || len(q.Tools) > 0 || q.Session != "ses_a" {
			t.Errorf("%v %s", q, diff)
		}
		w.close(t)
	})
}

// Of a long prompt only the beginning is sent for the title.
func TestTitleOfALongPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, asked := entitling(t, func(context.Context, int) (string, error) { return "Words", nil })
		w.begin(t, admit.CreateRequest{}, strings.Repeat("wörd ", 100_000))
		synctest.Wait()
		if len(*asked) != 1 {
			t.Fatalf("%d requests", len(*asked))
		}
		size := 0
		for _, m := range (*asked)[0].Messages {
			for _, p := range m.Parts {
				size += len(p.(llm.Text).Text)
			}
		}
		if size < 1000 || size > compaction.MaxTitlePrompt+len(compaction.TitleInstruction) {
			t.Errorf("%d bytes are sent", size)
		}
		w.close(t)
	})
}

// If the provider rejects a picture, the title is requested once more without pictures and documents. Another rejection
// is not retried.
func TestGenerateTitleWithoutMedia(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := &llm.Error{Class: llm.InvalidRequest, Status: 400, Message: "Could not process image"}
		w, asked := entitling(t, func(_ context.Context, n int) (string, error) {
			if n < 2 {
				return "", refusal
			}
			return "A picture", nil
		})
		m := w.models["test/small"]
		m.Images, m.Documents = true, true
		if _, err := w.engine.Commands.CreateSession(
			t.Context(), admit.CreateRequest{ID: "ses_a", Location: session.Location{Directory: "/w"}},
		); err != nil {
			t.Fatal("create the session:", err)
		}
		files := []session.File{
			{URI: dataOf("image/png", pngHead), Name: "bad.png"}, {URI: dataOf("application/pdf", "%PDF-1.4"), Name: "good.pdf"},
		}
		if _, err := w.engine.Commands.AdmitPrompt(
			t.Context(), admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: "look", Files: files}},
		); err != nil {
			t.Fatal("admit the prompt:", err)
		}
		synctest.Wait()
		if s, err := w.engine.journal.ReadSession(t.Context(), "ses_a"); err != nil || s.Title != "A picture" {
			t.Errorf("%+v %v", s, err)
		}
		var sent [][2]int
		for _, r := range *asked {
			images, documents := media(r)
			sent = append(sent, [2]int{images, documents})
		}
		if diff := cmp.Diff([][2]int{{1, 1}, {0, 0}}, sent); diff != "" {
			t.Error(diff)
		}
		w.close(t)
	})
}

// A turn does not wait for its title. Generating a title is bounded in time; then the prompt is the title.
func TestGenerateTitleIsBounded(t *testing.T) {
	hang := func(ctx context.Context, _ int) (string, error) { <-ctx.Done(); return "", ctx.Err() }
	for name, c := range map[string]struct {
		say  titler
		then func(t *testing.T, w *world)
		want string
		asks int
	}{
		"hangs":    {hang, func(*testing.T, *world) { time.Sleep(compaction.TitleTimeout); synctest.Wait() }, "Fix the parser", 1},
		"shutdown": {hang, func(t *testing.T, w *world) { w.close(t) }, "Fix the parser", 1},
		"fails": {
			func(context.Context, int) (string, error) { return "", &llm.Error{Class: llm.Overloaded} },
			func(*testing.T, *world) { time.Sleep(compaction.TitleTimeout); synctest.Wait() }, "Fix the parser", compaction.TitleAttempts,
		},
		"fails once": {
			func(_ context.Context, n int) (string, error) {
				if n == 1 {
					return "", &llm.Error{Class: llm.Overloaded}
				}
				return "Parser", nil
			}, func(*testing.T, *world) { time.Sleep(compaction.TitleTimeout); synctest.Wait() }, "Parser", 2,
		},
		"panics": {func(context.Context, int) (string, error) {
			panic("broken")
		}, func(*testing.T, *world) {}, "Fix the parser", 1},
		"nothing": {
			func(context.Context, int) (string, error) { return " \n\x00", nil }, func(*testing.T, *world) {}, "Fix the parser",
			1,
		},
		"long": {func(context.Context, int) (string, error) {
			return strings.Repeat("ä", 200), nil
		}, func(*testing.T, *world) {}, strings.Repeat("ä", 97) + "...", 1},
		"endless": {
			func(context.Context, int) (string, error) {
				return strings.Repeat("\n", compaction.MaxTitleAnswer) + "x", nil
			},
			func(*testing.T, *world) {}, "Fix the parser", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, asked := entitling(t, c.say)
				w.begin(t, admit.CreateRequest{}, "Fix the parser")
				synctest.Wait()
				c.then(t, w)
				s, err := w.engine.journal.ReadSession(t.Context(), "ses_a")
				if err != nil || s.Title != c.want || len(*asked) != c.asks {
					t.Errorf("%q after %d requests, %v", s.Title, len(*asked), err)
				}
				w.close(t)
			})
		})
	}
}

// A name that the user gives the session meanwhile stays; the usage is recorded all the same.
func TestGeneratedTitleNeverReplacesUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		go1 := make(chan struct{})
		w, _ := entitling(t, func(context.Context, int) (string, error) { <-go1; return "Said", nil })
		w.begin(t, admit.CreateRequest{}, "Fix the parser")
		synctest.Wait() // the request is under way
		mine := "Mine"
		if err := w.engine.Commands.ChangeSession(t.Context(), "ses_a", admit.SessionChange{Title: &mine}); err != nil {
			t.Fatal(err)
		}
		close(go1)
		synctest.Wait()
		s, err := w.engine.journal.ReadSession(t.Context(), "ses_a")
		if _, lines := w.spent(t); err != nil || s.Title != mine || s.TitledBy != "user" || lines != 1 {
			t.Errorf("%+v %v, %d lines", s, err, lines)
		}
		w.close(t)
	})
}

// No title is generated for a session with a name, a child session, or a location without the agent or model; deleting
// the session cancels it.
func TestNoGeneratedTitle(t *testing.T) {
	for name, c := range map[string]struct {
		request admit.CreateRequest
		setup   func(w *world)
		want    string
	}{
		"named":    {admit.CreateRequest{Title: "Mine"}, func(*world) {}, "Mine"},
		"no agent": {admit.CreateRequest{}, func(w *world) { delete(w.agents, titleAgent) }, "Fix the parser"},
		"no model": {admit.CreateRequest{}, func(w *world) { w.small = nil }, "Fix the parser"},
		"broken":   {admit.CreateRequest{}, func(w *world) { delete(w.models, "test/small") }, "Fix the parser"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, asked := entitling(t, func(context.Context, int) (string, error) { return "Said", nil })
				c.setup(w)
				w.begin(t, c.request, "Fix the parser")
				synctest.Wait()
				if s, err := w.engine.journal.ReadSession(
					t.Context(), "ses_a",
				); err != nil || s.Title != c.want || len(*asked) > 0 {
					t.Errorf("%q after %d requests, %v", s.Title, len(*asked), err)
				}
				w.close(t)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w, _ := entitling(t, func(ctx context.Context, _ int) (string, error) { <-ctx.Done(); return "", context.Cause(ctx) })
		w.begin(t, admit.CreateRequest{}, "Fix the parser")
		if err := w.engine.Commands.DeleteSession(t.Context(), "ses_a"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ran := false
		w.engine.titles.Run("ses_a", func(context.Context) { ran = true }) // does nothing while a task runs
		synctest.Wait()
		if !ran {
			t.Error("the title task still runs")
		}
		w.close(t)
	})
}
