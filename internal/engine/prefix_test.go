package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/anthropic"
	"github.com/cairn-dev/cairn/internal/llm/bedrock"
	"github.com/cairn-dev/cairn/internal/llm/gemini"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
	"github.com/cairn-dev/cairn/internal/llm/openairesponses"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/tool"
)

// thinker is a model that answers each prompt in two turns, reasoning with a call and then text, and keeps the encoded
// bodies of its requests.
type thinker struct {
	encode func(*llm.Request) ([]byte, error)
	echoes string // what its calls have the tool return
	bodies [][]byte
}

func (m *thinker) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	if m.encode != nil {
		body, err := m.encode(req)
		if err != nil {
			return func(yield func(llm.Event, error) bool) { yield(nil, &llm.Error{Class: llm.InvalidRequest, Err: err}) }
		}
		m.bodies = append(m.bodies, body)
	}
	said := []llm.Event{
		llm.TextStart{ID: "t"},
		llm.TextDelta{ID: "t", Delta: "done \n"},
		llm.TextEnd{ID: "t"},
		llm.Finish{Reason: llm.FinishStop},
	}
	if last := req.Messages[len(req.Messages)-1]; last.Role != llm.RoleTool {
		meta := llm.Metadata{
			"anthropic": jsontext.Value(`{"signature":"signed"}`),
			"bedrock":   jsontext.Value(`{"signature":"signed"}`),
			"openai":    jsontext.Value(`{"itemId":"rs_1","reasoningEncryptedContent":"sealed"}`),
		}
		said = []llm.Event{
			llm.ReasoningStart{ID: "r"},
			llm.ReasoningDelta{ID: "r", Delta: "hm"},
			llm.ReasoningEnd{ID: "r", Metadata: meta},
			llm.ToolCallEvent{
				ID: fmt.Sprint("call_", len(req.Messages)), Name: "echo",
				Input: jsontext.Value(`{"text":"` + cmp.Or(m.echoes, "a < b") + `", "path":"é"}`),
			},
			llm.Finish{Reason: llm.FinishToolCalls},
		}
	}
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range said {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// grows returns the members of a body that may only be extended from turn to turn: the messages, the tools and the
// system texts.
func grows(body []byte) (out map[string][]jsontext.Value, err error) {
	for _, mark := range []string{`,"cache_control":{"type":"ephemeral"}`, `,{"cachePoint":{"type":"default"}}`} {
		body = bytes.ReplaceAll(body, []byte(mark), nil)
	}
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	out = map[string][]jsontext.Value{}
	for _, name := range []string{"messages", "contents", "input"} {
		if raw, ok := fields[name]; ok {
			var list []jsontext.Value
			if err := json.Unmarshal(raw, &list); err != nil {
				return nil, err
			}
			out["messages"] = list
		}
	}
	for _, name := range []string{"system", "systemInstruction", "tools", "toolConfig", "instructions"} {
		if raw, ok := fields[name]; ok {
			out[name] = []jsontext.Value{raw}
		}
	}
	return out, nil
}

// Over fifty turns each request of a session begins, byte for byte, with all of the one before, over each protocol,
// also after a restart; and no alarm is raised.
func TestFiftyTurnsKeepTheirPrefix(t *testing.T) {
	for name, encode := range map[string]func(*llm.Request) ([]byte, error){
		"anthropic":       anthropic.NewDialect("claude-sonnet-4-5", true).Encode,
		"bedrock":         bedrock.NewDialect("anthropic.claude-sonnet-4-5-20250929-v1:0", true).Encode,
		"gemini":          gemini.Dialect{}.Encode,
		"openaichat":      openaichat.Dialect{}.Encode,
		"openairesponses": openairesponses.Dialect{Reasoning: true}.Encode,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, script.Script{})
				m := &thinker{encode: encode}
				w.models["test/one"].Client = m
				create(t, w)
				for i := range 25 {
					if i == 13 {
						w.kill(false)
					}
					promptImage(t, w, fmt.Sprintf("Do part %d of it, <b> & \"é\".", i))
				}
				if len(m.bodies) != 50 {
					t.Fatalf("%d requests", len(m.bodies))
				}
				stable(t, m.bodies)
				for _, a := range turnsOf(t, w) {
					if a.Error != nil || a.Prefix == nil || a.Prefix.Changed != "" {
						t.Errorf("%+v %+v", a.Prefix, a.Error)
					}
				}
				w.close(t)
			})
		})
	}
}

