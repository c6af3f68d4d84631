package follow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// Update is what a Watch reports. One of its members is set, and Since with Lost.
type Update struct {
	Event    *session.Event        // of the session: each once, in order
	Fragment *session.Fragment     // live text of the session, between its events
	Output   *session.ToolProgress // the output so far of a running call of the session, or of that of a task
	Note     *session.Note         // a text for people, likewise
	Task     *TaskEvent            // an event of the session of a task
	Idle     bool                  // the session is idle, and what happened before that was reported
	Lost     error                 // the connection broke and is being restored
	Since    time.Time             // of Lost: when it broke, or was tried for the first time
	Found    bool                  // the connection is restored
	Failed   *CallFailure          // a call of Continue failed
	End      error                 // the session cannot be followed any more; the last update
}

// Options say what a Watch reports besides the session's events and text.
type Options struct {
	After  int64           // the events behind it are reported; -1: all
	Tasks  bool            // follow the sessions of the tasks that the session's calls and jobs run
	Newest session.Message // the newest message, for the tasks that its calls wait for; may be nil
	Jobs   []session.Job   // of the session, likewise
	Notes  bool            // report texts for people
	Output bool            // report the output of running calls
}

// Watch follows one session until its context ends or the session cannot be followed. Updates are to be received from
// C.
type Watch struct {
	C chan Update // closed when the watch has ended

	client *api.Client
	id     session.ID
	expect chan struct{} // capacity 1: a request to report when the session is idle
	done   chan struct{}
	stop   context.CancelFunc

	called     chan struct{} // capacity 1: calls has grown, or one has returned
	continuing atomic.Int32  // calls of Continue that have not returned
	mu         sync.Mutex    // guards calls
	calls      []continuation
}

// Start follows the session until ctx ends or Stop is called.
func Start(ctx context.Context, c *api.Client, id session.ID, o Options) *Watch {
	ctx, stop := context.WithCancel(ctx)
	w := &Watch{
		C: make(chan Update), client: c, id: id, expect: make(chan struct{}, 1), done: make(chan struct{}), stop: stop,
		called: make(chan struct{}, 1),
	}
	l := &watchLoop{
		watch: w, cursor: o.After, items: make(chan streamItem), idle: make(chan idleResult), live: make(chan Update),
		failed: make(chan *CallFailure),
	}
	if o.Tasks {
		l.tasks = newTaskWatch()
		l.tasks.noteRunning(o.Newest)
		l.tasks.noteJobs(o.Jobs)
	}
	go func() { // ends with ctx; Stop waits for it
		defer close(w.done)
		defer close(w.C)
		defer l.background.Wait()
		defer stop()
		l.run(ctx, o)
	}()
	return w
}

// Stop ends the watch and waits for its goroutines.
func (w *Watch) Stop() {
	w.stop()
	<-w.done
}

// ExpectIdle asks for the update Idle, once the session is idle. The watch asks itself when it sees work begin.
func (w *Watch) ExpectIdle() {
	select {
	case w.expect <- struct{}{}:
	default: // asked already
	}
}

// Continue makes a call that continues the work on a prompt of an idle session, in the background and until a server answers
// it: it may last as long as the work. Idle is expected, and not reported before the call has returned.
func (w *Watch) Continue(prompt session.MessageID, call func(context.Context) error) {
	w.continuing.Add(1)
	w.mu.Lock()
	w.calls = append(w.calls, continuation{prompt, call})
	w.mu.Unlock()
	w.wake()
}

// wake has the loop look at the calls of Continue.
func (w *Watch) wake() {
	select {
	case w.called <- struct{}{}:
	default: // it will
	}
}

// continuation is a call that continues the work on a prompt.
type continuation struct {
	prompt session.MessageID
	make   func(context.Context) error
}

// CallFailure is the failure of a call that was to continue the work on a prompt.
type CallFailure struct {
	Prompt session.MessageID
	Err    error
}

// watchLoop is the state of a watch's goroutine.
type watchLoop struct {
	watch      *Watch
	background sync.WaitGroup
	items      chan streamItem
	idle       chan idleResult
	live       chan Update       // output and notes of all sessions
	failed     chan *CallFailure // of calls of Continue
	tasks      *taskWatch        // nil unless tasks are followed

	cursor  int64            // of the newest event that was reported
	lost    bool             // the connection is lost
	stable  <-chan time.Time // fires when a stream has held for long enough to count as restored; nil unless lost
	waiting bool             // a goroutine waits for the session to become idle
	wanted  int              // number of the newest request to report that; what an earlier one found is not reported
	idleEnd int64            // the session became idle behind this event, which is not reported; meaningless unless ending
	ending  bool
}

