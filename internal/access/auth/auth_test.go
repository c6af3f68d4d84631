package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/statefile"
)

const canary = "sk-canary-0123456789"

func store(t *testing.T, env map[string]string) *Store {
	t.Helper()
	return New(filepath.Join(t.TempDir(), "data"), func(k string) string { return env[k] })
}

func TestSecretIsNeverShown(t *testing.T) {
	s := NewSecret(canary)
	type open struct{ Key Secret }
	type closed struct{ key Secret }
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "key", s, "struct", open{s}, "in", Credential{Key: s})
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "key", s, "struct", open{s})
	shown := []string{
		log.String(),
		fmt.Sprint(s),
		fmt.Sprint(&s),
		s.String(),
		fmt.Errorf("no: %w, %v", errors.New("x"), s).Error(),
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%10.3s"} {
		for _, v := range []any{s, &s, open{s}, &open{s}, closed{s}, []Secret{s}, map[string]Secret{"k": s}} {
			shown = append(shown, fmt.Sprintf(verb, v))
		}
	}
	for _, v := range []any{s, open{s}, []Secret{s}, map[string]Secret{"k": s}} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, string(raw))
	}
	for _, text := range shown {
		if strings.Contains(text, "canary") || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("shows the key: %s", text)
		}
	}
	if s.Reveal() != canary || (Secret{}).String() != "" || !(Secret{}).IsZero() || !s.Equal(NewSecret(canary)) ||
		s.Equal(Secret{}) {
		t.Error("Reveal, IsZero or Equal is wrong")
	}
	var back Secret
	if err := json.Unmarshal([]byte(`"`+canary+`"`), &back); err != nil || back.Reveal() != canary {
		t.Errorf("unmarshal: %v", err)
	}
	if err := json.Unmarshal([]byte(`17`), &back); err == nil {
		t.Error("a number became a secret")
	}
}

func TestStore(t *testing.T) {
	s := store(t, map[string]string{"B_KEY": " from-env\n", "OPENAI_API_KEY": "env"})
	ctx := t.Context()
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Fatalf("empty: %v, %v", list, err)
	}
	if err := s.Set(ctx, "openai", NewSecret(canary+"\n")); err != nil {
		t.Fatal(err)
	}
	if err := s.Set(ctx, "groq", NewSecret("g")); err != nil {
		t.Fatal(err)
	}
	// as it is piped on other systems
	if err := s.Set(ctx, "openai", NewSecret("\ufeff"+canary+"\u200b\r\n")); err != nil {
		t.Fatal(err)
	}
	c, ok, err := s.Get("openai", "OPENAI_API_KEY")
	if err != nil || !ok || c.Key.Reveal() != canary || c.From != s.Path() {
		t.Errorf("stored: %+v %v %v", c, ok, err)
	}
	c, ok, err = s.Get("other", "A_KEY", "B_KEY")
	if err != nil || !ok || c.Key.Reveal() != "from-env" || c.From != "$B_KEY" {
		t.Errorf("environment: %+v %v %v", c, ok, err)
	}
	if _, ok, err = s.Get("other"); ok || err != nil {
		t.Errorf("nothing: %v %v", ok, err)
	}
	list, err := s.List()
	if diff := cmp.Diff([]Info{{"groq", KindKey, s.Path()}, {"openai", KindKey, s.Path()}}, list); diff != "" ||
		err != nil {
		t.Error(diff, err)
	}
	for name, want := range map[string]os.FileMode{s.Path(): 0o600, filepath.Dir(s.Path()): 0o700} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode().Perm(), want)
		}
	}
	if had, err := s.Remove(ctx, "openai"); !had || err != nil {
		t.Errorf("remove: %v %v", had, err)
	}
	if had, err := s.Remove(ctx, "openai"); had || err != nil {
		t.Errorf("remove again: %v %v", had, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(s.Path()), ".*"))
	if err != nil || len(left) != 0 {
		t.Errorf("temporary files stay: %v %v", left, err)
	}
}

func TestForeignEntriesSurvive(t *testing.T) {
	s := store(t, nil)
	write(
		t,
		s,
		`{"anthropic":{"type":"oauth","access":"a","refresh":"r","expires":9007199254740993},"x":{"type":"wellknown","key":"K","token":"t"}}`,
		0o644,
	)
	if err := s.Set(t.Context(), "openai", NewSecret("k")); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"refresh": "r"`, `"expires": 9007199254740993`, `"token": "t"`, `"key": "K"`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s is lost: %s", want, raw)
		}
	}
	c, ok, err := s.Get("anthropic", "NOPE")
	if err != nil || !ok || c.Kind != KindOAuth || !c.Key.IsZero() {
		t.Errorf("got %+v %v %v", c, ok, err)
	}
}

func TestBadInput(t *testing.T) {
	s := store(t, nil)
	for provider, key := range map[string]string{
		"": "k", "a b": "k", "a/b": "k", "p": " \n", "q": "k\x00", "r": "k\nk",
		"s": "two words", "t": "“k”", "u": "k\u200bk",
	} {
		if err := s.Set(t.Context(), provider, NewSecret(key)); err == nil {
			t.Errorf("%q with %q was stored", provider, key)
		}
	}
	for _, bad := range []string{
		`{"openai":{"type":"api","key":"` + canary + `}`, `[]`, `"` + canary + `"`,
		`{"openai":{}} "` + canary + `"`, `{"openai":{},}`, `{1:{}}`, ``,
	} {
		write(t, s, bad, 0o600)
		_, err := s.List()
		if err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), s.Path()) {
			t.Errorf("%q: %v", bad, err)
		}
		if err := s.Set(t.Context(), "groq", NewSecret("k")); err == nil {
			t.Errorf("%q was overwritten", bad)
		}
	}
	write(t, s, `{"openai":{"type":"api","key":"k"}}`, 0o644)
	if _, err := s.List(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(s.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file readable by others stays so: %v %v", info.Mode(), err)
	}
}

func TestConcurrentChanges(t *testing.T) {
	s := store(t, nil)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := New(filepath.Dir(s.Path()), os.Getenv).Set(t.Context(), fmt.Sprintf("p%d", i),
				NewSecret("k")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := s.List(); err != nil || len(list) != 20 {
		t.Errorf("%d of 20 are stored: %v", len(list), err)
	}
}

func TestLockGivesUpWhenTheCallerDoes(t *testing.T) {
	s := store(t, nil)
	write(t, s, `{}`, 0o600)
	unlock, err := statefile.Lock(t.Context(), s.Path()+".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("the user left")
	cancel(left)
	if err := s.Set(ctx, "p", NewSecret("k")); !errors.Is(err, left) {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"openai":{"type":"api","key":"k"}}`))
	f.Add([]byte(`{"a":{"type":"oauth","x":[1,{}]}}`))
	f.Add([]byte(`null`))
	dir := f.TempDir()
	s := New(dir, os.Getenv)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := os.WriteFile(s.Path(), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := s.readFile()
		if err != nil {
			return
		}
		if err := s.Set(t.Context(), "zz", NewSecret("k")); err != nil {
			t.Fatal(err)
		}
		after, err := s.readFile()
		if err != nil {
			t.Fatal(err)
		}
		delete(before, "zz")
		delete(after, "zz")
		if len(before) != len(after) {
			t.Errorf("%d entries became %d", len(before), len(after))
		}
	})
}

func write(t *testing.T, s *Store, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.Path()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Path(), []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.Path(), mode); err != nil {
		t.Fatal(err)
	}
}
