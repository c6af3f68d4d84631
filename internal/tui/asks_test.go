package tui

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
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
	deliverAnswer(m, follow.Answer{
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

// TestNoteBesideAsk: a note of several lines does not cover what a request with a long change asks for.
func TestNoteBesideAsk(t *testing.T) {
	for _, height := range []int{10, 14, 24, 40} {
		m := newTestModel(t, composer.DraftFile{})
		m.Update(tea.WindowSizeMsg{Width: 60, Height: height})
		openTestSession(m)
		a := editAsk("per_1")
		patch := "--- a\n+++ a\n@@ -0,0 +1,90 @@\n" + strings.Repeat("+line\n", 90)
		a.Metadata = jsontext.Value(`{"diff": ` + strconv.Quote(patch) + `}`)
		addAsk(m, a)
		m.note = strings.Repeat("the answer could not be sent ", 10)
		if frame, _ := m.renderFrame(); !strings.Contains(frame, terminal.FirstLine(describe.AskTitle(a), 20)) {
			t.Errorf("%d lines:\n%s", height, frame)
		}
	}
}

// TestTypedKeyDisarmsAsk: who types a prompt while a request waits does not answer it in the middle of a word.
func TestTypedKeyDisarmsAsk(t *testing.T) {
	for name, a := range map[string]session.PendingAsk{
		"permission": editAsk("per_1"),
		"question": {ID: "que_1", SessionID: "ses_1", Questions: []session.Question{{
			Question: "Which?", Options: []session.Option{{Label: "left"}, {Label: "right"}},
		}}},
	} {
		m := newTestModel(t, composer.DraftFile{})
		openTestSession(m)
		addAsk(m, a)
		m.Update(armMsg{m.asks.presses})
		typeText(m, "xya1")
		if m.editor.Text() != "xya1" || len(m.asks.pending) != 1 {
			t.Errorf("%s: typed %q, %d wait", name, m.editor.Text(), len(m.asks.pending))
		}
		m.editor.Clear()
		m.Update(armMsg{m.asks.presses})
		if pressAnswer(m, map[string]string{"permission": "y", "question": "1"}[name]); len(m.asks.pending) != 0 {
			t.Errorf("%s: after a pause the key is no answer", name)
		}
	}
}
