package tool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

const demoSchema = `{
	"type": "object",
	"properties": {
		"path":  {"type": "string", "minLength": 1},
		"limit": {"type": "integer", "minimum": 1, "maximum": 2000},
		"all":   {"type": "boolean"},
		"mode":  {"type": "string", "enum": ["fast", "slow"]},
		"edits": {"type": "array", "items": {"type": "object", "properties": {"old": {"type": "string"}}, "required": ["old"], "additionalProperties": false}},
		"any":   {}
	},
	"required": ["path"],
	"additionalProperties": false
}`

// echo returns its checked input.
func echo(schema string) fake {
	return fake{
		def: tool.Definition{Name: "demo", Schema: jsontext.Value(schema)},
		run: func(_ context.Context, c tool.Call) (tool.Output, error) { return text(string(c.Input)), nil },
	}
}

func TestSettleInput(t *testing.T) {
	r := tool.NewRegistry(tool.Config{})
	register(t, r, echo(demoSchema))
	set := r.TakeSnapshot(nil)
	for _, c := range []struct{ in, want string }{
		{`{"path":"a"}`, `{"path":"a"}`},
		{`{"path":"a","limit":"10"}`, `{"limit":10,"path":"a"}`},
		{`{"path":"a","limit":5.0}`, `{"limit":5,"path":"a"}`},
		{`{"path":"a","limit":1e2}`, `{"limit":100,"path":"a"}`},
		{`{"path":"a","limit":null,"all":null}`, `{"path":"a"}`},
		{`{"path":12}`, `{"path":"12"}`},
		{`{"path":"a","all":"true"}`, `{"all":true,"path":"a"}`},
		{`{"path":"a","edits":"[{\"old\":\"x\"}]"}`, `{"edits":[{"old":"x"}],"path":"a"}`},
		{`{"path":"a","edits":[{"old":7}]}`, `{"edits":[{"old":"7"}],"path":"a"}`},
		{`{"path":"a","any":{"deep":[1]}}`, `{"path":"a","any":{"deep":[1]}}`},
		{`"{\"path\":\"a\"}"`, `{"path":"a"}`},
		{` {"path" : "a"} `, `{"path" : "a"}`},
		{
			`{"file_path":"a","Limit":1,"path":"b"}`,
			`{"path":"b"}Note: demo has no parameter "Limit" (did you mean "limit"?), ` +
				`"file_path" (did you mean "path"?); the call ran without.`,
		},
		{
			`{"path":"a","edits":[{"old":"x","new":"y"}]}`,
			`{"edits":[{"old":"x"}],"path":"a"}Note: demo has no parameter "edits[0].new"; the call ran without.`,
		},

		{``, `"path" is missing (a string)`},
		{`null`, `"path" is missing`},
		{`[]`, `it is an array`},
		{`{"path":`, `not valid JSON`},
		{`{"path":"a","path":"b"}`, `not valid JSON`},
		{`{"Path":"a"}`, `the key "Path" is unknown, did you mean "path"?`},
		{`{"file_path":"a","limit":0}`, `the key "file_path" is unknown`},
		{`{"path":"a","limit":"ten"}`, `"limit" must be an integer, not a string ("ten")`},
		{`{"path":"a","limit":5.5}`, `"limit" must be an integer, not a number (5.5)`},
		{`{"path":"a","limit":0}`, `"limit" must be at least 1, it is 0`},
		{`{"path":"a","limit":99999}`, `"limit" must be at most 2000, it is 99999`},
		{`{"path":""}`, `"path" must not be empty`},
		{`{"path":["a"]}`, `"path" must be a string, not an array`},
		{`{"path":null}`, `"path" must be a string, not null`},
		{`{"path":"a","mode":"quick"}`, `"mode" must be one of "fast", "slow", not a string ("quick")`},
		{`{"path":"a","edits":[{}]}`, `"edits[0].old" is missing`},
		{"{\"path\":\"\xff\"}", `not valid JSON`},
	} {
		t.Run(c.in, func(t *testing.T) {
			s := settle(t, set, "demo", c.in)
			if strings.HasPrefix(c.want, "{") {
				if s.Error != nil || says(s) != c.want {
					t.Fatalf("got %s, want %s", says(s), c.want)
				}
				return
			}
			if s.Error == nil || s.Error.Reason != session.ReasonInvalidInput || !strings.Contains(says(s), c.want) {
				t.Fatalf("got %s, want %s", says(s), c.want)
			}
		})
	}
}

