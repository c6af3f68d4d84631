package extension

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// addTo returns an extension that adds its id to the input of calls.
func addTo(id string) Extension {
	return Extension{ID: id, Call: func(_ context.Context, c *Call) error {
		c.Input = jsontext.Value(strings.TrimSuffix(string(c.Input), "]") + id + "]")
		return nil
	}}
}

// Extensions are called in their order, each with what the one before left. One that changes nothing is not named.
func TestOrder(t *testing.T) {
	idle := Extension{ID: "idle", Call: func(context.Context, *Call) error { return nil }}
	other := Extension{ID: "other", Result: func(context.Context, *Result) error { return errors.New("not asked") }}
	run := NewChain(Config{Extensions: []Extension{addTo("1"), idle, other, addTo("2")}}).Begin()
	c := Call{Input: jsontext.Value("[")}
	by, err := run.Call(t.Context(), &c)
	if err != nil || !slices.Equal(by, []string{"1", "2"}) || string(c.Input) != "[12]" {
		t.Errorf("%s by %v, %v", c.Input, by, err)
	}
}

// A failure, a panic and a hang leave the value as the extension before left it, and fail what is guarded. After a panic
// or a hang the extension fails without a call for the rest of the run.
func TestFailures(t *testing.T) {
	for name, f := range map[string]func(context.Context, *Call) error{
		"it does not work":          func(context.Context, *Call) error { return errors.New("it does not work") },
		"it panicked: broken":       func(context.Context, *Call) error { panic("broken") },
		"it did not answer in time": func(ctx context.Context, _ *Call) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int32 // a call that hangs is not waited for
				bad := Extension{ID: "bad", Call: func(ctx context.Context, c *Call) error {
					calls.Add(1)
					c.Input = jsontext.Value("changed")
					return f(ctx, c)
				}}
				run := NewChain(Config{Extensions: []Extension{addTo("1"), bad}}).Begin()
				began := time.Now()
				for range 2 {
					c := Call{Input: jsontext.Value("[")}
					by, err := run.Call(t.Context(), &c)
					failure, ok := errors.AsType[*Error](err)
					if !ok || failure.Extension != "bad" || failure.Err.Error() != name || string(c.Input) != "[1]" || len(by) != 1 {
						t.Errorf("%s by %v, %v", c.Input, by, err)
					}
				}
				want := int32(1)
				if name == "it does not work" {
					want = 2
				}
				if n := calls.Load(); n != want {
					t.Errorf("it was called %d times, want %d", n, want)
				}
				if took := time.Since(began); took > defaultBudget {
					t.Errorf("both calls took %v", took)
				}
			})
		})
	}
}

// An extension that fails where nothing is guarded changes nothing, and the others go on.
func TestUnguardedFailure(t *testing.T) {
	bad := Extension{ID: "bad", Definition: func(_ context.Context, d *Definition) error {
		d.Description = "changed"
		return errors.New("it does not work")
	}}
	good := Extension{ID: "good", Definition: func(_ context.Context, d *Definition) error {
		d.Description += "!"
		return nil
	}}
	d := Definition{Description: "own"}
	by, err := NewChain(Config{Extensions: []Extension{bad, good}}).Begin().Definition(t.Context(), &d)
	if err != nil || d.Description != "own!" || !slices.Equal(by, []string{"good"}) {
		t.Errorf("%q by %v, %v", d.Description, by, err)
	}
}

