package opencode

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Format is OpenCode's OutputFormat: text, or a value of a JSON schema.
type Format struct {
	Type       string         `json:"type" enum:"text,json_schema"`
	Schema     jsontext.Value `json:"schema,omitzero"`
	RetryCount *int           `json:"retryCount,omitzero"`
}

// defaultRetries is the number of retries if the client names none.
const defaultRetries = 2

// toFormat converts the format; nil means text.
func (f *Format) toFormat() (*session.Format, error) {
	switch {
	case f == nil, f.Type == "text":
		return nil, nil
	case f.Type != "json_schema":
		return nil, session.Errorf(session.CodeInvalid, "the type of a format must be text or json_schema, got %.40q",
			f.Type).
			At("format.type")
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

// finishOf converts a finish reason to OpenCode's.
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
