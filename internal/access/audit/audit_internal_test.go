package audit

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/caller"
)

// newTestTrail returns a log with n entries, whose files have the size segment.
func newTestTrail(t *testing.T, n int, segment int64) *Trail {
	t.Helper()
	l := &Trail{filepath.Join(t.TempDir(), "audit"), segment}
	recordEntries(t, l, n)
	return l
}

func recordEntries(t *testing.T, l *Trail, n int) {
	t.Helper()
	ctx := caller.NewContext(t.Context(), caller.Caller{Kind: caller.KindToken, Token: "1f", Role: caller.Approve})
	for i := range n {
		if err := l.AddEntry(ctx, KindApproval, fmt.Sprintf("once to per_%d", i)); err != nil {
			t.Fatal(err)
		}
	}
}

func readTrail(t *testing.T, l *Trail) Report {
	t.Helper()
	r, err := l.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEntries(t *testing.T) {
	l := newTestTrail(t, 3, maxSegment)
	r := readTrail(t, New(filepath.Dir(l.dir))) // another process
	if r.Problem != "" || len(r.Entries) != 3 {
		t.Fatalf("%+v", r)
	}
	e := r.Entries[2]
	if e.Seq != 3 || e.Kind != KindApproval || e.Who != "approve token 1f" || e.What != "once to per_2" || e.Time == 0 {
		t.Errorf("%+v", e)
	}
	err := filepath.WalkDir(l.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	long := strings.Repeat("ä", maxWhat) + "\xff"
	if err := l.AddEntry(t.Context(), KindRules, long); err != nil {
		t.Fatal(err)
	}
	if r = readTrail(t, l); r.Problem != "" || len(r.Entries[3].What) > maxWhat || r.Entries[3].Who != "admin own" {
		t.Errorf("%s, %d bytes by %s", r.Problem, len(r.Entries[3].What), r.Entries[3].Who)
	}
}

func TestAbsentLog(t *testing.T) {
	l := New(t.TempDir())
	if r := readTrail(t, l); r.Problem != "" || len(r.Entries) != 0 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(l.dir); err == nil {
		t.Error("reading has created the directory")
	}
	if err := (*Trail)(nil).AddEntry(t.Context(), KindRules, "x"); err != nil {
		t.Error(err)
	}
}

// Every changed byte, every cut, every removed, repeated or swapped line of every file is found, and stays found when
// entries follow.
func TestTampering(t *testing.T) {
	l := newTestTrail(t, 9, 900)
	names, err := filepath.Glob(filepath.Join(l.dir, "*"))
	if err != nil || len(names) != 5 { // two files of entries, the key, the state, its lock
		t.Fatal(names, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".lock") {
			continue
		}
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, changed := range listChanges(whole, strings.HasSuffix(name, ".jsonl")) {
			l := copyTrail(t, l)
			name := filepath.Join(l.dir, filepath.Base(name))
			if err := os.WriteFile(name, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			if readTrail(t, l).Problem == "" {
				t.Errorf("%s: %s is not found", filepath.Base(name), what)
			}
			_ = l.AddEntry(t.Context(), KindRules, "next") // may fail
			if readTrail(t, l).Problem == "" {
				t.Errorf("%s: %s is not found after another entry", filepath.Base(name), what)
			}
		}
		gone := copyTrail(t, l)
		if err := os.Remove(filepath.Join(gone.dir, filepath.Base(name))); err != nil {
			t.Fatal(err)
		}
		if readTrail(t, gone).Problem == "" {
			t.Errorf("%s: its removal is not found", filepath.Base(name))
		}
	}
}

// listChanges returns changed contents of a file, by what was changed.
func listChanges(whole []byte, isLines bool) map[string][]byte {
	changes := map[string][]byte{}
	for range 60 {
		at, to := rand.IntN(len(whole)), byte(rand.IntN(256))
		if edited := bytes.Clone(whole); edited[at] != to {
			edited[at] = to
			changes[fmt.Sprintf("byte %d as %q", at, to)] = edited
		}
	}
	for range 20 {
		n := rand.IntN(len(whole) - 1) // a missing last newline is written with the next entry
		changes[fmt.Sprintf("a cut to %d bytes", n)] = whole[:n]
	}
	if !isLines {
		return changes
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	lines = lines[:len(lines)-1]
	for i := range lines {
		changes[fmt.Sprintf("line %d removed", i)] = bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil)
		changes[fmt.Sprintf("line %d repeated", i)] = bytes.Join(slices.Insert(slices.Clone(lines), i, lines[i]), nil)
		if i > 0 {
			swapped := slices.Clone(lines)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			changes[fmt.Sprintf("line %d swapped", i)] = bytes.Join(swapped, nil)
		}
	}
	return changes
}

// copyTrail returns a log with the same files.
func copyTrail(t *testing.T, l *Trail) *Trail {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "audit")
	if err := os.CopyFS(dir, os.DirFS(l.dir)); err != nil {
		t.Fatal(err)
	}
	return &Trail{dir, l.segment}
}

// The chain of another key is not this one, also with its state.
func TestForeignLog(t *testing.T) {
	l, other := newTestTrail(t, 2, maxSegment), newTestTrail(t, 2, maxSegment)
	key, err := os.ReadFile(l.keyPath())
	if err == nil {
		err = os.WriteFile(other.keyPath(), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := readTrail(t, other); r.Problem == "" {
		t.Errorf("%+v", r)
	}
	if err := other.AddEntry(t.Context(), KindRules, "x"); err == nil ||
		!strings.Contains(err.Error(), "move the directory away") {
		t.Error(err)
	}
}

// The log has two files at most, and the chain holds from the first kept entry on.
func TestRotation(t *testing.T) {
	l := newTestTrail(t, 50, 900)
	names, err := filepath.Glob(filepath.Join(l.dir, "*.jsonl"))
	r := readTrail(t, l)
	if err != nil || len(names) != 2 || r.Problem != "" {
		t.Fatal(names, r.Problem, err)
	}
	if first := r.Entries[0].Seq; first < 30 || r.Entries[len(r.Entries)-1].Seq != 50 {
		t.Errorf("the entries %d to %d are kept", first, r.Entries[len(r.Entries)-1].Seq)
	}
	if err := os.Rename(names[1], names[0]); err != nil {
		t.Fatal(err)
	}
	if readTrail(t, l).Problem == "" {
		t.Error("the lost file is not found")
	}
}

// A process that died before it wrote the state, or within a line, damages nothing.
func TestDeath(t *testing.T) {
	for _, segment := range []int64{maxSegment, 1} { // the second begins a file with every entry
		l := newTestTrail(t, 3, segment)
		state, err := os.ReadFile(l.statePath())
		if err != nil {
			t.Fatal(err)
		}
		recordEntries(t, l, 1)
		if err := os.WriteFile(l.statePath(), state, 0o600); err != nil {
			t.Fatal(err)
		}
		if segment > 1 {
			f, err := os.OpenFile(l.segmentPath(chainPoint{}), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(`{"seq":5,"time"`); err != nil || f.Close() != nil {
				t.Fatal(err)
			}
			if r := readTrail(t, l); r.Problem != "" {
				t.Error(r.Problem)
			}
		}
		recordEntries(t, l, 1)
		if r := readTrail(t, l); r.Problem != "" || r.Entries[len(r.Entries)-1].Seq != 5 {
			t.Errorf("%+v", r)
		}
	}
}

func TestConcurrentEntries(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				if err := New(dir).AddEntry(context.Background(), KindRules, "x"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if r := readTrail(t, New(dir)); r.Problem != "" || len(r.Entries) != 40 {
		t.Errorf("%d entries, %s", len(r.Entries), r.Problem)
	}
}

func BenchmarkRecord(b *testing.B) {
	l := New(b.TempDir())
	for b.Loop() {
		if err := l.AddEntry(b.Context(), KindApproval, "once to per_1 of ses_1: bash go test ./..."); err != nil {
			b.Fatal(err)
		}
	}
}
