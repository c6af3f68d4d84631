package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

// paper is an app that writes both streams into one buffer, so that their order shows.
func paper() (*app, *bytes.Buffer) {
	var b bytes.Buffer
	env := func(name string) string { return map[string]string{"LANG": "C.UTF-8"}[name] }
	return newApp(nil, Process{Stdout: &b, Stderr: &b, Env: env}), &b
}

func fragment(part session.PartID, item session.FragmentItem, offset int, delta string) session.Fragment {
	return session.Fragment{SessionID: "ses_1", PartID: part, Item: item, Offset: offset, Delta: delta}
}

func TestTextView(t *testing.T) {
	a, b := paper()
	v := newTextView(a, false)
	play := func(data ...session.EventData) {
		for _, e := range story(data...) {
			v.event(e)
		}
	}
	play(mine(), begin("msg_a"))
	v.fragment(fragment("prt_t", session.FragmentText, 0, "Let me "))
	v.fragment(fragment("prt_t", session.FragmentText, 7, "look"))
	v.fragment(fragment("prt_t", session.FragmentText, 0, "Let me look.")) // after the connection was made again
	play(text("msg_a", "Let me look. Now."))
	play(called("prt_1", "read", `{"filePath":"README.md"}`), called("prt_2", "bash", "{\"command\":\"make\\ncheck\"}"))
	play(&session.ToolSuccess{PartID: "prt_1"})
	late := &session.ToolFailed{PartID: "prt_2", Error: *session.Fail(session.ReasonTool, "exit 2\nmore")}
	e := story(late)[0]
	late.Timestamp = 9000
	v.event(e)
	play(&session.Retried{Attempt: 1, Next: 3000, Error: session.RetryError{Message: "503 overloaded"}})
	v.fragment(fragment("prt_r", session.FragmentReasoning, 0, "hidden"))
	play(&session.TextEnded{TurnFact: session.OfTurn("msg_b"), PartID: "prt_u", Text: "Done."})
	v.fragment(fragment("prt_u", session.FragmentText, 0, "Done.")) // too late
	v.result(result{
		SessionID: "ses_1", Model: "p/m", Usage: session.Tokens{Input: 1234, Output: 50, Reasoning: 6}, Cost: session.Dollar / 800,
		Continue: `cairn run -s ses_1 "…"`,
	})
	want := `Let me look. Now.
→ read README.md
→ bash make…
✓ read README.md
✗ bash make… (7.9s): exit 2…
! 503 overloaded; attempt 2 follows in 2s
Done.
p/m · 1,234 tokens in, 56 out · $0.0013 · ses_1 · go on with: cairn run -s ses_1 "…"
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}

func TestThinking(t *testing.T) {
	a, b := paper()
	v := newTextView(a, true)
	v.fragment(fragment("prt_r", session.FragmentReasoning, 0, "Hm, "))
	v.event(story(&session.ReasoningEnded{PartID: "prt_r", Text: "Hm, so."})[0])
	v.fragment(fragment("prt_t", session.FragmentText, 0, "Yes."))
	v.result(result{Error: &resultError{Message: "broken", Hint: "Mend it."}})
	if got, want := b.String(), "Hm, so.\nYes.\ncairn: broken\nMend it.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLineView(t *testing.T) {
	a, b := paper()
	v := newLineView(a, true)
	for _, e := range story(
		mine(),
		begin("msg_a"),
		&session.ReasoningStarted{TurnFact: session.OfTurn("msg_a"), PartID: "prt_r"},
		&session.ReasoningEnded{TurnFact: session.OfTurn("msg_a"), PartID: "prt_r", Text: "hm"},
		&session.TextStarted{TurnFact: session.OfTurn("msg_a"), PartID: "prt_t"},
		text("msg_a", "a <b>\n"),
		called("prt_1", "read", `{"filePath":"x"}`),
		&session.ToolSuccess{TurnFact: session.OfTurn("msg_a"), CallID: "c", PartID: "prt_1", Title: "x", Content: session.TextContent("1: hi"), Structured: jsontext.Value(`{"n":1}`)},
		called("prt_2", "bash", `{}`),
		&session.ToolFailed{TurnFact: session.OfTurn("msg_a"), CallID: "c", PartID: "prt_2", Error: *session.Fail(session.ReasonTool, "no")},
		end("tool-calls"),
		begin("msg_b"),
		failed(session.ReasonAPI, "overloaded"),
		begin("msg_c"),
		failed(session.ReasonAuth, "bad key"),
	) {
		v.event(e)
	}
	v.result(result{IsError: true, SessionID: "ses_1", ExitCode: exitProvider, Denials: []denial{}, Error: &resultError{Name: "provider", Message: "bad key"}})
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

// TestEveryEvent feeds every kind to both views: none may fall over one that it does not show.
func TestEveryEvent(t *testing.T) {
	a, b := paper()
	views := []view{newTextView(a, true), newLineView(a, true)}
	for _, k := range session.Kinds() {
		d, err := session.DecodeData(k, 1, jsontext.Value(`{}`))
		if err != nil {
			t.Fatalf("%s: %v", k, err)
		}
		e := session.Event{Data: d}
		_ = digest(d)
		for _, v := range views {
			v.event(e)
		}
		newSpan("msg_x", -1).see(e)
	}
	for l := range strings.Lines(b.String()) {
		if strings.HasPrefix(l, "{") && !jsontext.Value(l).IsValid() {
			t.Errorf("not JSON: %s", l)
		}
	}
}

func TestHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":     "plain\ttext\n",
		"\x1b[2Jgone":       "\ufffd[2Jgone",
		"a\r\nb":            "a\nb",
		"\u009b31mred":      "\ufffd31mred",
		"abc\u202etxt.exe":  "abc\ufffdtxt.exe",
		"日本語 ✓":             "日本語 ✓",
		"bell\x07 nul\x00.": "bell\ufffd nul\ufffd.",
	} {
		if got := harmless(in); got != want {
			t.Errorf("harmless(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzHarmless(f *testing.F) {
	f.Add("\x1b]0;title\x07", 10)
	f.Add("añ\u2066b\nc", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		for _, r := range harmless(s) {
			if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
				t.Fatalf("%q is left in %q", r, s)
			}
		}
		n = 1 + (n%200+200)%200
		if l := line(s, n); strings.Contains(l, "\n") || len([]rune(l)) > n+1 {
			t.Fatalf("line(%q, %d) = %q", s, n, l)
		}
	})
}

func TestDescribe(t *testing.T) {
	for _, tt := range []struct{ tool, input, want string }{
		{"read", `{"filePath":"a/b.go","offset":3}`, "read a/b.go"},
		{"apply_patch", `{"patchText":"*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n@@\n-x\n+y\n*** Delete File: c\n*** End Patch"}`, "apply_patch a.go, b.go, c"},
		{"grep", `{"pattern":"func","path":"internal"}`, "grep func in internal"},
		{"glob", `{"pattern":"**/*.go"}`, "glob **/*.go"},
		{"list", `{}`, "list"},
		{"bash", `{"command":"echo \u001b[31m"}`, "bash echo \ufffd[31m"},
		{"odd", `{"x":1}`, `odd {"x":1}`},
		{"odd", `{"command":7}`, "odd"},
		{"odd", `nonsense`, "odd"},
		{"odd", ``, "odd"},
	} {
		if got := describe(tt.tool, jsontext.Value(tt.input)); got != tt.want {
			t.Errorf("describe(%s, %s) = %q, want %q", tt.tool, tt.input, got, tt.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %s, want %s", n, got, want)
		}
	}
	for in, want := range map[string]string{
		"0": "0", "0.00001": "<0.0001", "0.00006": "0.0001", "0.01": "0.0100", "0.12345": "0.1235", "1": "1.00", "12.345": "12.35", "1234.5": "1234.50",
	} {
		u, err := session.ParseUSD(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := money(u); got != want {
			t.Errorf("money(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestResultIsAPromise(t *testing.T) {
	b, err := json.Marshal(result{Type: "result", Denials: []denial{{Action: "bash", Resources: []string{"ls"}, By: "user"}}}, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"result","is_error":false,"text":"","denials":[{"action":"bash","resources":["ls"],"by":"user"}],"usage":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"cost":0,"turns":0,"exit_code":0,"timestamp":0}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

func TestCodeOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want exitCode
	}{
		{nil, exitOK},
		{errors.New("x"), exitError},
		{usagef("x"), exitUsage},
		{errSignal, exitInterrupted},
		{session.NotFound("model", "x"), exitUsage},
		{session.Errorf(session.CodeInvalid, "x"), exitUsage},
		{session.Errorf(session.CodeTooLarge, "x"), exitUsage},
		{session.Errorf(session.CodeDenied, "x"), exitDenied},
		{session.Errorf(session.CodeConflict, "x"), exitError},
		{session.Errorf(session.CodeUnavailable, "x"), exitError},
		{session.Errorf(session.CodeInternal, "x"), exitError},
	} {
		if got := codeOf(tt.err); got != tt.want {
			t.Errorf("codeOf(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"list", "show", "rename", "archive", "delete"}
	for in, want := range map[string][]string{
		"lits": nil, "lst": {"list"}, "arc": {"archive"}, "archvie": {"archive"}, "zzz": nil, "renam": {"rename"}, "": nil,
	} {
		if d := cmp.Diff(want, nearest(in, names)); d != "" {
			t.Errorf("nearest(%q): %s", in, d)
		}
	}
}

// TestLineViewNotes: what people should know stands on standard error, also when that is a log.
func TestLineViewNotes(t *testing.T) {
	a, b := paper()
	v := newLineView(a, false)
	v.event(story(&session.Retried{Attempt: 1, Next: 3000, Error: session.RetryError{Message: "503 overloaded"}})[0])
	if got := b.String(); !strings.HasPrefix(got, "! 503 overloaded; attempt 2 follows in ") {
		t.Error(got)
	}
}
