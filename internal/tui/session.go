package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/feed"
	"github.com/cairn-dev/cairn/internal/tui/transcript"
)

// pageSize is the number of messages that are read at a time.
const pageSize = 100

// openSession reads a session and shows it.
func openSession(m *model, id session.ID) tea.Cmd { return openSessionThen(m, id, nil) }

// openSessionThen is openSession; then, which may be nil, is called when the session is on the screen.
func openSessionThen(m *model, id session.ID, then func() tea.Cmd) tea.Cmd {
	m.visits++
	c, visit := m.api, m.visits
	return m.run(func(ctx context.Context) tea.Msg {
		o := openedMsg{visit: visit, then: then}
		var err error
		read := func(f func() error) {
			if err == nil {
				err = f()
			}
		}
		read(func() (e error) { o.session, e = c.Session(ctx, id); return e })
		read(func() (e error) { o.head, e = c.Head(ctx, id); return e })
		read(func() (e error) { o.messages, e = c.Messages(ctx, id, api.MessageQuery{Limit: pageSize}); return e })
		read(func() (e error) { o.status, e = c.Status(ctx, id); return e })
		read(func() (e error) { o.asks, e = follow.PendingAsks(ctx, c, id); return e })
		read(func() (e error) { o.inbox, e = c.Inbox().List(ctx, id); return e })
		if o.err = err; err == nil && isSubagent(o.session) {
			o.parent, _ = c.Session(ctx, o.session.ParentID) // it may be deleted
		}
		if err == nil {
			o.policy = findPolicy(ctx, c, id, o.head)
		}
		if err == nil && c.Directory != "" {
			dir := o.session.Location.Directory
			o.isDirectoryMissing = dir != c.Directory && c.IsDirectoryMissing(ctx, dir)
			if o.isDirectoryMissing || c.IsOfOtherProject(ctx, o.session) {
				o.session, o.isDirectoryMissing = followProject(ctx, c, o.session, o.isDirectoryMissing)
			}
		}
		return o
	})
}

// followProject returns the session where its project went, and whether its directory is missing there; it can be read
// where it was.
func followProject(
	ctx context.Context, c *api.Client, s *session.Session, wasMissing bool,
) (now *session.Session, isMissing bool) {
	moved, ok, err := c.FollowProject(ctx, s)
	if err != nil {
		return s, wasMissing
	}
	return moved, wasMissing && !ok
}

// showOpened shows an opened session and follows it.
func showOpened(m *model, o openedMsg) tea.Cmd {
	if o.visit != 0 && o.visit != m.visits { // the person, or a newer request, has gone on
		return nil
	}
	if o.err != nil {
		m.showError("open the session", o.err)
		m.returnFirstPrompt()
		return nil
	}
	// Replace the session before, and follow this one from the point that was read.
	_, isVisited := m.modes[o.session.ID]
	closeSession(m)
	m.enterMode(o.session.ID)
	m.workPolicy = o.policy
	var newest session.Message
	if len(o.messages.Data) > 0 {
		newest = o.messages.Data[0]
	}
	m.session, m.parent, m.watch = o.session, o.parent, m.follow(o.session.ID, o.head, newest)
	m.keepMode(o.session.ID)
	setInbox(m, o.inbox)
	// The newest messages came first; the transcript shows the oldest first. A short page is the last one.
	slices.Reverse(o.messages.Data)
	m.transcript.SetMessages(o.messages.Data, o.session.Revert)
	m.olderCursor = o.messages.Cursor
	if len(o.messages.Data) < pageSize {
		m.olderCursor.Next = ""
	}
	// Say what state it is in: cut off, open or working.
	if o.status.Type == api.StatusIdle && session.NextOf(o.messages.Data).NeedsTurn() {
		m.transcript.AddNote("cut off: the process that did this work has ended; the next prompt continues it")
	}
	if shared := describe.DescribeSharedFiles(o.session.Entries); shared != "" {
		m.transcript.AddNote(shared)
	}
	// Read what does not come with the session.
	cmds := []tea.Cmd{readWindow(m), readChanges(m), readAsks(m), readTasks(m)}
	dir := o.session.Location.Directory
	switch {
	case o.isDirectoryMissing:
		cmds = append(cmds, m.workAtHome())
		m.note = "the directory of this session is gone: " + describe.FormatDirectory(dir, m.options.Client.Directory) +
			"; the session can be read, and works again once the directory is back"
	case dir != "" && m.workIn(dir):
		cmds = append(cmds, readOffers(m), readBranch(m))
		m.note = "this session works in " + describe.FormatDirectory(dir, m.options.Client.Directory)
	}
	switch {
	case o.session.Open:
		m.note = describe.OpenNote
	case !isVisited && o.policy != nil && *o.policy != "" && *o.policy != m.policy:
		m.note = strings.TrimPrefix(m.note+"; ", "; ") + "the last prompt of this session was sent with “" +
			describePolicy(*o.policy) + "”, the next one asks again"
	}
	if o.status.Type != api.StatusIdle {
		m.watch.expectIdle()
		cmds = append(cmds, beginWork(m))
		m.since = time.UnixMilli(workStart(o.messages.Data))
	}
	// Show the requests that wait for an answer.
	for _, a := range o.asks {
		cmds = append(cmds, addAsk(m, a))
	}
	if o.then != nil {
		cmds = append(cmds, o.then())
	}
	m.first.opened = true
	return tea.Batch(append(cmds, m.sendFirst())...)
}

