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
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
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
	name, arguments, _ := strings.Cut(text, " ")
	if word, ok := strings.CutPrefix(name, "/"); ok && word != "" && !strings.Contains(word, "/") {
		return runSlash(m, word, strings.TrimSpace(arguments))
	}
	if line, ok := strings.CutPrefix(text, noteMark); ok && m.isNote && !strings.Contains(line, "\n") {
		return previewNote(m, strings.TrimSpace(line))
	}
	if line, ok := strings.CutPrefix(text, "!"); ok && strings.TrimSpace(line) != "" {
		m.takeTyped(text)
		return runShell(m, strings.TrimSpace(line))
	}
	files, err := readPromptFiles(m, text)
	if err != nil {
		m.showError("the prompt was not sent", err)
		return nil
	}
	if warnBlindModel(m, text, slices.Concat(files, m.attached)) {
		return nil
	}
	m.takeTyped(text)
	prompt := session.Prompt{Text: text, Files: files, Agents: mention.FindAgents(text, m.offers.Agents)}
	return sendPrompt(m, prompt, steer)
}

// takeTyped moves the typed text to the history.
func (m *model) takeTyped(text string) {
	m.history.Add(text)
	m.editor.Clear()
	m.vi.Insert()
	m.warnedBlind, m.isNote = "", false
}

// runSlash runs a command of the interface, or one of the directory.
func runSlash(m *model, name, arguments string) tea.Cmd {
	for _, c := range m.keys.commands {
		if strings.ReplaceAll(c.name, " ", "-") == name || slashAliases(name) == c.name {
			m.editor.Clear()
			switch {
			case c.name == "rename" && arguments != "" && m.session != nil:
				return setTitle(m, m.session.ID, arguments)
			case c.name == "effort" && arguments != "":
				return takeEffort(m, arguments)
			case c.name == "export" && arguments != "":
				return exportSession(m, arguments)
			case c.name == "stash" && arguments != "":
				return putAway(m, arguments)
			}
			return c.do(m)
		}
	}
	m.history.Add(strings.TrimSpace("/" + name + " " + arguments))
	m.editor.Clear()
	q := api.ExpandRequest{Command: name, Arguments: arguments, Agent: m.agent}
	if m.session != nil {
		q.SessionID = m.session.ID
	}
	return expandCommand(m, q)
}

// expandCommand sends the prompt of a command, once what its template runs is allowed. A session to ask in is begun if
// one is needed.
func expandCommand(m *model, q api.ExpandRequest) tea.Cmd {
	c, fresh := m.api, describeNewSession(m)
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
			switch {
			case m.showUnsent(strings.TrimSpace("/"+q.Command+" "+q.Arguments), err):
				return nil
			case begun != nil && m.session == nil:
				followCreated(m, begun)
			}
			if q.SessionID != "" && (m.session == nil || m.session.ID != q.SessionID) {
				m.note = "/" + q.Command + " was not sent: another session is open"
				m.returnText(strings.TrimSpace("/" + q.Command + " " + q.Arguments))
				return nil
			}
			return sendPrompt(m, x.Prompt, false)
		}
	})
}

// followCreated opens a session that was just created.
func followCreated(m *model, s *session.Session) {
	closeSession(m)
	m.session, m.watch = s, m.follow(s.ID, -1, nil)
}

func slashAliases(name string) string {
	return map[string]string{
		"new": "new session", "clear": "new session", "exit": "quit", "q": "quit", "model": "models", "agent": "agents",
		"resume": "sessions", "session": "sessions", "diff": "changes",
		"usage": "stats", "permission": "permissions", "approvals": "permissions", "themes": "theme",
	}[name]
}

// sendPrompt sends a prompt with what is attached, and creates the session for the first one.
func sendPrompt(m *model, p session.Prompt, steer bool) tea.Cmd {
	// Take what was chosen for this prompt only: attachments, agent, model.
	p.Files, m.attached = slices.Concat(p.Files, m.attached), nil
	p.Agent = cmp.Or(m.agent, p.Agent)
	if m.model != nil {
		p.Model = m.model
	}
	m.agent, m.model = "", nil
	// Build the request. Its id is made here, so that repeating it is harmless. While the model works, or others wait
	// that were typed before, a prompt waits, unless it steers.
	r := api.PromptRequest{
		ID: session.MessageID(m.ids.New(session.PrefixMessage)), Prompt: &p, Delivery: session.Steer,
		Recovery: session.RecoveryPause, Asks: m.policy,
	}
	if (m.working || len(m.inbox) > 0) && !steer {
		r.Delivery = session.Queue
	}
	// Keep the prompt until the server has it: a failure puts it back into the composer.
	m.unsentPrompts = append(m.unsentPrompts, p)
	m.transcript.ScrollTo(false)
	m.transcript.EndSelection()
	// The first prompt creates the session, whose id is made here as well.
	create := m.session == nil
	fresh := describeNewSession(m)
	fresh.RequireModel = p.Model == nil && p.Agent == "" // an invalid setting leaves no empty session behind
	id := fresh.ID
	if !create {
		id = m.session.ID
	}
	c := m.api
	// Send in the background. The session is created once, however often the prompt is repeated.
	return m.run(func(ctx context.Context) tea.Msg {
		out := promptedMsg{id: r.ID, prompt: p}
		out.err = follow.RepeatUntilAnswered(ctx, func() (err error) {
			if create && out.session == nil {
				out.session, err = c.Create(ctx, fresh)
			}
			if err == nil {
				_, err = c.Prompt(ctx, id, r)
			}
			return err
		})
		return out
	})
}

