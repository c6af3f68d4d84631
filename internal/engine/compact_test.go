package engine

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// newSmallWindow returns a world whose model has a small window, and a session. The model answers with what answer
// returns.
func newSmallWindow(t *testing.T, answer func(*llm.Request) string) *world {
	t.Helper()
	w := newWorld(t, script.Script{})
	m := w.models["test/one"]
	m.Window = scope.Limits{Context: 4000, Output: 1000}
	m.Client = modelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			_ = yield(llm.TextStart{ID: "t"}, nil) && yield(llm.TextDelta{ID: "t", Delta: answer(req)}, nil) &&
				yield(llm.TextEnd{ID: "t"}, nil) && yield(llm.Finish{Reason: llm.FinishStop}, nil)
		}
	})
	w.compaction = scope.CompactionSettings{Auto: true, Turns: -1, Keep: 300}
	if _, err := w.engine.Commands.CreateSession(
		t.Context(), admit.CreateRequest{ID: "ses_a", Title: "t", Location: session.Location{Directory: "/w"}},
	); err != nil {
		t.Fatal("create the session:", err)
	}
	return w
}

func isForSummary(req *llm.Request) bool {
	return len(req.Tools) == 0 && strings.Contains(textOf(req), "## Goal")
}

func textOf(req *llm.Request) string {
	var b strings.Builder
	for _, text := range req.System {
		b.WriteString(text + "\n")
	}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if text, ok := p.(llm.Text); ok {
				b.WriteString(text.Text + "\n")
			}
		}
	}
	return b.String()
}

// sendPrompt sends a prompt and waits until the session is idle.
func sendPrompt(t *testing.T, w *world, text string) {
	t.Helper()
	r := admit.PromptRequest{SessionID: "ses_a", Prompt: session.Prompt{Text: text}}
	if _, err := w.engine.Commands.AdmitPrompt(t.Context(), r); err != nil {
		t.Fatal("admit the prompt:", err)
	}
	synctest.Wait()
}

func countCompactions(t *testing.T, w *world) (ended, failed int) {
	t.Helper()
	for _, row := range allEvents(t, w.store) {
		switch row.Kind {
		case session.KindCompactionEnded:
			ended++
		case session.KindCompactionFailed:
			failed++
		}
	}
	return ended, failed
}

// What the user asked for and pinned, changed files, todos and open questions are in the request after five
// compactions, even if the model that writes the summaries forgets everything.
func TestCompactionsKeepFacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last string
		w := newSmallWindow(t, func(req *llm.Request) string {
			if isForSummary(req) {
				return "## Goal\n- none"
			}
			last = textOf(req)
			return strings.Repeat("word ", 400)
		})
		sendPrompt(t, w, "NEEDLE-FIRST: build the parser")
		turn := session.OfTurn("msg_edit")
		ask := session.PendingAsk{ID: "per_1", SessionID: "ses_a", Action: "bash", Resources: []string{"NEEDLE-ASK"}}
		facts := []session.EventData{
			&session.TodosSet{Todos: []session.Todo{
				{Content: "NEEDLE-TODO", Status: session.TodoPending},
				{Content: "done already", Status: session.TodoCompleted},
			}},
			&session.ContextEntrySet{ContextEntry: session.ContextEntry{Key: "pin.001", Value: []byte(`"NEEDLE-PIN"`)}},
			&session.StepStarted{TurnFact: turn, Agent: "build"},
			&session.ToolInputStarted{TurnFact: turn, CallID: "c", PartID: "prt_c", Name: "edit"},
			&session.ToolCalled{TurnFact: turn, CallID: "c", PartID: "prt_c", Tool: "edit", Input: []byte(`{}`)},
			&session.ToolSuccess{
				TurnFact: turn, CallID: "c", PartID: "prt_c", Structured: []byte(`{"seen":{"/w/NEEDLE-FILE":"abc"}}`),
			},
			&session.StepEnded{TurnFact: turn, Finish: "stop"},
			&session.PermissionAsked{Ask: ask},
		}
		if err := w.engine.journal.AppendFacts(t.Context(), "ses_a", facts...); err != nil {
			t.Fatal("append the facts:", err)
		}
		sendPrompt(t, w, "NEEDLE-CONSTRAINT: never touch vendor/")
		for n := 0; n < 60; n++ {
			if ended, _ := countCompactions(t, w); ended >= 5 {
				break
			}
			sendPrompt(t, w, fmt.Sprintf("step %d", n))
		}
		sendPrompt(t, w, "NEEDLE-NOW")
		ended, failed := countCompactions(t, w)
		if ended < 5 || failed > 0 {
			t.Fatalf("%d compactions, %d failed", ended, failed)
		}
		for _, needle := range []string{
			"NEEDLE-FIRST", "NEEDLE-CONSTRAINT", "NEEDLE-PIN", "NEEDLE-FILE", "NEEDLE-TODO", "NEEDLE-ASK", "NEEDLE-NOW",
		} {
			if !strings.Contains(last, needle) {
				t.Errorf("the request has no %s:\n%s", needle, last)
			}
		}
		if strings.Contains(last, "done already") {
			t.Error("a todo that is done is still listed")
		}
		w.close(t)
		prove(t, w)
	})
}

