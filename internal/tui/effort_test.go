package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// TestModelInStatus: the model of the next prompt is in the status line before any session, and changes with what
// chooses it; the share of the window is shown for the model that it belongs to only.
func TestModelInStatus(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 24})
	m.offers.Default = &session.ModelRef{ProviderID: "mock", ID: "main"}
	m.offers.Agents = []session.Agent{{ID: "build"}, {ID: "plan", Model: &session.ModelRef{ProviderID: "mock", ID: "thinker"}}}
	m.offers.Models = []api.Model{{
		ID: "main", ProviderID: "mock", Variants: []api.ModelVariant{{ID: "high"}, {ID: "low"}, {ID: "medium"}},
	}}
	status := func() string { return strings.TrimSpace(ansi.Strip(m.statusLine())) }
	steps := []struct {
		do   func()
		want string
	}{
		{func() {}, "ready · build · mock/main · /src/project"},
		{func() { switchEffort(m) }, "ready · build · mock/main · low effort · /src/project"},
		{func() { switchEffort(m) }, "ready · build · mock/main · medium effort · /src/project"},
		{func() { switchEffort(m); switchEffort(m) }, "ready · build · mock/main · /src/project"},
		{func() { runSlash(m, "effort", "high") }, "ready · build · mock/main · high effort · /src/project"},
		{func() { m.model = nil; switchAgent(m) }, "ready · plan · mock/thinker · /src/project"},
		{func() {
			m.agent = ""
			openTestSession(m)
			m.window = api.ContextRequest{Model: session.ModelRef{ProviderID: "mock", ID: "main"}}
			m.window.Window.Fill = 12
		}, "ready · build · mock/main · 12% context · Replace foo by bar"},
		{
			func() { m.session.Model = &session.ModelRef{ProviderID: "mock", ID: "other"} },
			"ready · build · mock/other · Replace foo by bar",
		},
	}
	for i, s := range steps {
		if s.do(); status() != s.want {
			t.Errorf("step %d: %q, want %q", i, status(), s.want)
		}
	}
	if takeEffort(m, "huge"); !strings.Contains(m.note, "no reasoning efforts") {
		t.Errorf("note %q", m.note)
	}
}
