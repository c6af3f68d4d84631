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
	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/session"
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
		background.Go(func() { followSession(ctx, o.Client, id, after, p.Send) })
		return stop
	}
	m.await = func(id session.ID) tea.Cmd {
		return func() tea.Msg { return awaitIdle(ctx, o.Client, id) }
	}
	background.Go(func() { sendNotes(ctx, o.Notes, p.Send) })
	background.Go(func() { followOthers(ctx, o.Client, p.Send) })
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

// frameInterval is how long updates are collected before they are shown together.
const frameInterval = 16 * time.Millisecond

// streamInterval is how often streams are read, and so how often an arriving answer is drawn. Half of it would cost a
// third more processor time.
const streamInterval = 33 * time.Millisecond

// maxBatch bounds the updates that are shown together.
const maxBatch = 2048

// followSession sends the updates of a session in batches.
func followSession(ctx context.Context, c *api.Client, id session.ID, after int64, send func(tea.Msg)) {
	updates := make(chan cli.SessionUpdate, maxBatch)
	var reader sync.WaitGroup
	defer reader.Wait()
	reader.Go(func() {
		defer close(updates)
		cli.FollowSession(ctx, c, id, after, func(u cli.SessionUpdate) bool {
			select {
			case updates <- u:
				return true
			case <-ctx.Done():
				return false
			}
		})
	})
	for u := range updates {
		batch := updatesMsg{u}
		late := time.NewTimer(frameInterval)
	gather:
		for len(batch) < maxBatch {
			select {
			case u, ok := <-updates:
				if !ok {
					break gather
				}
				batch = append(batch, u)
			case <-late.C:
				break gather
			}
		}
		late.Stop()
		send(batch)
	}
}

// awaitIdle returns when the session is idle.
func awaitIdle(ctx context.Context, c *api.Client, id session.ID) tea.Msg {
	err := c.Wait(ctx, id)
	for ; cli.IsConnectionLost(err) && ctx.Err() == nil; err = c.Wait(ctx, id) {
		_ = cli.Sleep(ctx, time.Second) // the loop ends with ctx
	}
	var end int64
	if err == nil {
		end, err = c.Head(ctx, id)
	}
	return idleMsg{id, end, err}
}

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

// followOthers sends the asks, and the output of running calls, of all sessions.
func followOthers(ctx context.Context, c *api.Client, send func(tea.Msg)) {
	after := int64(-1)
	for pause := time.Second; ctx.Err() == nil; pause = min(2*pause, 30*time.Second) {
		for u, err := range c.Feed(ctx, after) {
			if err != nil {
				break
			}
			if u.Notice != nil && u.Notice.Kind == string(session.KindToolProgress) {
				var p session.ToolProgress
				if json.Unmarshal(u.Notice.Data, &p) == nil {
					send(progressMsg{p})
				}
			}
			if u.Event == nil {
				continue
			}
			after, pause = u.Event.Position, time.Second
			switch u.Event.Data.(type) {
			case *session.PermissionAsked, *session.PermissionReplied:
				send(otherMsg{*u.Event})
			}
		}
		_ = cli.Sleep(ctx, pause) // the loop ends with ctx
	}
}
