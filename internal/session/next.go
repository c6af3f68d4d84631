package session

import "slices"

// What a session has left to do is decided in this file and nowhere else. Each user of the decision knows something
// else of the session:
//
//   - recovery has the history: NextOf says whether a restart makes another turn;
//   - an interrupt has the history and the inbox: ResumesByItself says whether the stop has to be recorded;
//   - the projection has one event and its turn: MarkAfter says what becomes of the mark by which a restart finds
//     sessions with work to do;
//   - a client has the events, perhaps not from the first one on: NextWork folds them.
//
// All four agree on when a turn calls for another one (Assistant.Next) and on what the reason of a failure means
// (Reason.Next). They differ in this:
//
//   - Only NextWork knows of an announced retry (Retried). In the history, and for the mark, a turn that failed and
//     is to be tried again is one that failed.
//   - The mark ignores synthetic texts and the user's commands as things to answer; NextOf answers the one and
//     takes the other as a sign that nothing was left to do.
//   - A prompt that is held (Input.Hold) sets no mark and outlives no interrupt, but is promoted with the others
//     once the session works.
//   - A prompt without a reply (User.NoReply) is nothing to answer for any of them.

// Next is the next action that a session takes by itself, judged without its inbox.
type Next int

// The values of Next.
const (
	NextNothing Next = iota // the model is done or failed; a pending prompt may be promoted
	NextStopped             // the user, a refusal or a budget ended the work; pending prompts wait too
	NextAnswer              // a prompt is in the history that no turn has answered
	NextProceed             // the newest turn ended well and calls for another one
	NextRetry               // the newest turn is open, was cut off by the end of its process, or will be tried again
)

// NeedsTurn reports whether another turn follows without further input.
func (n Next) NeedsTurn() bool { return n >= NextAnswer }

// NextOf returns what the history calls for: the newest of its messages that decides it does.
func NextOf(history []Message) Next {
	for _, m := range slices.Backward(history) {
		switch m := m.(type) {
		case *User:
			if !m.NoReply {
				return NextAnswer
			}
		case *Synthetic:
			return NextAnswer
		case *Shell: // commands of the user run only while nothing is left to do
			return NextNothing
		case *Assistant:
			return m.Next()
		}
	}
	return NextNothing
}

// Next returns what the turn calls for.
func (a *Assistant) Next() Next {
	switch {
	case a.Open():
		return NextRetry
	case a.Error != nil:
		return a.Error.Reason.Next()
	default:
		return a.nextAfterEnd()
	}
}

// nextAfterEnd returns the next action after the turn has ended well.
func (a *Assistant) nextAfterEnd() Next {
	return nextAfterTurn(a.Finish, a.Structured != nil, slices.ContainsFunc(a.Tools(), hasUnseenResult))
}

// hasUnseenResult reports whether the model has to see what became of the call in another turn. The results of
// calls that the provider ran are part of the turn itself; a call of the last step of the agent's allowance is
// refused, and no turn follows.
func hasUnseenResult(t *Tool) bool {
	hosted := t.Provider != nil && t.Provider.Executed
	return !hosted && (t.State.Error == nil || t.State.Error.Reason != ReasonSteps)
}

// nextAfterTurn returns the next action after a turn that ended well: its structured output is the end; a pause of the
// provider, an answer in the wrong form and results that the model has not seen call for another turn.
func nextAfterTurn(finish string, structured, unseenResults bool) Next {
	if !structured && (finish == FinishPaused || IsUnformed(finish) || unseenResults) {
		return NextProceed
	}
	return NextNothing
}

// Next returns what follows work that ended for the reason, within a turn or between two.
func (r Reason) Next() Next {
	switch r {
	case ReasonInterrupted: // the process ended: no decision against the work
		return NextRetry
	case ReasonAborted, ReasonDenied, ReasonDoomLoop, ReasonBudget, ReasonCompacted:
		return NextStopped
	default:
		return NextNothing
	}
}

// StartsWork reports whether the pending prompt is promoted without a further wake.
func (in *Input) StartsWork() bool { return !in.Hold }

// PromotionOrder is the order of deliveries in which prompts are promoted where no turn has to follow: all steers, else
// one queued prompt. Held prompts are no exception.
func PromotionOrder() [2]Delivery { return [2]Delivery{Steer, Queue} }

