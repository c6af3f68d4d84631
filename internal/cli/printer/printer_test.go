package printer

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// testInvocation returns an invocation that writes both streams into one buffer, so that their order shows.
func testInvocation() (*cli.Invocation, *bytes.Buffer) {
	var b bytes.Buffer
	env := func(name string) string { return map[string]string{"LANG": "C.UTF-8"}[name] }
	return cli.NewInvocation(nil, cli.Process{Stdout: &b, Stderr: &b, Env: env}), &b
}

func fragment(part session.PartID, item session.FragmentItem, offset int, delta string) session.Fragment {
	return session.Fragment{SessionID: "ses_1", PartID: part, Item: item, Offset: offset, Delta: delta}
}

func TestTextView(t *testing.T) {
	a, b := testInvocation()
	v, asking := NewText(a, false), false
	v.IsAsking = func() bool { return asking }
	play := func(data ...session.EventData) {
		for _, e := range story(data...) {
			v.ShowEvent(e)
		}
	}
	play(mine(), begin("msg_a"))
	v.ShowFragment(fragment("prt_t", session.FragmentText, 0, "Let me "))
	v.ShowFragment(fragment("prt_t", session.FragmentText, 7, "look"))
	v.ShowFragment(fragment("prt_t", session.FragmentText, 0, "Let me look.")) // after the connection was made again
	play(text("msg_a", "Let me look. Now."))
	play(called("prt_1", "read", `{"filePath":"README.md"}`), called("prt_2", "bash", "{\"command\":\"make\\ncheck\"}"))
	asking = true
	b.WriteString("? may I\n  > ")
	play(&session.ToolSuccess{PartID: "prt_1"}) // shown after the dialog
	b.WriteString("y\n")
	asking = false
	late := &session.ToolFailed{PartID: "prt_2", Error: *session.Fail(session.ReasonTool, "exit 2\nmore")}
	e := story(late)[0]
	late.Timestamp = 9000
	v.ShowEvent(e)
	play(&session.Retried{Attempt: 1, Next: 3000, Error: session.RetryError{Message: "503 overloaded"}})
	v.ShowFragment(fragment("prt_r", session.FragmentReasoning, 0, "hidden"))
	play(&session.TextEnded{TurnFact: session.OfTurn("msg_b"), PartID: "prt_u", Text: "Done."})
	v.ShowFragment(fragment("prt_u", session.FragmentText, 0, "Done.")) // too late
	v.ShowResult(Result{
		SessionID: "ses_1", Model: "p/m", Usage: session.Tokens{Input: 1234, Output: 50, Reasoning: 6},
		Cost:     session.Dollar / 800,
		Continue: `cairn run -s ses_1 "…"`,
	})
	want := `Let me look. Now.
→ read README.md
→ bash make…
? may I
  > y
✓ read README.md
✗ bash make… (7.9s): exit 2…
! 503 overloaded; attempt 2 starts in 2s
Done.
p/m · 1,234 tokens in, 56 out · $0.0013 · ses_1 · continue with: cairn run -s ses_1 "…"
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}

// TestReplayedReport: the report of a subagent that worked in the background is replayed as a line about it.
func TestReplayedReport(t *testing.T) {
	a, b := testInvocation()
	v := NewText(a, false)
	v.ReplayMessage(&session.User{
		Text:  "<task id=\"ses_2\" state=\"error\">\n<task_error>\nno key\n</task_error>\n</task>",
		Parts: []session.PromptPart{{Extra: jsontext.Value(`{"synthetic":true}`)}},
	})
	if got, want := b.String(), a.Marks.Dot+" the subagent ses_2 failed: no key\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestThinking(t *testing.T) {
	a, b := testInvocation()
	v := NewText(a, true)
	v.ShowFragment(fragment("prt_r", session.FragmentReasoning, 0, "Hm, "))
	v.ShowEvent(story(&session.ReasoningEnded{PartID: "prt_r", Text: "Hm, so."})[0])
	v.ShowFragment(fragment("prt_t", session.FragmentText, 0, "Yes."))
	v.ShowResult(Result{Error: &ResultError{Message: "broken", Hint: "Mend it."}})
	if got, want := b.String(), "Hm, so.\nYes.\ncairn: broken\nMend it.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLineView(t *testing.T) {
	a, b := testInvocation()
	v := NewJSONLines(a, true)
	for _, e := range story(
		mine(),
		begin("msg_a"),
		&session.ReasoningStarted{TurnFact: session.OfTurn("msg_a"), PartID: "prt_r"},
		&session.ReasoningEnded{TurnFact: session.OfTurn("msg_a"), PartID: "prt_r", Text: "hm"},
		&session.TextStarted{TurnFact: session.OfTurn("msg_a"), PartID: "prt_t"},
		text("msg_a", "a <b>\n"),
		called("prt_1", "read", `{"filePath":"x"}`),
		&session.ToolSuccess{
			TurnFact: session.OfTurn("msg_a"), CallID: "c", PartID: "prt_1", Title: "x",
			Content: session.TextContent("1: hi"), Structured: jsontext.Value(`{"n":1}`),
		},
		called("prt_2", "bash", `{}`),
		&session.ToolFailed{
			TurnFact: session.OfTurn("msg_a"), CallID: "c", PartID: "prt_2",
			Error: *session.Fail(session.ReasonTool, "no"),
		},
		end("tool-calls"),
		begin("msg_b"),
		failed(session.ReasonAPI, "overloaded"),
		begin("msg_c"),
		failed(session.ReasonAuth, "bad key"),
	) {
		v.ShowEvent(e)
	}
	v.ShowResult(
		Result{
			IsError:   true,
			SessionID: "ses_1",
			ExitCode:  cli.ExitProvider,
			Denials:   []follow.Denial{},
			Error:     &ResultError{Name: "provider", Message: "bad key"},
		},
	)
	want := `{"type":"step_start","timestamp":1100,"sessionID":"ses_1","part":{"id":"prt_a-start","sessionID":"ses_1","messageID":"msg_a","type":"step-start"}}
{"type":"reasoning","timestamp":1300,"sessionID":"ses_1","part":{"id":"prt_r","sessionID":"ses_1","messageID":"msg_a","type":"reasoning","text":"hm","time":{"start":1200,"end":1300}}}
{"type":"text","timestamp":1500,"sessionID":"ses_1","part":{"id":"prt_t","sessionID":"ses_1","messageID":"msg_a","type":"text","text":"a <b>\n","time":{"start":1400,"end":1500}}}
{"type":"tool_use","timestamp":1700,"sessionID":"ses_1","part":{"id":"prt_1","sessionID":"ses_1","messageID":"msg_a","type":"tool","callID":"c","tool":"read","state":{"status":"completed","input":{"filePath":"x"},"output":"1: hi","title":"x","metadata":{"n":1},"time":{"start":1600,"end":1700}}}}
{"type":"tool_use","timestamp":1900,"sessionID":"ses_1","part":{"id":"prt_2","sessionID":"ses_1","messageID":"msg_a","type":"tool","callID":"c","tool":"bash","state":{"status":"error","input":{},"error":"no","time":{"start":1800,"end":1900}}}}
{"type":"step_finish","timestamp":2000,"sessionID":"ses_1","part":{"id":"prt_a-finish","sessionID":"ses_1","messageID":"msg_a","type":"step-finish","reason":"tool-calls","cost":0.01,"tokens":{"input":10,"output":5,"reasoning":0,"cache":{"read":0,"write":0},"total":15}}}
{"type":"step_start","timestamp":2100,"sessionID":"ses_1","part":{"id":"prt_b-start","sessionID":"ses_1","messageID":"msg_b","type":"step-start"}}
{"type":"step_start","timestamp":2300,"sessionID":"ses_1","part":{"id":"prt_c-start","sessionID":"ses_1","messageID":"msg_c","type":"step-start"}}
{"type":"error","timestamp":2400,"sessionID":"ses_1","error":{"name":"ProviderAuthError","data":{"message":"bad key","providerID":"p"}}}
{"type":"result","is_error":true,"sessionID":"ses_1","text":"","denials":[],"usage":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"cost":0,"turns":0,"exit_code":6,"error":{"name":"provider","message":"bad key"},"timestamp":0}
`
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(b.String(), "\n")); d != "" {
		t.Error(d)
	}
}

// TestEveryEvent feeds every kind to both printers: none may fall over one that it does not show.
func TestEveryEvent(t *testing.T) {
	a, b := testInvocation()
	printers := []Printer{NewText(a, true), NewJSONLines(a, true)}
	for _, k := range session.ListKinds() {
		d, err := session.DecodeData(k, 1, jsontext.Value(`{}`))
		if err != nil {
			t.Fatalf("%s: %v", k, err)
		}
		e := session.Event{Data: d}
		for _, v := range printers {
			v.ShowEvent(e)
		}
	}
	for l := range strings.Lines(b.String()) {
		if strings.HasPrefix(l, "{") && !jsontext.Value(l).IsValid() {
			t.Errorf("not JSON: %s", l)
		}
	}
}

func TestResultIsAPromise(t *testing.T) {
	b, err := json.Marshal(
		Result{Type: "result", Denials: []follow.Denial{{Action: "bash", Resources: []string{"ls"}, By: "user"}}},
		json.Deterministic(true),
	)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"result","is_error":false,"text":"","denials":[{"action":"bash","resources":["ls"],"by":"user"}],"usage":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"cost":0,"turns":0,"exit_code":0,"timestamp":0}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

// TestLineViewNotes: what people should know stands on standard error, also when that is a log.
func TestLineViewNotes(t *testing.T) {
	a, b := testInvocation()
	v := NewJSONLines(a, false)
	v.ShowEvent(story(&session.Retried{Attempt: 1, Next: 3000, Error: session.RetryError{Message: "503 overloaded"}})[0])
	if got := b.String(); !strings.HasPrefix(got, "! 503 overloaded; attempt 2 starts in ") {
		t.Error(got)
	}
}
