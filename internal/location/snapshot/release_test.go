package snapshot

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The contents that only removed owners pinned go with their pins; those that another owner pins, and while a Hold lasts
// those that were used lately, stay.
func TestRemoveOwners(t *testing.T) {
	b := NewBlobs(t.TempDir())
	put := func(content string, owners ...string) string {
		id, err := b.Put([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range owners {
			if err := b.PinBlobs(o, []string{id}); err != nil {
				t.Fatal(err)
			}
		}
		return id
	}
	own, shared, old := put("own", "a"), put("shared", "a", "b"), put("old", "c")
	loose := put("stored by a capture at work")
	makeOld(t, b.blobPath(old))

	release := b.Hold()
	left, err := b.RemoveOwners(t.Context(), []string{"a", "c", "unknown"})
	if err != nil || !slices.Equal(left, []string{"a"}) {
		t.Errorf("with a hold: left %q, error %v", left, err)
	}
	for id, want := range map[string]bool{own: true, shared: true, old: false, loose: true} {
		if got := b.HasBlob(id); got != want {
			t.Errorf("with a hold: content %s stored: %v, want %v", id, got, want)
		}
	}
	release()
	if left, err = b.RemoveOwners(t.Context(), left); err != nil || len(left) > 0 {
		t.Errorf("without a hold: left %q, error %v", left, err)
	}
	for id, want := range map[string]bool{own: false, shared: true, loose: true} {
		if got := b.HasBlob(id); got != want {
			t.Errorf("without a hold: content %s stored: %v, want %v", id, got, want)
		}
	}
	if owners, err := b.ListOwners(time.Now().Add(time.Hour)); err != nil || !slices.Equal(owners, []string{"b"}) {
		t.Errorf("owners %q, error %v", owners, err)
	}
}

// A content that a capture uses, and that is not stored again, is young again.
func TestCaptureRefreshesContents(t *testing.T) {
	p := newDirectory(t)
	p.write("a", "one")
	expect(t, "changed", p.changes(func() { p.write("b", "two") }), []string{"A b"})
	path := p.options.Blobs.blobPath(blobID([]byte("one")))
	makeOld(t, path)
	makeOld(t, filepath.Join(p.root, "a"))
	p.mustCapture() // reads the file
	makeOld(t, path)
	p.mustCapture() // does not
	if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("the content is as old as before: %v, %v", info, err)
	}
}

// The objects of captures go except for those of the newest one; while a Hold lasts they can be compared.
func TestPruneCaptures(t *testing.T) {
	p := newRepository(t)
	dir := filepath.Join(p.home, "tree")
	p.write("a", "one")
	before := p.mustCapture()
	object := func(content string) string {
		id := blobID([]byte(content))
		return filepath.Join(dir, "git", "objects", id[:2], id[2:])
	}
	release := p.HoldBlobs()
	p.write("a", "two")
	after := p.mustCapture()
	prune := func(want bool) {
		t.Helper()
		if isWhole, err := p.options.Blobs.PruneCaptures(t.Context(), p.git, dir); err != nil || isWhole != want {
			t.Fatalf("whole: %v, want %v, error %v", isWhole, want, err)
		}
	}
	prune(false)
	if found, _, err := p.Compare(t.Context(), before, after, 10); err != nil || len(found) != 1 {
		t.Errorf("with a hold: %v, %v", found, err)
	}
	release()
	other := p.options.Blobs.HoldCaptures("another worktree")
	prune(true)
	other()
	if _, err := os.Stat(object("one")); err == nil {
		t.Error("the object of an older capture is still there")
	}
	if _, err := os.Stat(object("two")); err != nil {
		t.Errorf("the object of the newest capture: %v", err)
	}
	expect(t, "after it", p.changes(func() { p.write("a", "three") }), []string{"M a"})
}
