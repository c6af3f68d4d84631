package systemcontext

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func produce(fakes ...*fake) Producer { return func(context.Context) Context { return of(fakes...) } }

func TestRegistryCombinesInKeyOrder(t *testing.T) {
	var r Registry
	ready := make(chan struct{})
	_, err := r.Register("x/2", func(context.Context) Context {
		close(ready)
		return of(&fake{key: "x/b", value: 2})
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Register("x/1", func(context.Context) Context {
		<-ready // only ends when both run at once
		return of(&fake{key: "x/c", value: 1})
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Load(t.Context())
	if err != nil || len(c) != 2 || c[0].key != "x/c" || c[1].key != "x/b" {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestRegistryScopes(t *testing.T) {
	var r Registry
	removeA, err := r.Register("x/a", produce(&fake{key: "x/a", value: 1}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Register("x/a", produce()); err == nil {
		t.Error("a key was registered twice")
	}
	if _, err := r.Register("nokey", produce()); err == nil {
		t.Error("a malformed key was registered")
	}
	c, err := r.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g, err := Initialize(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	removeA()
	c, err = r.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o, err := Reconcile(t.Context(), c, g.Snapshot)
	if err != nil || o.Text != "x/a is gone" {
		t.Errorf("got %+v, %v", o, err)
	}
	if _, err := r.Register("x/a", produce(&fake{key: "x/a", value: 2})); err != nil {
		t.Fatal(err)
	}
	removeA() // of a registration that ended; the new one stays
	if c, err := r.Load(t.Context()); err != nil || len(c) != 1 {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestRegistryErrors(t *testing.T) {
	var r Registry
	for _, key := range []string{"x/1", "x/2"} {
		if _, err := r.Register(key, produce(&fake{key: "x/same"})); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.Load(t.Context())
	if e, ok := errors.AsType[*KeyError](err); !ok || e.Key != "x/same" {
		t.Errorf("got %v", err)
	}
	var p Registry
	if _, err := p.Register("x/1", func(context.Context) Context { panic("boom") }); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := new(Registry).Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzReconcileAnySnapshot(f *testing.F) {
	f.Add([]byte(`{"x/a":{"value":1,"removal":"r"}}`))
	f.Add([]byte(`{"x/b":{"value":{"a":[null]}}}`))
	f.Add([]byte(`{"":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := of(&fake{key: "x/a", value: 1})
		o, err := Reconcile(t.Context(), c, jsontext.Value(raw))
		if err != nil {
			if _, ok := errors.AsType[*SnapshotError](err); !ok {
				t.Fatal(err)
			}
			return
		}
		if o.Kind == OutcomeUnchanged || o.Kind == OutcomeBlocked {
			return
		}
		again, err := Reconcile(t.Context(), c, o.Generation.Snapshot)
		if err != nil || again.Kind != OutcomeUnchanged {
			t.Fatalf("after %q: %+v, %v", raw, again, err)
		}
	})
}
