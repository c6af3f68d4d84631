package tui

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/mention"
	"github.com/cairn-dev/cairn/internal/tui/screen"
)

// submitText sends the typed text: a prompt, a /command or a !shell command. While the session works a prompt is
// queued; with steer it reaches the model with its next request.
func submitText(m *model, steer bool) tea.Cmd {
	text := strings.TrimSpace(m.editor.Text())
	if text == "" {
		return sendWaiting(m)
	}
	m.completion = mention.List{}
	// Commands and lines for AGENTS.md first.
	name, arguments, _ := strings.Cut(text, " ")
	if word, ok := strings.CutPrefix(name, "/"); ok && word != "" && !strings.Contains(word, "/") {
		return runSlash(m, word, strings.TrimSpace(arguments))
	}
	if line, ok := m.noteLine(); ok {
		return previewNote(m, line, text)
	}
	if line, ok := strings.CutPrefix(text, "!"); ok && strings.TrimSpace(line) != "" {
		m.takeTyped(text)
		return runShell(m, strings.TrimSpace(line))
	}
	// All other text is a prompt.
	return checkMentions(m, text, func() tea.Cmd {
		files, local := findPromptFiles(m, text)
		if !checkModelInput(m, text, files, local) {
			return nil
		}
		m.takeTyped(text)
		prompt := session.Prompt{Text: text, Files: files, Agents: mention.FindAgents(text, m.offers.Agents)}
		return sendWithFiles(m, prompt, local, steer)
	})
}

// takeTyped moves the typed text to the history.
func (m *model) takeTyped(text string) {
	m.history.Add(text)
	m.clearTyped()
}

// clearIfTyped empties the composer if it still has the text.
func (m *model) clearIfTyped(text string) {
	if text != "" && strings.TrimSpace(m.editor.Text()) == text {
		m.clearTyped()
	}
}

// clearTyped empties the composer.
func (m *model) clearTyped() {
	m.editor.Clear()
	m.vi.Insert()
	m.warnedBlind, m.warnedMention = "", ""
	clear(m.typedMentions)
}

// runSlash runs a command of the interface, or one of the directory. Words that the command refuses stay in the
// composer.
func runSlash(m *model, name, words string) tea.Cmd {
	for _, c := range m.keys.commands {
		if strings.ReplaceAll(c.name, " ", "-") != name && c.name != resolveAlias(name) {
			continue
		}
		if c.name == editorCommand { // the composer keeps the text until the editor returns another one
			return editText(m, words)
		}
		if words != "" {
			return runWithWords(m, c.name, words)
		}
		m.clearTyped()
		return c.do(m)
	}
	if text := m.describeInstead(name); text != "" {
		m.note = text
		return nil
	}
	m.takeTyped(strings.TrimSpace("/" + name + " " + words))
	q := api.ExpandRequest{Command: name, Arguments: words, Agent: m.agent}
	if m.session != nil {
		q.SessionID = m.session.ID
	}
	return expandCommand(m, q)
}

// runWithWords runs a command of the interface with the words behind its name. If it refuses them, the note says why
// and they stay in the composer.
func runWithWords(m *model, name, words string) tea.Cmd {
	accepted := false
	var run func() tea.Cmd
	switch name {
	case "rename":
		accepted, run = m.hasSession(), func() tea.Cmd { return setTitle(m, m.session.ID, words) }
	case "worktree":
		accepted, run = true, func() tea.Cmd { return enterWorktreeNamed(m, words) }
	case "export":
		accepted, run = m.hasSession(), func() tea.Cmd { return exportSession(m, words) }
	case "compact": // the words stay until it is confirmed
		return previewCompactionWith(m, words, strings.TrimSpace(m.editor.Text()))
	case "effort":
		accepted = takeEffort(m, words)
	case "stash":
		accepted = putAway(m, words)
	case "search":
		accepted, run = true, func() tea.Cmd { return searchSessionsFor(m, words) }
	case "theme":
		accepted, run = slices.Contains(style.ListNames(), words), func() tea.Cmd { return takeTheme(m, words) }
		if !accepted {
			m.note = "the themes are " + strings.Join(style.ListNames(), ", ")
		}
	default:
		m.note = "the command " + name + " takes no words behind it"
	}
	if !accepted {
		return nil
	}
	m.clearTyped() // before the call, which puts the words back if it fails
	if run == nil {
		return nil
	}
	return run()
}