// A value that is too large is a failure as any other: it fails what is guarded, and is skipped elsewhere.
func TestSize(t *testing.T) {
	text := strings.Repeat("x", maxValue+1)
	large := Extension{
		ID: "large", Definition: func(_ context.Context, d *Definition) error { d.Description = text; return nil },
		Call: func(_ context.Context, c *Call) error { c.Context = text; return nil },
	}
	lenient := large
	lenient.ID, lenient.Lenient = "lenient", true
	good := addTo("1")
	good.Definition = func(_ context.Context, d *Definition) error { d.Description += "!"; return nil }
	// Where nothing is guarded, and a lenient one anywhere.
	run := NewChain(Config{Extensions: []Extension{large, good}}).Begin()
	d := Definition{Description: "own"}
	if by, err := run.Definition(t.Context(), &d); err != nil || d.Description != "own!" || len(by) != 1 {
		t.Errorf("%.20q by %v, %v", d.Description, by, err)
	}
	run = NewChain(Config{Extensions: []Extension{lenient, good}}).Begin()
	c := Call{Input: jsontext.Value("[]")}
	if by, err := run.Call(t.Context(), &c); err != nil || len(by) != 1 || c.Context != "" {
		t.Errorf("lenient: by %v, %v", by, err)
	}
	// Where it guards.
	run = NewChain(Config{Extensions: []Extension{large}}).Begin()
	_, err := run.Call(t.Context(), &c)
	if failure, ok := errors.AsType[*Error](err); !ok || !strings.Contains(failure.Error(), "the limit is") || c.Context != "" {
		t.Errorf("%v", err)
	}
}

// A value whose texts are not valid UTF-8 can change.
func TestInvalidText(t *testing.T) {
	cut := Extension{ID: "cut", Text: func(_ context.Context, v *Text) error { v.Text = v.Text[:2]; return nil }}
	v := Text{Text: "aé"}
	by, err := NewChain(Config{Extensions: []Extension{cut}}).Begin().Text(t.Context(), &v)
	if err != nil || len(by) != 1 || v.Text != "a\xc3" {
		t.Errorf("%q by %v, %v", v.Text, by, err)
	}
}

// The effects of extensions: they become stricter, and allow only where the user lets them.
func TestEffects(t *testing.T) {
	for _, c := range []struct {
		before, after, want session.Effect
		mayAllow            bool
	}{
		{"", session.Allow, "", false},
		{"", session.Allow, session.Allow, true},
		{session.Ask, session.Allow, session.Ask, false},
		{session.Ask, session.Allow, session.Allow, true},
		{session.Allow, session.Ask, session.Ask, false},
		{session.Allow, "", session.Allow, false},
		{session.Deny, session.Allow, session.Deny, true},
		{session.Allow, session.Deny, session.Deny, false},
	} {
		e := Extension{ID: "e", MayAllow: c.mayAllow, Permission: func(_ context.Context, p *Permission) error {
			p.Effect, p.Reason = c.after, "why"
			return nil
		}}
		p := Permission{Effect: c.before}
		_, err := NewChain(Config{Extensions: []Extension{e}}).Begin().Permission(t.Context(), &p)
		if err != nil || p.Effect != c.want || (p.Reason != "") != (c.want != c.before) {
			t.Errorf("%q after %q (may allow: %v): %q, reason %q, %v", c.after, c.before, c.mayAllow, p.Effect, p.Reason, err)
		}
	}
}

// The end of the caller's context ends the wait at once, and is no failure of the extension.
func TestEndOfCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		hang := Extension{ID: "hang", Call: func(ctx context.Context, _ *Call) error {
			cancel(stopped)
			<-ctx.Done()
			return ctx.Err()
		}}
		run := NewChain(Config{Extensions: []Extension{hang}}).Begin()
		if _, err := run.Call(ctx, &Call{}); !errors.Is(err, stopped) {
			t.Error(err)
		}
		if err := run.findFailure("hang"); err != nil {
			t.Error(err)
		}
	})
}

// Without extensions a point costs next to nothing, and allocates nothing.
func BenchmarkWithoutExtensions(b *testing.B) {
	run := NewChain(Config{}).Begin()
	v := Call{Tool: "bash", Input: jsontext.Value(`{}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := run.Call(b.Context(), &v); err != nil {
			b.Fatal(err)
		}
	}
}

// An extension at a point costs this much besides its own work.
func BenchmarkOneExtension(b *testing.B) {
	run := NewChain(Config{Extensions: []Extension{{ID: "e", Call: func(context.Context, *Call) error { return nil }}}}).Begin()
	v := Call{Tool: "bash", Input: jsontext.Value(`{}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := run.Call(b.Context(), &v); err != nil {
			b.Fatal(err)
		}
	}
}
