// Package tui is the full-screen interface: a session's transcript, a composer of prompts, dialogs and a status line.
// It is a client of the API only.
package tui

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/feed"
	"github.com/cairn-dev/cairn/internal/tui/screen"
)

// Run shows the interface until the person leaves it or ctx ends.
func Run(ctx context.Context, o Options) (Result, error) {
	// An invalid theme must not prevent the interface: use the default and note the error.
	th, themeErr := style.New(o.Theme, o.Env)
	if themeErr != nil {
		th, _ = style.New("", o.Env) // the default exists
	}
	// Copy the client, because the pace of streams is for this interface only.
	client := *o.Client
	client.Pace = streamInterval
	o.Client = &client
	// Background goroutines end before Run returns.
	ctx, cancel := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	m := newModel(o, th)
	if themeErr != nil {
		m.note = "terminal.theme: " + themeErr.Error()
	}
	// run limits the time of a call to the server; wait does not.
	m.run = func(f func(context.Context) tea.Msg) tea.Cmd {
		return func() tea.Msg {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			return f(ctx)
		}
	}
	m.wait = func(f func(context.Context) tea.Msg) tea.Cmd { return func() tea.Msg { return f(ctx) } }
	m.readDisk = func(f func() tea.Msg) tea.Cmd { return f }
	// A screen draws the frames; Bubble Tea reads the keys and runs the commands.
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(screen.SilenceTerminal(o.Out)),
		tea.WithFPS(1), tea.WithFilter(m.beforeMessage), tea.WithoutSignalHandler())
	m.follow = func(id session.ID, after int64, newest session.Message) watched {
		ctx, stop := context.WithCancel(ctx)
		w := follow.Start(ctx, o.Client, id, follow.Options{After: after, Tasks: true, Newest: newest})
		background.Go(func() { feed.Forward(id, w.C, p.Send) })
		return watched{expectIdle: w.ExpectIdle, stop: stop}
	}
	background.Go(func() { sendNotes(ctx, o.Notes, p.Send) })
	background.Go(func() { feed.FollowAll(ctx, o.Client, p.Send) })
	err := m.screen.RunProgram(ctx, func() error { _, err := p.Run(); return err })
	if errors.Is(err, screen.ErrStalled) { // what was typed is stored but for the last moment
		return Result{}, cmp.Or(context.Cause(ctx), err)
	}
	// Keep the prompt that is not sent yet.
	m.saveDraft()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return m.leavingResult(), err
}

// beforeMessage gives the terminal back before the process is suspended.
func (m *model) beforeMessage(_ tea.Model, msg tea.Msg) tea.Msg {
	if _, ok := msg.(tea.SuspendMsg); ok {
		m.saveDraft()
		m.screen.Close()
	}
	return msg
}

// callTimeout bounds a call of the API. It is longer than the client tries to restore a lost connection.
const callTimeout = follow.ReconnectTimeout + 10*time.Second

// streamInterval is the interval at which streams are read, and so at which an arriving answer is drawn. Half of it
// would cost a third more processor time.
const streamInterval = 33 * time.Millisecond

// sendNotes sends the notes of the process.
func sendNotes(ctx context.Context, notes <-chan string, send func(tea.Msg)) {
	for {
		select {
		case text, ok := <-notes:
			if !ok {
				return
			}
			send(noteMsg{text})
		case <-ctx.Done():
			return
		}
	}
}
