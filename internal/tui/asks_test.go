package tui

import (
	"io"
	"net/http"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/cli/term"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// TestEditedPatternsStay: patterns that the server refused are in the request again as they were edited.
func TestEditedPatternsStay(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	answerCalls(t, m, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"name": "InvalidRequestError", "data": {"message": "b.txt does not match"}}`)
	})
	deliverAnswer(m, term.Answer{
		Ask: editAsk("per_1"), Reply: session.ReplyAlways, Lifetime: session.LifetimeSession, Patterns: []string{"b.txt"},
	})
	if frame, _ := m.renderFrame(); !strings.Contains(frame, "edit b.txt") || m.note == "" {
		t.Errorf("note %q:\n%s", m.note, frame)
	}
}

// TestAskerIsNamed: a request of another session has the title of that session.
func TestAskerIsNamed(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	answerCalls(t, m, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/api/session/ses_2" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, `{"data": {"id": "ses_2", "title": "The other one"}}`)
	})
	a := editAsk("per_1")
	a.SessionID = "ses_2"
	addAsk(m, a)
	if frame, _ := m.renderFrame(); !strings.Contains(frame, "in the session The other one") {
		t.Error(frame)
	}
	removeAsk(m, a.ID)
	addAsk(m, session.PendingAsk{ID: "que_1", SessionID: "ses_2", Questions: []session.Question{{Question: "Which?"}}})
	if f, ok := m.asks.dialog.(*dialog.Form); !ok || f.From != "The other one" {
		t.Errorf("the dialog is %+v", m.asks.dialog)
	}
}
