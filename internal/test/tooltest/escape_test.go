//go:build unix

package tooltest_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/test/tooltest"
)

const canary = "canary-1f3a9c"

// plantSecrets makes links out of the Location; it returns the names that lead to the secret.
func plantSecrets(b *tooltest.Bench) []string {
	out := b.OutsidePath("victim")
	b.WriteFile("sub/deep/f.txt", "x")
	b.Symlink(filepath.Join(out, "secret.txt"), "file")
	b.Symlink("../victim/secret.txt", "relative")
	b.Symlink(out, "dir")
	b.Symlink("dir", "chain")
	b.Symlink("chain/inner", "chained")
	b.Symlink("../../../victim", "sub/deep/up")
	b.Symlink(filepath.Dir(b.Dir), "parent")
	b.Symlink("/", "root")
	b.Symlink("/proc/self/root"+out, "procroot")
	b.Symlink("/proc/self/cwd", "proccwd")
	b.Symlink(filepath.Join(out, "new.txt"), "dangling")
	b.Symlink(filepath.Join(out, "made", "deep", "new.txt"), "danglingdeep")
	b.Symlink("dangling", "danglingchain")
	abs := strings.TrimPrefix(out, "/")
	return []string{
		"file", "relative", "dir/secret.txt", "chain/secret.txt", "chained/secret.txt", "sub/deep/up/secret.txt",
		"parent/victim/secret.txt", "root/" + abs + "/secret.txt",
		"procroot/secret.txt", "dangling", "danglingdeep", "danglingchain", "dir/planted.txt", "dir/a/b/planted.txt",
		"chained/planted.txt", "sub/../dir/secret.txt",
		"dir/inner/../secret.txt", "dir/../victim/secret.txt", "sub/deep/up/inner/../secret.txt",
		"parent/work/../victim/secret.txt",
	}
}

// spellPaths returns paths that lead out of the Location.
func spellPaths(b *tooltest.Bench) []string {
	out := b.OutsidePath("victim")
	var all []string
	for _, name := range []string{
		"secret.txt", "planted.txt", "inner/planted.txt", "no/such/planted.txt", "inner/other.txt", "inner",
		"inner/../secret.txt",
	} {
		for _, form := range []string{
			"../victim/%s", "./../victim/%s", "sub/../../victim/%s", "sub/deep/../../../victim/%s", "nope/../../victim/%s",
			"../work/../victim/%s", "..//victim//%s",
			".././victim/./%s", "sub/./.././../victim/%s", "../victim/inner/../%s", "file/../../victim/%s",
			"../../" + filepath.Base(filepath.Dir(b.Dir)) + "/victim/%s",
		} {
			all = append(all, fmt.Sprintf(form, name))
		}
		for _, form := range []string{
			"%s", "/%s", "//%s", "/.%s", "/proc/self/root%s", "/proc/self/cwd/../../../../../../../..%s",
			"/proc/thread-self/root%s", "/dev/../%s", "/tmp/..%s",
			"/proc/1/root%s", b.Dir + "/..%.0s/victim/" + name, b.Dir + "/../work/../victim/" + name + "%.0s",
		} {
			all = append(all, fmt.Sprintf(form, filepath.Join(out, name)))
		}
	}
	return append(all, "/proc/self/environ", "/proc/self/../self/environ", "/proc/thread-self/environ",
		"/proc/self/task/../environ", "/proc/self/mem", "/dev/mem", "/dev/stdin", "/dev/fd/0",
		"/proc/self/fd/0", "/dev/zero", "/dev/random", "/dev/tty", "..", "../", "../victim", "/", "//", "~", "~/x", "~root/x",
		"$HOME/x", "file://"+out+"/secret.txt", "%2e%2e/victim/secret.txt",
		"..%2fvictim%2fsecret.txt", `..\victim\secret.txt`, "\u2024\u2024/victim/secret.txt", "..\u2215victim/secret.txt",
		"../victim/secret.txt\x00.png", " ../victim/secret.txt",
		"../victim/secret.txt ", "....//victim/secret.txt", strings.Repeat("../", 500)+"etc/shadow",
		strings.Repeat("a/", 3000)+"x", "\n../victim/secret.txt")
}

// escapeInputs returns an input for each tool with the path.
func escapeInputs(path string) map[string]tooltest.Input {
	return map[string]tooltest.Input{
		"read":        {"filePath": path},
		"list":        {"path": path},
		"glob":        {"pattern": "**", "path": path},
		"grep":        {"pattern": "can[a]ry", "path": path},
		"edit":        {"filePath": path, "oldString": "canary", "newString": "broken"},
		"write":       {"filePath": path, "content": "planted"},
		"apply_patch": patchInput("*** Add File: "+path, "+planted"),
	}
}

