package extension

import (
	"context"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestObserve: extensions follow an activity, each with its own part of the context; one that panics is left out, also later.
func TestObserve(t *testing.T) {
	type key string
	var ended []session.Reason
	follow := func(id string) Extension {
		return Extension{ID: id, Observe: func(context.Context, Activity) Observation {
			return Observation{
				Attach: func(ctx context.Context) context.Context { return context.WithValue(ctx, key(id), true) },
				End:    func(o Outcome) { ended = append(ended, o.Failure) },
			}
		}}
	}
	run := NewChain(Config{Extensions: []Extension{
		follow("a"),
		{ID: "bad", Observe: func(context.Context, Activity) Observation { panic("broken") }},
		{ID: "late", Observe: func(context.Context, Activity) Observation {
			return Observation{
				Attach: func(context.Context) context.Context { panic("broken") }, End: func(Outcome) { panic("broken") },
			}
		}},
		{ID: "idle", Observe: func(context.Context, Activity) Observation { return Observation{} }},
		follow("b"),
	}}).Begin()
	o := run.Observe(t.Context(), Activity{Tool: "bash"})
	ctx := o.Attach(t.Context())
	o.End(Outcome{Failure: session.ReasonTool})
	if ctx.Value(key("a")) == nil || ctx.Value(key("b")) == nil || len(ended) != 2 || ended[0] != session.ReasonTool {
		t.Errorf("%v, ended %v", ctx, ended)
	}
}

// TestObserveNothing: without extensions nothing is allocated.
func TestObserveNothing(t *testing.T) {
	ctx := t.Context()
	for name, run := range map[string]*Run{
		"none": nil, "no interest": NewChain(Config{Extensions: []Extension{{ID: "a"}}}).Begin(),
	} {
		if n := testing.AllocsPerRun(100, func() {
			o := run.Observe(ctx, Activity{Tool: "bash"})
			_ = o.Attach(ctx)
			o.End(Outcome{})
		}); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
