package auth

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/access/keyring"
)

// fakeKeyring is a keyring that can be closed, and in which the process can die.
type fakeKeyring struct {
	items  map[string]string
	closed bool
	steps  int // until the process dies; 0 is never
	after  bool
	asked  int      // calls
	late   func()   // happens before the next secret is given out
	opens  bool     // only after a prompt to unlock it
	puts   []func() // happen before and after the next secret is put there
}

var errDead = errors.New("the process died")

// step is one call: what it does happens before or after the process dies.
func (v *fakeKeyring) step(do func()) error {
	v.asked++
	if v.closed {
		return keyring.ErrLocked
	}
	v.steps--
	if v.steps == 0 && !v.after {
		panic(errDead)
	}
	do()
	if v.steps == 0 {
		panic(errDead)
	}
	return nil
}

func (v *fakeKeyring) Set(_ context.Context, name, secret string) error {
	return v.step(func() {
		puts := append(v.puts, nil, nil)
		if v.puts = nil; puts[0] != nil {
			puts[0]()
		}
		if v.items[name] = secret; puts[1] != nil {
			puts[1]()
		}
	})
}

func (v *fakeKeyring) Delete(_ context.Context, name string, ask bool) error {
	if v.opens && !ask {
		return keyring.ErrLocked
	}
	return v.step(func() { delete(v.items, name) })
}

func (v *fakeKeyring) Get(_ context.Context, name string) (secret string, err error) {
	if late := v.late; late != nil {
		v.late = nil
		late()
	}
	ok := false
	err = v.step(func() { secret, ok = v.items[name] })
	if err == nil && !ok {
		err = keyring.ErrNotFound
	}
	return secret, err
}

func storeWith(dir string, v *fakeKeyring) *Store {
	s := New(dir, func(string) string { return "" })
	if s.keyring = nil; v != nil {
		s.keyring = v
	}
	return s
}

// fill keeps one credential of every kind.
func fill(t *testing.T, s *Store) {
	t.Helper()
	err := errors.Join(
		s.Set(t.Context(), "openai", NewSecret(canary)),
		s.SetToken(
			t.Context(),
			"github-copilot",
			Token{Refresh: NewSecret(canary + "-r"), Access: NewSecret(canary + "-a"), Expires: time.UnixMilli(5)},
		),
		s.SetLogin(t.Context(), Login{"https://example.org", "ORG_TOKEN", NewSecret(canary + "-o")}),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// checkFilled holds that a store has what fill kept.
func checkFilled(t *testing.T, s *Store) {
	t.Helper()
	key, _, err := s.Get("openai")
	token, _, err2 := s.Get("github-copilot")
	logins, err3 := s.ListLogins()
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	if key.Key.Reveal() != canary || token.Refresh.Reveal() != canary+"-r" || token.Access.Reveal() != canary+"-a" ||
		!token.Expires.Equal(time.UnixMilli(5)) {
		t.Errorf("%q %q %q", key.Key.Reveal(), token.Refresh.Reveal(), token.Access.Reveal())
	}
	if len(logins) != 1 || logins[0].Env != "ORG_TOKEN" || logins[0].Token.Reveal() != canary+"-o" {
		t.Errorf("%+v", logins)
	}
	if c, ok, err := s.Get("other", "ORG_TOKEN"); !ok || err != nil || c.Key.Reveal() != canary+"-o" {
		t.Errorf("by the variable: %v %v", ok, err)
	}
}

func secretInFile(t *testing.T, s *Store) bool {
	t.Helper()
	raw, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(raw), "canary")
}

func TestKeyring(t *testing.T) {
	dir, v := t.TempDir(), &fakeKeyring{items: map[string]string{}}
	fill(t, storeWith(dir, v))
	fill(t, storeWith(dir, v)) // again: what was is dropped
	if len(v.items) != 3 || secretInFile(t, storeWith(dir, v)) {
		t.Errorf("%d items, in the file: %v", len(v.items), secretInFile(t, storeWith(dir, v)))
	}
	checkFilled(t, storeWith(dir, v))
	list, err := storeWith(dir, v).List()
	want := []Info{
		{"github-copilot", KindOAuth, "the keyring"},
		{"https://example.org", KindWellKnown, "the keyring"},
		{"openai", KindKey, "the keyring"},
	}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Error(diff, err)
	}
	s := storeWith(dir, v)
	for i, want := range []string{"new-1", "new-2"} {
		token, err := s.Renew(
			t.Context(),
			"github-copilot",
			Token{Access: NewSecret(canary + "-a")},
			func(old Token) (Token, error) {
				return Token{
					Refresh: NewSecret(old.Refresh.Reveal() + "+"),
					Access:  NewSecret("new-1"),
					Expires: time.Now().Add(time.Hour),
				}, nil
			},
		)
		if err != nil || token.Access.Reveal() != "new-1" {
			t.Errorf("%d %s: %s %v", i, want, token.Access.Reveal(), err)
		}
	}
	if c, _, err := s.Get("github-copilot"); err != nil || c.Refresh.Reveal() != canary+"-r+" ||
		c.From != "the keyring" ||
		len(v.items) != 3 {
		t.Errorf("%s from %s, %d items, %v", c.Refresh.Reveal(), c.From, len(v.items), err)
	}
	v.late = func() {
		if err := storeWith(dir, v).Set(t.Context(), "openai", NewSecret("newer")); err != nil {
			t.Error(err)
		}
	}
	if c, ok, err := storeWith(dir, v).Get("openai"); !ok || err != nil || c.Key.Reveal() != "newer" {
		t.Errorf("changed by another process meanwhile: %v %v", ok, err)
	}
	if had, err := s.Remove(t.Context(), "openai"); !had || err != nil || len(v.items) != 2 {
		t.Errorf("%v %v, %d items", had, err, len(v.items))
	}
	s.getenv = func(string) string { return "1" } // CAIRN_DISABLE_KEYRING
	if err := s.Set(t.Context(), "groq", NewSecret(canary)); err != nil || len(v.items) != 2 || !secretInFile(t, s) {
		t.Errorf("%v, %d items", err, len(v.items))
	}
}

