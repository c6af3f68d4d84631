package tui

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/attach"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/mention"
)

// outgoingPrompt is a prompt on its way to the inbox of a session. Its session, agent, model and policy are fixed when
// it is typed, because its files are read in the background, and the person may go on meanwhile.
type outgoingPrompt struct {
	session.Prompt

	api     *api.Client // of the session's directory
	request api.PromptRequest
	target  session.ID         // the session that gets it
	create  *api.CreateSession // creates the session first; nil if it exists
	visit   int                // the visit in which it was typed
	reading bool               // its files are being read
	sent    bool               // the request is made
}

// promptedMsg says that a prompt is in the inbox, or why not.
type promptedMsg struct {
	prompt  *outgoingPrompt
	session *session.Session // that was created for it; nil if it existed
	err     error
}

// sendPrompt sends a prompt with what is attached, and creates the session for the first one.
func sendPrompt(m *model, p session.Prompt, steer bool) tea.Cmd {
	return sendWithFiles(m, p, nil, steer)
}

// sendWithFiles is sendPrompt with the content of files of this machine, which are read in the background. A prompt
// that is typed meanwhile is sent after it.
func sendWithFiles(m *model, p session.Prompt, local []attach.File, steer bool) tea.Cmd {
	out := newOutgoingPrompt(m, p, steer)
	// Keep the prompt until the server has it: a failure puts it back into the composer.
	m.unsentPrompts = append(m.unsentPrompts, out)
	m.transcript.ScrollTo(false)
	m.transcript.EndSelection()
	if len(local) == 0 {
		return sendInOrder(m)
	}
	out.reading = true
	return m.run(func(context.Context) tea.Msg {
		files, failed, err := readFiles(local)
		return func() tea.Cmd {
			out.reading = false
			if err != nil {
				m.localFiles.forget(failed.Path) // the text can be sent without it
				return tea.Batch(takeBackPrompt(m, out, err), sendInOrder(m))
			}
			out.Files = slices.Concat(files, out.Files)
			return sendInOrder(m)
		}
	})
}

// newOutgoingPrompt returns the prompt with its request. It takes what was chosen for this prompt only: attachments,
// agent, model.
func newOutgoingPrompt(m *model, p session.Prompt, steer bool) *outgoingPrompt {
	p.Files, m.attached = slices.Concat(p.Files, m.attached), nil
	p.Agent = cmp.Or(m.agent, p.Agent)
	if m.model != nil {
		p.Model = m.model
	}
	m.agent, m.model = "", nil
	// The request's id is made here, so that repeating it is harmless. While the model works, or others wait that were
	// typed before, a prompt waits, unless it steers.
	out := &outgoingPrompt{Prompt: p, api: m.api, target: m.targetSession(), visit: m.visits, request: api.PromptRequest{
		ID: session.MessageID(m.ids.New(session.PrefixMessage)), Delivery: session.Steer,
		Recovery: session.RecoveryPause, Asks: m.policy,
	}}
	if (m.working || len(m.inbox) > 0) && !steer {
		out.request.Delivery = session.Queue
	}
	// The first prompt creates the session. An invalid setting leaves no empty session behind.
	if m.session == nil {
		fresh := describeNewSession(m)
		fresh.RequireModel = p.Model == nil && p.Agent == ""
		out.create = &fresh
	}
	return out
}

// readFiles returns the files with their content, or the one that cannot be read.
func readFiles(local []attach.File) (files []session.File, failed attach.File, err error) {
	for _, x := range local {
		f, err := attach.ReadFile(x.Path, x.Lines)
		if err != nil {
			return nil, x, err
		}
		files = append(files, f)
	}
	return files, failed, nil
}

// sendInOrder sends the prompts up to the first one whose files are still being read, of each session one at a time.
func sendInOrder(m *model) tea.Cmd {
	var cmds []tea.Cmd
	sending := map[session.ID]bool{}
	for _, out := range m.unsentPrompts {
		if out.reading {
			break
		}
		if !out.sent && !sending[out.target] {
			out.sent = true
			cmds = append(cmds, postPrompt(m, out))
		}
		sending[out.target] = true
	}
	return tea.Batch(cmds...)
}

// postPrompt makes the request. The session is created once, however often the request is repeated.
func postPrompt(m *model, out *outgoingPrompt) tea.Cmd {
	c, request, prompt, target, create := out.api, out.request, out.Prompt, out.target, out.create
	request.Prompt = &prompt
	return m.run(func(ctx context.Context) tea.Msg {
		msg := promptedMsg{prompt: out}
		msg.err = follow.RepeatUntilAnswered(ctx, func() (err error) {
			if create != nil && msg.session == nil {
				msg.session, err = c.Create(ctx, *create)
			}
			if err == nil {
				_, err = c.Prompt(ctx, target, request)
			}
			return err
		})
		return msg
	})
}