// ResumesByItself reports whether a restart would go on with a session that the user just stopped, by its history
// and its pending prompts: a turn is called for, or a prompt was admitted after the turn that records a stop by the
// user.
func ResumesByItself(history []Message, pending []*Input) bool {
	if NextOf(history).NeedsTurn() {
		return true
	}
	var stopped int64 // when the newest turn ended, if the user stopped it
	if n := len(history); n > 0 {
		if a, ok := history[n-1].(*Assistant); ok && a.Error != nil && a.Error.Reason == ReasonAborted {
			stopped = a.Time.Completed
		}
	}
	return slices.ContainsFunc(pending, func(in *Input) bool { return in.StartsWork() && in.TimeCreated > stopped })
}

// Mark is the effect of an event on the mark of unfinished sessions, by which a restart finds them.
type Mark int

// The values of Mark.
const (
	// MarkKept leaves the mark as it is.
	MarkKept Mark = iota
	// MarkSet sets it.
	MarkSet
	// MarkUnlessJob clears it, unless a job runs, whose end a restart has to record.
	MarkUnlessJob
	// MarkUnlessPrompt clears it, unless a pending prompt starts work or a job runs.
	MarkUnlessPrompt
	// MarkUnlessTurn clears it, unless the newest prompt and the newest turn call for a turn (NextOf), a pending prompt
	// starts work or a job runs.
	MarkUnlessTurn
)

// MarkAfter returns what the event does to the mark. turn is the event's turn with the event applied to it, nil if
// it has none; only StepEnded needs it.
func MarkAfter(d EventData, turn *Assistant) Mark {
	// What begins work sets the mark. What ends work clears it, unless other work remains.
	switch e := d.(type) {
	case *PromptAdmitted:
		if e.Hold {
			return MarkKept
		}
		return MarkSet
	case *Prompted:
		if e.NoReply {
			return MarkKept
		}
		return MarkSet
	case *StepStarted, *ShellStarted, *JobStarted, *CompactionAdmitted, *CompactionStarted:
		return MarkSet
	case *StepEnded:
		if turn == nil {
			return MarkUnlessPrompt
		}
		return markFor(turn.nextAfterEnd())
	case *StepFailed:
		return markFor(e.Error.Reason.Next())
	case *Interrupted:
		return markFor(e.Error.Reason.Next())
	case *RevertStaged:
		if e.Revert.Phase == RevertDone {
			return MarkKept
		}
		return MarkSet
	case *RevertAdvanced:
		if e.Phase == RevertDone {
			return MarkUnlessTurn
		}
		return MarkSet
	case *RevertCleared, *RevertCommitted:
		return MarkUnlessTurn
	case *InputWithdrawn, *JobEnded, *ShellEnded, *CompactionEnded, *CompactionFailed:
		return MarkUnlessTurn
	default:
		return MarkKept
	}
}

// markFor is the mark of a session whose newest turn, or work between two turns, ended with n.
func markFor(n Next) Mark {
	switch {
	case n.NeedsTurn():
		return MarkKept
	case n == NextStopped:
		return MarkUnlessJob
	default:
		return MarkUnlessPrompt
	}
}

// NextWork follows a session by its events, in the order of the log. The zero value knows of nothing to do. A
// client applies every event that it reads; once the session is idle and Next needs no turn, nothing of what it
// read is left to do. An idle session that still needs a turn was left by its process.
type NextWork struct {
	next   Next
	unseen int // calls of the newest turn whose results the model has to see
}

// Next returns what the events call for.
func (w *NextWork) Next() Next { return w.next }

// Apply takes the next event.
func (w *NextWork) Apply(d EventData) {
	// Prompts call for an answer. A turn calls for a retry until its end says what is next.
	switch e := d.(type) {
	case *Prompted:
		if !e.NoReply {
			w.next = NextAnswer
		}
	case *SyntheticAdded:
		w.next = NextAnswer
	case *Retried:
		if !e.IsOfSummary() {
			w.next = NextRetry
		}
	case *StepStarted:
		w.next, w.unseen = NextRetry, 0
	case *ToolCalled:
		if !e.Provider.Executed {
			w.unseen++
		}
	case *ToolFailed:
		if e.Error.Reason == ReasonSteps {
			w.unseen--
		}
	case *StepEnded:
		w.next = nextAfterTurn(e.Finish, e.Structured != nil, w.unseen > 0)
	case *StepFailed:
		w.next = e.Error.Reason.Next()
	case *Interrupted:
		w.next = e.Error.Reason.Next()
	}
}
