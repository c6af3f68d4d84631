package follow

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Progress folds the events that belong to one prompt, from its promotion until the session is idle or turns to the
// next queued prompt, into the outcome of the work.
type Progress struct {
	prompt session.MessageID

	Cursor    int64 // of the last event seen; -1 none
	Withdrawn bool
	Begun     bool // promoted
	Over      bool // another queued prompt was promoted since
	halted    bool // the session's work was stopped before the promotion
	Blocked   bool // a turn failed while the prompt stays pending, because the context cannot be read
	work      session.NextWork

	Agent   string
	Model   session.ModelRef
	Said    []string // the texts of the newest turn that said something
	turn    session.MessageID
	Turns   int
	Tokens  session.Tokens
	Cost    session.USD
	Denials []Denial
	Failure *session.Failure
	Limit   string // the one of the budget that was reached last: usd, tokens, turns, wall
	Finish  string
	Value   jsontext.Value // the answer, where the prompt asked for a form

	tasks map[session.JobID]bool // that run in the background
	asks  map[session.AskID]session.PendingAsk
	calls map[session.PartID]string // tool names
	seen  map[session.PartID]bool   // calls whose denial is listed
}

// NewProgress returns the progress of a prompt that was admitted with the event after, or before it.
func NewProgress(prompt session.MessageID, after int64) *Progress {
	return &Progress{
		prompt: prompt, Cursor: after, asks: map[session.AskID]session.PendingAsk{}, tasks: map[session.JobID]bool{},
		calls: map[session.PartID]string{}, seen: map[session.PartID]bool{},
	}
}

// Apply takes the next event and reports whether it belongs to the prompt. Events seen before do not.
func (s *Progress) Apply(e session.Event) bool {
	if e.Seq <= s.Cursor {
		return false
	}
	s.Cursor = e.Seq
	switch d := e.Data.(type) {
	case *session.InputWithdrawn:
		s.Withdrawn = s.Withdrawn || d.MessageID == s.prompt
	case *session.Prompted:
		if d.MessageID == s.prompt {
			s.Begun = true
		} else if s.Begun && d.Delivery == session.Queue {
			s.Over = true
		}
	}
	s.work.Apply(e.Data)
	s.halted = s.halted || !s.Begun && isAbort(e.Data)
	if d, ok := e.Data.(*session.StepFailed); ok && d.Error.Reason == session.ReasonContext && !s.Begun {
		s.Blocked, s.Failure = true, &d.Error
	}
	if !s.IsUnderWay() {
		return false
	}
	s.applyTurn(e.Data)
	s.ApplyAsk(e.Data)
	return true
}

// isAbort reports whether the event says that the user stopped the session's work.
func isAbort(d session.EventData) bool {
	switch d := d.(type) {
	case *session.StepFailed:
		return d.Error.Reason == session.ReasonAborted
	case *session.Interrupted:
		return d.Error.Reason == session.ReasonAborted
	}
	return false
}

// IsUnderWay reports whether what happens in the session belongs to the prompt.
func (s *Progress) IsUnderWay() bool { return s.Begun && !s.Over }

// IsComplete reports whether an idle session has nothing left to do for the prompt.
func (s *Progress) IsComplete() bool {
	return s.Over || s.Withdrawn || s.Begun && !s.work.Next().NeedsTurn() || !s.Begun && (s.halted || s.Blocked)
}

// HasTasks reports whether tasks run in the background whose reports belong to the work. An idle session has none,
// unless the process that ran them has ended.
func (s *Progress) HasTasks() bool { return len(s.tasks) > 0 }

// applyTurn folds an event of the prompt's work.
func (s *Progress) applyTurn(d session.EventData) {
	// Turns, the jobs that they start, and the requests beside them.
	switch d := d.(type) {
	case *session.StepStarted:
		s.Agent, s.Model, s.Turns, s.Failure = d.Agent, d.Model, s.Turns+1, nil
	case *session.TextEnded:
		if s.turn != d.AssistantMessageID {
			s.turn, s.Said = d.AssistantMessageID, nil
		}
		s.Said = append(s.Said, d.Text)
	case *session.ToolCalled:
		s.calls[d.PartID] = d.Tool
	case *session.StepEnded:
		s.Finish, s.Cost, s.Tokens = d.Finish, s.Cost+d.Cost, s.Tokens.Add(d.Tokens)
		s.Value = d.Structured
	case *session.StepFailed:
		s.Failure, s.Cost = &d.Error, s.Cost+d.Cost
		if d.Tokens != nil {
			s.Tokens = s.Tokens.Add(*d.Tokens)
		}
	case *session.Interrupted:
		s.Failure = &d.Error
	case *session.JobStarted:
		if d.Job.Task != nil {
			s.tasks[d.Job.ID] = true
		}
	case *session.JobEnded:
		delete(s.tasks, d.JobID)
	case *session.CompactionEnded:
		s.addRequest(d.Request)
	case *session.CompactionFailed:
		s.addRequest(d.Request)
	case *session.Retried:
		s.addRequest(d.Request)
	}
}

// addRequest adds the cost of a request that is no turn; nil is unknown.
func (s *Progress) addRequest(r *session.RequestCost) {
	if r != nil {
		s.Cost, s.Tokens = s.Cost+r.Cost, s.Tokens.Add(r.Tokens)
	}
}

// actionBudget is the action of an ask to go on after a limit.
const actionBudget = "budget"

// ApplyAsk takes an ask or its reply, also of a task's session, for the list of denials.
func (s *Progress) ApplyAsk(d session.EventData) {
	switch d := d.(type) {
	case *session.PermissionAsked:
		s.asks[d.Ask.ID] = d.Ask
		if d.Ask.Action == actionBudget && len(d.Ask.Resources) == 1 {
			s.Limit = d.Ask.Resources[0]
		}
	case *session.PermissionReplied:
		ask := s.asks[d.AskID]
		delete(s.asks, d.AskID)
		// An interrupt and a limit are no denials.
		if d.Reply != session.ReplyReject || d.By == "interrupt" || ask.Action == actionBudget {
			return
		}
		if ask.Source != nil { // one that waited before the work was followed has none
			s.seen[ask.Source.PartID] = true
		}
		if ask.IsQuestion() && d.Message != "" { // the policy answered, and the model continued
			return
		}
		n := Denial{Action: ask.Action, Resources: slices.Clip(ask.Resources), By: string(d.By), Message: d.Message}
		if ask.Source != nil {
			n.Tool = s.calls[ask.Source.PartID]
		}
		s.Denials = append(s.Denials, n)
	case *session.ToolFailed:
		if d.Error.Reason == session.ReasonDenied && !s.seen[d.PartID] {
			name := cmp.Or(s.calls[d.PartID], "a call of a subagent")
			s.Denials = append(s.Denials, Denial{Action: name, Tool: name, By: "rule", Message: d.Error.Message})
		}
	}
}

// Denial is a permission that was refused. Its JSON form is a promise to scripts.
type Denial struct {
	Action    string   `json:"action"`
	Resources []string `json:"resources"`
	Tool      string   `json:"tool,omitzero"`
	By        string   `json:"by"` // "user", "policy", "cascade" or "rule"
	Message   string   `json:"message,omitzero"`
}
