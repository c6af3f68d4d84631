package tui

import (
	"io"
	"net/http"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// The import is offered on a first run only, and only if there is something.
func TestOfferImport(t *testing.T) {
	for name, c := range map[string]struct {
		sessions string
		programs []string
		want     bool
	}{
		"first run":      {`[]`, []string{"claude", "codex"}, true},
		"nothing there":  {`[]`, nil, false},
		"sessions exist": {`[{"id":"ses_1"}]`, []string{"claude"}, false},
	} {
		m := newTestModel(t, composer.DraftFile{})
		m.Update(tea.WindowSizeMsg{Width: 120, Height: 30})
		answerCalls(t, m, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"data":`+c.sessions+`}`)
		})
		m.options.FindForeign = func() []string { return c.programs }
		offerImport(m)
		frame, _ := m.renderFrame()
		if got := strings.Contains(ansi.Strip(frame), "cairn import --from claude"); got != c.want {
			t.Errorf("%s: offered: %v\n%s", name, got, frame)
		}
	}
}
