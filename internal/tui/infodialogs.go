package tui

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// showText reads the lines of a dialog and shows them.
func showText(m *model, title string, read func(context.Context) ([]string, error)) tea.Cmd {
	var body []string
	return m.callAPI("show "+strings.ToLower(title), func(ctx context.Context) (err error) {
		body, err = read(ctx)
		return err
	}, func() tea.Cmd {
		m.openDialog(&dialog.Text{Title: title, Body: body})
		return nil
	})
}

// showStatus shows the session, what answers its next prompt, and the cairn that does the work.
func showStatus(m *model) tea.Cmd {
	// What this interface knows, and the session if one is open.
	c, s := m.api, m.session
	facts := [][2]string{
		{"session", m.sessionTitle()},
		{"state", m.statusOf().State()},
		{"agent", m.agentName()},
		{"model", cmp.Or(m.modelName(), "unknown")},
		{"effort", cmp.Or(m.nextModel().Variant, "default")},
		{"branch", m.branch},
		{"where", m.options.Where},
		{"theme", m.themeName},
	}
	if s != nil {
		facts = append(facts, [][2]string{
			{"id", string(s.ID)},
			{"directory", s.Location.Directory},
			{"sandbox", string(s.Sandbox)},
			{"tokens", terminal.FormatCount(s.Tokens.Sum())},
			{"cost", describe.FormatCost(s.Cost, s.Tokens)},
		}...)
	}
	// What only the server knows.
	return showText(m, "Status", func(ctx context.Context) ([]string, error) {
		h, err := c.Health(ctx)
		if err != nil {
			return nil, err
		}
		version := h.Version
		if h.PID != 0 {
			version = fmt.Sprintf("%s, process %d", version, h.PID)
		}
		return formatFacts(append(facts, [][2]string{{"cairn", version}, {"store", h.Problem}}...)), nil
	})
}

// formatFacts returns a line for each fact that is known.
func formatFacts(facts [][2]string) (lines []string) {
	for _, f := range facts {
		if f[1] != "" {
			lines = append(lines, fmt.Sprintf("%-10s %s", f[0], terminal.FirstLine(f[1], 300)))
		}
	}
	return lines
}

// showStats shows the token usage and the costs of all sessions.
func showStats(m *model) tea.Cmd {
	c, env := m.api, m.options.Env
	return showText(m, "Usage and costs of all sessions", func(ctx context.Context) ([]string, error) {
		s, err := c.Stats(ctx, api.StatsQuery{Timezone: string(api.FindTimeZone(env))})
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		describe.WriteStats(terminal.NewStream(&text, env), s, terminal.NewMarks(env).Bar, "model", "day")
		return strings.Split(strings.TrimRight(text.String(), "\n"), "\n"), nil
	})
}

// showCost shows what the session has cost.
func showCost(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	s, t := m.session, m.session.Tokens
	facts := [][2]string{
		{"cost", describe.FormatCost(s.Cost, t)},
		{"tokens", terminal.FormatCount(t.Sum())},
		{"input", terminal.FormatCount(t.Input + t.Cache.Write)},
		{"from cache", terminal.FormatCount(t.Cache.Read)},
		{"cache hit", describe.FormatCacheHit(t)},
		{"output", terminal.FormatCount(t.Output)},
		{"reasoning", terminal.FormatCount(t.Reasoning)},
	}
	body := append(formatFacts(facts), "", "Subagents have costs of their own: /tree. All sessions: /stats.")
	m.openDialog(&dialog.Text{Title: "Cost of this session", Body: body})
	return nil
}

// showDoctor shows what the cairn that does the work finds out about its installation.
func showDoctor(m *model) tea.Cmd {
	c, marks := m.api, terminal.NewMarks(m.options.Env)
	return showText(m, "Installation", func(ctx context.Context) ([]string, error) {
		raw, err := c.Doctor(ctx)
		if err != nil {
			return nil, err
		}
		var found []finding.Finding
		if err := json.Unmarshal(raw, &found); err != nil {
			return nil, err
		}
		var lines []string
		for _, f := range found {
			mark, _ := describe.FindingMark(f.Level, marks)
			lines = append(lines, describe.FormatFinding(f, mark)...)
		}
		return lines, nil
	})
}

// showMCP shows the MCP servers, their states and their tools.
func showMCP(m *model) tea.Cmd {
	c := m.api
	return showText(m, "MCP servers", func(ctx context.Context) ([]string, error) {
		all, err := c.MCPServers(ctx)
		if err != nil {
			return nil, err
		}
		if len(all.Data) == 0 {
			return []string{"None is configured. To add one: cairn mcp add NAME -- COMMAND, or cairn mcp add NAME URL"}, nil
		}
		var lines []string
		for i, s := range all.Data {
			if i > 0 {
				lines = append(lines, "")
			}
			lines = append(lines, describe.FormatMCPServer(s)...)
		}
		return lines, nil
	})
}

// pickApproval shows the saved permissions of the project, and revokes one after a question.
func pickApproval(m *model) tea.Cmd {
	c := m.api
	var list []api.Approval
	return m.callAPI("list the permissions", func(ctx context.Context) error {
		at, err := c.Location(ctx)
		if err == nil {
			list, err = c.Approvals(ctx, at.ProjectRef())
		}
		return err
	}, func() tea.Cmd {
		p := &dialog.Picker{Title: "Saved permissions of this project", Enter: "revoke"}
		for _, a := range list {
			lifetime := "until revoked"
			switch a.Lifetime {
			case session.LifetimeSession:
				lifetime = "for a session"
			case session.LifetimeProcess:
				lifetime = "until restart"
			case session.LifetimeProject:
			}
			p.Items = append(p.Items, dialog.Entry{
				ID: a.ID, Label: a.Action + "  " + a.Resource, Detail: lifetime + "  " + terminal.FormatAge(a.Time),
			})
		}
		p.Pick = func(e dialog.Entry) tea.Cmd { return confirmRevoke(m, e) }
		m.openDialog(p)
		return nil
	})
}

func confirmRevoke(m *model, e dialog.Entry) tea.Cmd {
	c := m.api
	revoke := func() tea.Cmd {
		return m.callAPI("revoke the permission", func(ctx context.Context) error { return c.Revoke(ctx, e.ID) },
			func() tea.Cmd {
				m.note = "revoked: " + e.Label
				return pickApproval(m)
			})
	}
	m.openDialog(&dialog.Choice{
		Title: "Revoke " + e.Label + "?", Text: []string{"cairn asks again before such calls."},
		Options: []dialog.Reply{{Key: "y", Label: "revoke it", Do: revoke}, {Key: "n", Label: "keep it"}},
		At:      1, Type: m.typeText,
	})
	return nil
}

// showTrust shows which of the project's files wait for trust; Enter trusts them as they are shown.
func showTrust(m *model) tea.Cmd {
	if m.options.ReadTrust == nil {
		m.note = "trust is decided on the server's machine: run cairn trust there"
		return nil
	}
	var t Trust
	return m.callAPI("read what needs trust", func(ctx context.Context) (err error) {
		t, err = m.options.ReadTrust(ctx)
		return err
	}, func() tea.Cmd {
		d := &dialog.Text{Title: "Trust of this project's files", Body: t.Body}
		if t.Accept != nil {
			d.EnterLabel, d.Type = "trust this content until it changes", m.typeText
			d.Enter = func() tea.Cmd {
				return m.callAPI("trust the project", t.Accept, func() tea.Cmd {
					m.note = "trusted until it changes; cairn trust --revoke takes it back"
					return readOffers(m)
				})
			}
		}
		m.openDialog(d)
		return nil
	})
}
