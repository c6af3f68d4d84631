package auth

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A row that is no credential is named, stays as it is, and fails no other.
func TestRowsThatAreNoCredentials(t *testing.T) {
	for row, why := range map[string]string{
		`null`:                           "not a credential",
		`"` + canary + `"`:               "not a credential",
		`["` + canary + `"]`:             "not a credential",
		`{"type":"api","key":{"k":1}}`:   "not a credential",
		`{"type":"api","type":"api"}`:    "not a credential",
		`{"type":7,"key":"k"}`:           "not a credential",
		`{"key":"` + canary + `"}`:       "no type",
		`{}`:                             "no type",
		`{"type":"api"}`:                 "empty",
		`{"type":"api","key":" \n"}`:     "empty",
		`{"type":"api","key":"a\u0000"}`: "control character",
		`{"type":"oauth","expires":5}`:   "no token",
	} {
		s := store(t, map[string]string{"BAD_KEY": "env"})
		write(t, s, `{"bad":`+row+`,"openai":{"type":"api","key":" k\n"}}`, 0o600)
		list, err := s.List()
		if diff := cmp.Diff([]Info{{"openai", KindKey, s.Path()}}, list); diff != "" || err != nil {
			t.Errorf("%s: %s %v", row, diff, err)
		}
		if c, ok, err := s.Get("openai"); !ok || err != nil || c.Key.Reveal() != "k" {
			t.Errorf("%s: %v %v", row, ok, err)
		}
		if _, ok, err := s.Get("bad"); ok || err != nil {
			t.Errorf("%s gives something: %v", row, err)
		}
		if c, ok, err := s.Get("bad", "BAD_KEY"); !ok || err != nil || c.From != "$BAD_KEY" || c.Instead != nil {
			t.Errorf("%s: %+v %v", row, c, err)
		}
		troubles, err := s.ListProblems(t.Context())
		if err != nil || len(troubles) != 1 || troubles[0].Provider != "bad" ||
			!strings.Contains(troubles[0].Err.Error(), why) ||
			strings.Contains(troubles[0].Err.Error(), "canary") {
			t.Errorf("%s: %v %v", row, troubles, err)
		}
		if err := s.Set(t.Context(), "groq", NewSecret("g")); err != nil {
			t.Errorf("%s: %v", row, err)
		}
		raw, err := os.ReadFile(s.Path())
		if bare := strings.Join(strings.Fields(string(raw)), ""); err != nil ||
			!strings.Contains(bare, strings.Join(strings.Fields(row), "")) {
			t.Errorf("%s is lost: %s %v", row, raw, err)
		}
		if had, err := s.Remove(t.Context(), "bad"); !had || err != nil {
			t.Errorf("%s stays: %v %v", row, had, err)
		}
		if troubles, err := s.ListProblems(t.Context()); len(troubles) != 0 || err != nil {
			t.Errorf("%s: %v %v", row, troubles, err)
		}
	}
}

// Two rows of one provider are ambiguous: neither is used.
func TestRowsThatAreThereTwice(t *testing.T) {
	s := store(t, nil)
	write(
		t,
		s,
		`{"openai":{"type":"api","key":"1"},"openai":{"type":"api","key":"2"},"groq":{"type":"api","key":"g"}}`,
		0o600,
	)
	if list, err := s.List(); len(list) != 1 || err != nil {
		t.Errorf("%v %v", list, err)
	}
	if troubles, err := s.ListProblems(t.Context()); len(troubles) != 1 || err != nil ||
		!strings.Contains(troubles[0].Err.Error(), "twice") {
		t.Errorf("%v %v", troubles, err)
	}
	if err := s.CheckEntry("openai"); err == nil || s.CheckEntry("groq") != nil || s.CheckEntry("unknown") != nil {
		t.Errorf("%v", err)
	}
	if err := s.Set(t.Context(), "xai", NewSecret("x")); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(s.Path())
	want := `{"groq":{"type":"api","key":"g"},"openai":{"type":"api","key":"1"},"openai":{"type":"api","key":"2"},` +
		`"xai":{"type":"api","key":"x"}}`
	if bare := strings.Join(strings.Fields(string(raw)), ""); err != nil || bare != want {
		t.Errorf("one of the two is lost: %s %v", raw, err)
	}
	var known []string
	secrets, _, err := s.ListSecrets(t.Context())
	for _, k := range secrets {
		known = append(known, k.Reveal())
	}
	if !slices.Contains(known, "1") || !slices.Contains(known, "2") || err != nil {
		t.Errorf("what must not be shown: %v %v", known, err)
	}
	if had, err := s.Remove(t.Context(), "openai"); !had || err != nil || s.CheckEntry("openai") != nil {
		t.Errorf("they stay: %v", err)
	}
}

// An auth.json that is a link stays one.
func TestFileThatIsALink(t *testing.T) {
	s := store(t, nil)
	write(t, s, `{}`, 0o600)
	real := s.Path() + ".real"
	if err := os.Rename(s.Path(), real); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, s.Path()); err != nil {
		t.Fatal(err)
	}
	if err := s.Set(t.Context(), "openai", NewSecret("k")); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(s.Path()); err != nil || to != real {
		t.Errorf("the link is gone: %s %v", to, err)
	}
	if info, err := os.Lstat(real); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if c, ok, err := s.Get("openai"); !ok || err != nil || c.Key.Reveal() != "k" {
		t.Errorf("%v %v", ok, err)
	}
}

// Who leaves secrets out of something needs all of them, and to know of those that he does not get.
func TestSecretsOfAll(t *testing.T) {
	s := store(t, nil)
	write(
		t,
		s,
		`{"a":{"type":"api","key":"key-of-a"},"b":{"type":"oauth","refresh":"refresh-of-b","access":"access-of-b"},
		"https://c":{"type":"wellknown","key":"ENV_NAME","token":"token-of-c"},"d":{"token":"what-d-has"},"e":{"type":"api","keyring":"e#1"}}`,
		0o600,
	)
	known, missing, err := s.ListSecrets(t.Context())
	var got []string
	for _, k := range known {
		got = append(got, k.Reveal())
	}
	want := []string{"key-of-a", "refresh-of-b", "access-of-b", "what-d-has", "token-of-c"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if len(missing) != 1 || missing[0].Provider != "e" {
		t.Errorf("%v", missing)
	}
}

// Who dies while he writes the file leaves a copy with all keys: it does not stay.
func TestCopiesThatAreLeft(t *testing.T) {
	s := store(t, nil)
	write(t, s, `{}`, 0o600)
	old, now := filepath.Join(filepath.Dir(s.Path()), ".auth.json-1"), filepath.Join(
		filepath.Dir(s.Path()),
		".auth.json-2",
	)
	for _, name := range []string{old, now} {
		if err := os.WriteFile(name, []byte(canary), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.Set(t.Context(), "openai", NewSecret("k")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it stays: %v", err)
	}
	if _, err := os.Stat(now); err != nil {
		t.Errorf("a file that may be in use was changed: %v", err)
	}
}
