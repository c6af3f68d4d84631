package engine

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
)

// A rule that takes a tool of ours away takes those of vendors that do the same, in whatever words they are declared.
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
			set := &setting{model: &Model{Hosted: []llm.ToolDefinition{{Name: name, Hosted: jsontext.Value(c.declared)}}}}
			set.rights = []permission.Layer{{Rules: []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}, {Action: denied, Resource: "*", Effect: session.Deny}}}}
			if left := len(set.hosted()); left == 1 != (denied != c.denied) {
				t.Errorf("%s with %s denied: %d left", name, denied, left)
			}
		}
	}
}
