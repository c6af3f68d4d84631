package opencode_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
)

func TestPromptFormat(t *testing.T) {
	schema := jsontext.Value(`{"type":"object"}`)
	for in, want := range map[string]*session.Format{
		``:                          nil,
		`"format":{"type":"text"},`: nil,
		`"format":{"type":"json_schema","schema":{"type":"object"}},`:                {Schema: schema, Retries: 2},
		`"format":{"type":"json_schema","schema":{"type":"object"},"retryCount":0},`: {Schema: schema},
	} {
		var p opencode.PromptInput
		if err := json.Unmarshal([]byte(`{`+in+`"parts":[]}`), &p); err != nil {
			t.Fatal(err)
		}
		got, err := p.Prompt(nil)
		if diff := cmp.Diff(want, got.Format); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
	}
	p := opencode.PromptInput{Format: &opencode.Format{Type: "yaml"}, Parts: &[]opencode.PartInput{}}
	if _, err := p.Prompt(nil); err == nil {
		t.Error("a format of another type is taken")
	}
}

// A session whose prompts required a format can be read, whatever the outcome.
func TestFormatIsReadable(t *testing.T) {
	s := &session.Session{ID: "ses_a"}
	in := &session.Input{
		ID: "msg_u",
		Prompt: session.Prompt{
			Text:   "x",
			Format: &session.Format{Schema: jsontext.Value(`{"type":"object"}`), Retries: 1},
		},
	}
	v, err := json.Marshal(opencode.PendingMessage(s, in).Info)
	if err != nil {
		t.Fatal(err)
	}
	var user struct{ Format jsontext.Value }
	if err := json.Unmarshal(v, &user, json.MatchCaseInsensitiveNames(true)); err != nil ||
		string(user.Format) != `{"type":"json_schema","schema":{"type":"object"},"retryCount":1}` {
		t.Errorf("%v %s", err, v)
	}
	failure := session.Failure{Reason: session.ReasonFormat, Message: "no", Extra: jsontext.Value(`{"retries":1}`)}
	failed := failure.PublicForm("p")
	if v, err = json.Marshal(failed); err != nil ||
		string(v) != `{"name":"StructuredOutputError","data":{"message":"no","retries":1}}` {
		t.Errorf("%v %s", err, v)
	}
}
