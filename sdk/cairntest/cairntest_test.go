package cairntest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cairn-dev/cairn/sdk"
	"github.com/cairn-dev/cairn/sdk/cairntest"
	"github.com/cairn-dev/cairn/sdk/embed"
)

func TestTry(t *testing.T) {
	m := cairntest.NewModel(
		cairntest.Turn(cairntest.Reasoning("hm"), cairntest.Text("I look it up."), cairntest.Call("lookup", map[string]any{"name": "ada"})),
		cairntest.Turn(cairntest.Call("bash", map[string]any{"command": "echo $PPID; ps -o args= -p $PPID"})),
		cairntest.Turn(cairntest.Text("Done."), cairntest.Usage(sdk.Tokens{Input: 5, Output: 7})),
	)
	lookup, err := embed.NewTool("lookup", "Look up a name.", func(ctx context.Context, in struct {
		Name string `json:"name" jsonschema:"the name"`
	}) (string, error) {
		return "found " + in.Name, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s := cairntest.Open(t, &embed.Options{
		Models: []embed.Model{m.Model()}, Tools: []embed.Tool{lookup},
		Context: []embed.ContextSource{{Key: "where", Read: func(context.Context) (string, error) { return "You are in a test.", nil }}},
		Hooks: embed.Hooks{AfterCall: func(_ context.Context, h *embed.ResultHook) error { h.Text += "!"; return nil }},
	})
	se, err := s.Client().CreateSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := se.Do(t.Context(), sdk.Prompt{Text: "hello", Asks: sdk.AskAllow})
	fmt.Printf("%+v %v\n", r, err)
	for m, err := range se.Messages(t.Context()) {
		fmt.Printf("%+v %v\n", m, err)
		for _, p := range m.Parts {
			if p.Call != nil {
				fmt.Printf("   %+v %s\n", p.Call, p.Call.Input)
			}
		}
	}
	for _, r := range m.Requests() {
		fmt.Printf("%d messages %q\n", len(r.Messages), r.System[len(r.System)-1][max(0,len(r.System[len(r.System)-1])-400):])
	}
}