func stable(t *testing.T, bodies [][]byte) {
	t.Helper()
	before, err := grows(bodies[0])
	if err != nil || len(before["messages"]) == 0 || len(before) < 2 {
		t.Fatalf("%v, %v in %s", before, err, bodies[0])
	}
	for i, body := range bodies[1:] {
		now, err := grows(body)
		if err != nil {
			t.Fatal(err)
		}
		for member, list := range before {
			for j, item := range list {
				if j >= len(now[member]) || !bytes.Equal(item, now[member][j]) {
					t.Fatalf("request %d changes %s %d, which was %s, in\n%s", i+2, member, j, item, body)
				}
			}
		}
		if len(now["messages"]) <= len(before["messages"]) {
			t.Fatalf("request %d is not longer than the one before", i+2)
		}
		before = now
	}
}

// Over fifty turns with a change of the date, two edits of an instruction file, a switch of the agent and a prune, each
// request begins with all of the one before, but for one: the first of the other agent. The prune comes with it.
func TestFiftyTurnsOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{})
		m := &thinker{encode: openaichat.Dialect{}.Encode, echoes: strings.Repeat("0123456789", 2400)}
		w.models["test/one"].Client = m
		w.agents["plan"] = session.Agent{ID: "plan", Mode: session.ModePrimary, System: "You plan."}
		date, file := &source{key: "core/date", value: "monday"}, &source{key: "core/instructions", value: "Use tabs."}
		w.sources = []*source{date, file}
		create(t, w)
		for i := range 25 {
			switch i {
			case 4:
				date.value = "tuesday"
			case 8, 20:
				file.value += " Never sleep."
			case 16:
				if err := w.engine.Commands.SwitchAgent(t.Context(), "ses_a", "plan"); err != nil {
					t.Fatal("switch the agent:", err)
				}
			}
			promptImage(t, w, fmt.Sprintf("Do part %d of it.", i))
		}
		w.close(t)
		if len(m.bodies) != 50 {
			t.Fatalf("%d requests", len(m.bodies))
		}
		stable(t, m.bodies[:32])
		stable(t, m.bodies[32:])
		for i, a := range turnsOf(t, w) {
			want := session.PrefixCause("")
			if i == 32 {
				want = session.CauseAgent
			}
			if a.Prefix.Cause != want || a.Prefix.UnexpectedChange() != "" {
				t.Errorf("turn %d: %+v, want the cause %q", i+1, a.Prefix, want)
			}
		}
		hidden := func(body []byte) int { return bytes.Count(body, []byte("was removed from the conversation")) }
		if n := hidden(m.bodies[31]); n != 0 {
			t.Errorf("%d outputs are hidden before the switch", n)
		}
		if first, last := hidden(m.bodies[32]), hidden(m.bodies[49]); first == 0 || first != last {
			t.Errorf("%d outputs are hidden with the switch, and %d in the end", first, last)
		}
		kept, sent := countKept(t, m.bodies)
		t.Logf("%d of %d bytes of the requests began the next one", kept, sent)
	})
}

// countKept returns how many bytes of all requests but the last began the next one, in the order in which providers
// cache them, and how many there are.
func countKept(t *testing.T, bodies [][]byte) (kept, sent int) {
	t.Helper()
	members := []string{"tools", "messages"}
	before, err := grows(bodies[0])
	for _, body := range bodies[1:] {
		now, nowErr := grows(body)
		if err = errors.Join(err, nowErr); err != nil {
			t.Fatal(err)
		}
		same := true
		for _, member := range members {
			for i, item := range before[member] {
				sent += len(item)
				if same = same && i < len(now[member]) && bytes.Equal(item, now[member][i]); same {
					kept += len(item)
				}
			}
		}
		before = now
	}
	return kept, sent
}

func create(t *testing.T, w *world) {
	t.Helper()
	if _, err := w.engine.Commands.CreateSession(
		t.Context(), admit.CreateRequest{ID: "ses_a", Title: "test", Location: session.Location{Directory: "/w"}},
	); err != nil {
		t.Fatal("create the session:", err)
	}
}

func promptImage(t *testing.T, w *world, text string) {
	t.Helper()
	prompt := session.Prompt{
		Text: text, Files: []session.File{{URI: "data:image/png;base64,iVBORw0KGgo=", Mime: "image/png", Name: "a.png"}},
	}
	if _, err := w.engine.Commands.AdmitPrompt(
		t.Context(), admit.PromptRequest{SessionID: "ses_a", Prompt: prompt},
	); err != nil {
		t.Fatal("admit the prompt:", err)
	}
	synctest.Wait()
}