// idleResult says behind which event a session became idle, or why that is unknown.
type idleResult struct {
	request int // the newest one when waiting began
	end     int64
	err     error
}

// run reports updates until ctx ends or the session cannot be followed.
func (l *watchLoop) run(ctx context.Context, o Options) {
	l.background.Go(func() {
		followSession(ctx, l.watch.client, l.watch.id, o.After, func(i streamItem) bool { return send(ctx, l.items, i) })
	})
	if o.Output || o.Notes {
		l.background.Go(func() { l.readOutput(ctx, o) })
	}
	var taskEvents <-chan TaskEvent
	if l.tasks != nil {
		taskEvents = l.tasks.events
		defer l.tasks.wait()
	}
	for ctx.Err() == nil {
		// Tasks that began are followed, and what ended tasks did last is reported before the event after their end.
		if l.tasks != nil {
			l.reportTasks(ctx, l.tasks.update(ctx, l.watch.client)...)
		}
		// A request to report the end of work comes first: what was found before it is not reported.
		isContinuing := l.watch.continuing.Load() > 0
		select {
		case <-l.watch.expect:
			l.wanted++
			l.awaitIdle(ctx)
		default:
		}
		var idle chan<- Update
		if l.ending && !isContinuing && !l.lost && l.cursor >= l.idleEnd && (l.tasks == nil || l.tasks.reading == 0) {
			idle = l.watch.C
		}
		select {
		case idle <- Update{Idle: true}:
			l.ending = false
		case i := <-l.items:
			if l.reportItem(ctx, i); i.end != nil {
				return
			}
		case <-l.stable:
			l.reportFound(ctx)
		case <-l.watch.called:
			l.startCalls(ctx)
		case failure := <-l.failed:
			send(ctx, l.watch.C, Update{Failed: failure})
		case e := <-taskEvents:
			switch {
			case e.end == nil:
				l.reportTasks(ctx, e)
			case l.tasks.follows(e.SessionID): // else it has ended meanwhile
				send(ctx, l.watch.C, Update{End: newTaskError(e.SessionID, e.end)})
				return
			}
		case u := <-l.live:
			if l.isFollowed(u) {
				send(ctx, l.watch.C, u)
			}
		case i := <-l.idle:
			if l.waiting = false; i.err != nil {
				send(ctx, l.watch.C, Update{End: i.err})
				return
			}
			if l.ending, l.idleEnd = i.request == l.wanted, i.end; !l.ending {
				l.awaitIdle(ctx)
			}
		case <-l.watch.expect:
			l.wanted++
			l.awaitIdle(ctx)
		case <-ctx.Done():
		}
	}
}

// startCalls makes the calls of Continue. Each asks for the end of the work before it counts as returned.
func (l *watchLoop) startCalls(ctx context.Context) {
	w := l.watch
	w.mu.Lock()
	calls := w.calls
	w.calls = nil
	w.mu.Unlock()
	for _, call := range calls {
		l.background.Go(func() {
			if err := RepeatUntilAnswered(ctx, func() error { return call.make(ctx) }); err != nil {
				send(ctx, l.failed, &CallFailure{call.prompt, err})
			}
			w.ExpectIdle()
			w.continuing.Add(-1)
			w.wake() // the loop may have found the session idle in between
		})
	}
}

// reportItem reports an item of the stream, and waits for the end of work that it shows to begin.
func (l *watchLoop) reportItem(ctx context.Context, i streamItem) {
	switch {
	case i.end != nil:
		send(ctx, l.watch.C, Update{End: i.end})
		return
	case i.lost != nil:
		l.stable = nil
		if !l.lost {
			l.lost = true
			send(ctx, l.watch.C, Update{Lost: i.lost, Since: i.since})
		}
		return
	case i.opened:
		if l.lost {
			l.stable = time.After(stableTime)
		}
		return
	}
	if l.lost { // an update shows that the stream is restored
		l.reportFound(ctx)
	}
	switch {
	case i.Fragment != nil:
		send(ctx, l.watch.C, Update{Fragment: i.Fragment})
		return
	case i.Event == nil:
		return
	}
	l.cursor = i.Event.Seq
	if l.tasks != nil {
		l.tasks.noteEvent(i.Event.Data)
	}
	if BeginsWork(i.Event.Data) {
		l.awaitIdle(ctx)
	}
	send(ctx, l.watch.C, Update{Event: i.Event})
}

