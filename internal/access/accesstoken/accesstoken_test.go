package accesstoken_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/access/accesstoken"
	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/session"
)

func create(t *testing.T, f *accesstoken.File, s caller.Role, life time.Duration) (accesstoken.Record, string) {
	t.Helper()
	r, text, err := f.Create(context.Background(), s, "name", life)
	if err != nil {
		t.Fatal(err)
	}
	return r, text
}

// The file has no token, and only its owner can read it.
func TestOnlyTheHashIsStored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	r, text := create(t, accesstoken.New(dir), caller.Prompt, 0)
	path := filepath.Join(dir, accesstoken.FileName)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := strings.TrimPrefix(text, accesstoken.Prefix+r.ID+"_")
	if len(random) != 64 || strings.Contains(string(raw), random) {
		t.Errorf("%s is stored in %s", text, raw)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestVerify(t *testing.T) {
	dir := t.TempDir()
	f := accesstoken.New(dir)
	r, text := create(t, f, caller.Approve, 0)
	other, _ := create(t, f, caller.Admin, 0)
	got, ok := f.Verify(t.Context(), text)
	if !ok || got.ID != r.ID || got.Role != caller.Approve {
		t.Errorf("%v, %v", got, ok)
	}
	random := text[len(text)-64:]
	for _, bad := range []string{
		"", "x", accesstoken.Prefix, random, text + "0", text[:len(text)-1], strings.ToUpper(text), " " + text,
		accesstoken.Prefix + other.ID + "_" + random, accesstoken.Prefix + "_" + random, accesstoken.Prefix + r.ID + "_",
	} {
		if _, ok := f.Verify(t.Context(), bad); ok {
			t.Errorf("%q is a token", bad)
		}
	}
	var none *accesstoken.File
	if _, ok := none.Verify(t.Context(), text); ok || none.IsValid(r.ID) {
		t.Error("no file has a token")
	}
	// Another process of the data directory revokes it.
	if err := accesstoken.New(dir).Revoke(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.Verify(t.Context(), text); ok || f.IsValid(r.ID) {
		t.Error("valid after it was revoked")
	}
	if err := f.Revoke(t.Context(), r.ID); !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, accesstoken.FileName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f.IsValid(other.ID) {
		t.Error("a damaged file has a token")
	}
}

// Tokens expire; their last use is known to the minute; there are only so many, of which expired ones do not count.
func TestLife(t *testing.T) {
	f := accesstoken.New(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		r, text := create(t, f, caller.Read, time.Hour)
		time.Sleep(time.Hour - time.Second)
		if _, ok := f.Verify(context.Background(), text); !ok || !f.IsValid(r.ID) {
			t.Error("expired too early")
		}
		list, err := f.List()
		if err != nil || len(list) != 1 || time.Since(time.UnixMilli(list[0].Used)) > time.Minute {
			t.Errorf("%v, %v", list, err)
		}
		time.Sleep(time.Second)
		if _, ok := f.Verify(context.Background(), text); ok || f.IsValid(r.ID) {
			t.Error("valid too long")
		}
		for i := range 65 {
			_, _, err := f.Create(context.Background(), caller.Read, "", 0)
			if (err != nil) != (i == 64) {
				t.Fatal(i, err)
			}
		}
	})
}

func TestNames(t *testing.T) {
	f := accesstoken.New(t.TempDir())
	for _, bad := range []string{"a\nb", "\x1b[31m", strings.Repeat("x", 65)} {
		if _, _, err := f.Create(t.Context(), caller.Read, bad, 0); err == nil {
			t.Errorf("%q is a name", bad)
		}
	}
}
