package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// sourceState is what a source says of the session ses_a: words such as "1" or "1b", which is another state of the same
// message.
type sourceState struct {
	title  string
	words  string
	revert session.MessageID // the first message that is taken back; "" without one
}

// messages returns the messages of the words.
func (s sourceState) messages(t *testing.T) (outline []session.Outline, stored []jsontext.Value) {
	t.Helper()
	for _, word := range strings.Fields(s.words) {
		id := session.MessageID("msg_" + word[:1])
		m := &session.User{Head: session.Head{ID: id, Type: session.TypeUser}, Text: word}
		raw, err := session.EncodeMessage(m)
		if err != nil {
			t.Fatal(err)
		}
		outline, stored = append(outline, session.NewOutline(m, raw)), append(stored, raw)
	}
	return outline, stored
}

// importState imports the state over the one before, in pieces of a message each. most bounds the pieces.
func importState(t *testing.T, w *world, s, before sourceState, most int) (*admit.ImportProgress, error) {
	t.Helper()
	outline, messages := s.messages(t)
	r := importOf(s.words, len(messages))
	r.Session.Title = s.title
	if s.revert != "" {
		r.Session.Revert = &session.Revert{MessageID: s.revert, Exclusive: true}
	}
	r.Extends = before.words
	if before.words != s.words {
		r.Outline = outline
	}
	got, err := w.engine.Commands.ImportSession(t.Context(), r)
	if err != nil {
		return nil, err
	}
	r.Outline = nil
	for i, m := range messages[min(got.Messages, len(messages)):] {
		if i == most {
			break
		}
		r.After, r.Messages = got.Messages, []jsontext.Value{m}
		if got, err = w.engine.Commands.ImportSession(t.Context(), r); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// showImport returns the title and the texts of the session ses_a.
func showImport(t *testing.T, w *world) string {
	t.Helper()
	out, err := store.Query(t.Context(), w.store, func(r store.Reader) (string, error) {
		s, err := store.FindSession(r, "ses_a")
		if err != nil {
			return "", err
		}
		out := s.Title + ":"
		if s.Time.Archived != 0 {
			out = "archived " + out
		}
		err = r.RawMessages("ses_a", store.MessageQuery{After: -1}, func(m *store.RawMessage) error {
			var u session.User
			err := json.Unmarshal(m.Data, &u)
			out += " " + u.Text
			return err
		})
		if s.Revert != nil {
			out += " but " + string(s.Revert.MessageID)
		}
		return out, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An imported session that was not used here becomes what its source says by now. One that was used stays, and so does one
// whose source has only lost messages.
func TestImportFollowsItsSource(t *testing.T) {
	const refused = "conflict"
	rename := func(w *world) error {
		title := "Mine"
		return w.engine.Commands.ChangeSession(t.Context(), "ses_a", admit.SessionChange{Title: &title})
	}
	archive := func(w *world) error {
		archived := true
		return w.engine.Commands.ChangeSession(t.Context(), "ses_a", admit.SessionChange{Archived: &archived})
	}
	remove := func(w *world) error { return w.engine.Commands.RemoveMessage(t.Context(), "ses_a", "msg_1") }
	first := sourceState{title: "There", words: "1 2 3"}
	for name, c := range map[string]struct {
		next sourceState
		use  func(*world) error
		want string
	}{
		"more":                     {sourceState{title: "There", words: "1 2 3 4 5"}, nil, "There: 1 2 3 4 5"},
		"another end":              {sourceState{title: "There", words: "1 2 3b"}, nil, "There: 1 2 3b"},
		"another end and more":     {sourceState{title: "There", words: "1 2b 3 4"}, nil, "There: 1 2b 3 4"},
		"another beginning":        {sourceState{title: "There", words: "1b 2 3"}, nil, "There: 1b 2 3"},
		"one in between":           {sourceState{title: "There", words: "1 4 2 3"}, nil, "There: 1 4 2 3"},
		"the person went back":     {sourceState{title: "There", words: "1 5"}, nil, "There: 1 5"},
		"lost the end":             {sourceState{title: "There", words: "1 2"}, nil, refused},
		"lost one in between":      {sourceState{title: "There", words: "1 3b"}, nil, refused},
		"a new title":              {sourceState{title: "New", words: "1 2 3"}, nil, "New: 1 2 3"},
		"a new title and more":     {sourceState{title: "New", words: "1 2 3 4"}, nil, "New: 1 2 3 4"},
		"renamed here":             {sourceState{title: "There", words: "1 2 3 4"}, rename, "Mine: 1 2 3 4"},
		"renamed here and there":   {sourceState{title: "New", words: "1 2 3"}, rename, "Mine: 1 2 3"},
		"archived here":            {sourceState{title: "New", words: "1 2b 3"}, archive, "archived New: 1 2b 3"},
		"archived, a new title":    {sourceState{title: "New", words: "1 2 3"}, archive, "archived New: 1 2 3"},
		"used here":                {sourceState{title: "There", words: "1 2 3 4"}, remove, refused},
		"used here, another end":   {sourceState{title: "There", words: "1 2 3b"}, remove, refused},
		"used here, a new title":   {sourceState{title: "New", words: "1 2 3"}, remove, "New: 2 3"},
		"taken back":               {sourceState{"There", "1 2 3", "msg_2"}, nil, "There: 1 2 3 but msg_2"},
		"used here, taken back":    {sourceState{"There", "1 2 3", "msg_2"}, remove, "There: 2 3"},
		"the same, with all equal": {first, nil, "There: 1 2 3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, script.Script{})
			defer w.close(t)
			if _, err := importState(t, w, first, sourceState{}, -1); err != nil {
				t.Fatal(err)
			}
			if c.use != nil {
				if err := c.use(w); err != nil {
					t.Fatal(err)
				}
			}
			before := showImport(t, w)
			_, err := importState(t, w, c.next, first, -1)
			got := showImport(t, w)
			if errors.Is(err, &session.Error{Code: session.CodeConflict}) && got == before {
				got, err = refused, nil
			}
			if err != nil || got != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
			// What an import did is no use, and the same import changes nothing.
			if got == refused {
				return
			}
			written := len(allEvents(t, w.store))
			if p, err := importState(t, w, c.next, c.next, -1); err != nil || p.Completed || len(allEvents(t, w.store)) != written {
				t.Errorf("the same again: %+v, %v, %d events more", p, err, len(allEvents(t, w.store))-written)
			}
			next := sourceState{c.next.title, c.next.words + "c 9", ""}
			if _, err := importState(t, w, next, c.next, -1); (err != nil) != strings.HasPrefix(name, "used") {
				t.Errorf("after it: %v", err)
			}
			prove(t, w)
		})
	}
}

// A revert that was staged at the source ends here as it does there.
func TestImportFollowsReverts(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	before := sourceState{}
	for _, c := range []struct {
		state sourceState
		want  string
	}{
		{sourceState{"There", "1 2 3", "msg_2"}, "There: 1 2 3 but msg_2"},
		{sourceState{"There", "1 2 3", "msg_3"}, "There: 1 2 3 but msg_3"},
		{sourceState{"There", "1 2 3", ""}, "There: 1 2 3"},
		{sourceState{"There", "1 2 3", "msg_2"}, "There: 1 2 3 but msg_2"},
		{sourceState{"There", "1 4", ""}, "There: 1 4"},
	} {
		if _, err := importState(t, w, c.state, before, -1); err != nil {
			t.Fatal(err)
		}
		if got := showImport(t, w); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		before = c.state
	}
	prove(t, w)
}

// An import that was cut off anywhere is completed by the next one, also if the source has changed once more.
func TestImportFollowsAfterACut(t *testing.T) {
	states := []sourceState{{"A", "1 2 3 4", ""}, {"B", "1 2b 3 4 5", ""}, {"C", "1 2b 3c 4 5 6", ""}}
	for _, cuts := range [][2]int{{0, 0}, {1, 0}, {1, 1}, {2, 1}, {3, 2}, {4, 1}, {4, 3}, {4, 4}} {
		t.Run(fmt.Sprint(cuts), func(t *testing.T) {
			w := newWorld(t, script.Script{})
			defer func() { w.close(t) }()
			stored := sourceState{}
			for n, s := range states {
				most := -1
				if n < len(cuts) {
					most = cuts[n]
				}
				got, err := importState(t, w, s, stored, most)
				if err != nil {
					t.Fatalf("state %d: %v", n, err)
				}
				w.kill(true)
				w.start()
				// The next one names what is known of the session.
				stored.words = got.Session.Import.Hash
			}
			if diff := cmp.Diff("C: 1 2b 3c 4 5 6", showImport(t, w)); diff != "" {
				t.Error(diff)
			}
			prove(t, w)
		})
	}
}
