package tui

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/offers"
)

// newRecordingModel returns a model with an open session whose calls are answered, and the calls that it made: a prompt
// with its delivery and text, others by the end of their path.
func newRecordingModel(t *testing.T) (*model, *[]string) {
	m, calls := newTestModel(t, composer.DraftFile{}), &[]string{}
	m.api.Base = "http://localhost"
	m.api.HTTP = &http.Client{Transport: api.Local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call := r.Method + " " + r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if strings.HasSuffix(r.URL.Path, "/prompt") {
			var in api.PromptRequest
			if err := json.UnmarshalRead(r.Body, &in); err != nil {
				t.Error(err)
			}
			call = string(in.Delivery) + " " + in.Prompt.Text
		}
		if r.Method != http.MethodGet {
			*calls = append(*calls, call)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data": {"messageID": "msg_1"}}`)
	}))}
	m.run = func(f func(context.Context) tea.Msg) tea.Cmd { m.Update(f(t.Context())); return nil }
	m.wait = m.run
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	m.working = false
	return m, calls
}

var twoWaiting = inboxMsg{id: "ses_1", waits: true, inbox: []*session.Input{
	{ID: "msg_1", Prompt: session.Prompt{Text: "one"}}, {ID: "msg_2", Prompt: session.Prompt{Text: "two"}},
}}

// TestWaitingNote: prompts are said to wait only if the session was idle when it was asked, and not once they are gone.
func TestWaitingNote(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	m.working = false
	admitted := twoWaiting
	admitted.waits = false
	if m.Update(admitted); m.note != "" {
		t.Errorf("the session works on them: %q", m.note)
	}
	if m.Update(twoWaiting); m.note != "2 prompts wait; Enter sends them, /inbox changes them" {
		t.Errorf("got the note %q", m.note)
	}
	if m.Update(inboxMsg{id: "ses_1"}); m.note != "" {
		t.Errorf("another client sent them: %q", m.note)
	}
	if got, want := describeWaiting(1), "1 prompt waits; Enter sends it, /inbox changes it"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEnterSendsWaiting: Enter in the empty composer sends the prompts that wait; a new prompt is queued behind them.
func TestEnterSendsWaiting(t *testing.T) {
	m, calls := newRecordingModel(t)
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	if len(*calls) != 0 {
		t.Errorf("nothing waits, but %q", *calls)
	}
	m.Update(twoWaiting)
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	if diff := cmp.Diff([]string{"POST resume"}, *calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	*calls, m.working = nil, false
	m.Update(twoWaiting)
	typeText(m, "new")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	if diff := cmp.Diff([]string{"queue new"}, *calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestWithdrawStaysOpen: ctrl+d withdraws one prompt after the other, and Up recalls their texts.
func TestWithdrawStaysOpen(t *testing.T) {
	m, calls := newRecordingModel(t)
	m.Update(twoWaiting)
	pickInbox(m)
	m.run = func(f func(context.Context) tea.Msg) tea.Cmd {
		if then, ok := f(t.Context()).(func() tea.Cmd); ok {
			then()
		}
		return nil
	}
	withdraw := tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl}
	pressKeys(m, withdraw)
	if len(m.dialogs) != 1 || len(m.inbox) != 1 {
		t.Fatalf("%d dialogs, %d prompts", len(m.dialogs), len(m.inbox))
	}
	pressKeys(m, withdraw)
	if len(m.dialogs) != 0 || len(*calls) != 2 {
		t.Errorf("%d dialogs after the last one, calls %q", len(m.dialogs), *calls)
	}
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyUp})
	if got := m.editor.Text(); got != "two" {
		t.Errorf("Up recalls %q", got)
	}
}

// TestEnterRunsOnlyMatch: Enter runs the only command that the typed beginning means, and completes one of several.
func TestEnterRunsOnlyMatch(t *testing.T) {
	m, _ := newRecordingModel(t)
	typeText(m, "/pal")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	if len(m.dialogs) != 1 || !m.editor.IsEmpty() {
		t.Errorf("%d dialogs, the composer has %q", len(m.dialogs), m.editor.Text())
	}
	m, _ = newRecordingModel(t)
	typeText(m, "/re")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	if len(m.dialogs) != 0 || m.editor.IsEmpty() {
		t.Errorf("%d dialogs, the composer has %q", len(m.dialogs), m.editor.Text())
	}
}

// TestFirstPrompt: the prompt of the command line is sent once the session is open and the offers are read; an effort
// that the model does not have leaves it unsent, beside the draft.
func TestFirstPrompt(t *testing.T) {
	read := offers.PromptOffers{Default: &session.ModelRef{ProviderID: "mock", ID: "main"}, Models: []api.Model{{
		ID: "main", ProviderID: "mock", Variants: []api.ModelVariant{{ID: "high"}},
	}}}
	for effort, want := range map[string][]string{"": {"steer fix it"}, "high": {"steer fix it"}, "huge": nil} {
		m, calls := newRecordingModel(t)
		m.editor.SetText("a draft")
		m.first = firstPrompt{text: "fix it", effort: effort}
		openTestSession(m)
		if m.working = false; len(*calls) != 0 {
			t.Errorf("sent before the offers are known: %q", *calls)
		}
		m.Update(read)
		m.Update(read)
		if diff := cmp.Diff(want, *calls, cmp.Transformer("", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
			t.Errorf("effort %q, calls (-want +got):\n%s", effort, diff)
		}
		if text := m.editor.Text(); text != "a draft" || (want == nil) != slices.Contains(m.stash, "fix it") {
			t.Errorf("effort %q leaves %q, put away %q", effort, text, m.stash)
		}
	}
}