// TestEscapeInputs: each tool with a path among its arguments is tried with paths that lead outside. Those of a shell are
// tried in package exec.
func TestEscapeInputs(t *testing.T) {
	inputs := escapeInputs("x")
	for _, d := range tooltest.New(t).Set.Definitions() {
		var s shape
		if err := json.Unmarshal(d.Schema, &s); err != nil {
			t.Fatal(err)
		}
		for name := range s.Properties {
			if _, ok := inputs[d.Name]; !ok && strings.Contains(strings.ToLower(name), "path") {
				t.Errorf("%s takes %s and has no row in escapeInputs", d.Name, name)
			}
		}
	}
}

// commandInputs returns further inputs with the path.
func commandInputs(path string) []struct {
	tool string
	in   tooltest.Input
} {
	return []struct {
		tool string
		in   tooltest.Input
	}{
		{"glob", tooltest.Input{"pattern": path}},
		{"glob", tooltest.Input{"pattern": path + "/**"}},
		{"edit", tooltest.Input{"filePath": path, "oldString": "", "newString": "planted"}},
		{"apply_patch", patchInput("*** Delete File: " + path)},
		{"apply_patch", patchInput("*** Update File: own.txt", "*** Move to: "+path)},
		{"apply_patch", patchInput("*** Update File: "+path, "*** Move to: stolen.txt")},
		{"apply_patch", patchInput("*** Update File: "+path, "@@", "-canary", "+broken")},
	}
}

// readTree returns every name below a directory with its content.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			all[path] = "directory"
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Without permission for the outside, no tool reads, changes, waits for or describes anything there, whatever the path
// and whatever the Location contains.
func TestNoEscape(t *testing.T) {
	t.Setenv("CANARY", canary)
	b := tooltest.New(t)
	victim := filepath.Dir(b.WriteFile(b.OutsidePath("victim/secret.txt"), canary+"\n"))
	b.WriteFile(b.OutsidePath("victim/inner/other.txt"), canary+"\n")
	b.WriteFile("own.txt", "own\n")
	paths := append(plantSecrets(b), spellPaths(b)...)
	before := readTree(t, victim)
	calls := 0
	check := func(name, path string, input tooltest.Input) {
		calls++
		s := b.Call(name, input)
		got := tooltest.TextOf(s) + string(s.Output.Structured) + s.Output.Title
		if strings.Contains(got, canary) {
			t.Errorf("%s %q shows: %.300s", name, path, got)
		}
		if strings.Contains(strings.ReplaceAll(got, path, ""), "other.txt") {
			t.Errorf("%s %q tells what is there: %.300s", name, path, got)
		}
		if diff := cmp.Diff(before, readTree(t, victim)); diff != "" {
			t.Fatalf("%s %q changed: %s", name, path, diff)
		}
		b.TakeRequests()
	}
	for _, path := range paths {
		for name, input := range escapeInputs(path) {
			check(name, path, input)
		}
		for _, c := range commandInputs(path) {
			check(c.tool, path, c.in)
		}
	}
	if len(paths) < 200 || calls < 2800 {
		t.Fatalf("only %d paths, %d calls", len(paths), calls)
	}
	t.Logf("%d paths, %d calls", len(paths), calls)
}

// No tool says whether a path outside exists before it is allowed to read it.
func TestNothingIsRevealedBeforePermission(t *testing.T) {
	b := tooltest.New(t)
	b.WriteFile(b.OutsidePath("victim/secret.txt"), canary)
	b.Symlink(b.OutsidePath("victim"), "dir")
	for _, path := range []string{
		b.OutsidePath("victim/secret.txt"), b.OutsidePath("victim/missing"), b.OutsidePath("victim/secret.txt/x"),
		b.OutsidePath("victim/missing/x"), b.OutsidePath("victim/secret.txt/x/y"),
		"dir/secret.txt", "dir/missing", "dir/secret.txt/x", "dir/missing/x/y",
	} {
		for name, input := range escapeInputs(path) {
			s := b.Call(name, input)
			if asked := b.TakeRequests(); s.Denial == nil || len(asked) != 1 ||
				!strings.HasPrefix(asked[0], "external_directory "+b.OutsidePath("victim")) {
				t.Errorf("%s %s: %s (asked %q)", name, path, tooltest.TextOf(s), asked)
			}
		}
	}
}
