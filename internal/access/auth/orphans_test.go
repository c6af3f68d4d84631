package auth

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Secrets that are removed or replaced while the keyring cannot be reached are removed once it can be, and are reported
// until then.
func TestKeysThatAreLeftInTheKeyring(t *testing.T) {
	for name, end := range map[string]func(s *Store) error{
		"logout":         func(s *Store) error { _, err := s.Remove(t.Context(), "openai"); return err },
		"login":          func(s *Store) error { return s.Set(t.Context(), "openai", NewSecret("newer")) },
		"logout offline": func(s *Store) error { s.keyring = nil; _, err := s.Remove(t.Context(), "openai"); return err },
		"login offline":  func(s *Store) error { s.keyring = nil; return s.Set(t.Context(), "openai", NewSecret("newer")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, v := t.TempDir(), &fakeKeyring{items: map[string]string{}}
			fill(t, storeWith(dir, v))
			v.closed = true
			s := storeWith(dir, v)
			if err := end(s); err != nil {
				t.Fatal(err)
			}
			left, err := s.ListOrphans("openai")
			if err != nil || len(left.Names) != 1 || left.Why == nil || !strings.HasPrefix(left.Names[0], "openai#") {
				t.Errorf("%+v %v", left, err)
			}
			if _, has := v.items[left.Names[0]]; !has {
				t.Error("the name is another")
			}
			if left, err := storeWith(dir, v).CleanUp(t.Context(), "openai", true); err != nil ||
				len(left.Names) != 1 ||
				left.Why == nil {
				t.Errorf("again: %+v %v", left, err)
			}
			if left, err := s.ListOrphans("groq"); err != nil || len(left.Names) != 0 {
				t.Errorf("of another: %+v %v", left, err)
			}
			v.closed = false
			if err := storeWith(dir, v).Set(t.Context(), "groq", NewSecret("g")); err != nil { // whatever is changed next
				t.Fatal(err)
			}
			if left, err := storeWith(dir, v).ListOrphans(""); err != nil || len(left.Names) != 0 || len(v.items) != 3 {
				t.Errorf("%+v, %d items, %v", left, len(v.items), err)
			}
			if _, err := os.Stat(s.orphans); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("notes of nothing stay: %v", err)
			}
		})
	}
}

// Who asks may have the keyring opened; others may not.
func TestSweepAsks(t *testing.T) {
	dir, v := t.TempDir(), &fakeKeyring{items: map[string]string{}}
	fill(t, storeWith(dir, v))
	v.opens = true
	if _, err := storeWith(dir, v).Remove(t.Context(), "openai"); err != nil || len(v.items) != 3 {
		t.Errorf("%d items, %v", len(v.items), err)
	}
	if left, err := storeWith(dir, v).CleanUp(t.Context(), "", false); err != nil || len(left.Names) != 1 ||
		len(v.items) != 3 {
		t.Errorf("%+v, %d items, %v", left, len(v.items), err)
	}
	if left, err := storeWith(dir, v).CleanUp(t.Context(), "", true); err != nil || len(left.Names) != 0 ||
		len(v.items) != 2 {
		t.Errorf("%+v, %d items, %v", left, len(v.items), err)
	}
}

func TestForget(t *testing.T) {
	dir, v := t.TempDir(), &fakeKeyring{items: map[string]string{}}
	fill(t, storeWith(dir, v))
	s := storeWith(dir, nil)
	if _, err := s.Remove(t.Context(), "openai"); err != nil {
		t.Fatal(err)
	}
	names, err := s.ForgetOrphans(t.Context(), "openai")
	if err != nil || len(names) != 1 {
		t.Errorf("%v %v", names, err)
	}
	if left, err := s.ListOrphans(""); err != nil || len(left.Names) != 0 {
		t.Errorf("%+v %v", left, err)
	}
}

