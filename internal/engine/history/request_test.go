package history

import (
	"context"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// A rule that denies a local tool denies the hosted tools that do the same, however they are declared.
func TestDeniedHostedTools(t *testing.T) {
	for name, c := range map[string]struct{ declared, denied string }{
		"web_search":           {`{"type":"web_search"}`, "websearch"},
		"web_search_preview":   {`{"type":"web_search_preview"}`, "websearch"},
		"web_search_2025_08":   {`{"type":"web_search_2025_08"}`, "websearch"},
		"my_search":            {`{"type":"web_search_20250305","name":"my_search"}`, "websearch"},
		"google_search":        {`{"google_search":{}}`, "websearch"},
		"googleSearchRetrieva": {`{"googleSearchRetrieval":{}}`, "websearch"},
		"x_search":             {`{"type":"x_search"}`, "websearch"},
		"url_context":          {`{"url_context":{}}`, "webfetch"},
		"fetch_it":             {`{"type":"web_fetch_20250910","name":"fetch_it"}`, "webfetch"},
		"code_execution":       {`{"type":"code_interpreter","allowed":["web_search"]}`, ""},
		"file_search":          {`{"type":"file_search"}`, ""},
	} {
		for _, denied := range []string{"websearch", "webfetch"} {
			in := &Input{Model: &scope.Model{Hosted: []llm.ToolDefinition{{Name: name, Hosted: jsontext.Value(c.declared)}}}}
			in.Rights = []permission.Layer{
				{
					Rules: []session.Rule{
						{Action: "*", Resource: "*", Effect: session.Allow}, {Action: denied, Resource: "*", Effect: session.Deny},
					},
				},
			}
			if left := len(in.hostedTools()); left == 1 != (denied != c.denied) {
				t.Errorf("%s with %s denied: %d left", name, denied, left)
			}
		}
	}
}

// Hosted tools that the vendor accepts only alone are skipped next to local tools, and only there.
func TestSkippedHostedTools(t *testing.T) {
	hosted := []llm.ToolDefinition{{Name: "web_search", Hosted: jsontext.Value(`{"googleSearch":{}}`)}}
	for _, alone := range []bool{false, true} {
		for name, effect := range map[string]session.Effect{"beside": session.Allow, "alone": session.Deny} {
			tools := tool.NewRegistry(tool.Config{})
			if _, err := tools.Register(reader{}); err != nil {
				t.Fatal(err)
			}
			in := &Input{Model: &scope.Model{Hosted: hosted, HostedExclusive: alone}}
			in.Rights = []permission.Layer{{Rules: []session.Rule{{Action: "read", Resource: "*", Effect: effect}}}}
			in.Tools = OfferTools(tools, in.Model, in.Rights)
			if left := len(in.SkippedHostedTools()) > 0; left != (alone && name == "beside") {
				t.Errorf("%s, exclusive %v: skipped %v", name, alone, left)
			}
		}
	}
}

type reader struct{}

func (reader) Definition() tool.Definition {
	return tool.Definition{Name: "read", Schema: jsontext.Value(`{"type":"object"}`)}
}

func (reader) Run(context.Context, tool.Call) (tool.Output, error) { return tool.Output{}, nil }
