package engine

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// A change of tags is one event with the whole list, and none if the list stays. An invalid change changes nothing.
func TestTags(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	at := session.Location{Directory: "/w"}
	if _, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{ID: "ses_a", Location: at}); err != nil {
		t.Fatal(err)
	}
	title := "new"
	for _, tt := range []struct {
		name   string
		change session.TagChange
		want   []string
		events int
		fails  bool
	}{
		{"added", session.TagChange{Add: []string{"work", "a"}}, []string{"a", "work"}, 1, false},
		{"added again", session.TagChange{Add: []string{" work "}}, []string{"a", "work"}, 0, false},
		{"not there", session.TagChange{Remove: []string{"b"}}, []string{"a", "work"}, 0, false},
		{"invalid", session.TagChange{Add: []string{"b", "c d"}}, []string{"a", "work"}, 0, true},
		{"replaced", session.TagChange{Replace: &[]string{"仕事"}}, []string{"仕事"}, 1, false},
		{"removed", session.TagChange{Remove: []string{"仕事"}}, nil, 1, false},
		{"cleared", session.TagChange{Replace: &[]string{}}, nil, 0, false},
	} {
		before := len(allEvents(t, w.store))
		change := admit.SessionChange{Tags: tt.change}
		if tt.fails {
			change.Title = &title
		}
		err := w.engine.Commands.ChangeSession(t.Context(), "ses_a", change)
		if (err != nil) != tt.fails || err != nil && !errors.Is(err, &session.Error{Code: session.CodeInvalid}) {
			t.Errorf("%s: %v", tt.name, err)
		}
		s, err := w.engine.journal.ReadSession(t.Context(), "ses_a")
		if err != nil || s.Title == title {
			t.Fatalf("%s: %q, %v", tt.name, s.Title, err)
		}
		if d := cmp.Diff(tt.want, s.Tags); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
		if n := len(allEvents(t, w.store)) - before; n != tt.events {
			t.Errorf("%s: %d events, want %d", tt.name, n, tt.events)
		}
	}
}

// Tags that are added at the same time are all there. A fork and a child session begin without them.
func TestTagsOfManyCallers(t *testing.T) {
	w := newWorld(t, script.Script{})
	defer w.close(t)
	at := session.Location{Directory: "/w"}
	if _, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{ID: "ses_a", Location: at}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range session.MaxTags {
		wg.Go(func() {
			change := admit.SessionChange{Tags: session.TagChange{Add: []string{fmt.Sprint("t", i)}}}
			if err := w.engine.Commands.ChangeSession(t.Context(), "ses_a", change); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s, err := w.engine.journal.ReadSession(t.Context(), "ses_a")
	if err != nil || len(s.Tags) != session.MaxTags {
		t.Errorf("%d tags, %v", len(s.Tags), err)
	}
	fork, err := w.engine.Commands.ForkSession(t.Context(), "ses_a", admit.CopyEnd{})
	if err != nil || fork.Tags != nil {
		t.Errorf("the fork has %v, %v", fork, err)
	}
	child, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{ParentID: "ses_a", Location: at})
	if err != nil || child.Tags != nil {
		t.Errorf("the child has %v, %v", child, err)
	}
}