// workIn has the calls of the interface name the directory of the session on the screen: what is completed, attached
// and run is of there. It reports whether that is another directory than before.
func (m *model) workIn(dir string) (changed bool) {
	if m.api.Directory == "" || m.api.Directory == dir { // a server in its own directory
		return false
	}
	m.api = m.api.In(dir)
	m.localFiles.forgetRelative()
	return true
}

// workAtHome has the calls of the interface name its own directory again.
func (m *model) workAtHome() tea.Cmd {
	if m.workIn(m.options.Client.Directory) {
		return tea.Batch(readOffers(m), readBranch(m))
	}
	return nil
}

// workStart returns when the work on the last of the messages began, in milliseconds: when a person last gave work.
func workStart(list []session.Message) int64 {
	for _, x := range slices.Backward(list) {
		switch x.(type) {
		case *session.User, *session.Shell:
			return x.Meta().Time.Created
		}
	}
	return time.Now().UnixMilli()
}

// closeSession leaves the session, if any. The next prompt begins another one.
func closeSession(m *model) {
	m.visits++
	m.nextID = ""
	if m.session != nil {
		m.keepMode(m.session.ID)
	}
	m.watch.stop()
	m.work = work{watch: unwatched()}
	m.seek = nil
	setInbox(m, nil)
	m.olderCursor, m.window, m.changes = api.Cursor{}, api.ContextRequest{}, api.SessionDiff{}
	m.asks.clear()
	m.transcript = transcript.New(m.theme)
}

// readWindow reads what the next request takes of the model's window. Without an answer it stays unknown.
func readWindow(m *model) tea.Cmd {
	if m.session == nil {
		return nil
	}
	c, id := m.api, m.session.ID
	return m.run(func(ctx context.Context) tea.Msg {
		w, err := api.Contexts{Client: c}.NextRequest(ctx, id, false)
		if err != nil {
			return nil
		}
		return windowMsg{id, w}
	})
}

// noteServers shows which MCP servers the newest turn lacked, once as long as they are the same.
func noteServers(m *model, notes []string) {
	if len(notes) == 0 || slices.Equal(notes, m.window.Servers) {
		return
	}
	m.note = terminal.FirstLine(notes[0], 300)
	if more := len(notes) - 1; more > 0 {
		m.note += fmt.Sprintf(" (and %d more: /mcp)", more)
	}
}

func readInbox(m *model) tea.Cmd {
	if m.session == nil {
		return nil
	}
	c, id := m.api, m.session.ID
	return m.run(func(ctx context.Context) tea.Msg {
		list, err := c.Inbox().List(ctx, id)
		if err != nil {
			return nil
		}
		// Prompts wait for the person only if the session is idle and they are still there then.
		msg := inboxMsg{id: id, inbox: list}
		if len(list) > 0 {
			if status, err := c.Status(ctx, id); err == nil && status.Type == api.StatusIdle {
				msg.inbox, err = c.Inbox().List(ctx, id)
				msg.waits = err == nil
			}
		}
		return msg
	})
}

