package sqlstore

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// The checksum is part of the stored form: it must not change.
func TestChecksumIsStable(t *testing.T) {
	row := store.EventRow{
		Position: 9, ID: "evt_1", SessionID: "ses_1", Seq: 3, Kind: session.KindRenamed, Version: 1,
		Data: []byte(`{"title":"x"}`), Private: []byte(`{"epoch":1}`),
	}
	const want = 1319440461
	if got := Checksum(&row); got != want {
		t.Errorf("checksum is %d, was %d when the first databases were written", got, want)
	}
}

// Every part of an event is covered, and no byte can move from one part to the next.
func TestChecksumCoversTheEvent(t *testing.T) {
	base := store.EventRow{
		ID: "evt_1", SessionID: "ses_1", Seq: 3, Kind: "kind", Version: 1, Data: []byte("data"),
		Private: []byte("private"),
	}
	seen := map[int64]string{Checksum(&base): "base"}
	for name, change := range map[string]func(*store.EventRow){
		"id":              func(r *store.EventRow) { r.ID = "evt_2" },
		"session":         func(r *store.EventRow) { r.SessionID = "ses_2" },
		"seq":             func(r *store.EventRow) { r.Seq = 4 },
		"kind":            func(r *store.EventRow) { r.Kind = "kine" },
		"version":         func(r *store.EventRow) { r.Version = 2 },
		"data":            func(r *store.EventRow) { r.Data = []byte("dato") },
		"private":         func(r *store.EventRow) { r.Private = []byte("privato") },
		"no private":      func(r *store.EventRow) { r.Private = nil },
		"data to private": func(r *store.EventRow) { r.Data, r.Private = []byte("dat"), []byte("aprivate") },
		"kind to id":      func(r *store.EventRow) { r.Kind, r.ID = "kin", "devt_1" },
	} {
		r := base
		change(&r)
		sum := Checksum(&r)
		if other, used := seen[sum]; used {
			t.Errorf("%s has the checksum of %s", name, other)
		}
		seen[sum] = name
	}
}
