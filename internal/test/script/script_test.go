package script

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// say renders one event as a line.
func say(e llm.Event) string {
	switch e := e.(type) {
	case llm.ResponseStart:
		return "opened " + e.RequestID
	case llm.TextStart:
		return "text+ " + e.ID
	case llm.TextDelta:
		return fmt.Sprintf("text %s %q", e.ID, e.Delta)
	case llm.TextEnd:
		return "text- " + e.ID
	case llm.ReasoningStart:
		return "reasoning+ " + e.ID
	case llm.ReasoningDelta:
		return fmt.Sprintf("reasoning %s %q", e.ID, e.Delta)
	case llm.ReasoningEnd:
		return fmt.Sprintf("reasoning- %s %s", e.ID, e.Metadata["cairn"])
	case llm.ToolInputStart:
		return "input+ " + e.ID + " " + e.Name
	case llm.ToolInputDelta:
		return "input " + e.ID + " " + e.Delta
	case llm.ToolInputEnd:
		return "input- " + e.ID
	case llm.ToolCallEvent:
		if e.Invalid != "" {
			return fmt.Sprintf("call %s %s INVALID %s: %s", e.ID, e.Name, e.Raw, e.Invalid)
		}
		return fmt.Sprintf("call %s %s %s", e.ID, e.Name, e.Input)
	case llm.HostedResult:
		return fmt.Sprintf("hosted %s %s %s", e.ID, e.Name, e.Result)
	case llm.Finish:
		return fmt.Sprintf("finish %s in=%d out=%d", e.Reason, e.Usage.Input, e.Usage.Output)
	default:
		return fmt.Sprintf("%T", e)
	}
}

// listen collects a stream as lines; an error is the last.
func listen(ctx context.Context, m llm.Model, req *llm.Request) []string {
	var lines []string
	for e, err := range m.Stream(ctx, req) {
		if err != nil {
			lines = append(lines, "error "+err.Error())
			continue
		}
		lines = append(lines, say(e))
	}
	return lines
}

func user(text string) llm.Message {
	return llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: text}}}
}

func result(id, text string) llm.Message {
	return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{
		llm.ToolResult{ID: id, Content: []llm.Part{llm.Text{Text: text}}},
	}}
}

