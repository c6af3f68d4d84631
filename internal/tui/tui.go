// Package tui is the full-screen interface: a session's transcript, a composer of prompts, dialogs and a status line.
// It is a client of the API only.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/feed"
	"github.com/cairn-dev/cairn/internal/tui/style"
)

// Run shows the interface until the person leaves it or ctx ends.
func Run(ctx context.Context, o Options) (Result, error) {
	th, err := style.New(o.Theme, o.Env)
	if err != nil {
		return Result{}, fmt.Errorf("terminal.theme: %w", err)
	}
	client := *o.Client
	client.Pace = streamInterval
	o.Client = &client
	ctx, cancel := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	m := newModel(o, th)
	m.run = func(f func(context.Context) tea.Msg) tea.Cmd {
		return func() tea.Msg {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			return f(ctx)
		}
	}
	m.wait = func(f func(context.Context) tea.Msg) tea.Cmd { return func() tea.Msg { return f(ctx) } }
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(silenceTerminal(o.Out)),
		tea.WithFPS(1), tea.WithFilter(m.beforeMessage), tea.WithoutSignalHandler())
	m.follow = func(id session.ID, after int64) context.CancelFunc {
		ctx, stop := context.WithCancel(ctx)
		background.Go(func() { feed.FollowSession(ctx, o.Client, id, after, p.Send) })
		return stop
	}
	m.await = func(id session.ID) tea.Cmd {
		return func() tea.Msg { return feed.AwaitIdle(ctx, o.Client, id) }
	}
	background.Go(func() { sendNotes(ctx, o.Notes, p.Send) })
	background.Go(func() { feed.FollowAll(ctx, o.Client, p.Send) })
	_, err = p.Run()
	m.screen.Close()
	m.saveDraft()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return m.leavingResult(), err
}

// silentTerminal is a terminal on which nothing is written. Bubble Tea sets its mode and asks for its size; frames are
// drawn by package screen, because the renderer of Bubble Tea takes the processor 60 times a second also while nothing
// changes.
type silentTerminal struct{ file *os.File }

func (t silentTerminal) Read(b []byte) (int, error)  { return t.file.Read(b) }
func (t silentTerminal) Write(b []byte) (int, error) { return len(b), nil }
func (t silentTerminal) Close() error                { return t.file.Close() }
func (t silentTerminal) Fd() uintptr                 { return t.file.Fd() }

func silenceTerminal(out io.Writer) io.Writer {
	if f, ok := out.(*os.File); ok {
		return silentTerminal{f}
	}
	return io.Discard
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
const callTimeout = cli.ReconnectTimeout + 10*time.Second

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
