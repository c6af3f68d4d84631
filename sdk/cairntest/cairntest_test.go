package cairntest_test

import (
	"context"
	"testing"

	"github.com/cairn-dev/cairn/sdk"
	"github.com/cairn-dev/cairn/sdk/cairntest"
	"github.com/cairn-dev/cairn/sdk/embed"
)

// A test of a program's own tool: the scripted model calls it, and the session has its result.
func TestLookup(t *testing.T) {
	lookup, err := embed.NewTool("lookup", "Look up a person.",
		func(_ context.Context, in struct {
			Name string `json:"name"`
		},
		) (string, error) {
			return in.Name + " wrote the first program.", nil
		})
	if err != nil {
		t.Fatal(err)
	}
	model := cairntest.NewModel(
		cairntest.Turn(cairntest.Call("lookup", map[string]any{"name": "Ada"})),
		cairntest.Turn(cairntest.Text("Ada did.")),
	)
	store := cairntest.Open(t, &embed.Options{Models: []embed.Model{model.Model()}, Tools: []embed.Tool{lookup}})

	session, err := store.Client().CreateSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := session.Do(t.Context(), sdk.Prompt{Text: "Who wrote the first program?"})
	if err != nil || result.Text != "Ada did." {
		t.Errorf("got %+v, %v", result, err)
	}
	last := model.Requests()[1].Messages
	if got := last[len(last)-1].Parts[0].Result.Text; got != "Ada wrote the first program." {
		t.Errorf("the model got %q", got)
	}
}

// A model without a further answer fails the work, so that a test does not wait for one.
func TestScriptEnds(t *testing.T) {
	store := cairntest.Open(t, &embed.Options{Models: []embed.Model{cairntest.NewModel().Model()}})
	session, err := store.Client().CreateSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := session.Do(t.Context(), sdk.Prompt{Text: "hello"}); err == nil {
		t.Errorf("got %+v", r)
	}
}
