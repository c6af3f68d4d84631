package composer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestClaimDraftFile: interfaces that run at the same time have texts of their own; what one of them leaves behind is
// the next one's. The earlier prompts are those of all.
func TestClaimDraftFile(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "tui", "place.json")
	if err := NewDraftFile(place).Save(Drafts{Draft: "of yesterday", History: []string{"zero"}}); err != nil {
		t.Fatal(err)
	}
	first := ClaimDraftFile(place)
	second := ClaimDraftFile(place)
	if a, b := first.Load().Draft, second.Load().Draft; a != "of yesterday" || b != "" {
		t.Errorf("the first interface has %q, the second one %q", a, b)
	}
	for s, k := range map[*DraftFile]Drafts{
		&first: {History: []string{"zero", "one"}}, &second: {Draft: "left", History: []string{"zero", "two"}},
	} {
		if err := s.Save(k); err != nil {
			t.Fatal(err)
		}
	}
	if err := second.SaveStash(Stash{Texts: []string{"away"}}); err != nil {
		t.Fatal(err)
	}
	if away := first.LoadStash().Texts; len(away) > 0 {
		t.Errorf("the first interface has put away %q", away)
	}
	second.Release()
	third := ClaimDraftFile(place)
	want := Drafts{Draft: "left", History: []string{"one", "zero", "two"}}
	if diff := cmp.Diff(want, third.Load()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	first.Release()
	third.Release()
	// A file with text comes first, and the one that was looked at before it is free for the next interface.
	if err := first.Save(Drafts{}); err != nil {
		t.Fatal(err)
	}
	withText, empty := ClaimDraftFile(place), ClaimDraftFile(place)
	if withText.Load().Draft != "left" || empty.file != place {
		t.Errorf("the first one has %q, the second one the file %s", withText.Load().Draft, empty.file)
	}
	withText.Release()
	empty.Release()
}

// TestStashOfEarlierVersion: texts that an earlier cairn put away in the draft file itself are in the stash, once.
func TestStashOfEarlierVersion(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "place.json")
	content := `{"draft": "typed", "history": ["one"], "stash": ["a", "b"], "media": ["x.png"]}`
	if err := os.WriteFile(place, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := ClaimDraftFile(place)
		wantDrafts := Drafts{Draft: "typed", History: []string{"one"}, Files: []string{"x.png"}}
		wantStash := Stash{Texts: []string{"a", "b"}, Files: []string{"x.png"}}
		if diff := cmp.Diff(wantDrafts, s.Load()) + cmp.Diff(wantStash, s.LoadStash()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		s.Release()
	}
}

// TestClaimFullPlace: an interface for which no file is free keeps nothing and can say so; the next one has the file of
// one that has ended.
func TestClaimFullPlace(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "place.json")
	var claimed []DraftFile
	for range maxInterfaces {
		claimed = append(claimed, ClaimDraftFile(place))
	}
	if extra := ClaimDraftFile(place); !extra.IsFull() || claimed[maxInterfaces-1].IsFull() {
		t.Errorf("the last one is full: %v, one more: %v", claimed[maxInterfaces-1].IsFull(), extra.IsFull())
	}
	claimed[0].Release()
	if next := ClaimDraftFile(place); next.IsFull() || next.file != place {
		t.Errorf("after one has ended: %+v", next)
	}
}
