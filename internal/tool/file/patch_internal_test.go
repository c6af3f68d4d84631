package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// A patch made from the difference of two files turns one into the other.
func TestPatchRoundTrip(t *testing.T) {
	line := rapid.SampledFrom([]string{"", "a", "b", "\tb", "c d", "}", "é", "+", "-x", "@@", "*** End Patch"})
	rapid.Check(t, func(t *rapid.T) {
		eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
		var before, after, patch strings.Builder
		n := 0
		for range rapid.IntRange(1, 12).Draw(t, "lines") {
			op, text := rapid.SampledFrom([]byte(" -+")).Draw(t, "op"), line.Draw(t, "text")
			if op != '+' {
				before.WriteString(text + eol)
				n++
			}
			if op != '-' {
				after.WriteString(text + eol)
			}
			patch.WriteString(string(op) + text + "\n")
		}
		if n == 0 || !strings.Contains(before.String(), eol) {
			t.Skip("only additions")
		}
		hunks, err := parsePatch(patchBegin + "\n" + patchUpdate + " f\n@@\n" + patch.String() + patchEOF + "\n" + patchEnd)
		if err != nil {
			t.Fatal(err)
		}
		got, err := applyChunks("f", before.String(), hunks[0].chunks)
		if err != nil || got != after.String() {
			t.Fatalf("%q %v, want %q\n%s", got, err, after.String(), patch.String())
		}
	})
}

// FuzzPatch checks that a patch is refused, or applied so that every line of the result is a whole line of the file or
// of the patch.
func FuzzPatch(f *testing.F) {
	for _, s := range []string{
		"*** Begin Patch\n*** Update File: a\n@@ x\n a\n-b\n+c\n*** End of File\n*** End Patch",
		"<<EOF\n*** Begin Patch\n*** Add File: a\n+b\n\n+c\n*** Delete File: b\n*** End Patch\nEOF",
		"*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ -1 +1 @@\n\n a\n\n@@\n+b\n\n*** End Patch\n",
	} {
		f.Add(s, "x\na\nb\n")
		f.Add(s, "\uFEFFa\r\nb\r\n")
	}
	f.Fuzz(func(t *testing.T, patch, content string) {
		hunks, err := parsePatch(patch)
		if err != nil {
			return
		}
		for _, h := range hunks {
			if h.path == "" || h.kind != sectionUpdate && (len(h.chunks) > 0 || h.target != "") {
				t.Fatalf("%+v", h)
			}
			got, err := applyChunks("f", content, h.chunks)
			if err != nil {
				continue
			}
			known := map[string]bool{"": true}
			for _, l := range strings.Split(strings.TrimPrefix(content, workpath.BOM), "\n") {
				known[strings.TrimRight(l, "\r")] = true
			}
			for _, c := range h.chunks {
				for _, l := range c.lines {
					known[strings.TrimRight(l.text, "\r")] = known[strings.TrimRight(l.text, "\r")] || l.op == '+'
				}
			}
			for _, l := range strings.Split(strings.TrimPrefix(got, workpath.BOM), "\n") {
				if !known[strings.TrimRight(l, "\r")] {
					t.Fatalf("%q comes from nowhere: %q to %q", l, content, got)
				}
			}
		}
	})
}

// If one of several files cannot be committed, the files before it are restored.
func TestCommitUndoes(t *testing.T) {
	dir := t.TempDir()
	paths := workpath.Resolver{Directory: dir, Worktree: dir}
	steps := []*fileStep{
		{path: writeAndResolve(t, paths, "a", "old a"), after: []byte("new a")},
		{path: writeAndResolve(t, paths, "made", ""), after: []byte("made")},
		{path: writeAndResolve(t, paths, "b", "old b"), after: []byte("new b")},
		{path: writeAndResolve(t, paths, "c", "old c"), removed: true},
	}
	var all []*stagedStep
	for _, st := range steps {
		before, err := readState(st.path)
		if err != nil {
			t.Fatal(err)
		}
		st.before = before
		one, err := stageStep(st)
		if err != nil {
			t.Fatal(err)
		}
		defer one.discard()
		all = append(all, one)
	}
	if err := all[2].dir.Remove(all[2].temp); err != nil {
		t.Fatal(err)
	}
	err := commitAll(all)
	if err == nil || !strings.Contains(err.Error(), "Every file is as it was before.") {
		t.Fatal(err)
	}
	if err := all[3].commit(); err != nil {
		t.Fatal(err)
	}
	if err := undoAll(all[3:]); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "old a", "b": "old b", "c": "old c"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("the new file is still there")
	}
}

// writeAndResolve writes a file, unless content is empty, and resolves its path.
func writeAndResolve(t *testing.T, paths workpath.Resolver, name, content string) workpath.Path {
	t.Helper()
	if content != "" {
		if err := os.WriteFile(filepath.Join(paths.Directory, name), []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	p, err := paths.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The wait for a locked file is bounded.
func TestLockWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewTracker()
		unlock, err := f.lockPath(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.lockPath(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "Try again later") {
			t.Fatal(err)
		}
		unlock()
		again, err := f.lockPath(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		again()
	})
}

// The memory for file contents is bounded; fingerprints stay.
func TestSeenIsBounded(t *testing.T) {
	f := NewTracker()
	big := make([]byte, maxKept)
	name := func(i int) string { return string(rune('a'+i%26)) + strings.Repeat("x", i/26) }
	for i := range 100 {
		f.recordSeen("ses", name(i), snapshot{fingerprint: fingerprint{size: int64(i)}, content: big})
	}
	first, ok := f.lastSeen("ses", name(0))
	last, _ := f.lastSeen("ses", name(99))
	if f.keptBytes > maxKeptAll || !ok || first.content != nil || len(last.content) != maxKept {
		t.Fatal(f.keptBytes, ok, len(first.content), len(last.content))
	}
	for i := range maxSeen + 10 {
		f.recordSeen(session.ID("ses_2"), name(i%26)+strings.Repeat("y", i/26), snapshot{})
	}
	if f.order.Len() != maxSeen || len(f.seen) != maxSeen || f.keptBytes != 0 {
		t.Fatal(f.order.Len(), len(f.seen), f.keptBytes)
	}
}
