package opencode

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

func newParts() func() session.PartID {
	n := 0
	return func() session.PartID { n++; return session.PartID(fmt.Sprintf("prt_%d", n)) }
}

// A prompt is shown as it was sent, part by part, and the model receives its text.
func TestPromptInput(t *testing.T) {
	for _, c := range []struct {
		name, in    string
		text, shown string // "" shown: refused at the field text
	}{
		{
			"text", `{"parts":[{"type":"text","text":"hi"}]}`, "hi",
			`[{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"hi"}]`,
		},
		{
			"the client's ids, and text that is hidden from the model",
			`{"parts":[{"id":"prt_x","type":"text","text":"a","metadata":{"k":1}},{"type":"text","text":"b","ignored":true},{"type":"text","text":"c","synthetic":true}]}`,
			"a\nc",
			`[{"id":"prt_x","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"a","metadata":{"k":1}},` +
				`{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"b","ignored":true},` +
				`{"id":"prt_2","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"c","synthetic":true}]`,
		},
		{
			"a file and an agent",
			`{"parts":[{"type":"file","mime":"text/plain","filename":"a","url":"data:,x","source":{"type":"file","path":"a"}},` +
				`{"type":"agent","name":"explore","source":{"value":"@explore","start":0,"end":8}}]}`,
			"",
			`[{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"Called the Read tool with the following input: {\"filePath\":\"a\"}","synthetic":true},` +
				`{"id":"prt_2","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"x","synthetic":true},` +
				`{"id":"prt_3","sessionID":"ses_1","messageID":"msg_1","type":"file","mime":"text/plain","filename":"a","url":"data:,x","source":{"type":"file","path":"a"}},` +
				`{"id":"prt_4","sessionID":"ses_1","messageID":"msg_1","type":"agent","name":"explore",` +
				`"source":{"value":"@explore","start":0,"end":8}},` +
				`{"id":"prt_5","sessionID":"ses_1","messageID":"msg_1","type":"text","text":" Use the above ` +
				`message and context to generate a prompt and call the task tool with subagent: explore",` +
				`"synthetic":true}]`,
		},
		{
			"a subtask",
			`{"parts":[{"type":"subtask","prompt":"p","description":"d","agent":"general",` +
				`"model":{"providerID":"a","modelID":"b"},"command":"c"}]}`,
			"",
			`[{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"subtask","prompt":"p","description":"d",` +
				`"agent":"general","model":{"providerID":"a","modelID":"b"},"command":"c"}]`,
		},
		{"no prompt", `{"parts":[{"type":"subtask","description":"d","agent":"a"}]}`, "parts[0].prompt", ""},
		{"no parts", `{}`, "parts", ""},
		{"an unknown type", `{"parts":[{"type":"text","text":"a"},{"type":"nope"}]}`, "parts[1].type", ""},
		{"text without text", `{"parts":[{"type":"text"}]}`, "parts[0].text", ""},
		{"a file of nothing", `{"parts":[{"type":"file","mime":"a/b"}]}`, "parts[0]", ""},
		{"a file that is nowhere", `{"parts":[{"type":"file","mime":"a/b","url":"nonsense"}]}`, "parts[0].url", ""},
		{"an agent without name", `{"parts":[{"type":"agent"}]}`, "parts[0].name", ""},
	} {
		var in PromptInput
		if err := json.Unmarshal([]byte(c.in), &in); err != nil {
			t.Fatal(err)
		}
		p, err := in.Prompt(newParts())
		if c.shown == "" {
			if e, ok := errors.AsType[*session.Error](err); !ok || e.Field != c.text {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil || p.Text != c.text || p.CheckParts("") != nil {
			t.Errorf("%s: %q %v %v", c.name, p.Text, err, p.CheckParts(""))
		}
		s := &session.Session{ID: "ses_1"}
		b, err := json.Marshal(PendingMessage(s, &session.Input{ID: "msg_1", Prompt: p}).Parts, json.Deterministic(true))
		if err != nil || string(b) != c.shown {
			t.Errorf("%s: shown\n%s\nwant\n%s %v", c.name, b, c.shown, err)
		}
	}
}

// The tools of a prompt change their own rules and leave the session's other ones.
func TestToolsOfAPrompt(t *testing.T) {
	in := PromptInput{Tools: ToolSwitches{{"bash", true}, {"edit", false}}}
	got := in.MergeRules([]session.Rule{
		{Action: "bash", Resource: "*", Effect: session.Deny},
		{Action: "bash", Resource: "rm *", Effect: session.Deny},
		{Action: "read", Resource: "*", Effect: session.Ask},
	})
	want := []session.Rule{
		{Action: "bash", Resource: "rm *", Effect: session.Deny},
		{Action: "read", Resource: "*", Effect: session.Ask},
		{Action: "bash", Resource: "*", Effect: session.Allow},
		{Action: "edit", Resource: "*", Effect: session.Deny},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Every input is refused, or becomes a prompt whose parts can be stored, checked and shown.
func FuzzPromptInput(f *testing.F) {
	f.Add(`{"parts":[{"type":"text","text":"hi"},{"type":"file","mime":"a/b","url":"data:,x"}]}`)
	f.Add(`{"parts":[{"id":"prt_1","type":"agent","name":"x","source":{"start":-1}}],"tools":{"a":true}}`)
	f.Fuzz(func(t *testing.T, body string) {
		var in PromptInput
		if json.Unmarshal([]byte(body), &in) != nil {
			return
		}
		in.MergeRules(nil)
		p, err := in.Prompt(newParts())
		if err != nil {
			return
		}
		if err := p.CheckParts("p"); err != nil { // an invalid id of the client
			return
		}
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var again session.Prompt
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatal(err)
		}
		want := len(*in.Parts) + len(p.Agents) // each with its text for the model
		if n := len(PendingMessage(&session.Session{}, &session.Input{Prompt: again}).Parts); n != want {
			t.Errorf("%d parts of %d are shown", n, want)
		}
	})
}