// describeNewSession returns the request for a session that begins here: the same one, which creates one session, until
// a session is on the screen.
func describeNewSession(m *model) api.CreateSession {
	if m.nextID == "" {
		m.nextID = session.ID(m.ids.New(session.PrefixSession))
	}
	return api.CreateSession{ID: m.nextID, Sandbox: m.options.Sandbox}
}

// onPrompted shows that a prompt was admitted. A prompt that was not is in the composer again.
func onPrompted(m *model, msg promptedMsg) tea.Cmd {
	for i, p := range m.unsentPrompts {
		if p.Text == msg.prompt.Text {
			m.unsentPrompts = append(m.unsentPrompts[:i:i], m.unsentPrompts[i+1:]...)
			break
		}
	}
	var cmds []tea.Cmd
	if s := msg.session; s != nil && m.session == nil {
		followCreated(m, s)
		cmds = append(cmds, readAsks(m))
	}
	if msg.err != nil {
		m.showError("the prompt was not sent", msg.err)
		m.returnPrompt(msg.prompt)
		m.agent, m.model = cmp.Or(m.agent, msg.prompt.Agent), cmp.Or(m.model, msg.prompt.Model)
		return nil
	}
	if m.session != nil {
		m.watch.expectIdle()
		cmds = append(cmds, beginWork(m), readInbox(m))
	}
	return tea.Batch(cmds...)
}

// returnPrompt puts a prompt back into the composer, with its files.
func (m *model) returnPrompt(p session.Prompt) {
	m.attached = append(m.attached, mention.FindUnnamed(p.Text, p.Files)...)
	for _, f := range p.Files {
		if mention.IsNamed(p.Text, f) {
			m.offeredPaths[mention.NameOf(f)] = true
		}
	}
	m.returnText(p.Text)
}

// typeText gives text that the dialog on top does not want to the one below it, or to the composer.
func (m *model) typeText(text string) {
	if n := len(m.dialogs); n > 1 {
		m.dialogs[n-2].PasteText(text)
		return
	}
	m.editor.Insert(text)
}

// returnText puts text that was not sent back into the composer, before what was typed since.
func (m *model) returnText(text string) {
	if typed := m.editor.Text(); typed != "" {
		text += "\n" + typed
	}
	m.editor.SetText(text)
}

// runShell runs a command of the user in the session's directory, as a message of the session.
func runShell(m *model, line string) tea.Cmd {
	c, in := m.api, map[string]string{"agent": m.agentName(), "command": line}
	start := func(id session.ID) tea.Cmd {
		return m.wait(func(ctx context.Context) tea.Msg { // answered when the command has ended
			err := c.CallV1(ctx, "POST", "/session/"+string(id)+"/shell", in, nil)
			return func() tea.Cmd { m.showUnsent("!"+line, err); return nil }
		})
	}
	if m.session != nil {
		return start(m.session.ID)
	}
	fresh := describeNewSession(m)
	return m.run(func(ctx context.Context) tea.Msg {
		s, err := c.Create(ctx, fresh)
		return func() tea.Cmd {
			if m.showUnsent("!"+line, err) {
				return nil
			}
			return tea.Sequence(openSession(m, s.ID), start(s.ID))
		}
	})
}

// showUnsent reports whether typed text was not sent: then it shows the error, and the text is in the composer again.
func (m *model) showUnsent(text string, err error) bool {
	if err != nil {
		m.showError(terminal.FirstLine(text, 80), err)
		m.returnText(text)
	}
	return err != nil
}

// openEditor opens the typed text in the user's editor.
func openEditor(m *model) tea.Cmd {
	f, err := os.CreateTemp("", "cairn-prompt-*.md")
	var cmd *exec.Cmd
	if err == nil {
		_, err = f.WriteString(m.editor.Text())
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