func turnsOf(t *testing.T, w *world) (turns []*session.Assistant) {
	t.Helper()
	err := w.store.View(context.Background(), func(r store.Reader) error {
		ms, err := store.ReadMessages(r, "ses_a", store.MessageQuery{After: -1})
		for _, m := range ms {
			if a, ok := m.(*session.Assistant); ok {
				turns = append(turns, a)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return turns
}

// Every change of a request's prefix is recorded with the part that changed and its cause. Only a change without a
// known cause raises the alarm. After a restart the part is named less exactly.
func TestPrefixChangesAreRecorded(t *testing.T) {
	agent := func(w *world, change func(a *session.Agent)) {
		a := w.agents["build"]
		change(&a)
		w.agents["build"] = a
	}
	with := func(w *world, extra ...tool.Tool) {
		w.tools = tool.NewRegistry(tool.Config{})
		if _, err := w.tools.Register(append(w.testTools(), extra...)...); err != nil {
			t.Fatal("register the tools:", err)
		}
	}
	zoom := func(says string) tool.Tool {
		return &testTool{def: tool.Definition{Name: "zoom", Description: says, Schema: jsontext.Value(`{"type":"object"}`)}}
	}
	for _, c := range []struct {
		name         string
		before, then func(w *world)
		want, coarse string
		cause        session.PrefixCause
	}{
		{name: "nothing"},
		{
			name: "the configured options of the model",
			then: func(w *world) {
				w.models["test/one"].Options = map[string]jsontext.Value{"reasoningEffort": jsontext.Value(`"high"`)}
			},
			want: "the model or its options changed",
		},
		{
			name: "the text of the agent", then: func(w *world) {
				agent(
					w, func(a *session.Agent) { a.System = "You build well." },
				)
			},
			want: "system text 1 of 1 changed", coarse: "the system texts changed",
		},
		{
			name: "the agent loses its text", then: func(w *world) { agent(w, func(a *session.Agent) { a.System = "" }) },
			want: "system text 1 of 1 was removed", coarse: "the system texts changed",
		},
		{
			name: "a new tool", then: func(w *world) { with(w, zoom("Zoom.")) }, want: "the tool zoom was added",
			coarse: "the tools changed",
		},
		{
			name: "another description", before: func(w *world) { with(w, zoom("Zoom.")) },
			then: func(w *world) { with(w, zoom("Zoom in.")) },
			want: "the tool zoom changed", coarse: "the tools changed",
		},
		{
			name: "a tool is denied",
			then: func(w *world) {
				agent(w, func(a *session.Agent) {
					a.Permissions = append(a.Permissions, session.Rule{Action: "write", Resource: "*", Effect: session.Deny})
				})
			},
			want: "the tool write was removed", coarse: "the tools changed",
		},
		{
			name: "the model can no longer see", before: func(w *world) { w.models["test/one"].Images = true },
			then: func(w *world) { w.models["test/one"].Images = false },
			want: "message 1 of 3 changed", coarse: "an earlier message changed",
		},
		{
			name: "another model",
			then: func(w *world) {
				if err := w.engine.Commands.SwitchModel(
					t.Context(), "ses_a", session.ModelRef{ProviderID: "test", ID: "two"},
				); err != nil {
					t.Error(err)
				}
			},
			want: "the model or its options changed", cause: session.CauseModel,
		},
		{
			name: "another agent", before: func(w *world) {
				w.agents["plan"] = session.Agent{ID: "plan", Mode: session.ModePrimary, System: "You plan."}
			},
			then: func(w *world) {
				if err := w.engine.Commands.SwitchAgent(t.Context(), "ses_a", "plan"); err != nil {
					t.Error(err)
				}
			},
			want: "system text 1 of 1 changed", coarse: "the system texts changed", cause: session.CauseAgent,
		},
		{
			name: "a summary",
			then: func(w *world) {
				if err := w.engine.journal.AppendFacts(
					t.Context(), "ses_a",
					&session.CompactionEnded{MessageID: w.engine.journal.NewMessageID(), Reason: "manual", Text: "Much."},
				); err != nil {
					t.Error(err)
				}
			},
			want: "the messages before the summary are gone", coarse: "the messages before the summary are gone",
			cause: session.CauseCompaction,
		},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", c.name, restart), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, script.Script{})
					w.models["test/one"].Client, w.models["test/two"].Client = &thinker{}, &thinker{}
					if c.before != nil {
						c.before(w)
					}
					create(t, w)
					promptImage(t, w, "one")
					if restart {
						w.kill(false)
					}
					if c.then != nil {
						c.then(w)
					}
					promptImage(t, w, "two")
					w.close(t)
					turns := turnsOf(t, w)
					want := c.want
					if restart && c.coarse != "" {
						want = c.coarse
					}
					got := turns[2].Prefix
					if got.Changed != want || got.Cause != c.cause || (got.UnexpectedChange() == "") != (want == "" || c.cause != "") {
						t.Errorf("got %q by %q, want %q by %q", got.Changed, got.Cause, want, c.cause)
					}
					if after := turns[3].Prefix; after.Changed != "" {
						t.Errorf("the turn after it: %+v", after)
					}
				})
			})
		}
	}
}