// A provider that rejects every request as too large is asked a bounded number of times, also by later prompts and
// after restarts.
func TestOverflowForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests, summaries atomic.Int64
		w := newSmallWindow(t, func(req *llm.Request) string { return "fine" })
		w.models["test/one"].Window = scope.Limits{}
		sendPrompt(t, w, strings.Repeat("word ", 200))
		w.models["test/one"].Client = modelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				if isForSummary(req) {
					summaries.Add(1)
					text := llm.TextDelta{ID: "t", Delta: "## Goal\n- none"}
					_ = yield(llm.TextStart{ID: "t"}, nil) && yield(text, nil) && yield(llm.TextEnd{ID: "t"}, nil) &&
						yield(llm.Finish{Reason: llm.FinishStop}, nil)
					return
				}
				requests.Add(1)
				yield(nil, &llm.Error{Class: llm.Overflow, Status: 400, Message: "too long"})
			}
		})
		for n := range 6 {
			sendPrompt(t, w, fmt.Sprintf("again %d", n))
			w.kill(false)
			if _, err := w.engine.Recover(t.Context()); err != nil {
				t.Fatal("recover:", err)
			}
			synctest.Wait()
		}
		if requests.Load() > 6+3 || summaries.Load() > 3 { // the first one makes the request smaller
			t.Errorf("%d requests and %d summaries for 6 prompts", requests.Load(), summaries.Load())
		}
		w.close(t)
		prove(t, w)
	})
}

// If the model rejects the questions for summaries as too large, too, later prompts ask for no further summary.
func TestOverflowOfEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var summaries atomic.Int64
		w := newSmallWindow(t, func(req *llm.Request) string { return "fine" })
		sendPrompt(t, w, strings.Repeat("word ", 200))
		w.models["test/one"].Client = modelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				if isForSummary(req) {
					summaries.Add(1)
				}
				yield(nil, &llm.Error{Class: llm.Overflow, Status: 400, Message: "too long"})
			}
		})
		for n := range 4 {
			sendPrompt(t, w, fmt.Sprintf("again %d", n))
		}
		asked := summaries.Load()
		sendPrompt(t, w, "once more")
		if got := summaries.Load(); asked == 0 || got != asked {
			t.Errorf("%d questions for summaries after two prompts, %d after the third", asked, got)
		}
		w.close(t)
		prove(t, w)
	})
}