// targetSession returns the id of the session that gets a prompt which is typed now: the one on the screen, or the one
// that it creates.
func (m *model) targetSession() session.ID {
	if m.session != nil {
		return m.session.ID
	}
	return describeNewSession(m).ID
}

// isTarget reports whether a prompt which is typed now goes to the session, too.
func (m *model) isTarget(id session.ID) bool {
	if m.session != nil {
		return m.session.ID == id
	}
	return m.nextID == id
}

// describeNewSession returns the request for a session that begins here: the same one, which creates one session, until
// a session is on the screen.
func describeNewSession(m *model) api.CreateSession {
	if m.nextID == "" {
		m.nextID = session.ID(m.ids.New(session.PrefixSession))
	}
	return api.CreateSession{ID: m.nextID, Sandbox: m.options.Sandbox}
}

// showPrompted shows that a prompt was admitted, and its session if that was created. The session is not shown once the
// person has left it. A prompt that was not admitted is in the composer again.
func showPrompted(m *model, msg promptedMsg) tea.Cmd {
	out := msg.prompt
	dropUnsent(m, out)
	var cmds []tea.Cmd
	if msg.session != nil && isRefused(msg.err) && m.session == nil && !m.hasUnsent(out.target) {
		m.nextID = ""
		cmds = append(cmds, deleteEmpty(m, msg.session.ID))
	} else if s := msg.session; s != nil && m.session == nil && m.visits == out.visit {
		cmds = append(cmds, followCreated(m, s))
	}
	switch {
	case msg.err != nil:
		cmds = append(cmds, takeBackPrompt(m, out, msg.err))
	case m.session != nil && m.session.ID == out.target:
		m.watch.expectIdle()
		cmds = append(cmds, beginWork(m), readInbox(m))
	}
	return tea.Batch(append(cmds, sendInOrder(m))...)
}

// isRefused reports whether the server has refused a prompt for what it names, such as an unknown model.
func isRefused(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && (e.Code == session.CodeInvalid || e.Code == session.CodeNotFound)
}

// hasUnsent reports whether another prompt is on its way to the session.
func (m *model) hasUnsent(id session.ID) bool {
	return slices.ContainsFunc(m.unsentPrompts, func(o *outgoingPrompt) bool { return o.target == id })
}

// deleteEmpty deletes a session that was created for a refused prompt.
func deleteEmpty(m *model, id session.ID) tea.Cmd {
	c := m.api
	return m.callAPI("delete the empty session", func(ctx context.Context) error { return c.Delete(ctx, id) }, nil)
}

// dropUnsent removes a prompt from those that are on their way.
func dropUnsent(m *model, out *outgoingPrompt) {
	m.unsentPrompts = slices.DeleteFunc(slices.Clone(m.unsentPrompts), func(o *outgoingPrompt) bool { return o == out })
}

// takeBackPrompt puts a prompt that was not sent, and what was chosen for it, back into the composer.
func takeBackPrompt(m *model, out *outgoingPrompt, err error) tea.Cmd {
	dropUnsent(m, out)
	m.showError("the prompt was not sent", err)
	m.returnPrompt(out.Prompt)
	m.agent, m.model = cmp.Or(m.agent, out.Agent), cmp.Or(m.model, out.Model)
	return nil
}

// returnPrompt puts a prompt back into the composer, with its files. Those that the text names are found by their names
// when it is sent again.
func (m *model) returnPrompt(p session.Prompt) {
	files := slices.Clone(p.Files)
	for _, name := range m.localFiles.findIn(p.Text) {
		isContent := func(f session.File) bool {
			path, _ := attach.CutLines(f.Name)
			return path == filepath.Base(name) && strings.HasPrefix(f.URI, "data:")
		}
		if i := slices.IndexFunc(files, isContent); i >= 0 {
			files = slices.Delete(files, i, i+1)
		}
	}
	m.attached = append(m.attached, mention.FindUnnamed(p.Text, files)...)
	for _, f := range p.Files {
		if mention.IsNamed(p.Text, f) {
			m.offeredPaths[mention.NameOf(f)] = true
		}
	}
	m.returnText(p.Text)
}

// returnText puts text that was not sent back into the composer, before what was typed since.
func (m *model) returnText(text string) {
	if typed := m.editor.Text(); typed != "" {
		text += "\n" + typed
	}
	m.editor.SetText(text)
	m.editor.MarkPasted() // it was no line for AGENTS.md
}

// returnUnsent puts typed text whose call failed back into the composer, with the error shown. It reports whether the
// call failed.
func (m *model) returnUnsent(text string, err error) bool {
	if err != nil {
		m.showError(terminal.FirstLine(text, 80), err)
		m.returnText(text)
	}
	return err != nil
}
