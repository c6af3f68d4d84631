package session

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// An event of any kind that changes what a client shows of a session is announced: by ChangesSession, or as the kind in
// the table. A new field of Session counts as shown unless it is ignored here.
func TestEveryChangeOfASessionIsAnnounced(t *testing.T) {
	announced := map[Kind]string{
		KindCreated:  "as the session's creation",
		KindPrompted: "by the views, which compare agent and model with what they announced last",
	}
	ignored := cmpopts.IgnoreFields(
		Session{},
		"Cost", "Tokens", "Changes", // by the turn
		"Revert", "Todos", "Compacting", "Jobs", // by events of their own
		"Budget", "Excluded", "Edits", "Stalled", "Nested", "Entries", // shown on request only
	)
	updated := cmpopts.IgnoreFields(SessionTime{}, "Updated")
	for _, k := range ListKinds() {
		d := newData(k)
		fill(reflect.ValueOf(d).Elem(), "")
		s := Session{ID: "ses_a", Import: &Import{}, Time: SessionTime{Created: 3}}
		before := s
		s.Apply(d)
		changed := !cmp.Equal(before, s, ignored, updated)
		switch {
		case changed && !ChangesSession(d) && announced[k] == "":
			t.Errorf("%s changes the session, and no view announces it: %s", k, cmp.Diff(before, s, ignored, updated))
		case !changed && (ChangesSession(d) || announced[k] != ""):
			t.Errorf("%s is announced and changes nothing that is shown", k)
		}
	}
}
