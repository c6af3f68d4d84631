//go:build unix

package builtin_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const canary = "canary-1f3a9c"

// planted are ways out of a location that somebody prepared in it, by the name that leads to the secret.
func planted(b *bench) []string {
	out := b.outside("victim")
	b.file("sub/deep/f.txt", "x")
	b.link(filepath.Join(out, "secret.txt"), "file")
	b.link("../victim/secret.txt", "relative")
	b.link(out, "dir")
	b.link("dir", "chain")
	b.link("chain/inner", "chained")
	b.link("../../../victim", "sub/deep/up")
	b.link(filepath.Dir(b.dir), "parent")
	b.link("/", "root")
	b.link("/proc/self/root"+out, "procroot")
	b.link("/proc/self/cwd", "proccwd")
	b.link(filepath.Join(out, "new.txt"), "dangling")
	b.link(filepath.Join(out, "made", "deep", "new.txt"), "danglingdeep")
	b.link("dangling", "danglingchain")
	abs := strings.TrimPrefix(out, "/")
	return []string{
		"file", "relative", "dir/secret.txt", "chain/secret.txt", "chained/secret.txt", "sub/deep/up/secret.txt", "parent/victim/secret.txt", "root/" + abs + "/secret.txt",
		"procroot/secret.txt", "dangling", "danglingdeep", "danglingchain", "dir/planted.txt", "dir/a/b/planted.txt", "chained/planted.txt", "sub/../dir/secret.txt",
		"dir/inner/../secret.txt", "dir/../victim/secret.txt", "sub/deep/up/inner/../secret.txt", "parent/work/../victim/secret.txt",
	}
}

// spelled are ways to write a path that leads out by itself.
func spelled(b *bench) []string {
	out := b.outside("victim")
	var all []string
	for _, name := range []string{"secret.txt", "planted.txt", "inner/planted.txt", "no/such/planted.txt", "inner/other.txt", "inner", "inner/../secret.txt"} {
		for _, form := range []string{
			"../victim/%s", "./../victim/%s", "sub/../../victim/%s", "sub/deep/../../../victim/%s", "nope/../../victim/%s", "../work/../victim/%s", "..//victim//%s",
			".././victim/./%s", "sub/./.././../victim/%s", "../victim/inner/../%s", "file/../../victim/%s", "../../" + filepath.Base(filepath.Dir(b.dir)) + "/victim/%s",
		} {
			all = append(all, fmt.Sprintf(form, name))
		}
		for _, form := range []string{
			"%s", "/%s", "//%s", "/.%s", "/proc/self/root%s", "/proc/self/cwd/../../../../../../../..%s", "/proc/thread-self/root%s", "/dev/../%s", "/tmp/..%s",
			"/proc/1/root%s", b.dir + "/..%.0s/victim/" + name, b.dir + "/../work/../victim/" + name + "%.0s",
		} {
			all = append(all, fmt.Sprintf(form, filepath.Join(out, name)))
		}
	}
	return append(all, "/proc/self/environ", "/proc/self/../self/environ", "/proc/thread-self/environ", "/proc/self/task/../environ", "/proc/self/mem", "/dev/mem", "/dev/stdin", "/dev/fd/0",
		"/proc/self/fd/0", "/dev/zero", "/dev/random", "/dev/tty", "..", "../", "../victim", "/", "//", "~", "~/x", "~root/x", "$HOME/x", "file://"+out+"/secret.txt", "%2e%2e/victim/secret.txt",
		"..%2fvictim%2fsecret.txt", `..\victim\secret.txt`, "\u2024\u2024/victim/secret.txt", "..\u2215victim/secret.txt", "../victim/secret.txt\x00.png", " ../victim/secret.txt",
		"../victim/secret.txt ", "....//victim/secret.txt", strings.Repeat("../", 500)+"etc/shadow", strings.Repeat("a/", 3000)+"x", "\n../victim/secret.txt")
}