// A keyring that is closed, or not there, takes nothing away: what is new goes into the file, and what it holds is said
// to be there.
func TestKeyringThatIsClosed(t *testing.T) {
	dir, v := t.TempDir(), &fakeKeyring{items: map[string]string{}, closed: true}
	s := storeWith(dir, v)
	fill(t, s)
	if checkFilled(t, s); !secretInFile(t, s) || s.DescribePlace("openai") != s.Path() {
		t.Error("it is not in the file")
	}
	if n, err := s.Move(t.Context(), InKeyring); n != 0 || err == nil || !secretInFile(t, s) {
		t.Errorf("moved %d, %v", n, err)
	}
	v.closed = false
	if n, err := s.Move(t.Context(), InKeyring); n != 3 || err != nil || secretInFile(t, s) || len(v.items) != 3 {
		t.Errorf("moved %d, %v", n, err)
	}
	for name, s := range map[string]*Store{
		"closed": storeWith(dir, &fakeKeyring{closed: true}),
		"none":   storeWith(dir, nil),
	} {
		_, _, err := s.Get("openai")
		if err == nil || !strings.Contains(err.Error(), "openai") || !strings.Contains(err.Error(), "keyring") {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := s.List(); len(list) != 3 || err != nil {
			t.Errorf("%s: %v %v", name, list, err)
		}
		if logins, err := s.ListLogins(); len(logins) != 1 || !logins[0].Token.IsZero() || err != nil {
			t.Errorf("%s: %+v %v", name, logins, err)
		}
	}
	v.closed = true
	if _, err := storeWith(dir, v).Move(t.Context(), InFile); err == nil {
		t.Error("moved out of a closed keyring")
	}
	v.closed = false
	late := storeWith(dir, v)
	token, err := late.Renew(
		t.Context(),
		"github-copilot",
		Token{Access: NewSecret(canary + "-a")},
		func(old Token) (Token, error) {
			v.closed = true // meanwhile
			return Token{Refresh: old.Refresh, Access: NewSecret("new"), Expires: time.Now().Add(time.Hour)}, nil
		},
	)
	if c, _, err2 := late.Get("github-copilot"); err != nil || err2 != nil ||
		c.Access.Reveal() != token.Access.Reveal() ||
		c.From != late.Path() {
		t.Errorf("%v %v from %s", err, err2, c.From)
	}
}

// A keyring that gives nothing is not asked for every key, and is asked again after a while.
func TestKeyringIsNotAskedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, v := t.TempDir(), &fakeKeyring{items: map[string]string{}}
		fill(t, storeWith(dir, v))
		s := storeWith(dir, v)
		v.closed, v.asked = true, 0
		for range 5 {
			for _, id := range []string{"openai", "github-copilot"} {
				if _, _, err := s.Get(id); err == nil {
					t.Error("a closed keyring gives", id)
				}
			}
		}
		if v.asked != 1 {
			t.Errorf("asked %d times", v.asked)
		}
		v.closed = false
		time.Sleep(downTime)
		checkFilled(t, s)
	})
}

// Whenever the process dies on the way into the keyring or out of it, nothing is lost.
func TestMoveThatIsCutShort(t *testing.T) {
	for _, to := range []Place{InKeyring, InFile} {
		for _, after := range []bool{false, true} {
			died := true
			for step := 1; died; step++ {
				dir, v := filepath.Join(t.TempDir(), "data"), &fakeKeyring{items: map[string]string{}}
				fill(t, storeWith(dir, v))
				if to == InKeyring {
					if _, err := storeWith(dir, v).Move(t.Context(), InFile); err != nil {
						t.Fatal(err)
					}
				}
				v.steps, v.after = step, after
				died = dies(t, func() { _, _ = storeWith(dir, v).Move(t.Context(), to) })
				v.steps = 0
				checkFilled(t, storeWith(dir, v))
				if _, err := storeWith(dir, v).Move(t.Context(), to); err != nil {
					t.Fatal(err)
				}
				if checkFilled(t, storeWith(dir, v)); secretInFile(t, storeWith(dir, v)) != (to == InFile) {
					t.Errorf("to the %s, cut at %d: not where it should be", to, step)
				}
				if want := map[Place]int{InKeyring: 3, InFile: 0}[to]; len(v.items) != want {
					t.Errorf("to the %s, cut at %d: %d in the keyring, want %d", to, step, len(v.items), want)
				}
				if step > 20 {
					t.Fatal("it never ends")
				}
			}
		}
	}
}

func dies(t *testing.T, f func()) (died bool) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil && p != any(errDead) {
			panic(p)
		} else if p != nil {
			died = true
		}
	}()
	f()
	return false
}
