package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/terminal"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
	"github.com/cairn-dev/cairn/internal/tui/transcript"
)

// beginSession leaves the session; the next prompt begins another one.
func beginSession(m *model) tea.Cmd {
	closeSession(m)
	m.enterMode("")
	return tea.Batch(readAsks(m), m.workAtHome())
}

// maxSessions bounds the list of sessions.
const maxSessions = 500

// pickSession shows the sessions of the repository: of the session's directory or, if that is missing, of the own one.
// Sessions whose directory is missing are marked, because they can only be read.
func pickSession(m *model) tea.Cmd {
	c, own := m.api, m.options.Client
	var list []*session.Session
	var active map[session.ID]api.Active
	var missing map[string]bool
	return m.callAPI("list the sessions", func(ctx context.Context) (err error) {
		// Choose the directory whose repository is listed.
		if c.Directory != own.Directory && c.IsDirectoryMissing(ctx, c.Directory) {
			c = own
		}
		q, err := c.RepositorySessions(ctx, false)
		if err != nil {
			return err
		}
		// Read the sessions, and what the list shows beside them.
		if list, err = m.options.List(ctx, c, q, maxSessions); err == nil {
			active, err = c.Active(ctx)
			missing = c.FindMissingDirectories(ctx, list)
		}
		return err
	}, func() tea.Cmd {
		// Show them, and the end of the first one beside them.
		p := sessionPicker(m, list, active)
		for i, s := range list {
			p.Items[i].Detail = describe.MarkMissingDirectory(p.Items[i].Detail, missing[s.Location.Directory])
		}
		m.openDialog(p)
		if len(list) == 0 {
			return nil
		}
		return p.Selected(p.Items[0])
	})
}

func sessionPicker(m *model, list []*session.Session, active map[session.ID]api.Active) *dialog.Picker {
	p := &dialog.Picker{Title: "Sessions", Hint: "ctrl+r: rename  ctrl+a: archive  ctrl+d: delete"}
	byID := map[string]*session.Session{}
	for _, s := range list {
		byID[string(s.ID)] = s
		state := active[s.ID].Type
		detail := strings.TrimSpace(state + " " + terminal.FormatAge(s.Time.Updated))
		if dir := s.Location.Directory; dir != m.api.Directory && m.api.Directory != "" {
			detail = describe.FormatDirectory(dir, m.api.Directory) + "  " + detail
		}
		p.Items = append(p.Items, dialog.Entry{ID: string(s.ID), Label: describe.SessionTitle(s), Detail: detail})
	}
	ends := map[string][]string{} // of sessions that were selected
	p.Preview = func(it dialog.Entry) []string {
		s := byID[it.ID]
		return append([]string{
			"", it.ID + "  " + s.Location.Directory,
			fmt.Sprintf("%s tokens, %s", terminal.FormatCount(s.Tokens.Sum()), describe.FormatCost(s.Cost, s.Tokens)),
		}, ends[it.ID]...)
	}
	p.Selected = func(it dialog.Entry) tea.Cmd { return readEnd(m, session.ID(it.ID), ends) }
	p.Pick = func(it dialog.Entry) tea.Cmd { return openSession(m, session.ID(it.ID)) }
	p.Actions = map[string]dialog.Action{
		"ctrl+r": {Do: func(it dialog.Entry) tea.Cmd { return renameItem(m, it, byID[it.ID].Title) }, Closes: true},
		"ctrl+a": {Do: func(it dialog.Entry) tea.Cmd { return archiveItem(m, p, it) }},
		"ctrl+d": {Do: func(it dialog.Entry) tea.Cmd { return deleteItem(m, p, it) }},
	}
	return p
}

// previewMessages is the number of messages that are read for the preview of a session.
const previewMessages = 5

// readEnd reads the end of a session for its preview, once.
func readEnd(m *model, id session.ID, ends map[string][]string) tea.Cmd {
	if _, ok := ends[string(id)]; ok {
		return nil
	}
	ends[string(id)] = nil // asked for
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg {
		page, err := c.Messages(ctx, id, api.MessageQuery{Limit: previewMessages})
		if err != nil {
			return nil
		}
		return func() tea.Cmd { ends[string(id)] = transcript.PreviewEnd(page.Data); return nil }
	})
}

