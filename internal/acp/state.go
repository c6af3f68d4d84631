package acp

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// workState is what the client knows of the session's work: it is at work, waits for a person, or is idle. Work in the
// background does not count. Only the loop of the session uses it.
type workState struct {
	reported   stateName
	working    bool
	asks       map[session.AskID]bool // asks of the work that wait for a person
	background map[session.ID]bool    // sessions of subagents in the background, and of theirs
	outcome    outcome                // of the newest work, so far
}

// outcome is how work ended.
type outcome struct {
	failure *session.Failure
	finish  string
}

func newWorkState() workState {
	return workState{reported: stateIdle, asks: map[session.AskID]bool{}, background: map[session.ID]bool{}}
}

// name returns the state by its parts.
func (w *workState) name() stateName {
	switch {
	case !w.working:
		return stateIdle
	case len(w.asks) > 0:
		return stateAsks
	default:
		return stateRunning
	}
}

// apply takes an event of the session.
func (w *workState) apply(data session.EventData) {
	if follow.BeginsWork(data) {
		if !w.working {
			w.outcome = outcome{}
		}
		w.working = true
	}
	switch d := data.(type) {
	case *session.StepStarted:
		w.outcome.failure = nil
	case *session.StepEnded:
		w.outcome.finish = d.Finish
	case *session.StepFailed:
		w.outcome.failure = &d.Error
	case *session.Interrupted:
		w.outcome.failure = &d.Error
	}
}

// noteTask notes the session of a subagent that runs in the background, by an event of the session that started it.
func (w *workState) noteTask(parent session.ID, data session.EventData) {
	switch d := data.(type) {
	case *session.JobStarted:
		if d.Job.Task != nil {
			w.background[d.Job.Task.SessionID] = true
		}
	case *session.ToolCalled:
		if id := follow.TaskSession(d); id != "" && w.background[parent] {
			w.background[id] = true
		}
	}
}

// noteAsk notes an ask that waits. An ask of work in the background is not noted: the session does not wait for it.
func (w *workState) noteAsk(a session.PendingAsk) {
	if !w.background[a.SessionID] {
		w.asks[a.ID] = true
	}
}

// reportState sends the client the state of the work, if it is another than the reported one. results say how the
// prompts of this client came out whose work is over.
func (s *liveSession) reportState(results []promptResult) {
	now := s.state.name()
	if now == s.state.reported {
		return
	}
	s.state.reported = now
	if now != stateIdle {
		s.send(stateChanged{state: now})
		return
	}
	// The newest prompt of this client says how the work ended, or else its events do.
	r, isOwn := s.state.outcome.result(), len(results) > 0
	if isOwn {
		r = results[len(results)-1]
	}
	idle := stateChanged{state: stateIdle, stop: r.stop, isOwn: isOwn}
	if r.err != nil {
		idle.why = describeError(r.err)
	}
	s.send(idle)
}

// loginCommand is what the failure of a model without a key names, and that of a model that is unknown does not.
const loginCommand = "cairn auth login"

// result returns how the work came out. What a person ended is not an error.
func (o outcome) result() promptResult {
	switch f := o.failure; {
	case f == nil && o.finish == "length":
		return promptResult{stop: stopLength}
	case f == nil && o.finish == "content-filter", f != nil && f.Reason == session.ReasonContentFilter:
		return promptResult{stop: stopRefused}
	case f == nil:
		return promptResult{stop: stopEnd}
	case f.Reason == session.ReasonAborted:
		return promptResult{stop: stopCancelled}
	case f.Reason == session.ReasonSteps, f.Reason == session.ReasonBudget:
		return promptResult{stop: stopTurns}
	case f.Reason == session.ReasonDenied: // a person has declined
		return promptResult{stop: stopEnd}
	case f.Reason == session.ReasonAuth, f.Reason == session.ReasonModel && strings.Contains(f.Message, loginCommand):
		return promptResult{err: rpcErrorf(codeAuthRequired, "%s", f.Message)}
	default:
		return promptResult{err: rpcErrorf(codeInternal, "%s", f.Message)}
	}
}