// What is noted is what is removed, and nothing that the file refers to.
func TestNotesNeverRemoveWhatIsUsed(t *testing.T) {
	dir, v := t.TempDir(), &fakeKeyring{items: map[string]string{}}
	fill(t, storeWith(dir, v))
	s := storeWith(dir, v)
	notes := orphans{}
	for name := range v.items {
		notes[name] = orphan{}
	}
	if err := s.writeOrphans(notes); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CleanUp(t.Context(), "", true); err != nil {
		t.Fatal(err)
	}
	checkFilled(t, s)
	if err := os.WriteFile(s.orphans, []byte(`[]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Remove(t.Context(), "openai"); err == nil || !strings.Contains(err.Error(), orphansName) {
		t.Errorf("damaged notes: %v", err)
	}
	checkFilled(t, storeWith(dir, v))
}

// A login that dies at any point leaves no untracked secret in the keyring.
func TestLoginThatIsCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, after := range []bool{false, true} {
			died := true
			for step := 1; died; step++ {
				dir, v := t.TempDir(), &fakeKeyring{items: map[string]string{}}
				fill(t, storeWith(dir, v))
				v.steps, v.after = step, after
				died = dies(t, func() { _ = storeWith(dir, v).Set(t.Context(), "openai", NewSecret("newer")) })
				v.steps = 0
				if c, ok, err := storeWith(dir, v).Get("openai"); !ok || err != nil ||
					c.Key.Reveal() != canary && c.Key.Reveal() != "newer" {
					t.Errorf("cut at %d: %v %v", step, ok, err)
				}
				if left, err := storeWith(dir, v).ListOrphans(""); err != nil || !left.Due && len(v.items) != 3 {
					t.Errorf("cut at %d: nothing is due: %+v, %d items, %v", step, left, len(v.items), err)
				}
				if left, err := storeWith(dir, v).CleanUp(t.Context(), "", false); err != nil || left.Due ||
					len(left.Names) != 0 ||
					len(v.items) != 3 {
					t.Errorf("cut at %d: %+v, %d items, %v", step, left, len(v.items), err)
				}
				if step > 20 {
					t.Fatal("it never ends")
				}
			}
		}
	})
}

// Other updates wait while the keyring prompts the user of a login, before and after it stores the secret, and lose
// nothing.
func TestLoginThatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, before := range []bool{false, true} {
			dir, v := t.TempDir(), &fakeKeyring{items: map[string]string{}}
			fill(t, storeWith(dir, v))
			other := make(chan error, 1)
			prompt := func() {
				go func() { _, err := storeWith(dir, nil).Remove(t.Context(), "github-copilot"); other <- err }()
				time.Sleep(promptTimeout / 2)
				if len(other) > 0 {
					t.Error("an update did not wait")
				}
			}
			if v.puts = []func(){nil, prompt}; before {
				v.puts = []func(){prompt, nil}
			}
			if err := storeWith(dir, v).Set(t.Context(), "openai", NewSecret("newer")); err != nil {
				t.Fatal(err)
			}
			if err := <-other; err != nil {
				t.Error(err)
			}
			if c, ok, err := storeWith(dir, v).Get("openai"); !ok || err != nil || c.Key.Reveal() != "newer" {
				t.Errorf("before %v: %v %v", before, ok, err)
			}
			if left, err := storeWith(dir, v).CleanUp(t.Context(), "", true); err != nil || len(left.Names) != 0 ||
				len(v.items) != 2 {
				t.Errorf("before %v: %+v, %d items, %v", before, left, len(v.items), err)
			}
		}
	})
}

// The environment's key stands in for one that the keyring does not give out, and says so.
func TestEnvironmentStandsIn(t *testing.T) {
	dir, v := t.TempDir(), &fakeKeyring{items: map[string]string{}}
	fill(t, storeWith(dir, v))
	v.closed = true
	s := storeWith(dir, v)
	s.getenv = func(name string) string { return map[string]string{"OPENAI_API_KEY": "env"}[name] }
	c, ok, err := s.Get("openai", "OPENAI_API_KEY")
	var why *Unreachable
	if !ok || err != nil || c.Key.Reveal() != "env" || c.From != "$OPENAI_API_KEY" || !errors.As(c.Instead, &why) ||
		why.Provider != "openai" {
		t.Errorf("%+v %v %v", c, ok, err)
	}
	if _, ok, err := s.Get("openai", "NOT_SET"); ok || !errors.As(err, &why) {
		t.Errorf("%v %v", ok, err)
	}
	if _, ok, err := s.Get("other", "ORG_TOKEN"); ok || !errors.As(err, &why) || why.Provider != "https://example.org" {
		t.Errorf("by the name of a login: %v %v", ok, err)
	}
	if c, ok, err := s.Get("other", "ORG_TOKEN", "OPENAI_API_KEY"); !ok || err != nil || c.Instead == nil {
		t.Errorf("%+v %v %v", c, ok, err)
	}
	troubles, err := s.ListProblems(t.Context())
	if err != nil ||
		!slices.EqualFunc(
			troubles,
			[]string{"github-copilot", "https://example.org", "openai"},
			func(t Problem, p string) bool { return t.Provider == p },
		) {
		t.Errorf("%v %v", troubles, err)
	}
	v.closed = false
	if c, _, err := storeWith(dir, v).Get("openai", "OPENAI_API_KEY"); err != nil || c.Key.Reveal() != canary ||
		c.Instead != nil {
		t.Errorf("%+v %v", c, err)
	}
}

// Who leaves while the keyring asks keeps what there was.
func TestLoginThatIsLeft(t *testing.T) {
	dir, v := t.TempDir(), &fakeKeyring{items: map[string]string{}}
	fill(t, storeWith(dir, v))
	left := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	v.puts = []func(){func() { cancel(left) }, nil}
	if err := storeWith(dir, v).Set(ctx, "openai", NewSecret("newer")); !errors.Is(err, left) {
		t.Error(err)
	}
	checkFilled(t, storeWith(dir, v))
	if secretInFile(t, storeWith(dir, v)) {
		t.Error("it went into the file")
	}
}
