package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/accesstoken"
	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/access/trust"
)

// storedFile is a file that holds what people decided. read describes its content, change makes any change.
type storedFile struct {
	name   string
	want   string // of the file of version 1 in testdata/stored
	read   func(dir string) (any, error)
	change func(ctx context.Context, dir string) error
}

func marksIn(dir string) preparationMarks {
	return preparationMarks{filepath.Join(dir, "worktrees.json"), func(string) bool { return true }}
}

func authIn(dir string) *auth.Store {
	return auth.New(dir, func(name string) string {
		if name == "CAIRN_DISABLE_KEYRING" {
			return "1"
		}
		return ""
	})
}

var storedFiles = []storedFile{
	{
		trust.FileName, "[{/work/app p1 8f2a 1764000000000}]",
		func(dir string) (any, error) { return trust.New(dir).List() },
		func(ctx context.Context, dir string) error {
			c := &trust.Claim{Root: "/work/other", Project: "p2"}
			c.Add("cairn.json", []byte("{}"), "mcp")
			return trust.New(dir).Trust(ctx, c)
		},
	},
	{
		accesstoken.FileName, "[{0a1b2c3d ci prompt 1764000000000 0 0}]",
		func(dir string) (any, error) { return accesstoken.New(dir).List() },
		func(ctx context.Context, dir string) error {
			_, _, err := accesstoken.New(dir).Create(ctx, caller.Read, "other", 0)
			return err
		},
	},
	{
		auth.FileName, "api sk-1 true",
		func(dir string) (any, error) {
			c, found, err := authIn(dir).Get("anthropic")
			return fmt.Sprint(c.Kind, " ", c.Key.Reveal(), " ", found), err
		},
		func(ctx context.Context, dir string) error {
			return authIn(dir).Set(ctx, "openai", auth.NewSecret("sk-2"))
		},
	},
	{
		"worktrees.json", "map[/work/app-a:{npm ci } /work/app-b:{ exit code 1}]",
		func(dir string) (any, error) { return marksIn(dir).read() },
		func(ctx context.Context, dir string) error {
			return marksIn(dir).put(ctx, "/work/c", preparationMark{})
		},
	},
}

// copyStored returns a directory with a copy of the file of version 1.
func copyStored(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", "stored", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestStoredFilesOfVersionOne reads what the earliest versions wrote, and changes it. The files are never changed.
func TestStoredFilesOfVersionOne(t *testing.T) {
	for _, f := range storedFiles {
		dir := copyStored(t, f.name)
		if got, err := f.read(dir); err != nil || fmt.Sprint(got) != f.want {
			t.Errorf("%s: %v, %v, want %s", f.name, got, err, f.want)
		}
		if err := f.change(t.Context(), dir); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

// TestStoredFilesOfANewerCairn checks that such a file is refused in words and stays as it is, and counts as if nothing
// were in it where that forbids something.
func TestStoredFilesOfANewerCairn(t *testing.T) {
	for _, f := range storedFiles {
		dir := t.TempDir()
		path := filepath.Join(dir, f.name)
		const newer = `{"version":2,"trusted":{"all":true},"tokens":{},"anthropic":{"type":"api","key":"sk-1"}}`
		if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
			t.Fatal(err)
		}
		want := path + " was written by a newer cairn: version 2, this one knows up to 1; update cairn"
		if got, err := f.read(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: read %v, %v", f.name, got, err)
		}
		if err := f.change(t.Context(), dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: changed: %v", f.name, err)
		}
		if text, _ := os.ReadFile(path); string(text) != newer {
			t.Errorf("%s is now %s", f.name, text)
		}
	}
}

// TestCopiesOfVersionOne reads the list of copies of the earliest versions.
func TestCopiesOfVersionOne(t *testing.T) {
	list, err := readCopies(filepath.Join(copyStored(t, copiesFile), copiesFile))
	if got := fmt.Sprint(list); err != nil || got != "[{mirror /backup/mirror 1764000000000}]" {
		t.Errorf("%s, %v", got, err)
	}
}
