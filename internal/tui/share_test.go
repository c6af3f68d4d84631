package tui

import (
	"io"
	"net/http"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestShare: /share shows what is replaced before it shares the session, and revokes the share.
func TestShare(t *testing.T) {
	m, changes := factsModel(t, nil)
	previous := m.api.HTTP.Transport
	m.api.HTTP.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "/share/preview") {
			return previous.RoundTrip(r)
		}
		body := `{"data":{"replacements":[{"kind":"looks like a secret","count":1,"excerpt":"use [redacted]"}],"page":""}}`
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
	})
	ask := func(command string) string {
		typeText(m, "/"+command+" ")
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
		frame, _ := m.renderFrame()
		return ansi.Strip(frame)
	}
	if got := ask("share"); !strings.Contains(got, `Share "Replace foo by bar"?`) || !strings.Contains(got, "use [redacted]") {
		t.Error(got)
	}
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter}) // no
	if ask("share"); len(*changes) > 0 {
		t.Errorf("shared without an answer: %q", *changes)
	}
	typeText(m, "y")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	m.session.Share = &session.Share{URL: "https://h/share/x"}
	if got := ask("share"); !strings.Contains(got, "https://h/share/x") {
		t.Error(got)
	}
	typeText(m, "r")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	want := []string{"POST /api/session/ses_1/share", "DELETE /api/session/ses_1/share"}
	if diff := cmp.Diff(want, *changes); diff != "" {
		t.Error(diff)
	}
}
