package opencode

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Format is OpenCode's OutputFormat: text, or a value of a JSON schema.
type Format struct {
	Type       string         `json:"type" enum:"text,json_schema"`
	Schema     jsontext.Value `json:"schema,omitzero"`
	RetryCount *int           `json:"retryCount,omitzero"`
}

// defaultRetries is how often a model may try again where the client does not say.
const defaultRetries = 2

// format says in our words what the client wants; nil is text.
func (f *Format) format() (*session.Format, error) {
	switch {
	case f == nil, f.Type == "text":
		return nil, nil
	case f.Type != "json_schema":
		return nil, session.Errorf(session.CodeInvalid, "the type of a format must be text or json_schema, got %.40q", f.Type).At("format.type")
	}
	out := &session.Format{Schema: f.Schema, Retries: defaultRetries}
	if f.RetryCount != nil {
		out.Retries = *f.RetryCount
	}
	return out, nil
}

func formatOf(f *session.Format) *Format {
	if f == nil {
		return nil
	}
	return &Format{Type: "json_schema", Schema: f.Schema, RetryCount: &f.Retries}
}

// retriesOf is how often the model tried again for the form of its answer before it failed.
func retriesOf(f *session.Failure) *int {
	var more struct {
		Retries int `json:"retries"`
	}
	_ = json.Unmarshal(f.Extra, &more) // one that does not say is one without
	return &more.Retries
}

// finishOf is a step's end in OpenCode's words.
func finishOf(finish string) string {
	switch finish {
	case session.FinishUnformed:
		return "stop"
	case session.FinishCut:
		return "length"
	default:
		return finish
	}
}
