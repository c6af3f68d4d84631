package run

import (
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/view"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/go-json-experiment/json/jsontext"
)

// promptProgress folds the events that belong to one prompt, from its promotion until the session is idle or turns to
// the next queued prompt, into the outcome of the work.
type promptProgress struct {
	prompt session.MessageID

	cursor    int64 // of the last event seen; -1 none
	admitted  bool
	withdrawn bool
	begun     bool // promoted
	over      bool // another queued prompt was promoted since
	halted    bool // the session's work was stopped before the promotion
	blocked   bool // a turn failed while the prompt stays pending, because the context cannot be read
	work      session.Progress

	agent   string
	model   session.ModelRef
	said    []string // the texts of the newest turn that said something
	turn    session.MessageID
	turns   int
	tokens  session.Tokens
	cost    session.USD
	denials []view.Denial
	failure *session.Failure
	limit   string // the one of the budget that was reached last: usd, tokens, turns, wall
	finish  string
	value   jsontext.Value // the answer, where the prompt asked for a form

	asks  map[session.AskID]session.PendingAsk
	calls map[session.PartID]string // tool names
	seen  map[session.PartID]bool   // calls whose denial is listed
}

func newPromptProgress(prompt session.MessageID, after int64) *promptProgress {
	return &promptProgress{
		prompt: prompt, cursor: after, asks: map[session.AskID]session.PendingAsk{},
		calls: map[session.PartID]string{}, seen: map[session.PartID]bool{},
	}
}

// apply takes the next event and reports whether it belongs to the prompt. Events seen before do not.
func (s *promptProgress) apply(e session.Event) bool {
	if e.Seq <= s.cursor {
		return false
	}
	s.cursor = e.Seq
	switch d := e.Data.(type) {
	case *session.PromptAdmitted:
		s.admitted = s.admitted || d.MessageID == s.prompt
	case *session.InputWithdrawn:
		s.withdrawn = s.withdrawn || d.MessageID == s.prompt
	case *session.Prompted:
		if d.MessageID == s.prompt {
			s.begun = true
		} else if s.begun && d.Delivery == session.Queue {
			s.over = true
		}
	}
	s.work.Apply(e.Data)
	s.halted = s.halted || !s.begun && isAbort(e.Data)
	if d, ok := e.Data.(*session.StepFailed); ok && d.Error.Reason == session.ReasonContext && !s.begun {
		s.blocked, s.failure = true, &d.Error
	}
	if !s.begun || s.over {
		return false
	}
	s.applyTurn(e.Data)
	s.applyAsk(e.Data)
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

// isComplete reports whether an idle session has nothing left to do for the prompt.
func (s *promptProgress) isComplete() bool {
	return s.over || s.withdrawn || s.begun && !s.work.Next().NeedsTurn() || !s.begun && (s.halted || s.blocked)
}

func (s *promptProgress) applyTurn(d session.EventData) {
	switch d := d.(type) {
	case *session.StepStarted:
		s.agent, s.model, s.turns, s.failure = d.Agent, d.Model, s.turns+1, nil
	case *session.TextEnded:
		if s.turn != d.AssistantMessageID {
			s.turn, s.said = d.AssistantMessageID, nil
		}
		s.said = append(s.said, d.Text)
	case *session.ToolCalled:
		s.calls[d.PartID] = d.Tool
	case *session.StepEnded:
		s.finish, s.cost, s.tokens = d.Finish, s.cost+d.Cost, s.tokens.Add(d.Tokens)
		s.value = d.Structured
	case *session.StepFailed:
		s.failure, s.cost = &d.Error, s.cost+d.Cost
		if d.Tokens != nil {
			s.tokens = s.tokens.Add(*d.Tokens)
		}
	case *session.Interrupted:
		s.failure = &d.Error
	case *session.CompactionEnded:
		s.addRequest(d.Request)
	case *session.CompactionFailed:
		s.addRequest(d.Request)
	case *session.Retried:
		s.addRequest(d.Request)
	}
}

// addRequest adds the cost of a request that is no turn; nil is unknown.
func (s *promptProgress) addRequest(r *session.RequestCost) {
	if r != nil {
		s.cost, s.tokens = s.cost+r.Cost, s.tokens.Add(r.Tokens)
	}
}

// The actions that the engine asks for itself.
const actionBudget = "budget"

func (s *promptProgress) applyAsk(d session.EventData) {
	switch d := d.(type) {
	case *session.PermissionAsked:
		s.asks[d.Ask.ID] = d.Ask
		if d.Ask.Action == actionBudget && len(d.Ask.Resources) == 1 {
			s.limit = d.Ask.Resources[0]
		}
	case *session.PermissionReplied:
		ask := s.asks[d.AskID]
		delete(s.asks, d.AskID)
		if d.Reply != session.ReplyReject || d.By == "interrupt" || ask.Action == actionBudget {
			return
		}
		if ask.IsQuestion() && d.Message != "" { // the policy answered, and the model continued
			s.seen[ask.Source.PartID] = true
			return
		}
		n := view.Denial{Action: ask.Action, Resources: slices.Clip(ask.Resources), By: string(d.By), Message: d.Message}
		if ask.Source != nil {
			n.Tool = s.calls[ask.Source.PartID]
			s.seen[ask.Source.PartID] = true
		}
		s.denials = append(s.denials, n)
	case *session.ToolFailed:
		if d.Error.Reason == session.ReasonDenied && !s.seen[d.PartID] {
			name := s.calls[d.PartID]
			s.denials = append(s.denials, view.Denial{Action: name, Tool: name, By: "rule", Message: d.Error.Message})
		}
	}
}

// exitStatus says how the work came out: its code and, unless that is ok, why.
func (s *promptProgress) exitStatus() (cli.ExitCode, string) {
	switch {
	case s.withdrawn && !s.begun:
		return cli.ExitInterrupted, "the prompt was withdrawn before it was delivered"
	case !s.begun && !s.blocked:
		return cli.ExitInterrupted, "the session was interrupted before the prompt was delivered; it is pending in the " +
			"inbox (cairn inbox list)"
	case s.failure != nil:
		return cli.CodeOfReason(s.failure.Reason), s.failure.Message
	case s.finish == "content-filter" || s.finish == "error":
		return cli.ExitProvider, session.DescribeFinish(s.finish)
	case len(s.denials) == 1:
		return cli.ExitDenied, "a permission was denied: " + s.denials[0].Action
	case len(s.denials) > 1:
		return cli.ExitDenied, fmt.Sprintf("%d permissions were denied", len(s.denials))
	case len(s.said) == 0 && len(s.value) == 0 && (s.finish == "stop" || s.finish == "length"):
		return cli.ExitProvider, "the model ended its answer without text; its reasoning is in cairn session show --thinking"
	default:
		return cli.ExitOK, ""
	}
}