// attacks are one call of each tool at a path.
func attacks(path string) map[string]in {
	return map[string]in{
		"read":        {"filePath": path},
		"list":        {"path": path},
		"glob":        {"pattern": "**", "path": path},
		"grep":        {"pattern": "can[a]ry", "path": path},
		"edit":        {"filePath": path, "oldString": "canary", "newString": "broken"},
		"write":       {"filePath": path, "content": "planted"},
		"apply_patch": patchOf("*** Add File: "+path, "+planted"),
	}
}

// more are other calls that name a path.
func more(path string) []struct {
	tool string
	in   in
} {
	return []struct {
		tool string
		in   in
	}{
		{"glob", in{"pattern": path}},
		{"glob", in{"pattern": path + "/**"}},
		{"edit", in{"filePath": path, "oldString": "", "newString": "planted"}},
		{"apply_patch", patchOf("*** Delete File: " + path)},
		{"apply_patch", patchOf("*** Update File: own.txt", "*** Move to: "+path)},
		{"apply_patch", patchOf("*** Update File: "+path, "*** Move to: stolen.txt")},
		{"apply_patch", patchOf("*** Update File: "+path, "@@", "-canary", "+broken")},
	}
}

// snapshot is every name below a directory with its content.
func snapshot(t *testing.T, dir string) map[string]string {
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

// However a path is written and whatever somebody put in the location: without permission for what is outside, no tool
// shows or changes anything there, waits, or says what is in there.
func TestNoWayOut(t *testing.T) {
	t.Setenv("CANARY", canary)
	b := newBench(t)
	victim := filepath.Dir(b.file(b.outside("victim/secret.txt"), canary+"\n"))
	b.file(b.outside("victim/inner/other.txt"), canary+"\n")
	b.file("own.txt", "own\n")
	paths := append(planted(b), spelled(b)...)
	before := snapshot(t, victim)
	calls := 0
	check := func(name, path string, input in) {
		calls++
		s := b.call(name, input)
		got := says(s) + string(s.Output.Structured) + s.Output.Title
		if strings.Contains(got, canary) {
			t.Errorf("%s %q shows: %.300s", name, path, got)
		}
		if strings.Contains(strings.ReplaceAll(got, path, ""), "other.txt") {
			t.Errorf("%s %q tells what is there: %.300s", name, path, got)
		}
		if diff := cmp.Diff(before, snapshot(t, victim)); diff != "" {
			t.Fatalf("%s %q changed: %s", name, path, diff)
		}
		b.asks()
	}
	for _, path := range paths {
		for name, input := range attacks(path) {
			check(name, path, input)
		}
		for _, c := range more(path) {
			check(c.tool, path, c.in)
		}
	}
	if len(paths) < 200 || calls < 2800 {
		t.Fatalf("only %d paths, %d calls", len(paths), calls)
	}
	t.Logf("%d paths, %d calls", len(paths), calls)
}

// Before it is allowed to look outside, no tool says whether anything is there: each asks first.
func TestNothingIsToldBeforeItIsAllowed(t *testing.T) {
	b := newBench(t)
	b.file(b.outside("victim/secret.txt"), canary)
	b.link(b.outside("victim"), "dir")
	for _, path := range []string{
		b.outside("victim/secret.txt"), b.outside("victim/missing"), b.outside("victim/secret.txt/x"), b.outside("victim/missing/x"), b.outside("victim/secret.txt/x/y"),
		"dir/secret.txt", "dir/missing", "dir/secret.txt/x", "dir/missing/x/y",
	} {
		for name, input := range attacks(path) {
			s := b.call(name, input)
			if asked := b.asks(); s.Denied == nil || len(asked) != 1 || !strings.HasPrefix(asked[0], "external_directory "+b.outside("victim")) {
				t.Errorf("%s %s: %s (asked %q)", name, path, says(s), asked)
			}
		}
	}
}
