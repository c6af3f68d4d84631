package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
	"github.com/cairn-dev/cairn/internal/tui/mention"
)

// completeWord finds what may be meant by the word at the cursor.
func completeWord(m *model) tea.Cmd {
	word := m.editor.Word()
	m.completion = mention.List{Word: word}
	switch {
	case strings.HasPrefix(word, "/") && m.editor.IsFirstWord() && strings.Count(word, "/") == 1:
		m.completion.Items = commandItems(m, word[1:])
		if word == "/" {
			return readCommands(m)
		}
	case strings.HasPrefix(word, "@"):
		m.completion.Items = mention.ListAgents(m.offers.Agents, word[1:])
		m.offerMentions(word, mention.ListResources(m.resources, word[1:]))
		if word == "@" {
			return tea.Batch(findFiles(m, word), readResources(m))
		}
		return findFiles(m, word)
	}
	return nil
}

// offerMentions adds candidates for a word that names what a prompt may have with it.
func (m *model) offerMentions(word string, items []dialog.Entry) {
	for _, it := range items {
		m.offeredPaths[strings.TrimSpace(it.ID[1:])] = true
	}
	m.completion.Add(word, items)
}

// commandsMsg are the commands of the directory.
type commandsMsg []api.Command

// readCommands reads the commands again: the prompts of MCP servers are among them once the servers are connected.
func readCommands(m *model) tea.Cmd {
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg {
		found, err := c.Commands(ctx)
		if err != nil {
			return nil
		}
		return commandsMsg(found.Data)
	})
}

// showCommands offers the commands that were read.
func showCommands(m *model, read commandsMsg) {
	m.offers.Commands = read
	if word := m.completion.Word; strings.HasPrefix(word, "/") && m.editor.IsFirstWord() {
		m.completion.Items = commandItems(m, word[1:])
	}
}

// resourcesMsg are the resources of the MCP servers.
type resourcesMsg []api.MCPResource

// readResources reads what the MCP servers have, which starts those that are not running.
func readResources(m *model) tea.Cmd {
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg {
		found, err := c.MCPResources(ctx)
		if err != nil {
			return nil
		}
		return resourcesMsg(found.Data.Resources)
	})
}

// showResources offers the resources that were read.
func showResources(m *model, read resourcesMsg) {
	m.resources = read
	if word, ok := strings.CutPrefix(m.completion.Word, "@"); ok {
		m.offerMentions(m.completion.Word, mention.ListResources(read, word))
	}
}

func commandItems(m *model, prefix string) []dialog.Entry {
	var items []dialog.Entry
	add := func(name, about string) {
		if strings.HasPrefix(name, prefix) && len(items) < mention.MaxCandidates {
			items = append(items, dialog.Entry{ID: "/" + name + " ", Label: "/" + name + "  " + about})
		}
	}
	for _, c := range m.keys.commands {
		add(strings.ReplaceAll(c.name, " ", "-"), c.about)
	}
	for _, c := range m.offers.Commands {
		add(c.Name, c.Description)
	}
	return items
}

// pressCompletionKey handles a key while completions are shown.
func pressCompletionKey(m *model, key string) (done bool, cmd tea.Cmd) {
	l := &m.completion
	switch {
	case key == "up":
		l.Move(-1)
	case key == "down":
		l.Move(1)
	case key == "esc":
		*l = mention.List{}
	case key == "enter" && strings.HasPrefix(l.Word, "/") && len(l.Items) == 1: // the only one is meant: run it
		m.editor.ReplaceWord(l.SelectedID())
		*l = mention.List{}
		return true, submitText(m, false)
	case key == "tab", key == "enter" && strings.TrimSpace(l.SelectedID()) != l.Word:
		m.editor.ReplaceWord(l.SelectedID())
		*l = mention.List{}
	default:
		return false, nil
	}
	return true, nil
}

// findFiles asks for the files that a word may mean.
func findFiles(m *model, word string) tea.Cmd {
	c := m.api
	return m.run(func(ctx context.Context) tea.Msg {
		found, err := api.FileSearch{Client: c}.FindFiles(ctx, api.FileQuery{Query: word[1:], Limit: mention.MaxCandidates})
		if err != nil {
			return nil
		}
		msg := candidatesMsg{word: word}
		for _, f := range found.Data {
			msg.items = append(
				msg.items,
				dialog.Entry{ID: "@" + f.Path + " ", Label: "@" + terminal.FirstLine(f.Path, 300), Detail: f.Type},
			)
		}
		return msg
	})
}
