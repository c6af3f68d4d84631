package v1_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// saidOf returns the frames about the sessions, as "kind of id".
func saidOf(ls []line, ids ...string) (all []string) {
	for _, f := range ls {
		e := f.data
		if p, ok := e["payload"].(map[string]any); ok {
			e = p
		}
		p, _ := e["properties"].(map[string]any)
		for i, id := range ids {
			if p["sessionID"] == id {
				all = append(all, fmt.Sprintf("%v of %d", e["type"], i))
			}
		}
	}
	return all
}

// A reader that reconnects gets each deletion once and in order, with an id to resume with; its last event may have
// been of a session that is deleted. No valid cursor is refused for that.
func TestDeletionsAreReplayed(t *testing.T) {
	for _, path := range []string{"/event", "/global/event"} {
		t.Run(path, func(t *testing.T) {
			w := newWorldOf(t, answering(t), "", nil)
			isOf := func(kind, id string) func(line) bool {
				return func(f line) bool {
					return f.id != "" && slices.Contains(saidOf([]line{f}, id), kind+" of 0") || hasSynced(f, kind, id)
				}
			}
			first := newSession(t, w, `{"title":"first"}`)
			child := newSession(t, w, `{"title":"child","parentID":"`+first+`"}`)
			stays := newSession(t, w, `{"title":"stays"}`)
			all := frames(t, w, path, "0", isOf("session.created", stays))
			before := all[len(all)-1].id
			if a := w.ask(t, http.MethodDelete, "/session/"+first, ""); a.status != http.StatusOK {
				t.Fatal(a.body)
			}
			w.ask(t, http.MethodPatch, "/session/"+stays, `{"title":"stays on"}`)
			again := frames(t, w, path, before, isOf("session.updated", stays))
			got := saidOf(again, first, child, stays)
			if want := []string{"session.deleted of 1", "session.deleted of 0", "session.updated of 2"}; !slices.Equal(
				got,
				want,
			) {
				t.Errorf("behind the deletion came %v, want %v", got, want)
			}
			if text := fmt.Sprint(again); strings.Contains(text, "title:first") ||
				strings.Contains(text, "title:child") {
				t.Errorf("deleted items are still sent: %s", text)
			}

			// The newest frame is of a session that is gone: the id is good, and so is that of its end.
			last := newSession(t, w, `{"title":"last"}`)
			all = frames(t, w, path, before, isOf("session.created", last))
			newest := all[len(all)-1].id
			w.ask(t, http.MethodDelete, "/session/"+last, "")
			ended := frames(t, w, path, newest, isOf("session.deleted", last))
			if got := saidOf(ended, last); !slices.Equal(got, []string{"session.deleted of 0"}) {
				t.Errorf("behind the newest came %v", got)
			}
			next := newSession(t, w, `{"title":"next"}`)
			behind := frames(t, w, path, ended[len(ended)-1].id, isOf("session.created", next))
			if got := saidOf(behind, first, child, stays, last, next); !slices.Equal(got, []string{"session.created of 4"}) {
				t.Errorf("behind the end came %v", got)
			}
		})
	}
}

// hasSynced reports whether the frame is the last one of what is kept, on the stream of all directories.
func hasSynced(f line, kind, id string) bool {
	p, _ := f.data["payload"].(map[string]any)
	e, _ := p["syncEvent"].(map[string]any)
	of, _ := e["type"].(string)
	return e["aggregateID"] == id && strings.HasPrefix(of, kind+".") && f.id != ""
}

// A stream gets the deletion of a session once, with the session as it was.
func TestADeletionIsToldLive(t *testing.T) {
	w := newWorld(t, "", nil)
	next := w.follow(t, "/event")
	next()
	for _, title := range []string{"one", "two"} {
		expectEvent := func(want string) {
			if e := next(); !strings.HasPrefix(e, want) || !strings.Contains(e, `"title":"`+title+`"`) {
				t.Errorf("got %s, want %s of %s", e, want, title)
			}
		}
		id := newSession(t, w, `{"title":"`+title+`"}`)
		expectEvent("session.created") // before the deletion: a later reader finds only its end
		w.ask(t, http.MethodDelete, "/session/"+id, "")
		expectEvent("session.deleted")
	}
}
