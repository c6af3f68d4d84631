package systemcontext

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// fake is a source with settable value, availability and texts. It counts calls.
type fake struct {
	key       string
	value     any
	missing   bool
	noRemoval bool
	loads     atomic.Int32
	rendered  atomic.Int32
}

func (f *fake) source() Source {
	s := Spec[any]{
		Key: f.key,
		Load: func(context.Context) (any, error) {
			f.loads.Add(1)
			if f.missing {
				return nil, errors.New("no such luck")
			}
			return f.value, nil
		},
		Baseline: func(v any) string { f.rendered.Add(1); return f.key + " is " + show(v) },
		Update:   func(_, cur any) string { f.rendered.Add(1); return f.key + " is now " + show(cur) },
		Removal:  func(any) string { return f.key + " is gone" },
	}
	if f.noRemoval {
		s.Removal = nil
	}
	return Make(s)
}

func show(v any) string {
	raw, err := encodeCanonical(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func of(fakes ...*fake) Context {
	var c Context
	for _, f := range fakes {
		c = append(c, f.source())
	}
	return c
}

func TestMakeRefusesBadKeys(t *testing.T) {
	good := []string{"core/date", "a/b", "0/9", "plugin/my-id/name.x_1", "core/a/b/c"}
	bad := []string{
		"",
		"core",
		"core/",
		"/date",
		"Core/date",
		"core/Date",
		"co re/x",
		"-a/b",
		"a/-b",
		"a/.b",
		"a//b",
		"ä/b",
		"a/b\n",
	}
	for _, key := range good {
		if _, err := Combine(of(&fake{key: key})); err != nil {
			t.Errorf("%q: %v", key, err)
		}
	}
	for _, key := range bad {
		_, err := Combine(of(&fake{key: key}))
		if e, ok := errors.AsType[*KeyError](err); !ok || e.Key != key {
			t.Errorf("%q: got %v, want a KeyError", key, err)
		}
	}
}

func TestCombineKeepsOrderAndRefusesDuplicates(t *testing.T) {
	a, b, c := &fake{key: "x/a", value: 1}, &fake{key: "x/b", value: 2}, &fake{key: "x/c", value: 3}
	all, err := Combine(of(b), nil, of(c, a))
	if err != nil {
		t.Fatal(err)
	}
	g, err := Initialize(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	if want := "x/b is 2\n\nx/c is 3\n\nx/a is 1"; g.Baseline != want {
		t.Errorf("baseline %q, want %q", g.Baseline, want)
	}
	if _, err := Combine(of(a), of(b, a)); err == nil {
		t.Error("a duplicate key was accepted")
	}
	if _, err := Initialize(t.Context(), of(a, a)); err == nil {
		t.Error("a duplicate key was observed")
	}
}

func TestInitialize(t *testing.T) {
	tests := []struct {
		name     string
		sources  []*fake
		baseline string
		snapshot string
		blocked  []string
	}{
		{"empty", nil, "", `{}`, nil},
		{
			"available",
			[]*fake{{key: "x/b", value: "B"}, {key: "x/a", value: "A", noRemoval: true}},
			"x/b is \"B\"\n\nx/a is \"A\"", `{"x/a":{"value":"A"},"x/b":{"value":"B","removal":"x/b is gone"}}`, nil,
		},
		{
			"unavailable blocks, in source order",
			[]*fake{{key: "x/z", missing: true}, {key: "x/a", value: 1}, {key: "x/c", missing: true}},
			"", "",
			[]string{"x/z", "x/c"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := Initialize(t.Context(), of(tt.sources...))
			var keys []string
			if e, ok := errors.AsType[*BlockedError](err); ok {
				keys = keysOf(e.Sources)
			} else if err != nil {
				t.Fatal(err)
			}
			got := []any{g.Baseline, string(g.Snapshot), keys}
			if diff := cmp.Diff([]any{tt.baseline, tt.snapshot, tt.blocked}, got); diff != "" {
				t.Error(diff)
			}
			for _, f := range tt.sources {
				if f.loads.Load() != 1 {
					t.Errorf("%s was loaded %d times", f.key, f.loads.Load())
				}
			}
		})
	}
}

func keysOf(list []Unavailable) (keys []string) {
	for _, s := range list {
		keys = append(keys, s.Key)
	}
	return keys
}

func TestReconcileAndReplace(t *testing.T) {
	const prev = `{"x/a":{"value":1,"removal":"x/a is gone"},"x/b":{"value":{"p":1,"q":2},"removal":"x/b is ` +
		`gone"},"x/n":{"value":"n"}}`
	a := func(v any) *fake { return &fake{key: "x/a", value: v} }
	b := func() *fake { return &fake{key: "x/b", value: map[string]any{"q": 2, "p": 1}} }
	n := func(v any) *fake { return &fake{key: "x/n", value: v, noRemoval: true} }
	gone := func(key string) *fake { return &fake{key: key, missing: true} }
	type want struct {
		Kind     OutcomeKind
		Text     string
		Baseline string
		Snapshot string
		Keys     []string
	}
	tests := []struct {
		name    string
		sources []*fake
		prev    string
		want    want
		replace want
	}{
		{
			"nothing changed, keys in another order",
			[]*fake{a(1), b(), n("n")},
			prev,
			want{Kind: OutcomeUnchanged},
			want{
				Kind: OutcomeReady, Baseline: "x/a is 1\n\nx/b is {\"p\":1,\"q\":2}\n\nx/n is \"n\"",
				Snapshot: prev,
			},
		},
		{
			"a change, a new source and a removal are one text",
			[]*fake{n("m"), {key: "x/new", value: 7}, a(1)},
			prev,
			want{
				Kind: OutcomeUpdated, Text: "x/n is now \"m\"\n\nx/new is 7\n\nx/b is gone",
				Snapshot: `{"x/a":{"value":1,"removal":"x/a is gone"},"x/n":{"value":"m"},"x/new":{"value":7,"removal":"x/new is ` +
					`gone"}}`,
			},
			want{
				Kind: OutcomeReady, Baseline: "x/n is \"m\"\n\nx/new is 7\n\nx/a is 1",
				Snapshot: `{"x/a":{"value":1,"removal":"x/a is gone"},"x/n":{"value":"m"},"x/new":{"value":7,"removal":"x/new is ` +
					`gone"}}`,
			},
		},
		{
			"removals in key order",
			[]*fake{n("n")},
			prev,
			want{Kind: OutcomeUpdated, Text: "x/a is gone\n\nx/b is gone", Snapshot: `{"x/n":{"value":"n"}}`},
			want{Kind: OutcomeReady, Baseline: `x/n is "n"`, Snapshot: `{"x/n":{"value":"n"}}`},
		},
		{
			"unavailable keeps what was admitted",
			[]*fake{gone("x/a"), b(), n("n")},
			prev,
			want{Kind: OutcomeUnchanged},
			want{Kind: OutcomeBlocked, Keys: []string{"x/a"}},
		},
		{
			"unavailable and never admitted is skipped",
			[]*fake{a(2), gone("x/new"), b(), n("n")},
			prev,
			want{
				Kind: OutcomeUpdated, Text: "x/a is now 2",
				Snapshot: `{"x/a":{"value":2,"removal":"x/a is gone"},"x/b":{"value":{"p":1,"q":2},"removal":"x/b is ` +
					`gone"},"x/n":{"value":"n"}}`,
			},
			want{
				Kind: OutcomeReady, Baseline: "x/a is 2\n\nx/b is {\"p\":1,\"q\":2}\n\nx/n is \"n\"",
				Snapshot: `{"x/a":{"value":2,"removal":"x/a is gone"},"x/b":{"value":{"p":1,"q":2},"removal":"x/b is ` +
					`gone"},"x/n":{"value":"n"}}`,
			},
		},
		{
			"gone without removal text is replaced",
			[]*fake{a(1)},
			prev,
			want{Kind: OutcomeReady, Baseline: "x/a is 1", Snapshot: `{"x/a":{"value":1,"removal":"x/a is gone"}}`},
			want{Kind: OutcomeReady, Baseline: "x/a is 1", Snapshot: `{"x/a":{"value":1,"removal":"x/a is gone"}}`},
		},
		{
			"gone without removal text, but blocked",
			[]*fake{gone("x/a")},
			prev,
			want{Kind: OutcomeBlocked, Keys: []string{"x/a"}},
			want{Kind: OutcomeBlocked, Keys: []string{"x/a"}},
		},
		{
			"an entry without value is replaced",
			[]*fake{a(1)},
			`{"x/a":{}}`,
			want{Kind: OutcomeReady, Baseline: "x/a is 1", Snapshot: `{"x/a":{"value":1,"removal":"x/a is gone"}}`},
			want{Kind: OutcomeReady, Baseline: "x/a is 1", Snapshot: `{"x/a":{"value":1,"removal":"x/a is gone"}}`},
		},
		{
			"an undecodable value of an unavailable source stays",
			[]*fake{gone("x/a")},
			`{"x/a":{}}`,
			want{Kind: OutcomeUnchanged},
			want{Kind: OutcomeBlocked, Keys: []string{"x/a"}},
		},
		{"nothing and nothing", nil, `{}`, want{Kind: OutcomeUnchanged}, want{Kind: OutcomeReady, Snapshot: `{}`}},
	}
	run := func(t *testing.T, sources []*fake, do func(context.Context, Context, jsontext.Value) (Outcome, error),
		prev string,
	) want {
		t.Helper()
		for _, f := range sources {
			f.loads.Store(0)
		}
		o, err := do(t.Context(), of(sources...), jsontext.Value(prev))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range sources {
			if f.loads.Load() != 1 {
				t.Errorf("%s was loaded %d times", f.key, f.loads.Load())
			}
		}
		return want{o.Kind, o.Text, o.Generation.Baseline, string(o.Generation.Snapshot), keysOf(o.Missing)}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, run(t, tt.sources, Reconcile, tt.prev)); diff != "" {
				t.Error("reconcile:", diff)
			}
			if diff := cmp.Diff(tt.replace, run(t, tt.sources, Replace, tt.prev)); diff != "" {
				t.Error("replace:", diff)
			}
		})
	}
}

