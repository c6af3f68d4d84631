package tool_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// fake is a tool whose Run calls run.
type fake struct {
	def tool.Definition
	run func(ctx context.Context, call tool.Call) (tool.Output, error)
}

func (f fake) Definition() tool.Definition { return f.def }

func (f fake) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	if f.run == nil {
		return text(f.def.Description), nil
	}
	return f.run(ctx, call)
}

func text(s string) tool.Output { return tool.Output{Content: session.TextContent(s)} }

func named(name, says string) fake {
	return fake{def: tool.Definition{Name: name, Description: says, Schema: jsontext.Value(`{"type":"object"}`)}}
}

func register(t *testing.T, r *tool.Registry, tools ...tool.Tool) *tool.Registration {
	t.Helper()
	g, err := r.Register(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func settle(t *testing.T, s *tool.Set, name, input string) tool.Settlement {
	t.Helper()
	return s.Settle(t.Context(), tool.Call{Name: name, Input: jsontext.Value(input)})
}

func says(s tool.Settlement) string {
	if s.Error != nil {
		return string(s.Error.Reason) + ": " + s.Error.Message
	}
	var b strings.Builder
	for _, c := range s.Output.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

func TestRegisterRefuses(t *testing.T) {
	object := jsontext.Value(`{"type":"object"}`)
	for name, tools := range map[string][]tool.Tool{
		"digit first":  {fake{def: tool.Definition{Name: "1x", Schema: object}}},
		"empty":        {fake{def: tool.Definition{Name: "", Schema: object}}},
		"space":        {fake{def: tool.Definition{Name: "a b", Schema: object}}},
		"too long":     {fake{def: tool.Definition{Name: strings.Repeat("a", 65), Schema: object}}},
		"no schema":    {fake{def: tool.Definition{Name: "a"}}},
		"list schema":  {fake{def: tool.Definition{Name: "a", Schema: jsontext.Value(`[]`)}}},
		"one of two":   {named("good", ""), fake{def: tool.Definition{Name: "bad!", Schema: object}}},
		"same name":    {named("a", "1"), named("a", "2")},
		"broken value": {fake{def: tool.Definition{Name: "a", Schema: jsontext.Value(`{"type":`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := tool.NewRegistry(tool.Config{})
			if _, err := r.Register(tools...); err == nil {
				t.Fatal("registered")
			}
			if got := r.TakeSnapshot(nil).Definitions(); len(got) != 0 {
				t.Fatalf("left behind: %v", got)
			}
		})
	}
}

func TestNewestRegistrationWins(t *testing.T) {
	r := tool.NewRegistry(tool.Config{})
	register(t, r, named("a", "app a"), named("b", "app b"))
	first := register(t, r, named("a", "first"))
	second := register(t, r, named("a", "second"))

	check := func(want ...string) {
		t.Helper()
		var got []string
		for _, d := range r.TakeSnapshot(nil).Definitions() {
			got = append(got, d.Name+"="+d.Description)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
	check("a=second", "b=app b")
	first.Close() // in the middle of the stack
	check("a=second", "b=app b")
	second.Close()
	second.Close()
	check("a=app a", "b=app b")
}

func TestSetIsStaleByIdentity(t *testing.T) {
	r := tool.NewRegistry(tool.Config{})
	g := register(t, r, named("a", "x"))
	set := r.TakeSnapshot(nil)
	if got := says(settle(t, set, "a", `{}`)); got != "x" {
		t.Fatal(got)
	}
	g.Close()
	if got := says(settle(t, set, "a", `{}`)); !strings.HasPrefix(got, "unknown-tool: stale tool call") {
		t.Fatal(got)
	}
	register(t, r, named("a", "x")) // equal, but another registration
	if got := says(settle(t, set, "a", `{}`)); !strings.HasPrefix(got, "unknown-tool: stale tool call") {
		t.Fatal(got)
	}
	over := register(t, r, named("a", "y"))
	set = r.TakeSnapshot(nil)
	over.Close()
	if got := says(settle(t, set, "a", `{}`)); !strings.HasPrefix(got, "unknown-tool: stale tool call") {
		t.Fatal(got)
	}
}

func TestSnapshotHidesTools(t *testing.T) {
	r := tool.NewRegistry(tool.Config{})
	object := jsontext.Value(`{"type":"object"}`)
	register(t, r, named("read", ""),
		fake{def: tool.Definition{Name: "write", Action: "edit", Schema: object}},
		fake{def: tool.Definition{Name: "edit", Action: "edit", Schema: object}})
	layers := []permission.Layer{{Rules: []session.Rule{{Action: "edit", Resource: "*", Effect: session.Deny}}}}
	set := r.TakeSnapshot(func(action string) bool { return permission.IsHidden(layers, action) })
	if defs := set.Definitions(); len(defs) != 1 || defs[0].Name != "read" {
		t.Fatalf("%v", defs)
	}
	if got := says(settle(t, set, "write", `{}`)); !strings.Contains(got, "the rules deny it") {
		t.Fatal(got)
	}
}