func renameItem(m *model, it dialog.Entry, title string) tea.Cmd {
	m.openDialog(dialog.NewLineInput("Rename the session", title, func(text string) tea.Cmd {
		if text == "" {
			return nil
		}
		return setTitle(m, session.ID(it.ID), text)
	}))
	return nil
}

// pickRelative shows the forks of the session, the sessions that its calls started, and those that it comes from.
func pickRelative(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	c, s := m.api, *m.session // events change the model's
	var list []*session.Session
	return m.callAPI("list the sessions", func(ctx context.Context) (err error) {
		list, err = m.options.List(ctx, c, describe.FamilyQuery(&s), describe.MaxFamily)
		return err
	}, func() tea.Cmd {
		p := &dialog.Picker{Title: "Forks and subagents"}
		describe.NewFamily(list, &s).Walk(func(n *describe.FamilyNode, branch string) {
			p.Items = append(p.Items, dialog.Entry{
				ID: string(n.ID), Branch: branch, Label: n.FormatTitle(), Detail: terminal.FormatAge(n.Updated),
			})
		})
		p.Pick = func(it dialog.Entry) tea.Cmd { return openSession(m, session.ID(it.ID)) }
		p.Select(string(s.ID))
		m.openDialog(p)
		return nil
	})
}

// setTitle renames a session. A title that was not stored is in the composer again, or for another session than the
// open one in its dialog.
func setTitle(m *model, id session.ID, title string) tea.Cmd {
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg {
		err := c.Rename(ctx, id, title)
		return func() tea.Cmd {
			if m.session != nil && m.session.ID == id {
				m.returnUnsent("/rename "+title, err)
			} else if err != nil {
				m.showError("rename the session", err)
				return renameItem(m, dialog.Entry{ID: string(id)}, title)
			}
			return nil
		}
	})
}

func archiveItem(m *model, p *dialog.Picker, it dialog.Entry) tea.Cmd {
	c := m.api
	return m.callAPI("archive the session", func(ctx context.Context) error {
		return c.Archive(ctx, session.ID(it.ID), true)
	}, func() tea.Cmd {
		p.Remove(it.ID)
		m.note = "archived; cairn session archive " + it.ID + " --undo brings it back"
		return nil
	})
}

func deleteItem(m *model, p *dialog.Picker, it dialog.Entry) tea.Cmd {
	c := m.api
	remove := func() tea.Cmd {
		return m.callAPI("delete the session", func(ctx context.Context) error {
			return c.Delete(ctx, session.ID(it.ID))
		}, func() tea.Cmd { p.Remove(it.ID); return nil })
	}
	m.openDialog(&dialog.Choice{
		Title: "Delete the session " + it.Label + "?", Text: []string{"Its messages cannot be brought back."},
		Options: []dialog.Reply{{Key: "y", Label: "delete it", Do: remove}, {Key: "n", Label: "keep it"}},
		At:      1, Type: m.typeText,
	})
	return nil
}

func renameSession(m *model) tea.Cmd {
	if !m.hasSession() {
		return nil
	}
	return renameItem(m, dialog.Entry{ID: string(m.session.ID)}, m.session.Title)
}

// switchEffort takes the next reasoning effort of the model for the next prompts; after the last one the model's own.
func switchEffort(m *model) tea.Cmd {
	ref := m.nextModel()
	efforts := append([]string{"default"}, m.offers.ListEfforts(ref)...)
	i := slices.Index(efforts, cmp.Or(ref.Variant, "default"))
	takeEffort(m, efforts[(i+1)%len(efforts)])
	return nil
}

