package follow

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// toolTask is the name of the tool that hands work to subagents.
const toolTask = "task"

// taskPollInterval is the interval at which a task's session is looked up until it exists.
const taskPollInterval = 100 * time.Millisecond

// taskWatch follows the sessions of the tasks of a session, and of their tasks. Its goroutines end with the context of
// update. All methods belong to one goroutine.
type taskWatch struct {
	events chan TaskEvent // to be received and passed to acceptEvent

	wg      sync.WaitGroup
	tasks   map[string]session.ID // the sessions of calls and jobs that run, by their part or id
	cursors map[session.ID]int64  // the seq of the newest event that was accepted
	watched map[string]watchedTask
	reading int // sessions of which it is not known yet what they wait for
}

// TaskEvent is an event of the session of a task, or an ask that waited or a task that ran in it before.
type TaskEvent struct {
	SessionID session.ID
	Data      session.EventData

	seq int64 // 0 of what was there before
	end error // why the session cannot be followed
}

// watchedTask is a session that is followed until stop is called.
type watchedTask struct {
	id   session.ID
	stop context.CancelFunc
}

// newTaskWatch returns a watch without tasks.
func newTaskWatch() *taskWatch {
	return &taskWatch{
		events: make(chan TaskEvent), tasks: map[string]session.ID{}, cursors: map[session.ID]int64{},
		watched: map[string]watchedTask{},
	}
}

// noteRunning notes the tasks that the session's newest message waits for.
func (w *taskWatch) noteRunning(newest session.Message) {
	for _, d := range runningTasks(newest) {
		w.tasks[string(d.PartID)] = TaskSession(d)
	}
}

// noteJobs notes the tasks that run as jobs of the session.
func (w *taskWatch) noteJobs(jobs []session.Job) {
	for _, j := range jobs {
		if j.Status == session.JobRunning && j.Task != nil {
			w.tasks[string(j.ID)] = j.Task.SessionID
		}
	}
}

// runningTasks returns the calls that hand work to subagents and have not ended.
func runningTasks(m session.Message) (calls []*session.ToolCalled) {
	a, ok := m.(*session.Assistant)
	if !ok {
		return nil
	}
	for _, c := range a.Tools() {
		d := &session.ToolCalled{PartID: c.PartID, Tool: c.Name, Input: c.State.Input}
		if c.State.Status == session.ToolRunning && TaskSession(d) != "" {
			calls = append(calls, d)
		}
	}
	return calls
}

// noteEvent notes the beginning or the end of a task by an event of the session.
func (w *taskWatch) noteEvent(d session.EventData) {
	switch d := d.(type) {
	case *session.ToolCalled:
		id := TaskSession(d)
		if id == "" {
			return
		}
		if id == session.TaskID(d.PartID) { // all that happens in the session belongs to the work
			w.cursors[id] = -1
		}
		w.tasks[string(d.PartID)] = id
	case *session.ToolSuccess:
		delete(w.tasks, string(d.PartID))
	case *session.ToolFailed:
		delete(w.tasks, string(d.PartID))
	case *session.JobStarted:
		if d.Job.Task != nil {
			w.tasks[string(d.Job.ID)] = d.Job.Task.SessionID
		}
	case *session.JobEnded:
		delete(w.tasks, string(d.JobID))
	}
}

// TaskSession returns the session in which a call hands work to a subagent, "" for calls of other tools.
func TaskSession(d *session.ToolCalled) session.ID {
	if d.Tool != toolTask {
		return ""
	}
	var in struct {
		Continue session.ID `json:"task_id"`
	}
	_ = json.Unmarshal(d.Input, &in) // an invalid call fails
	return cmp.Or(in.Continue, session.TaskID(d.PartID))
}

// acceptEvent notes an event of a task, and reports whether it is new. An event without data says that what the session
// waits for was sent.
func (w *taskWatch) acceptEvent(e TaskEvent) bool {
	if e.Data == nil {
		w.reading--
		return false
	}
	if e.seq > 0 {
		if e.seq <= w.cursors[e.SessionID] {
			return false
		}
		w.cursors[e.SessionID] = e.seq
	}
	if d, ok := e.Data.(*session.ToolCalled); ok && e.seq == 0 { // ran before its session was followed
		w.tasks[string(d.PartID)] = TaskSession(d)
		return true
	}
	w.noteEvent(e.Data)
	return true
}

// update begins to follow the sessions of tasks that have begun. It stops following those that have ended, and returns
// their events that were not received.
func (w *taskWatch) update(ctx context.Context, c *api.Client) (rest []TaskEvent) {
	// Those that ended: stop, and read what their sessions did last.
	for part, watched := range w.watched {
		if _, runs := w.tasks[part]; !runs {
			watched.stop()
			delete(w.watched, part)
			rest = append(rest, w.readRest(ctx, c, watched.id)...)
		}
	}
	// Those that began: follow, from the events that belong to the work or from what waits now.
	for part, id := range w.tasks {
		if w.watched[part].stop != nil {
			continue
		}
		taskCtx, stop := context.WithCancel(ctx)
		w.watched[part] = watchedTask{id, stop}
		after, known := w.cursors[id]
		if !known {
			w.reading++
		}
		w.wg.Go(func() {
			if !known {
				err := w.sendWaiting(taskCtx, c, id, &after)
				if !send(ctx, w.events, TaskEvent{SessionID: id}) {
					return
				}
				if err != nil {
					w.sendEnd(taskCtx, id, err)
					return
				}
			}
			w.follow(taskCtx, c, id, after)
		})
	}
	return rest
}

