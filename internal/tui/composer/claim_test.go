package composer

import (
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
