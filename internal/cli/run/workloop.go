package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/printer"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// workLoop shows the work of a session until it is done: that on one prompt, or with no prompt whatever the session
// works on until it is idle. One goroutine, that of run, owns it.
type workLoop struct {
	inv     *cli.Invocation
	client  *api.Client
	id      session.ID
	printer printer.Printer
	live    *printer.Live // nil unless the output is a terminal
	desk    *askDesk

	showAll  bool              // also what does not belong to the prompt
	pressed  bool              // Ctrl-C was pressed before the loop began
	prompt   api.PromptRequest // empty without a prompt
	progress *follow.Progress  // nil without a prompt
	stopping <-chan struct{}   // Ctrl-C; nil once the session is interrupted
	late     <-chan time.Time  // --timeout passed; likewise
	stopped  cli.ExitCode      // why we interrupted the session; 0: we did not
	left     bool              // the person has left the conversation
	answered bool              // without a prompt: an answer was sent, and no event has followed

	watch    *follow.Watch
	work     *follow.Work // on the prompt, if there is one
	calls    sync.WaitGroup
	failed   chan error       // why a call that should have stopped the work failed
	lost     error            // the connection broke with it, and is not restored
	lostLong <-chan time.Time // fires when that has lasted too long
}

// run shows the work. It returns nil when the progress, or without a prompt the idle session, says how it came out.
func (l *workLoop) run(ctx context.Context, o follow.Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer l.calls.Wait()
	defer cancel()
	l.failed = make(chan error)
	l.work = &follow.Work{Client: l.client, ID: l.id, Request: l.prompt, Progress: l.progress}
	o.Tasks, o.Notes, o.Output = true, true, l.live != nil
	l.watch = follow.Start(ctx, l.client, l.id, o)
	defer l.watch.Stop()
	l.watch.ExpectIdle()
	waiting, pending := time.After(time.Second), make(chan string, 1)
	frames, stop := l.startLive()
	defer stop()
	for {
		// An interrupt has precedence over an answer that no server takes.
		if err := l.deliverAnswers(ctx); err != nil {
			return err
		}
		if l.pressed {
			if l.pressed = false; l.handleStop(ctx) {
				return nil
			}
		}
		select {
		case <-waiting:
			l.askPending(ctx, pending)
		case text := <-pending:
			if !l.progress.Begun {
				l.printer.ShowNote(text)
			}
		case text, ok := <-l.desk.lines():
			l.left = l.desk.handleLine(text, ok)
		case <-frames:
			if !l.desk.isAsking() {
				l.live.DrawFrame()
			}
		case u := <-l.watch.C:
			if done, err := l.handleUpdate(ctx, u); done || err != nil {
				return err
			}
		case err := <-l.failed:
			return err
		case <-l.lostLong:
			return fmt.Errorf("the connection to cairn was lost and could not be restored: %w", l.lost)
		case <-l.stopping:
			if l.handleStop(ctx) {
				return nil
			}
		case <-l.late:
			l.interrupt(ctx, cli.ExitTimeout)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if l.left || l.progress != nil && (l.progress.Over || l.progress.Withdrawn) {
			return nil
		}
		if l.inv.Out.Err != nil && l.stopped == 0 {
			l.interrupt(ctx, cli.ExitFailure)
		}
	}
}

// askPending asks the session, in the background, whether the prompt still waits for other work, and then sends what to
// say.
func (l *workLoop) askPending(ctx context.Context, say chan<- string) {
	if l.progress == nil || l.progress.Begun {
		return
	}
	message := l.prompt.ID
	l.calls.Go(func() { // ends with ctx
		active, err := l.client.Active(ctx)
		if _, works := active[l.id]; err != nil || !works {
			return
		}
		list, err := l.client.Inbox().List(ctx, l.id)
		if err == nil && slices.ContainsFunc(list, func(in *session.Input) bool { return in.ID == message }) {
			say <- "the session is working on another prompt; this one is pending in the inbox"
		}
	})
}

// handleStop handles the first Ctrl-C: it interrupts the prompt's work. It reports whether the loop ends, which leaves
// the work of others as it is.
func (l *workLoop) handleStop(ctx context.Context) (ends bool) {
	if l.progress == nil {
		l.printer.ShowNote("the work goes on; /abort stops it")
		return true
	}
	if l.stopping != nil {
		l.noteStopping()
		l.interrupt(ctx, cli.ExitInterrupted)
	}
	return false
}

// deliverAnswers sends the answers that were given, until Ctrl-C.
func (l *workLoop) deliverAnswers(ctx context.Context) error {
	if len(l.desk.answers) == 0 {
		return nil
	}
	ctx, release := cli.UntilReceived(ctx, l.stopping)
	err := l.desk.deliver(ctx, l.client)
	l.pressed = errors.Is(context.Cause(ctx), cli.ErrSignal)
	release()
	if l.progress == nil {
		l.answered = true
	}
	return err
}

// startLive begins to show what runs, until stop is called. Without a terminal there are no frames.
func (l *workLoop) startLive() (frames <-chan time.Time, stop func()) {
	if l.live == nil {
		return nil, func() {}
	}
	ticker := time.NewTicker(printer.LiveInterval)
	return ticker.C, func() {
		ticker.Stop()
		l.live.Clear()
	}
}

// handleUpdate shows an update. It reports whether the work is done.
func (l *workLoop) handleUpdate(ctx context.Context, u follow.Update) (done bool, err error) {
	// What happens in the session and its tasks, then what becomes of the connection, then how the work ends.
	switch {
	case u.Event != nil:
		if l.answered {
			l.answered = false
			l.watch.ExpectIdle()
		}
		if l.progress == nil || l.progress.Apply(*u.Event) || l.showAll {
			l.handleAsk(u.Event.Data)
			l.printer.ShowEvent(*u.Event)
		}
	case u.Fragment != nil:
		if l.isOwnWork() {
			l.printer.ShowFragment(*u.Fragment)
		}
	case u.Output != nil:
		l.live.NoteProgress(u.Output)
	case u.Note != nil:
		l.showNote(u.Note)
	case u.Task != nil:
		l.handleTask(u.Task)
	case u.Lost != nil:
		l.lost, l.lostLong = u.Lost, follow.LostTimer(u.Since)
		l.noteConnection("the connection is lost; reconnecting")
	case u.Found:
		l.lost, l.lostLong = nil, nil
		l.noteConnection("connected again")
		l.watch.ExpectIdle() // the process that worked may have ended
	case u.Idle:
		return l.handleIdle()
	case u.Failed != nil:
		return false, u.Failed.Err
	case u.End != nil:
		return false, u.End
	}
	return false, nil
}

// isOwnWork reports whether what happens now belongs to what the loop shows.
func (l *workLoop) isOwnWork() bool {
	return l.showAll || l.progress == nil || l.progress.IsUnderWay()
}

// handleAsk passes an ask, or its reply, to the desk.
func (l *workLoop) handleAsk(d session.EventData) {
	l.desk.handle(d)
	if d, ok := d.(*session.PermissionReplied); ok && d.By == "policy" && l.progress != nil &&
		len(l.progress.Denials) > 0 {
		l.desk.noteDenied()
	}
}

// handleTask shows what a task asks, and counts what is denied to it.
func (l *workLoop) handleTask(e *follow.TaskEvent) {
	if !l.isOwnWork() {
		return
	}
	if l.progress != nil && l.progress.IsUnderWay() {
		l.progress.ApplyAsk(e.Data)
	}
	l.handleAsk(e.Data)
	if l.live != nil {
		l.live.NoteEvent(e.SessionID, e.Data)
	}
}

// noteConnection says what becomes of the connection, in a conversation.
func (l *workLoop) noteConnection(text string) {
	if l.showAll {
		l.printer.ShowNote(text)
	}
}

// showNote shows a text for the people who follow the session, unless setup has said it: a session that starts says which
// plugins do not run.
func (l *workLoop) showNote(n *session.Note) {
	if text := n.Source + ": " + n.Text; n.SessionID == l.id && !l.desk.problems[text] {
		l.printer.ShowNote(text)
	}
}

// handleIdle handles an idle session: the work is done, or was left by its process and is resumed.
func (l *workLoop) handleIdle() (done bool, _ error) {
	switch {
	case l.progress == nil:
		// An answer continues work that was cut off, also in the session of a task first.
		return !l.desk.isAsking() && len(l.desk.answers) == 0 && !l.answered, nil
	case l.stopped != 0, l.work.IsDone():
		return true, nil
	}
	return false, l.work.Resume(l.watch)
}

// call makes a call in the background. Its error ends the loop.
func (l *workLoop) call(ctx context.Context, f func() error) {
	l.calls.Go(func() {
		if err := f(); err != nil {
			select {
			case l.failed <- err:
			case <-ctx.Done():
			}
		}
	})
}

// interrupt withdraws the prompt or, if its work has begun, stops it. The watch reports the effect.
func (l *workLoop) interrupt(ctx context.Context, why cli.ExitCode) {
	l.stopped, l.stopping, l.late = why, nil, nil
	begun := l.progress == nil || l.progress.Begun
	l.call(ctx, func() error {
		if err := stopWork(ctx, l.client, l.id, l.prompt.ID, begun); err != nil {
			return fmt.Errorf("interrupt the session: %w", err)
		}
		return nil
	})
}

// noteStopping says what Ctrl-C does.
func (l *workLoop) noteStopping() {
	if l.progress.Begun {
		l.printer.ShowNote("interrupting; press Ctrl-C again to leave at once")
		return
	}
	l.printer.ShowNote("withdrawing the prompt; press Ctrl-C again to leave at once")
}

// interruptTimeout bounds how long an interrupt may take to be recorded.
const interruptTimeout = 20 * time.Second

// stopWork withdraws a pending prompt, because the session works for another client then. If the prompt's own work has
// begun, it interrupts the session.
func stopWork(ctx context.Context, c *api.Client, id session.ID, prompt session.MessageID, begun bool) error {
	ctx, cancel := context.WithTimeout(ctx, interruptTimeout)
	defer cancel()
	return follow.RepeatUntilAnswered(ctx, func() error {
		if !begun {
			err := c.Inbox().Withdraw(ctx, id, prompt)
			if !errors.Is(err, &session.Error{Code: session.CodeConflict}) { // promoted meanwhile
				return err
			}
		}
		return c.Interrupt(ctx, id)
	})
}