// takeEffort takes a reasoning effort for the next prompts. It reports false if the model does not have it.
func takeEffort(m *model, name string) bool {
	ref := m.nextModel()
	efforts := m.offers.ListEfforts(ref)
	switch {
	case len(efforts) == 0:
		m.note = cmp.Or(m.modelName(), "the model") + " has no reasoning efforts to choose from"
		return false
	case name != "default" && !slices.Contains(efforts, name):
		m.note = "there is no effort " + strconv.Quote(name) + "; there are default, " + strings.Join(efforts, ", ")
		return false
	}
	ref.Variant = name
	m.model = &ref
	m.note = "effort from the next prompt on: " + name
	return true
}

// pickAgent shows the agents that can be chosen.
func pickAgent(m *model) tea.Cmd {
	p := &dialog.Picker{Title: "Agents"}
	for _, a := range m.offers.MainAgents() {
		p.Items = append(p.Items, dialog.Entry{ID: a.ID, Label: alignName(a.ID, terminal.FirstLine(a.Description, 200))})
	}
	p.Pick = func(it dialog.Entry) tea.Cmd { return takeAgent(m, it.ID) }
	p.Select(m.agentName())
	m.openDialog(p)
	return nil
}

func takeAgent(m *model, id string) tea.Cmd {
	m.agent = id
	m.note = "from the next prompt on: " + id
	return nil
}

// switchAgent takes the agent after the one of the next prompt.
func switchAgent(m *model) tea.Cmd {
	all := m.offers.MainAgents()
	if len(all) == 0 {
		return nil
	}
	i := slices.IndexFunc(all, func(a session.Agent) bool { return a.ID == m.agentName() })
	return takeAgent(m, all[(i+1)%len(all)].ID)
}

// alignName returns a name with what it is about, which begins in the same column for all names of usual length.
func alignName(name, about string) string { return fmt.Sprintf("%-13s  %s", name, about) }

// showPalette shows all commands of the interface and of the directory.
func showPalette(m *model) tea.Cmd {
	p := &dialog.Picker{Title: "Commands"}
	for i, c := range m.keys.commands {
		p.Items = append(p.Items, dialog.Entry{ID: fmt.Sprint(i), Label: alignName(c.name, c.about), Detail: c.key})
	}
	for _, c := range m.offers.Commands {
		label := alignName("/"+c.Name, terminal.FirstLine(c.Description, 200))
		p.Items = append(p.Items, dialog.Entry{ID: "/" + c.Name, Label: label})
	}
	p.Pick = func(it dialog.Entry) tea.Cmd {
		if name, ok := strings.CutPrefix(it.ID, "/"); ok {
			m.editor.SetText("/" + name + " ")
			return nil
		}
		var i int
		if _, err := fmt.Sscan(it.ID, &i); err != nil {
			return nil
		}
		return m.keys.commands[i].do(m)
	}
	m.openDialog(p)
	return nil
}

// showHelp shows the keys.
func showHelp(m *model) tea.Cmd {
	body := []string{
		"enter               send the prompt; queue it while the session works",
		"ctrl+enter alt+s    steer: send it to the model with its next request",
		"shift+enter ctrl+j  a new line",
		"up down             earlier prompts, at the first and last line",
		"page keys           scroll; shift+up shift+down by lines",
		"ctrl+home ctrl+end  the beginning and the end of the session",
		"/NAME               a command of this list, or of the directory",
		"@                   complete files and agents",
		"!COMMAND            run a shell command in the session",
		"",
	}
	for _, c := range m.keys.commands {
		body = append(body, fmt.Sprintf("%-10s %-13s %s", c.key, c.name, c.about))
	}
	m.openDialog(&dialog.Text{Title: "Keys", Body: body})
	return nil
}

// copyPart copies a part of the transcript, which name names, to the terminal's clipboard.
func copyPart(m *model, what transcript.Excerpt, name string) tea.Cmd {
	text := m.transcript.Copy(what)
	if text == "" {
		m.note = "there is no " + name + " to copy"
		return nil
	}
	m.note = strings.TrimSpace("copied the " + name + " " + m.transcript.DescribeSelection())
	return tea.Raw(ansi.SetSystemClipboard(text))
}