// expandCommand sends the prompt of a command, once what its template runs is allowed. A session to ask in is begun if
// one is needed. The prompt goes to the session for which the command was typed, or nowhere.
func expandCommand(m *model, q api.ExpandRequest) tea.Cmd {
	// The session is decided now, because the person may open another one meanwhile.
	c, target, visit := m.api, m.targetSession(), m.visits
	fresh := describeNewSession(m)
	return m.wait(func(ctx context.Context) tea.Msg {
		x, err := c.Expand(ctx, q)
		var begun *session.Session
		if q.SessionID == "" && errors.Is(err, &session.Error{Code: session.CodeDenied}) {
			if begun, err = c.Create(ctx, fresh); err == nil {
				q.SessionID = begun.ID
				x, err = c.Expand(ctx, q)
			}
		}
		return func() tea.Cmd {
			typed := strings.TrimSpace("/" + q.Command + " " + q.Arguments)
			var follow tea.Cmd
			if begun != nil && m.session == nil && m.visits == visit {
				follow = followCreated(m, begun)
			}
			if m.returnUnsent(typed, err) {
				return follow
			}
			if !m.isTarget(target) {
				m.note = "/" + q.Command + " was not sent, because its session was left"
				m.returnText(typed)
				return follow
			}
			return tea.Batch(follow, sendPrompt(m, x.Prompt, false))
		}
	})
}

// followCreated opens a session that was just created.
func followCreated(m *model, s *session.Session) tea.Cmd {
	closeSession(m)
	m.session, m.watch = s, m.follow(s.ID, -1, nil)
	m.keepMode(s.ID)
	return readAsks(m)
}

// resolveAlias returns the command that another name means, "" without one.
func resolveAlias(name string) string {
	return map[string]string{
		"new": "new session", "clear": "new session", "exit": "quit", "q": "quit", "model": "models", "agent": "agents",
		"resume": "sessions", "session": "sessions", "diff": "changes",
		"usage": "stats", "permission": "permissions", "approvals": "permissions", "themes": "theme",
		"rewind": "timeline",
	}[name]
}

// describeInstead says what to use instead of a command of similar programs that cairn does not have; "" for others,
// and for a command that the directory has.
func (m *model) describeInstead(name string) string {
	if slices.ContainsFunc(m.offers.Commands, func(c api.Command) bool { return c.Name == name }) {
		return ""
	}
	return map[string]string{
		"vim":    "vi keys are a setting: cairn config set terminal.vi true",
		"memory": "# TEXT adds a line to AGENTS.md; /context shows what the model reads",
		"logout": "a key is removed with: cairn auth logout PROVIDER",
	}[name]
}

// typeText gives text that the dialog on top does not want to the one below it, or to the composer.
func (m *model) typeText(text string) {
	if n := len(m.dialogs); n > 1 {
		m.dialogs[n-2].PasteText(text)
		return
	}
	m.editor.Insert(text)
}

// runShell runs a command of the user in the session's directory, as a message of the session.
func runShell(m *model, line string) tea.Cmd {
	c, in := m.api, map[string]string{"agent": m.agentName(), "command": line}
	start := func(id session.ID) tea.Cmd {
		return m.wait(func(ctx context.Context) tea.Msg { // answered when the command has ended
			err := c.CallV1(ctx, "POST", "/session/"+string(id)+"/shell", in, nil)
			return func() tea.Cmd { m.returnUnsent("!"+line, err); return nil }
		})
	}
	if m.session != nil {
		return start(m.session.ID)
	}
	fresh, visit := describeNewSession(m), m.visits
	return m.run(func(ctx context.Context) tea.Msg {
		s, err := c.Create(ctx, fresh)
		return func() tea.Cmd {
			switch {
			case m.returnUnsent("!"+line, err):
				return nil
			case m.visits != visit: // the person has gone on: the session is not shown
				return start(s.ID)
			}
			return tea.Sequence(openSession(m, s.ID), start(s.ID))
		}
	})
}

// editorCommand is the name of the command that opens the editor.
const editorCommand = "editor"

// openEditor opens the typed text in the user's editor.
func openEditor(m *model) tea.Cmd { return editText(m, m.editor.Text()) }

// editText opens a text in the user's editor. What the editor leaves takes the place of the typed text, which stays if
// the editor fails.
func editText(m *model, text string) tea.Cmd {
	// Write the text to a file for the editor.
	f, err := os.CreateTemp("", "cairn-prompt-*.md")
	var cmd *exec.Cmd
	if err == nil {
		_, err = f.WriteString(text)
		if err = cmp.Or(f.Close(), err); err == nil {
			cmd, err = composer.EditorCommand(m.options.Env, f.Name())
		}
		if err != nil {
			_ = os.Remove(f.Name()) // a temporary file
		}
	}
	if err != nil {
		m.showError("edit the prompt", err)
		return nil
	}
	// Give the terminal to the editor, and take what it leaves in the file.
	return tea.Exec(screen.Command{Cmd: cmd, Screen: m.screen}, func(err error) tea.Msg {
		text, rerr := os.ReadFile(f.Name())
		_ = os.Remove(f.Name()) // a temporary file
		return func() tea.Cmd {
			if err = cmp.Or(err, rerr); err != nil {
				m.showError("the editor", err)
				return nil
			}
			m.editor.SetText(strings.TrimRight(string(text), "\n"))
			return nil
		}
	})
}