func TestReconcileRendersOnlyWhatChanged(t *testing.T) {
	a, b := &fake{key: "x/a", value: 1}, &fake{key: "x/b", value: 2}
	g, err := Initialize(t.Context(), of(a, b))
	if err != nil {
		t.Fatal(err)
	}
	b.value = 3
	if _, err := Reconcile(t.Context(), of(a, b), g.Snapshot); err != nil {
		t.Fatal(err)
	}
	if got := []int32{a.rendered.Load(), b.rendered.Load()}; !cmp.Equal(got, []int32{1, 2}) {
		t.Errorf("rendered %v, want [1 2]", got)
	}
}

func TestStoredValueOfAnotherTypeIsReplaced(t *testing.T) {
	typed := Make(Spec[struct{ Name string }]{
		Key:      "x/a",
		Load:     func(context.Context) (struct{ Name string }, error) { return struct{ Name string }{"n"}, nil },
		Baseline: func(v struct{ Name string }) string { return v.Name },
		Update:   func(_, v struct{ Name string }) string { return "now " + v.Name },
	})
	o, err := Reconcile(t.Context(), Context{typed}, jsontext.Value(`{"x/a":{"value":[1]}}`))
	if err != nil || o.Kind != OutcomeReady || o.Generation.Baseline != "n" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestUndecodableSnapshot(t *testing.T) {
	for _, raw := range []string{"", "null", "[]", "7", `{"x/a":1}`, `{"x/a"`, `{"x/a":{"value":1},"x/a":{"value":2}}`} {
		_, err := Reconcile(t.Context(), nil, jsontext.Value(raw))
		if _, ok := errors.AsType[*SnapshotError](err); !ok {
			t.Errorf("reconcile %q: got %v, want a SnapshotError", raw, err)
		}
		_, err = Replace(t.Context(), nil, jsontext.Value(raw))
		if _, ok := errors.AsType[*SnapshotError](err); !ok {
			t.Errorf("replace %q: got %v, want a SnapshotError", raw, err)
		}
	}
}

func TestEmptyTextsAreErrors(t *testing.T) {
	nothing := func(string) string { return "" }
	some := func(string) string { return "some" }
	make1 := func(base, removal func(string) string, update string) Context {
		return Context{Make(Spec[string]{
			Key:      "x/a",
			Load:     func(context.Context) (string, error) { return "v", nil },
			Baseline: base,
			Update:   func(_, _ string) string { return update },
			Removal:  removal,
		})}
	}
	tests := []struct {
		form string
		c    Context
		prev string
	}{
		{"baseline", make1(nothing, nil, "u"), `{}`},
		{"removal", make1(some, nothing, "u"), `{}`},
		{"update", make1(some, nil, ""), `{"x/a":{"value":"old"}}`},
	}
	for _, tt := range tests {
		_, err := Reconcile(t.Context(), tt.c, jsontext.Value(tt.prev))
		if e, ok := errors.AsType[*EmptyTextError](err); !ok || e.Form != tt.form {
			t.Errorf("%s: got %v", tt.form, err)
		}
	}
}

func TestLoadersThatPanicOrAreCancelled(t *testing.T) {
	bomb := Make(Spec[int]{Key: "x/a", Load: func(context.Context) (int, error) { panic("boom") }})
	if _, err := Initialize(t.Context(), Context{bomb}); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("got %v", err)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	slow := Make(Spec[int]{Key: "x/a", Load: func(ctx context.Context) (int, error) {
		cancel(stop)
		<-ctx.Done()
		return 0, ctx.Err()
	}})
	if _, err := Initialize(ctx, Context{slow}); !errors.Is(err, stop) {
		t.Errorf("got %v, want the cause of the cancellation", err)
	}
}

func TestLargeIntegersAreNotRounded(t *testing.T) {
	f := &fake{key: "x/a", value: int64(9007199254740993)}
	g, err := Initialize(t.Context(), of(f))
	if err != nil || !strings.Contains(string(g.Snapshot), "9007199254740993") {
		t.Errorf("snapshot %s, %v", g.Snapshot, err)
	}
}

// A loader that does not answer in time is unavailable, even if it ignores the end of its context.
func TestLoadersHaveATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		hangs := Make(Spec[string]{Key: "x/hangs", Load: func(context.Context) (string, error) {
			<-release
			return "late", nil
		}})
		began := time.Now()
		_, err := Initialize(t.Context(), append(of(&fake{key: "x/a", value: 1}), hangs))
		if took := time.Since(began); took != 2*time.Second || err == nil ||
			!strings.HasSuffix(err.Error(), ": x/hangs: no answer within 2s") {
			t.Errorf("after %v: %v", took, err)
		}
	})
}
