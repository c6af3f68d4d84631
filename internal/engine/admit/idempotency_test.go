package admit

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

// A prompt that is sent again is the same one although its files were read, and have changed, since; another name, or
// content that the client sent itself, makes it another one.
func TestWithUnreadFiles(t *testing.T) {
	named := session.File{URI: "file:///w/a.txt", Name: "a.txt", Mime: "text/plain"}
	read, media, sent := named, named, named
	read.Text = "old content"
	media.URI, media.Mime = "data:image/png;base64,AA==", "image/png"
	sent.Text = "the client's content"
	other := read
	other.Name = "b.txt"
	tests := []struct {
		name               string
		admitted, repeated session.File
		same               bool
	}{
		{"text that was read", read, named, true},
		{"media that was read", media, named, true},
		{"another name", other, named, false},
		{"content of the client", read, sent, false},
		{"content of the client again", sent, sent, true},
		{"no file", read, session.File{URI: "https://x/a.txt", Name: "a.txt"}, false},
	}
	for _, c := range tests {
		repeated := session.Prompt{Files: []session.File{c.repeated}}
		admitted := session.Prompt{Files: []session.File{c.admitted}}
		if got := withUnreadFiles(admitted, repeated); cmp.Equal(got, repeated) != c.same {
			t.Errorf("%s: %+v", c.name, got.Files)
		}
		if !cmp.Equal(admitted.Files[0], c.admitted) {
			t.Errorf("%s: the admitted prompt was changed", c.name)
		}
	}
	if got := withUnreadFiles(session.Prompt{Files: []session.File{read, read}}, session.Prompt{}); len(got.Files) != 2 {
		t.Errorf("another number of files: %+v", got.Files)
	}
}

// The ids of withdrawn prompts are refused, the newest maxWithdrawn of them.
func TestWithdrawnIDs(t *testing.T) {
	w := &withdrawnIDs{}
	id := func(i int) session.MessageID { return session.MessageID(fmt.Sprintf("msg_%d", i)) }
	for i := range maxWithdrawn + 1 {
		w.add(id(i))
	}
	conflict := &session.Error{Code: session.CodeConflict}
	if err := w.check(id(maxWithdrawn)); !errors.Is(err, conflict) {
		t.Errorf("the newest: %v", err)
	}
	if err := w.check(id(1)); !errors.Is(err, conflict) {
		t.Errorf("the oldest that is remembered: %v", err)
	}
	if err := w.check(id(0)); err != nil {
		t.Errorf("one before: %v", err)
	}
}