// beginWork notes that the session works, until the watch reports that it is idle. The watch sees by itself when work
// begins; expectIdle asks it before its first event.
func beginWork(m *model) tea.Cmd {
	if m.working {
		return nil
	}
	m.working, m.since = true, time.Now()
	return nextTick()
}

// nextTick brings the next second of running work. While nothing works there are no ticks.
func nextTick() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tickMsg(t) })
}

func advanceClock(m *model, t time.Time) tea.Cmd {
	m.now = t
	m.transcript.SetTime(t)
	if !m.working {
		return nil
	}
	return nextTick()
}

// endWork notes that the session is idle, and reads what the work has changed.
func endWork(m *model) tea.Cmd {
	if !m.working {
		return nil
	}
	m.working, m.retryAt = false, time.Time{}
	tell := m.notify.TellPerson("cairn: work ended", m.sessionTitle(), m.blurred)
	return tea.Batch(tell, readWindow(m), readInbox(m), readChanges(m), readBranch(m))
}

// applyUpdates shows updates of the session.
func applyUpdates(m *model, batch feed.Updates) tea.Cmd {
	var cmds []tea.Cmd
	for _, u := range batch.List {
		if m.session != nil && batch.ID == m.session.ID {
			cmds = append(cmds, applyUpdate(m, u))
		}
	}
	return tea.Batch(cmds...)
}

func applyUpdate(m *model, u follow.Update) tea.Cmd {
	switch {
	case u.Event != nil:
		m.transcript.ShowEvent(u.Event)
		return applyEvent(m, *u.Event)
	case u.Task != nil:
		m.transcript.ShowTask(u.Task.SessionID, u.Task.Data)
	case u.Fragment != nil:
		m.transcript.ShowFragment(u.Fragment)
	case u.Idle:
		return endWork(m)
	case u.Lost != nil:
		m.lost = true
	case u.Found: // what was cut off meanwhile is shown
		m.lost, m.note = false, "connected again"
		return openSession(m, m.session.ID)
	case errors.Is(u.End, &session.Error{Code: session.CodeNotFound}):
		cmd := beginSession(m)
		m.note = "this session was deleted; the next prompt begins another one"
		return cmd
	case u.End != nil:
		m.showError("the session cannot be followed", u.End)
	}
	return nil
}

// applyEvent updates the state of the work, the asks and the pending prompts from an event.
func applyEvent(m *model, e session.Event) tea.Cmd {
	m.session.Apply(e.Data)
	// Work and asks change here; the inbox, and a session after a revert, are read from the server.
	switch d := e.Data.(type) {
	case *session.Prompted:
		if !d.NoReply {
			m.workPolicy = &d.Asks
		}
		dropInput(m, d.MessageID)
		return beginWork(m)
	case *session.StepStarted, *session.CompactionStarted, *session.ShellStarted: // as in follow.BeginsWork
		m.retryAt = time.Time{} // the next attempt may be made before its time
		return beginWork(m)
	case *session.Retried:
		m.retryAt = time.Now().Add(time.Duration(d.Next-d.Timestamp) * time.Millisecond)
	case *session.StepEnded:
		if how := session.DescribeFinish(d.Finish); how != "" {
			m.note = how
		}
		if len(d.Files) > 0 {
			return tea.Batch(readWindow(m), readChanges(m))
		}
		return readWindow(m)
	case *session.PermissionAsked:
		return addAsk(m, d.Ask)
	case *session.PermissionReplied:
		return removeAsk(m, d.AskID)
	case *session.PromptAdmitted, *session.InputEdited, *session.InputWithdrawn, *session.InputRedirected,
		*session.InputReordered, *session.CompactionAdmitted:
		return readInbox(m)
	case *session.RevertStaged, *session.RevertCleared, *session.RevertAdvanced, *session.RevertCommitted,
		*session.MessageRemoved:
		return tea.Batch(openSession(m, m.session.ID), renewTimeline(m))
	}
	return nil
}

func dropInput(m *model, id session.MessageID) {
	setInbox(m, slices.DeleteFunc(slices.Clone(m.inbox), func(in *session.Input) bool { return in.ID == id }))
}
