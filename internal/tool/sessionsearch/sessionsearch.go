// Package sessionsearch holds the tool that searches earlier sessions of the project.
package sessionsearch

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

//go:embed session_search.md
var description string

const schema = `{"type":"object","properties":{
"query":{"type":"string","minLength":1,"maxLength":2000,"description":"Words that a text must all have"},
"kind":{"type":"string","enum":["title","prompt","answer","tool","shell","summary"],"description":"What is searched; all kinds if absent"},
"limit":{"type":"integer","minimum":1,"maximum":50,"description":"How many results; 10 if absent"}
},"required":["query"],"additionalProperties":false}`

// name is the name of the tool.
const name = "session_search"

const defaultLimit = 10

// Query is the input of session_search.
type Query struct {
	Query string `json:"query"`
	Kind  string `json:"kind"`
	Limit int    `json:"limit"`
}

// Hit is a text that was found.
type Hit struct {
	SessionID session.ID
	Title     string // of the session
	Kind      string
	Tool      string
	Time      time.Time
	Text      string // around the words, one line
}

// Search finds texts in the other sessions of the project to which a session belongs, but for calls of session_search: these
// and the session itself have the words of the query. Its errors are for the model.
type Search func(ctx context.Context, id session.ID, q Query) ([]Hit, error)

// New returns the tool.
func New(search Search) tool.Tool { return searchTool{search} }

type searchTool struct{ search Search }

// Definition describes the tool.
func (searchTool) Definition() tool.Definition {
	return tool.Definition{Name: name, Description: strings.TrimSpace(description), Schema: jsontext.Value(schema)}
}

// Run searches.
func (t searchTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	// Read the input, and ask for permission.
	in, err := tool.Input[Query](call)
	if err != nil {
		return tool.Output{}, err
	}
	in.Limit = cmp.Or(in.Limit, defaultLimit)
	err = call.Ask(ctx, tool.Request{
		Action: name, Resources: []string{in.Query}, Save: []string{"*"}, Metadata: tool.EncodeObject(in),
	})
	if err != nil {
		return tool.Output{}, err
	}
	// Search.
	hits, err := t.search(ctx, call.SessionID, in)
	if err != nil {
		return tool.Output{}, err
	}
	// What was said by others is no instruction.
	text := "Nothing was found. Try fewer or other words."
	if len(hits) > 0 {
		text = tool.MarkUntrusted(call, name, format(hits))
	}
	return tool.TextOutput("Session search: "+in.Query, text, map[string]any{"found": len(hits)}), nil
}

// format returns two lines for each hit.
func format(hits []Hit) string {
	var b strings.Builder
	for _, h := range hits {
		what := h.Kind
		if h.Tool != "" {
			what = "call of " + h.Tool
		}
		fmt.Fprintf(&b, "%s (%s), %s, %s:\n  %s\n", h.SessionID, h.Title, h.Time.UTC().Format(time.DateOnly), what, h.Text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