// The error about a number out of range names the number, not a Go type.
func TestSettleHugeIntegers(t *testing.T) {
	r := tool.NewRegistry(tool.Config{})
	register(t, r, echo(`{"type":"object","properties":{"n":{"type":"integer","minimum":0}}}`))
	set := r.TakeSnapshot(nil)
	if got := says(settle(t, set, "demo", `{"n":9223372036854775807}`)); got != `{"n":9223372036854775807}` {
		t.Error(got)
	}
	for _, n := range []string{"9223372036854775808", "99999999999999999999999"} {
		s := settle(t, set, "demo", `{"n":`+n+`}`)
		if s.Error == nil || s.Error.Reason != session.ReasonInvalidInput ||
			!strings.Contains(says(s), `"n" is out of range`) {
			t.Errorf("%s: %s", n, says(s))
		}
	}
}

func TestSettleNeverRunsOnBadInput(t *testing.T) {
	r := tool.NewRegistry(tool.Config{})
	f := echo(demoSchema)
	f.run = func(context.Context, tool.Call) (tool.Output, error) {
		t.Error("it ran")
		return tool.Output{}, nil
	}
	register(t, r, f)
	settle(t, r.TakeSnapshot(nil), "demo", `{"limit":"x"}`)
}

func TestUnsupportedSchemaIsNotChecked(t *testing.T) {
	r := tool.NewRegistry(tool.Config{})
	register(t, r, echo(`{"type":"object","$ref":"https://example.com/other.json"}`))
	if got := says(settle(t, r.TakeSnapshot(nil), "demo", `{"x":1}`)); got != `{"x":1}` {
		t.Fatal(got)
	}
	if s := settle(t, r.TakeSnapshot(nil), "demo", `7`); s.Error == nil {
		t.Fatal("a number is not an object")
	}
}

func TestSettleUnknownNamesTheNearest(t *testing.T) {
	r := tool.NewRegistry(tool.Config{})
	register(t, r, named("read", ""), named("grep", ""), named("apply_patch", ""))
	got := says(settle(t, r.TakeSnapshot(nil), "raed", `{}`))
	want := `unknown-tool: unknown tool "raed". Did you mean read? The tools are apply_patch, grep, read.`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestSettleOutcomes(t *testing.T) {
	rule := session.Rule{Action: "bash", Resource: "rm *", Effect: session.Deny}
	denied := &tool.Denial{Action: "bash", Resources: []string{"rm x"}, Rule: &rule}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		run    func(ctx context.Context, call tool.Call) (tool.Output, error)
		reason session.Reason
		says   string
		denied *tool.Denial
	}{
		{name: "failure", run: fails(tool.Failf("no such file")), reason: session.ReasonTool, says: "no such file"},
		{name: "plain error", run: fails(errors.New("boom")), reason: session.ReasonTool, says: "demo: boom"},
		{
			name: "denied", run: fails(fmt.Errorf("ask: %w", denied)), reason: session.ReasonDenied, says: "permission denied",
			denied: denied,
		},
		{name: "ended before", ctx: ended, run: fails(nil), reason: session.ReasonAborted, says: "interrupted"},
		{name: "cannot ask", run: func(ctx context.Context, c tool.Call) (tool.Output, error) {
			return tool.Output{}, c.Ask(ctx, tool.Request{})
		}, reason: session.ReasonTool, says: "cannot be asked for"},
		{name: "progress without a listener", run: func(_ context.Context, c tool.Call) (tool.Output, error) {
			c.Progress(text("x"))
			return text("ok"), nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := tool.NewRegistry(tool.Config{})
			register(t, r, fake{def: tool.Definition{Name: "demo", Schema: jsontext.Value(`{"type":"object"}`)}, run: c.run})
			ctx := c.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			s := r.TakeSnapshot(nil).Settle(ctx, tool.Call{Name: "demo", Input: jsontext.Value(`{}`)})
			var reason session.Reason
			if s.Error != nil {
				reason = s.Error.Reason
			}
			if reason != c.reason || !strings.Contains(says(s), c.says) || s.Denial != c.denied {
				t.Fatalf("%+v %s", s, says(s))
			}
		})
	}
}

func fails(err error) func(context.Context, tool.Call) (tool.Output, error) {
	return func(context.Context, tool.Call) (tool.Output, error) { return tool.Output{}, err }
}