// follows reports whether the session is that of a task that runs.
func (w *taskWatch) follows(id session.ID) bool {
	for _, task := range w.tasks {
		if task == id {
			return true
		}
	}
	return false
}

// wait returns when nothing is followed any more, as the context of update has ended.
func (w *taskWatch) wait() { w.wg.Wait() }

// readRest returns the events of a session that were not accepted. What cannot be read is left out.
func (w *taskWatch) readRest(ctx context.Context, c *api.Client, id session.ID) (rest []TaskEvent) {
	after, known := w.cursors[id]
	for more := known; more; {
		h, err := c.History(ctx, id, after, 0)
		for _, e := range h.Data {
			rest = append(rest, TaskEvent{SessionID: id, Data: e.Data, seq: e.Seq})
			after = e.Seq
		}
		more = err == nil && h.HasMore && len(h.Data) > 0
	}
	return rest
}

// sendWaiting sends what a session that a task continues, or whose task ran before, waits for: asks and tasks. It sets
// after to its newest event. It waits for a server that is gone, which is for the stream of the session of the watch to say.
func (w *taskWatch) sendWaiting(ctx context.Context, c *api.Client, id session.ID, after *int64) error {
	var waiting []session.EventData
	for isGone := true; isGone; {
		err := RepeatUntilAnswered(ctx, func() (err error) {
			waiting, *after, err = readWaiting(ctx, c, id)
			return err
		})
		e, isLost := errors.AsType[*api.TransportError](err)
		if isGone = isLost && !e.Foreign && Sleep(ctx, lastPause) == nil; err != nil && !isGone {
			return err
		}
	}
	for _, d := range waiting {
		if !send(ctx, w.events, TaskEvent{SessionID: id, Data: d}) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// sendEnd sends why a session cannot be followed: what it asks would not be seen. Of one that does not exist, or cannot exist
// because a model made up its id, the session of the call says so.
func (w *taskWatch) sendEnd(ctx context.Context, id session.ID, err error) {
	isMissing := errors.Is(err, &session.Error{Code: session.CodeNotFound}) || errors.Is(err, &session.Error{Code: session.CodeInvalid})
	if ctx.Err() == nil && !isMissing {
		send(ctx, w.events, TaskEvent{SessionID: id, end: err})
	}
}

// readWaiting returns what a session waits for as events: its asks, and the tasks of its newest message. head is the
// seq of its newest event.
func readWaiting(
	ctx context.Context, c *api.Client, id session.ID,
) (waiting []session.EventData, head int64, err error) {
	s, err := ReadState(ctx, c, id)
	for _, d := range runningTasks(s.Newest) {
		waiting = append(waiting, d)
	}
	for _, a := range s.Asks {
		waiting = append(waiting, &session.PermissionAsked{Ask: a})
	}
	return waiting, s.Head, err
}

// follow sends the events of a session, which may not have begun, after the event, until ctx ends or the session cannot be
// followed.
func (w *taskWatch) follow(ctx context.Context, c *api.Client, id session.ID, after int64) {
	clock := taskClock{client: c, id: id}
	for {
		var pause time.Duration // until it is tried again; 0: it is not
		followSession(ctx, c, id, after, func(i streamItem) bool {
			switch {
			case i.Event != nil:
				clock.isTried = false
				after = i.Event.Seq
				return send(ctx, w.events, TaskEvent{SessionID: id, Data: i.Event.Data, seq: i.Event.Seq})
			case i.opened:
				clock.opened = time.Now()
			case i.lost != nil && clock.isOver(ctx):
				w.sendEnd(ctx, id, i.lost)
				return false
			case errors.Is(i.end, &session.Error{Code: session.CodeNotFound}):
				pause = taskPollInterval
			case errors.Is(i.end, &session.Error{Code: session.CodeTooMany}) && !clock.isOver(ctx):
				pause = time.Second
			case i.end != nil:
				w.sendEnd(ctx, id, i.end)
			}
			return true
		})
		if pause == 0 || Sleep(ctx, pause) != nil {
			return
		}
	}
}

// taskClock bounds how long a server that answers does not stream a session. A server that is gone is for the stream of the
// session of the watch to say.
type taskClock struct {
	client  *api.Client
	id      session.ID
	isTried bool      // streams broke since
	since   time.Time // meaningless unless isTried
	opened  time.Time // when the newest stream was accepted
}

// isOver takes a stream that broke, and reports whether that has lasted for ReconnectTimeout.
func (k *taskClock) isOver(ctx context.Context) bool {
	wasStable := !k.opened.IsZero() && time.Since(k.opened) > stableTime
	_, err := k.client.Session(ctx, k.id)
	if k.opened = (time.Time{}); !k.isTried || wasStable || IsConnectionLost(err) {
		k.isTried, k.since = true, time.Now()
	}
	return time.Since(k.since) > ReconnectTimeout
}
