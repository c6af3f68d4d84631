package jsontree_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/transfer/jsontree"
)

func openTree(t testing.TB, dir string) *jsontree.Tree {
	t.Helper()
	tree, err := jsontree.OpenTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}

type counter struct {
	N int `json:"n"`
}

func TestTreeOperations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tree := openTree(t, dir)
	ctx := t.Context()
	key := jsontree.Key{"message", "ses_1", "msg_1"}
	if _, err := tree.Read(ctx, key); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read of a missing value: %v", err)
	}
	err := tree.Update(ctx, key, func(jsontext.Value) (any, error) { return counter{}, nil })
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("update of a missing value: %v", err)
	}
	for _, want := range []bool{true, false} {
		if changed, err := tree.Write(ctx, key, counter{1}); changed != want || err != nil {
			t.Errorf("write: changed %v, %v", changed, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "storage/message/ses_1/msg_1.json"))
	if string(text) != "{\n  \"n\": 1\n}" || err != nil {
		t.Errorf("file %q, %v", text, err)
	}
	// A change that fails leaves the value.
	full := errors.New("full")
	err = tree.Update(ctx, key, func(jsontext.Value) (any, error) { return counter{7}, full })
	if v, _ := tree.Read(ctx, key); !errors.Is(err, full) || !strings.Contains(string(v), "1") {
		t.Errorf("update: %v, %s", err, v)
	}
	for _, id := range []string{"msg_3", "msg_2"} {
		if _, err := tree.Write(ctx, jsontree.Key{"message", "ses_1", id}, counter{}); err != nil {
			t.Fatal(err)
		}
	}
	list := func(prefix ...string) (out []string) {
		keys, err := tree.List(ctx, prefix...)
		if err != nil {
			t.Error(err)
		}
		for _, k := range keys {
			out = append(out, strings.Join(k, "/"))
		}
		return out
	}
	want := []string{"message/ses_1/msg_1", "message/ses_1/msg_2", "message/ses_1/msg_3"}
	if diff := cmp.Diff(want, list("message")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, list("message", "ses_1")); diff != "" {
		t.Error(diff)
	}
	if got := list("part", "msg_1"); got != nil {
		t.Errorf("a missing folder has %v", got)
	}
	for _, id := range []string{"msg_1", "msg_2", "msg_3"} {
		for _, want := range []bool{true, false} {
			if removed, err := tree.Remove(ctx, jsontree.Key{"message", "ses_1", id}); removed != want || err != nil {
				t.Errorf("remove: %v, %v", removed, err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "storage/message/ses_1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the empty folder: %v", err)
	}
}

// A key never names a file outside of its collection.
func TestKeys(t *testing.T) {
	t.Parallel()
	tree := openTree(t, t.TempDir())
	for _, key := range []jsontree.Key{
		nil,
		{"message"},
		{"message", "a"},
		{"message", "a", "b", "c"},
		{"other", "a"},
		{"migration"},
		{"session_diff", ""},
		{"session_diff", ".."},
		{"session_diff", "."},
		{"session_diff", "a/b"},
		{"session_diff", `a\b`},
		{"session_diff", "/a"},
		{"session_diff", ".lock"},
		{"session_diff", "a\x00"},
		{"session_diff", "a."},
		{"session_diff", "c:a"},
		{"session_diff", strings.Repeat("a", 129)},
		{"message", "../part", "a"},
	} {
		if _, err := tree.Write(t.Context(), key, counter{}); err == nil {
			t.Errorf("%q was written", key)
		}
		if _, err := tree.Read(t.Context(), key); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q was looked for", key)
		}
		if _, err := tree.Remove(t.Context(), key); err == nil {
			t.Errorf("%q was removed", key)
		}
	}
	for id, want := range map[string]string{
		"prt_aZ09": "prt_aZ09", "../../x": "x-0f5a93a3b20e1e09", "": "x-", ".": "x-", strings.Repeat("a", 200): "x-",
	} {
		got := jsontree.FileName(id)
		if _, err := tree.Write(t.Context(), jsontree.Key{"todo", got}, counter{}); err != nil {
			t.Errorf("the name %q of %q: %v", got, id, err)
		}
		if strings.HasPrefix(want, "x-") != strings.HasPrefix(got, "x-") {
			t.Errorf("the name of %q is %q", id, got)
		}
	}
}

// Links that lead out of the tree are not followed, and files that are none are not waited for.
func TestTreeIsConfined(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	tree := openTree(t, dir)
	if err := os.Symlink(outside, filepath.Join(dir, "storage/message")); err != nil {
		t.Skip(err)
	}
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte(`{"n":5}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "storage/todo"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "storage/todo/a.json")); err != nil {
		t.Fatal(err)
	}
	// A folder takes the place of a link to one.
	if _, err := tree.Write(t.Context(), jsontree.Key{"message", "a", "b"}, counter{}); err != nil {
		t.Error(err)
	}
	if v, err := tree.Read(t.Context(), jsontree.Key{"todo", "a"}); err == nil {
		t.Errorf("%s was read from outside", v)
	}
	// A write replaces the link itself.
	if _, err := tree.Write(t.Context(), jsontree.Key{"todo", "a"}, counter{6}); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(secret); string(text) != `{"n":5}` || err != nil {
		t.Errorf("the file outside has %q, %v", text, err)
	}
	if left, _ := os.ReadDir(outside); len(left) != 1 {
		t.Errorf("files outside: %v", left)
	}
	if err := os.Remove(filepath.Join(dir, "storage/.lock")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "storage/.lock")); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Read(t.Context(), jsontree.Key{"todo", "a"}); err == nil {
		t.Error("the lock is a link")
	}
}

// Changes of several users of a tree do not overlap, and a reader without the lock sees whole values only.
func TestTreeIsShared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := jsontree.Key{"todo", "ses_1"}
	if _, err := openTree(t, dir).Write(t.Context(), key, counter{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	readers.Go(func() {
		for ctx.Err() == nil {
			var c counter
			text, err := os.ReadFile(filepath.Join(dir, "storage/todo/ses_1.json"))
			if err != nil || json.Unmarshal(text, &c) != nil {
				t.Errorf("read %q, %v", text, err)
				return
			}
		}
	})
	const users, times = 4, 25
	for range users {
		tree := openTree(t, dir) // a lock of its own, as in another process
		writers.Go(func() {
			for range times {
				err := tree.Update(t.Context(), key, func(v jsontext.Value) (any, error) {
					var c counter
					err := json.Unmarshal(v, &c)
					return counter{c.N + 1}, err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
	v, err := openTree(t, dir).Read(t.Context(), key)
	if want := fmt.Sprintf("{\n  \"n\": %d\n}", users*times); string(v) != want || err != nil {
		t.Errorf("%s, %v", v, err)
	}
}

// A migration in place leaves what a reader sees of the older form, and running it again changes nothing.
func TestMigrate(t *testing.T) {
	t.Parallel()
	const root = "project/d/storage/session/"
	find := func(_ context.Context, worktree string) (string, error) {
		return map[string]string{"/d": "p1"}[worktree], nil
	}
	withDiffs := strings.Replace(info, `"time"`,
		`"projectID":"p1","summary":{"diffs":[{"file":"a","additions":2,"deletions":1},`+
			`{"file":"b","additions":3,"deletions":0}]},"time"`, 1)
	version0 := map[string]string{
		root + "info/ses_1.json": withDiffs, root + "message/ses_1/msg_1.json": user,
		root + "message/ses_1/msg_2.json": reply, root + "part/ses_1/msg_1/prt_1.json": text,
		root + "part/ses_1/msg_2/prt_2.json": call,
	}
	gone := map[string]string{}
	for name, text := range version0 {
		gone[strings.Replace(name, "project/d/", "project/gone/", 1)] = strings.ReplaceAll(text, `"/d"`, `"/gone"`)
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		diff  bool
	}{
		{"version 0", version0, true},
		{"version 1", map[string]string{
			"storage/migration": "1", "storage/session/p1/ses_1.json": withDiffs,
			"storage/message/ses_1/msg_1.json": user, "storage/part/msg_1/prt_1.json": text,
		}, true},
		{"version 2", base(), false},
		{"a working tree that is gone", gone, false},
		{"nothing", nil, false},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			name = filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := read(t, os.DirFS(dir))
		tree := openTree(t, dir)
		for range 2 {
			if err := tree.Migrate(t.Context(), find); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			after, problems := read(t, os.DirFS(dir))
			if diff := cmp.Diff(before, after); diff != "" || len(problems) > 0 {
				t.Errorf("%s: %v %s", c.name, problems, diff)
			}
		}
		if v, err := os.ReadFile(filepath.Join(dir, "storage/migration")); string(v) != "2" || err != nil {
			t.Errorf("%s: version %q, %v", c.name, v, err)
		}
		if _, err := tree.Read(t.Context(), jsontree.Key{"session_diff", "ses_1"}); (err == nil) != c.diff {
			t.Errorf("%s: session_diff: %v", c.name, err)
		}
		s, err := tree.Read(t.Context(), jsontree.Key{"session", "p1", "ses_1"})
		if c.diff && (err != nil || strings.Contains(string(s), "diffs") || !strings.Contains(string(s), `"additions": 5`)) {
			t.Errorf("%s: session %s, %v", c.name, s, err)
		}
	}
}

// A tree of a newer form is left alone.
func TestMigrateNewer(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3", "x", "-1"} {
		dir := t.TempDir()
		tree := openTree(t, dir)
		name := filepath.Join(dir, "storage/migration")
		if err := os.WriteFile(name, []byte(version), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := tree.Migrate(t.Context(), nil); err == nil {
			t.Errorf("version %s was migrated", version)
		}
		if v, _ := os.ReadFile(name); string(v) != version {
			t.Errorf("version %s became %s", version, v)
		}
	}
}

// A sync covers files that were written, replaced and removed, few or many of them, and those that were removed behind
// its back.
func TestSync(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 3, 100, 5000} {
		dir := t.TempDir()
		tree, err := jsontree.OpenTree(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			key := jsontree.Key{"part", fmt.Sprint("msg_", i%7), fmt.Sprint("prt_", i)}
			if _, err := tree.Write(t.Context(), key, i); err != nil {
				t.Fatal(err)
			}
			if i%3 == 0 {
				if _, err := tree.Remove(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := os.RemoveAll(filepath.Join(dir, "storage", "part", "msg_1")); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(tree.Sync(), tree.Sync(), tree.Close()); err != nil {
			t.Errorf("%d files: %v", n, err)
		}
	}
}