func TestSettlePanicFailsThisCallOnly(t *testing.T) {
	var log bytes.Buffer
	r := tool.NewRegistry(tool.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	register(t, r, fake{def: tool.Definition{
		Name: "demo", Schema: jsontext.Value(`{}`),
	}, run: func(context.Context, tool.Call) (tool.Output, error) {
		panic("the secret is 42")
	}})
	s := settle(t, r.TakeSnapshot(nil), "demo", `{}`)
	if s.Error == nil || s.Error.Reason != session.ReasonTool || strings.Contains(s.Error.Message, "42") {
		t.Fatal(says(s))
	}
	if !strings.Contains(log.String(), "settle_test.go") {
		t.Fatalf("no stack in the log: %s", log.String())
	}
}

func TestSettleAbortKeepsWhatThereWas(t *testing.T) {
	r := tool.NewRegistry(tool.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	register(t, r, fake{def: tool.Definition{
		Name: "demo", Schema: jsontext.Value(`{}`),
	}, run: func(ctx context.Context, _ tool.Call) (tool.Output, error) {
		cancel()
		return text("half"), ctx.Err()
	}})
	s := r.TakeSnapshot(nil).Settle(ctx, tool.Call{Name: "demo"})
	if s.Error == nil || s.Error.Reason != session.ReasonAborted || s.Output.Content[0].Text != "half" {
		t.Fatalf("%+v", s)
	}
}

// A tool that finished succeeds even if ctx has ended: its side effect is done.
func TestSettleFinishedBeatsCancelled(t *testing.T) {
	r := tool.NewRegistry(tool.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	register(t, r, fake{def: tool.Definition{
		Name: "demo", Schema: jsontext.Value(`{}`),
	}, run: func(context.Context, tool.Call) (tool.Output, error) {
		cancel()
		return text("done"), nil
	}})
	if s := r.TakeSnapshot(nil).Settle(ctx, tool.Call{Name: "demo"}); s.Error != nil || says(s) != "done" {
		t.Fatalf("%+v", s)
	}
}

func FuzzInput(f *testing.F) {
	for _, s := range []string{
		`{"path":"a"}`, `{"path":1,"limit":"3"}`, `"{}"`, `{"edits":"[{}]"}`, `[[[[`, `{"limit":1e999}`,
		`{"limit":-0.0,"path":""}`,
	} {
		f.Add(s)
	}
	r := tool.NewRegistry(tool.Config{})
	e := echo(demoSchema)
	if _, err := r.Register(e); err != nil {
		f.Fatal(err)
	}
	set := r.TakeSnapshot(nil)
	f.Fuzz(func(t *testing.T, in string) {
		s := settle(t, set, "demo", in)
		if s.Error != nil {
			if s.Error.Reason != session.ReasonInvalidInput {
				t.Fatalf("%q: %s", in, says(s))
			}
			return
		}
		again := settle(t, set, "demo", says(s))
		if len(says(s)) < tool.MaxBytes && says(again) != says(s) {
			t.Fatalf("%q became %q became %q", in, says(s), says(again))
		}
	})
}

// The message of a settled error is bounded and valid text.
func TestSettleErrorsFit(t *testing.T) {
	long := "a\xff\x00" + strings.Repeat("x", 1<<20)
	for name, err := range map[string]error{
		"for the model": tool.Failf("%s", long),
		"ours":          errors.New(long),
		"denied":        &tool.Denial{Action: "read", Resources: []string{long}},
	} {
		t.Run(name, func(t *testing.T) {
			r := tool.NewRegistry(tool.Config{})
			register(t, r, fake{def: tool.Definition{
				Name: "demo", Schema: jsontext.Value(`{}`),
			}, run: func(context.Context, tool.Call) (tool.Output, error) {
				return text(lines(3000)), err
			}})
			s := settle(t, r.TakeSnapshot(nil), "demo", `{}`)
			if s.Error == nil || len(s.Error.Message) > 20<<10 || !utf8.ValidString(s.Error.Message) ||
				strings.Contains(s.Error.Message, "\x00") {
				t.Errorf("got %.100q", s.Error.Message)
			}
			if shown := contentText(s.Output); strings.Count(shown, "\n") >= tool.MaxLines ||
				!strings.Contains(shown, "line 3000") {
				t.Errorf("%d lines are shown beside the error", strings.Count(shown, "\n"))
			}
		})
	}
}