// reportFound reports that the connection is restored.
func (l *watchLoop) reportFound(ctx context.Context) {
	l.lost, l.stable = false, nil
	send(ctx, l.watch.C, Update{Found: true})
}

// newTaskError returns the error that the session of a task cannot be followed.
func newTaskError(id session.ID, cause error) error {
	e, ok := errors.AsType[*session.Error](cause)
	if !ok {
		return fmt.Errorf("follow the subagent in session %s: %w", id, cause)
	}
	return &session.Error{Code: e.Code, Message: fmt.Sprintf("follow the subagent in session %s: %v", id, e), Err: cause}
}

// BeginsWork reports whether the session works from this event on, until it is idle.
func BeginsWork(d session.EventData) bool {
	switch d.(type) {
	case *session.Prompted, *session.StepStarted, *session.CompactionStarted, *session.ShellStarted:
		return true
	}
	return false
}

// reportTasks reports the events of tasks that are new.
func (l *watchLoop) reportTasks(ctx context.Context, events ...TaskEvent) {
	for _, e := range events {
		if l.tasks.acceptEvent(e) {
			send(ctx, l.watch.C, Update{Task: &e})
		}
	}
}

// isFollowed reports whether output or a note is of the session, or of that of a task that is followed. What the feed
// has of other sessions is not for the reader of this one.
func (l *watchLoop) isFollowed(u Update) bool {
	id := session.ID("")
	switch {
	case u.Output != nil:
		id = u.Output.SessionID
	case u.Note != nil:
		id = u.Note.SessionID
	}
	return id == l.watch.id || l.tasks != nil && l.tasks.follows(id)
}

// idlePause is the interval at which a server that is gone is asked again whether the session is idle.
const idlePause = 200 * time.Millisecond

// awaitIdle starts to wait for the session to become idle, unless that is under way.
func (l *watchLoop) awaitIdle(ctx context.Context) {
	l.ending = false
	if l.waiting {
		return
	}
	l.waiting = true
	i := idleResult{request: l.wanted}
	l.background.Go(func() {
		for {
			if i.err = l.watch.client.Wait(ctx, l.watch.id); i.err == nil {
				i.end, i.err = l.watch.client.Head(ctx, l.watch.id)
			}
			if !IsConnectionLost(i.err) || Sleep(ctx, idlePause) != nil {
				break
			}
		}
		send(ctx, l.idle, i)
	})
}

// readOutput sends the output so far of running calls, and texts for people, of all sessions to the loop, until ctx
// ends. It is only for display: what is lost with a connection is in the next output.
func (l *watchLoop) readOutput(ctx context.Context, o Options) {
	for ctx.Err() == nil {
		for u, err := range l.watch.client.Feed(ctx, -1) {
			if err != nil {
				break
			}
			if p := ParseOutput(u); o.Output && p != nil && !send(ctx, l.live, Update{Output: p}) {
				return
			}
			if n := ParseNote(u); o.Notes && n != nil && !send(ctx, l.live, Update{Note: n}) {
				return
			}
		}
		_ = Sleep(ctx, time.Second) // the loop ends with ctx
	}
}

// ParseOutput returns the output of a running call that an update of the feed has, nil for other updates.
func ParseOutput(u api.Update) *session.ToolProgress {
	if u.Notice == nil || u.Notice.Kind != string(session.KindToolProgress) {
		return nil
	}
	var p session.ToolProgress
	if json.Unmarshal(u.Notice.Data, &p) != nil {
		return nil
	}
	return &p
}

// ParseNote returns the text for people that an update of the feed has, nil for other updates.
func ParseNote(u api.Update) *session.Note {
	if u.Notice == nil || u.Notice.Kind != session.KindNote {
		return nil
	}
	var n session.Note
	if json.Unmarshal(u.Notice.Data, &n) != nil {
		return nil
	}
	return &n
}

// send sends a value, unless ctx ends first.
func send[T any](ctx context.Context, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}