// A session whose model rejects requests far below the window that it is known by, or whose window is unknown, goes on:
// after a rejection less of the history stays, so that the next request is much smaller.
func TestWindowSmallerThanKnown(t *testing.T) {
	for _, known := range []int64{0, 200_000} {
		synctest.Test(t, func(t *testing.T) {
			w := newSmallWindow(t, nil)
			m := w.models["test/one"]
			m.Window, w.compaction.Keep = scope.Limits{Context: known}, 0
			var refused, reported []int64 // sizes in tokens
			w.report = func(_ session.ModelRef, _ scope.RequestSize, tokens int64) {
				if tokens > 0 { // the answers of this model have no usage
					reported = append(reported, tokens)
				}
			}
			m.Client = modelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
				return func(yield func(llm.Event, error) bool) {
					if size := scope.MeasureRequest(req).EstimateTokens(0); size > 17_000 {
						yield(nil, &llm.Error{Class: llm.Overflow, Status: 400, Message: "too long", Requested: size})
						refused = append(refused, size)
						return
					}
					text := llm.TextDelta{ID: "t", Delta: strings.Repeat("word ", 700)}
					if isForSummary(req) {
						text.Delta = "## Goal\n- none"
					}
					_ = yield(llm.TextStart{ID: "t"}, nil) && yield(text, nil) && yield(llm.TextEnd{ID: "t"}, nil) &&
						yield(llm.Finish{Reason: llm.FinishStop}, nil)
				}
			})
			for n := range 60 {
				sendPrompt(t, w, fmt.Sprintf("step %d", n))
			}
			for i, a := range turnsOf(t, w) {
				if a.Error != nil {
					t.Fatalf("window %d: answer %d failed: %v", known, i, a.Error)
				}
			}
			if ended, failed := countCompactions(t, w); ended < 2 || ended > 8 || failed > 0 {
				t.Errorf("window %d: %d compactions, %d failed", known, ended, failed)
			}
			if len(refused) == 0 || !slices.Equal(reported, refused) { // the sizes correct later estimates
				t.Errorf("window %d: the refusals name %v, learnt are %v", known, refused, reported)
			}
			w.close(t)
			prove(t, w)
		})
	}
}

// A process that dies at any point of a compaction leaves the session as it was before, or compacted; the next prompt
// is answered.
func TestCompactionCrashes(t *testing.T) {
	points := []fault.Name{fault.CompactStart, fault.CompactSummary, fault.CompactPreSwitch, fault.CompactSwitched}
	for _, point := range points {
		for _, action := range []string{"delay:100000h", "error"} {
			for _, power := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%.5s/power=%v", point, action, power), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { crashCompaction(t, point, action, power) })
				})
			}
		}
	}
}