func load(t *testing.T, name string) *Player {
	t.Helper()
	s, err := Load(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return New(s)
}

func TestPlayerTakesArgumentsFromResults(t *testing.T) {
	p := load(t, "first-line.json")
	messages := []llm.Message{user("go")}
	want := [][]string{
		{
			"opened script-1",
			"reasoning+ reasoning_1", `reasoning reasoning_1 "I should look"`, `reasoning reasoning_1 " around."`,
			`reasoning- reasoning_1 {"signature": "s1"}`,
			"text+ text_2", `text text_2 "Let me look."`, "text- text_2",
			"input+ c1 list", `input c1 {"path": "."}`, "input- c1", `call c1 list {"path": "."}`,
			"finish tool-calls in=100 out=20",
		},
		{
			"opened script-2",
			"input+ c2 read", `input c2 {"filePa`, `input c2 th":"go.`, `input c2 mod","li`, `input c2 mit":1}`, "input- c2",
			`call c2 read {"filePath":"go.mod","limit":1}`,
			"finish tool-calls in=0 out=0",
		},
		{"opened script-3", "text+ text_1", `text text_1 "Done."`, "text- text_1", "finish stop in=0 out=0"},
		{
			`error script: no turn is left for request 4; the script has 3; add one, ` +
				`or set "repeat": true on the last (invalid-request)`,
		},
	}
	for i := range want {
		if diff := cmp.Diff(want[i], listen(t.Context(), p, &llm.Request{Messages: messages})); diff != "" {
			t.Errorf("turn %d (-want +got):\n%s", i+1, diff)
		}
		if i == 0 {
			messages = append(messages, result("c1", "docs/\ngo.mod\nmain.go\n"))
		}
	}
	if got := p.ListRequests(); len(got) != 4 || p.CountRequests() != 4 || len(got[0].Messages) != 1 ||
		len(got[3].Messages) != 2 {
		t.Errorf("requests: %d, total %d", len(got), p.CountRequests())
	}
}

func TestPlayerFaults(t *testing.T) {
	want := []string{
		"error slow down (rate-limit, HTTP 429)",
		`opened script-2|text+ text_1|text text_1 "Half an ans"|error the connection was reset (transport)`,
		`opened script-3|text+ text_1|text text_1 "No fin"|error the stream ended without a finish marker (incomplete)`,
		"opened script-4|error the provider sent a frame that is not valid JSON (malformed)",
		"opened script-5|error the provider answered with nothing (empty)",
		`opened script-6|input+ c1 write|input c1 {"filePath": "a"|error the stream ended in the middle of a tool call ` +
			`(incomplete)`,
		`opened script-7|input+ c2 write|input c2 {"filePath":|input- c2|call c2 write INVALID {"filePath":: the ` +
			`arguments are not valid JSON|` +
			`input+ c2 write|input c2 {}|input- c2|call c2 write {}|finish tool-calls in=0 out=0`,
		"error no connection to the provider within 10s (timeout)",
		"error the provider sent no response headers within 1m0s (timeout)",
		`opened script-10|text+ text_1|text text_1 "And then "|error the provider sent no data within 7s (timeout)`,
		`opened script-11|text+ text_1|text text_1 "It works."|text- text_1|finish stop in=0 out=0`,
	}
	took := map[int]time.Duration{7: 10 * time.Second, 8: time.Minute, 9: 7 * time.Second}
	synctest.Test(t, func(t *testing.T) {
		p := load(t, "bad-day.json")
		for i := range want {
			start := time.Now()
			got := strings.Join(listen(t.Context(), p, &llm.Request{Clocks: llm.Clocks{Silence: 7 * time.Second}}), "|")
			if diff := cmp.Diff(want[i], got); diff != "" {
				t.Errorf("turn %d (-want +got):\n%s", i+1, diff)
			}
			if d := time.Since(start); d != took[i] {
				t.Errorf("turn %d took %s, want %s", i+1, d, took[i])
			}
		}
	})
}

func TestFaultDetails(t *testing.T) {
	p := New(Script{Turns: []Turn{{Steps: []Step{{Fault: &Fault{
		Kind: FaultStatus, Status: 400, Class: llm.Overflow, RetryAfter: 3 * time.Second, RequestID: "r", Message: "too long",
	}}}}}})
	for _, err := range p.Stream(t.Context(), &llm.Request{}) {
		want := &llm.Error{
			Class: llm.Overflow, Status: 400, Message: "too long", Body: "too long", RetryAfter: 3 * time.Second, RequestID: "r",
		}
		if diff := cmp.Diff(want, err); diff != "" {
			t.Error(diff)
		}
	}
	for status, want := range map[int]llm.Class{
		401: llm.Auth, 402: llm.Quota, 403: llm.Auth, 404: llm.InvalidRequest, 418: llm.Unknown, 429: llm.RateLimit,
		529: llm.Overloaded,
	} {
		if got := classOf(status); got != want {
			t.Errorf("classOf(%d) = %s, want %s", status, got, want)
		}
	}
}

func TestDelaysAndClocks(t *testing.T) {
	tests := []struct {
		name string
		turn Turn
		took time.Duration
		end  string
	}{
		{
			"a delay before content is first-byte time",
			Turn{Steps: []Step{{Delay: 59 * time.Second}, {Text: Chunks{"a"}}}},
			59 * time.Second, "finish stop in=0 out=0",
		},
		{
			"a longer one ends by the clock",
			Turn{Steps: []Step{{Delay: 61 * time.Second}, {Text: Chunks{"a"}}}},
			60 * time.Second, "error the provider sent no response headers within 1m0s (timeout)",
		},
		{
			"each chunk resets the silence clock",
			Turn{Every: 100 * time.Second, Steps: []Step{{Text: Chunks{"a"}, Times: 5}}},
			500 * time.Second, "finish stop in=0 out=0",
		},
		{
			"a silence too long",
			Turn{Every: 121 * time.Second, Steps: []Step{{Text: Chunks{"a"}}}},
			120 * time.Second, "error the provider sent no data within 2m0s (timeout)",
		},
		{
			"a gate that stays shut",
			Turn{Steps: []Step{{Text: Chunks{"a"}}, {Gate: "shut"}}},
			120 * time.Second, "error the provider sent no data within 2m0s (timeout)",
		},
		{
			"a gate without a channel",
			Turn{Steps: []Step{{Gate: "none"}}},
			0, `error script: gate "none" has no channel in Player.Gates (invalid-request)`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := New(Script{Turns: []Turn{tt.turn}})
				p.Gates = map[string]chan struct{}{"shut": make(chan struct{})}
				start := time.Now()
				lines := listen(t.Context(), p, &llm.Request{})
				if got := time.Since(start); got != tt.took {
					t.Errorf("took %s, want %s", got, tt.took)
				}
				if diff := cmp.Diff(tt.end, lines[len(lines)-1]); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestOpenBlocks(t *testing.T) {
	gate := make(chan struct{})
	close(gate)
	p := New(Script{Turns: []Turn{{Steps: []Step{
		{Reasoning: Chunks{"r"}, Open: true},
		{Reasoning: Chunks{"s"}, Metadata: llm.Metadata{"cairn": jsontext.Value("1")}},
		{Text: Chunks{"a"}, Open: true},
		{Gate: "g"},
		{Text: Chunks{"b"}, Open: true},
		{Call: &Call{ID: "c", Name: "n"}},
		{Text: Chunks{"d"}},
		{Text: Chunks{"e"}, Open: true},
	}}}})
	p.Gates = map[string]chan struct{}{"g": gate}
	want := []string{
		"opened script-1",
		"reasoning+ reasoning_1", `reasoning reasoning_1 "r"`, `reasoning reasoning_1 "s"`, "reasoning- reasoning_1 1",
		"text+ text_2", `text text_2 "a"`, `text text_2 "b"`, "text- text_2",
		"input+ c n", "input c {}", "input- c", "call c n {}",
		"text+ text_3", `text text_3 "d"`, "text- text_3",
		"text+ text_4", `text text_4 "e"`, "text- text_4",
		"finish tool-calls in=0 out=0",
	}
	if diff := cmp.Diff(want, listen(t.Context(), p, &llm.Request{})); diff != "" {
		t.Error(diff)
	}
}

func TestGateOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Script{Turns: []Turn{{Steps: []Step{{Text: Chunks{"a"}}, {Gate: "g"}, {Text: Chunks{"b"}}}}}})
		gate := make(chan struct{})
		p.Gates = map[string]chan struct{}{"g": gate}
		go func() {
			time.Sleep(5 * time.Second)
			close(gate)
		}()
		lines := listen(t.Context(), p, &llm.Request{})
		if got := lines[len(lines)-1]; got != "finish stop in=0 out=0" {
			t.Error(got)
		}
	})
}

func TestCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Script{
			Turns: []Turn{{Repeat: true, Steps: []Step{{Text: Chunks{"a"}}, {Fault: &Fault{Kind: FaultSilence}}}}},
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		lines := listen(ctx, p, &llm.Request{})
		if got := lines[len(lines)-1]; got != "error the turn was interrupted (aborted)" {
			t.Error(got)
		}
		if got := listen(ctx, p, &llm.Request{}); len(got) != 1 || p.CountRequests() != 1 {
			t.Errorf("a cancelled request used a turn: %q", got)
		}
		for range p.Stream(t.Context(), &llm.Request{}) {
			break // a consumer that stops early leaves nothing behind
		}
	})
}

func TestChoice(t *testing.T) {
	text := func(s string) []Step { return []Step{{Text: Chunks{s}}} }
	p := New(Script{Turns: []Turn{
		{Steps: text("first")},
		{Match: "(?i)title", Repeat: true, Steps: text("title")},
		{Match: "bug", Steps: text("bug 1")},
		{Match: "bug", Steps: text("bug 2")},
		{Times: 2, Steps: text("twice")},
		{Repeat: true, Steps: text("ever")},
	}})
	asked := []string{"bug", "Title", "x", "bug", "bug", "title", "", "x", "x"}
	want := []string{"bug 1", "title", "first", "bug 2", "twice", "title", "twice", "ever", "ever"}
	var got []string
	for _, text := range asked {
		for e := range p.Stream(t.Context(), &llm.Request{Messages: []llm.Message{user("bug Title"), user(text)}}) {
			if d, ok := e.(llm.TextDelta); ok {
				got = append(got, d.Delta)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHostedCall(t *testing.T) {
	p := New(Script{
		Turns: []Turn{{Steps: []Step{{Call: &Call{Name: "web", Hosted: &HostedOutcome{Result: jsontext.Value(`[1]`)}}}}}},
	})
	want := []string{
		"opened script-1", "input+ call_1_1 web", "input call_1_1 {}", "input- call_1_1", "call call_1_1 web {}",
		"hosted call_1_1 web [1]", "finish tool-calls in=0 out=0",
	}
	if diff := cmp.Diff(want, listen(t.Context(), p, &llm.Request{})); diff != "" {
		t.Error(diff)
	}
}

func TestResult(t *testing.T) {
	messages := []llm.Message{user("x"), result("a", "one\ntwo 2\r\n"), result("b", "three"), result("a", "four\n")}
	tests := []struct {
		ref  Result
		want string
		err  string
	}{
		{ref: Result{}, want: "four\n"},
		{ref: Result{Line: 1}, want: "four"},
		{ref: Result{Index: new(0), Line: -1}, want: "two 2"},
		{ref: Result{Index: new(0), Line: 2, Regexp: `\d`}, want: "2"},
		{ref: Result{Index: new(-2)}, want: "three"},
		{ref: Result{Call: "b", Regexp: "(t)(h)", Group: new(2)}, want: "h"},
		{ref: Result{Call: "b", Regexp: "(t)(h)", Group: new(0)}, want: "th"},
		{ref: Result{Call: "a", Line: 1}, want: "four"},
		{ref: Result{Call: "z"}, err: `$result: the request has no result of call "z"`},
		{ref: Result{Index: new(3)}, err: "$result: the request has 3 tool results"},
		{ref: Result{Line: 9}, err: "$result: the tool result has 1 lines, not line 9"},
		{ref: Result{Regexp: "z"}, err: `$result: "z" matches nothing in the tool result`},
	}
	for _, tt := range tests {
		got, err := tt.ref.resolve(messages)
		if got != tt.want || (err == nil) != (tt.err == "") || (err != nil && err.Error() != tt.err) {
			t.Errorf("%+v: got %q, %v", tt.ref, got, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing", ``, "line 1: unexpected EOF"},
		{"no turns", `{}`, `a script needs at least one turn: {"turns": [{"steps": [{"text": "Hello."}]}]}`},
		{
			"unknown key", "{\"turns\": [\n {\"steps\": [\n  {\"txt\": \"a\"}]}]}",
			`line 3: unknown key "txt" at /turns/0/steps/0`,
		},
		{"unknown key at the top", "{\n\n\"turn\": 1}", `line 3: unknown key "turn"`},
		{"duplicate key", "{\"turns\": [],\n\"turns\": []}", `line 2: key "turns" appears twice`},
		{"syntax", "{\"turns\": [\n}", `line 2: invalid character '}' at start of value`},
		{"kind", "{\"turns\":\n 1}", `line 2: /turns: a JSON number is not allowed here`},
		{
			"duration", "{\"turns\": [{\n\"every\": \"soon\"}]}",
			`line 2: /turns/0/every: "soon" is not a duration; write "250ms" or "2s"`,
		},
		{
			"no steps", `{"turns": [{"steps": []}]}`,
			`turn 1: steps: at least one is needed; for an empty answer write {"fault": {"kind": "empty"}}`,
		},
		{
			"two kinds", `{"turns": [{"steps": [{"text": "a", "gate": "b"}]}]}`,
			"turn 1: step 1: exactly one of text, reasoning, call, delay, gate, fault is needed",
		},
		{
			"fault first", `{"turns": [{"steps": [{"fault": {"kind": "end"}}, {"text": "a"}]}]}`,
			"turn 1: step 1: fault: a fault ends the turn and must be the last step",
		},
		{
			"hang late", `{"turns": [{"steps": [{"text": "a"}, {"fault": {"kind": "header-hang"}}]}]}`,
			"turn 1: step 2: fault: header-hang must be the only step of its turn",
		},
		{
			"fault kind", `{"turns": [{"steps": [{"fault": {"kind": "x"}}]}]}`,
			`turn 1: step 1: fault: kind "x" is not one of connect-hang, header-hang, silence, reset, end, status, ` +
				`malformed, empty`,
		},
		{
			"class", `{"turns": [{"steps": [{"fault": {"kind": "status", "class": "x"}}]}]}`,
			`turn 1: step 1: fault: class "x" is unknown`,
		},
		{
			"match", `{"turns": [{"match": "(", "steps": [{"text": "a"}]}]}`,
			"turn 1: match: error parsing regexp: missing closing ): `(`",
		},
		{
			"finish", `{"turns": [{"finish": "x", "steps": [{"text": "a"}]}]}`,
			`turn 1: finish: "x" is not one of stop, length, tool-calls, content-filter, error, unknown, paused`,
		},
		{
			"arguments", `{"turns": [{"steps": [{"call": {"name": "a", "arguments": [1]}}]}]}`,
			"turn 1: step 1: call: arguments must be a JSON object; write other text in raw",
		},
		{
			"result key", `{"turns": [{"steps": [{"call": {"name": "a", "arguments": {"x": {"$result": {"cal": 1}}}}}]}]}`,
			`turn 1: step 1: call: $result: unknown key "cal"`,
		},
		{
			"result kind", `{"turns": [{"steps": [{"call": {"name": "a", "arguments": {"x": {"$result": {"call": 1}}}}}]}]}`,
			`turn 1: step 1: call: $result: /call: a JSON number is not allowed here`,
		},
		{
			"result sibling", `{"turns": [{"steps": [{"call": {"name": "a", "arguments": {"x": [{"$result": {}, "y": 1}]}}}]}]}`,
			"turn 1: step 1: call: $result must be the only key of its object",
		},
		{
			"group",
			`{"turns": [{"steps": [{"call": {"name": "a", "arguments": {"x": {"$result": {"regexp": "a", "group": 1}}}}}]}]}`,
			"turn 1: step 1: call: $result: the expression has no group 1",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.in))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := Load("testdata/none.json"); err == nil || !strings.Contains(err.Error(), "testdata/none.json") {
		t.Errorf("missing file: %v", err)
	}
	if got := listen(t.Context(), New(Script{}), &llm.Request{}); len(got) != 1 ||
		!strings.Contains(got[0], "at least one turn") {
		t.Errorf("an invalid script: %q", got)
	}
}

func TestPieces(t *testing.T) {
	tests := []struct {
		in   string
		size int
		want []string
	}{
		{"", 0, nil},
		{"abc", 0, []string{"abc"}},
		{"abcde", 2, []string{"ab", "cd", "e"}},
		{"éé", 1, []string{"é", "é"}},
		{"aé", 2, []string{"a", "é"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, splitText(tt.in, tt.size)); diff != "" {
			t.Errorf("%q/%d: %s", tt.in, tt.size, diff)
		}
	}
}

func TestRequestsAreBounded(t *testing.T) {
	p := New(Script{Turns: []Turn{{Repeat: true, Steps: []Step{{Text: Chunks{"a"}}}}}})
	for range MaxRequests + 3 {
		listen(t.Context(), p, &llm.Request{})
	}
	if len(p.ListRequests()) != MaxRequests || p.CountRequests() != MaxRequests+3 {
		t.Errorf("%d kept of %d", len(p.ListRequests()), p.CountRequests())
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"hello.json", "first-line.json", "bad-day.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(
		[]byte(
			`{"turns": [{"steps": [{"call": {"name": "a", "arguments": {"x": {"$result": {"index": -1, "line": 1}}}}}]}]}`,
		),
	)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		if len(s.Turns) > 20 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			events := 0
			for _, err := range New(s).Stream(ctx, &llm.Request{Messages: []llm.Message{user("x"), result("c1", "a\nb")}}) {
				if err != nil || events > 1000 {
					return
				}
				events++
			}
		})
	})
}

func Example() {
	s, err := Parse([]byte(`{"turns": [{"steps": [{"text": ["Hello", "."]}]}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for event, err := range New(s).Stream(context.Background(), &llm.Request{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%T\n", event)
	}
	// Output:
	// llm.ResponseStart
	// llm.TextStart
	// llm.TextDelta
	// llm.TextDelta
	// llm.TextEnd
	// llm.Finish
}
