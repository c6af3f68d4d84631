package tui

import (
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/cli/term"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
	"github.com/cairn-dev/cairn/internal/tui/style"
)

// maxCandidates bounds the list.
const maxCandidates = 8

func (c *completion) isOpen() bool { return len(c.items) > 0 }

func (c *completion) accept(msg candidatesMsg) {
	if msg.word == c.word {
		c.items = append(c.items, msg.items...)
		c.items = c.items[:min(len(c.items), maxCandidates)]
	}
}

func (c *completion) renderLines(th style.Theme, width int) []string {
	var lines []string
	for i, it := range c.items {
		st := th.Muted
		if i == c.at {
			st = th.Selected
		}
		lines = append(lines, st.Render(dialog.Clip("  "+it.Label, width)))
	}
	return lines
}

// completeWord finds what may be meant by the word at the cursor.
func completeWord(m *model) tea.Cmd {
	word := m.editor.Word()
	m.completion = completion{word: word}
	switch {
	case strings.HasPrefix(word, "/") && m.editor.IsFirstWord() && strings.Count(word, "/") == 1:
		m.completion.items = commandItems(m, word[1:])
	case strings.HasPrefix(word, "@"):
		m.completion.items = agentItems(m, word[1:])
		return findFiles(m, word)
	}
	return nil
}

func commandItems(m *model, prefix string) []dialog.Entry {
	var items []dialog.Entry
	add := func(name, about string) {
		if strings.HasPrefix(name, prefix) && len(items) < maxCandidates {
			items = append(items, dialog.Entry{ID: "/" + name + " ", Label: "/" + name + "  " + about})
		}
	}
	for _, c := range m.keys.commands {
		add(strings.ReplaceAll(c.name, " ", "-"), c.about)
	}
	for _, c := range m.catalog.commands {
		add(c.Name, c.Description)
	}
	return items
}

func agentItems(m *model, prefix string) []dialog.Entry {
	var items []dialog.Entry
	for _, a := range m.catalog.agents {
		if !a.Hidden && strings.HasPrefix(a.ID, prefix) && len(items) < maxCandidates/2 {
			items = append(items, dialog.Entry{ID: "@" + a.ID + " ", Label: "@" + a.ID + "  agent"})
		}
	}
	return items
}

// pressCompletionKey handles a key while completions are shown.
func pressCompletionKey(m *model, key string) (done bool, cmd tea.Cmd) {
	c := &m.completion
	switch key {
	case "up":
		c.at = max(c.at-1, 0)
	case "down":
		c.at = min(c.at+1, len(c.items)-1)
	case "esc":
		m.completion = completion{}
	case "tab":
		m.editor.ReplaceWord(c.items[c.at].ID)
		m.completion = completion{}
	case "enter":
		if id := c.items[c.at].ID; strings.TrimSpace(id) != c.word {
			m.editor.ReplaceWord(id)
			m.completion = completion{}
			return true, nil
		}
		return false, nil
	default:
		return false, nil
	}
	return true, nil
}

// mentionedAgents are the agents that a prompt names with an @.
func mentionedAgents(m *model, text string) []session.AgentMention {
	var out []session.AgentMention
	for _, w := range strings.Fields(text) {
		name, ok := strings.CutPrefix(w, "@")
		if ok && slices.ContainsFunc(m.catalog.agents, func(a session.Agent) bool { return a.ID == name }) {
			out = append(out, session.AgentMention{Name: name})
		}
	}
	return out
}

// mentionedFiles are the files that a prompt names with an @ and that the completion has offered.
func mentionedFiles(m *model, text string) []session.File {
	var out []session.File
	for _, w := range strings.Fields(text) {
		name, ok := strings.CutPrefix(w, "@")
		if !ok || !m.offered[name] {
			continue
		}
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(m.api.Directory, path)
		}
		out = append(out, session.File{URI: (&url.URL{Scheme: "file", Path: path}).String(), Name: name})
	}
	return out
}

// findFiles asks for the files that a word may mean.
func findFiles(m *model, word string) tea.Cmd {
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg {
		found, err := api.FileSearch{Client: c}.FindFiles(ctx, api.FileQuery{Query: word[1:], Limit: maxCandidates})
		if err != nil {
			return nil
		}
		msg := candidatesMsg{word: word}
		for _, f := range found.Data {
			msg.items = append(
				msg.items,
				dialog.Entry{ID: "@" + f.Path + " ", Label: "@" + term.FirstLine(f.Path, 300), Detail: f.Type},
			)
		}
		return msg
	})
}