func crashCompaction(t *testing.T, point fault.Name, action string, power bool) {
	restore, err := fault.Set(fmt.Sprintf("%s#1=%s", point, action))
	if err != nil {
		t.Fatal(err)
	}
	defer restore()
	w := newSmallWindow(t, func(req *llm.Request) string {
		if isForSummary(req) {
			return "## Goal\n- Words."
		}
		return strings.Repeat("word ", 400)
	})
	for n := range 8 {
		sendPrompt(t, w, fmt.Sprintf("step %d", n))
	}
	time.Sleep(20 * time.Second)
	synctest.Wait()
	if fault.HitCounts()[point] == 0 {
		t.Fatalf("the fault point %s was never passed", point)
	}
	restoreAll, _ := fault.Set("")
	w.kill(power)
	restoreAll()
	quiet, _ := fault.Set("")
	defer quiet()
	if _, err := w.engine.Recover(t.Context()); err != nil {
		t.Fatal("recover:", err)
	}
	synctest.Wait()
	sendPrompt(t, w, "after all")
	time.Sleep(time.Minute)
	synctest.Wait()
	err = w.store.View(t.Context(), func(r store.Reader) error {
		s, err := store.FindSession(r, "ses_a")
		if err == nil && s.Compacting != nil {
			t.Error("a compaction is still under way")
		}
		m, ok, err := store.NewestMessage(r, "ses_a", session.TypeAssistant)
		if a, isTurn := m.(*session.Assistant); err == nil && (!ok || !isTurn || a.Error != nil || a.Open()) {
			t.Errorf("the last prompt has no answer: %+v", m)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	w.close(t)
	prove(t, w)
	time.Sleep(200_000 * time.Hour) // the killed process can no longer reach the store
}

// A compaction that stops the work is one commit with the stop: a process that dies after it does not go on.
func TestStopOfCompactionSurvives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		restore, err := fault.Set(string(fault.CompactSwitched) + "#1=delay:100000h")
		if err != nil {
			t.Fatal(err)
		}
		defer restore()
		requests := 0
		w := newSmallWindow(t, func(req *llm.Request) string {
			requests++
			if isForSummary(req) {
				return "## Goal\n- Words."
			}
			return strings.Repeat("word ", 400)
		})
		w.compaction.Stop = true
		for n := 0; fault.HitCounts()[fault.CompactSwitched] == 0; n++ {
			if n == 8 {
				t.Fatal("nothing was compacted")
			}
			sendPrompt(t, w, fmt.Sprintf("step %d", n))
			time.Sleep(20 * time.Second)
			synctest.Wait()
		}
		before := requests
		w.kill(false)
		quiet, _ := fault.Set("")
		defer quiet()
		if _, err := w.engine.Recover(t.Context()); err != nil {
			t.Fatal("recover:", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if requests != before {
			t.Errorf("%d requests after the restart, want none", requests-before)
		}
		w.close(t)
		prove(t, w)
		time.Sleep(200_000 * time.Hour) // the killed process can no longer reach the store
	})
}

// Old outputs are hidden from the model when the prefix of its request changes anyway, and not before; the model reads
// where they are. If the configuration asks for it, they are hidden whenever work ends.
func TestOldOutputsAreHidden(t *testing.T) {
	output := strings.Repeat("word word ", 4800)
	for _, c := range []struct {
		name   string
		prune  scope.Prune
		change bool // another model answers the last prompt
		hidden int  // outputs in the last request
	}{
		{"same prefix", scope.PruneFree, false, 0},
		{"another model", scope.PruneFree, true, 4},
		{"never", scope.PruneNever, true, 0},
		{"whenever work ends", scope.PruneEager, false, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var last *llm.Request
				w := newSmallWindow(t, nil)
				client := modelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
					last = req
					call := llm.ToolCallEvent{
						ID: "c" + fmt.Sprint(len(req.Messages)), Name: "echo", Input: []byte(`{"text":"` + output + `"}`),
					}
					return func(yield func(llm.Event, error) bool) {
						if req.Messages[len(req.Messages)-1].Role != llm.RoleUser {
							_ = yield(llm.TextStart{ID: "t"}, nil) && yield(llm.TextDelta{ID: "t", Delta: "ok"}, nil) &&
								yield(llm.TextEnd{ID: "t"}, nil) && yield(llm.Finish{Reason: llm.FinishStop}, nil)
							return
						}
						_ = yield(call, nil) && yield(llm.Finish{Reason: llm.FinishToolCalls}, nil)
					}
				})
				for _, id := range []string{"test/one", "test/two"} {
					w.models[id].Client, w.models[id].Window = client, scope.Limits{}
				}
				w.compaction.Prune = c.prune
				for n := range 8 {
					sendPrompt(t, w, fmt.Sprintf("step %d", n))
				}
				if c.change {
					ref := session.ModelRef{ProviderID: "test", ID: "two"}
					if err := w.engine.Commands.SwitchModel(t.Context(), "ses_a", ref); err != nil {
						t.Fatal("switch the model:", err)
					}
				}
				sendPrompt(t, w, "last")
				hidden, shown := readOutputs(t, w, last, output)
				if hidden != c.hidden || shown != 9-hidden {
					t.Errorf("%d outputs are hidden, %d shown; want %d hidden", hidden, shown, c.hidden)
				}
				w.close(t)
				prove(t, w)
			})
		})
	}
}

// readOutputs counts the outputs of the request that are hidden, each in a file that holds it, and those that are
// shown.
func readOutputs(t *testing.T, w *world, req *llm.Request, output string) (hidden, shown int) {
	t.Helper()
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			r, ok := p.(llm.ToolResult)
			if !ok {
				continue
			}
			text := r.Content[0].(llm.Text).Text
			if text == output {
				shown++
				continue
			}
			hidden++
			_, rest, _ := strings.Cut(text, w.outputs.Dir)
			name := strings.TrimRight(strings.Fields(rest)[0], ".]),")
			if b, err := os.ReadFile(w.outputs.Dir + name); err != nil || string(b) != output {
				t.Errorf("the file that %q names has %d bytes: %v", text, len(b), err)
			}
		}
	}
	return hidden, shown
}
