package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// Event is something that happens in a session.
type Event struct {
	// Seq is the place of the event in the log of the session, from 0 on; Events resumes behind it. It is -1 of live
	// progress, which is not stored, and of an ask of a subagent, which is in the log of that session.
	Seq  int64
	Time time.Time // the zero time of live progress
	Data EventData
}

// EventData is the content of an Event: one of the types of this package with "event" in their documentation.
type EventData interface{ isEventData() }

type (
	// PromptAdmitted is the event that a prompt was recorded. It waits until the session takes it.
	PromptAdmitted struct{ PromptID, Text string }
	// PromptStarted is the event that the work on a prompt begins.
	PromptStarted struct{ PromptID, Text string }
	// TurnStarted is the event that the model begins to answer. Model has the form "provider/model#variant".
	TurnStarted struct{ MessageID, Agent, Model string }
	// TextDelta is live progress: more of the text PartID. The first one that a reader gets has the text so far. TextEnded
	// has the whole, which can be shorter if the server was killed meanwhile.
	TextDelta struct{ MessageID, PartID, Text string }
	// TextEnded is the event that a text is complete. Text is the whole.
	TextEnded struct{ MessageID, PartID, Text string }
	// ReasoningDelta is live progress: more of the model's reasoning PartID.
	ReasoningDelta struct{ MessageID, PartID, Text string }
	// ReasoningEnded is the event that a piece of reasoning is complete. Text is the whole.
	ReasoningEnded struct{ MessageID, PartID, Text string }
	// ToolCalled is the event that a call of a tool begins. Input is an object.
	ToolCalled struct {
		MessageID, PartID, CallID, Tool string
		Input                           json.RawMessage
	}
	// ToolProgress is live progress of a call: Output is what there is so far. SessionID is the session of the call, which
	// Run also yields of subagents.
	ToolProgress struct{ SessionID, MessageID, PartID, CallID, Title, Output string }
	// ToolEnded is the event that a call is over. Output is what the model reads; Failure is nil unless it failed.
	ToolEnded struct {
		MessageID, PartID, CallID, Title, Output string
		Files                                    []File
		Failure                                  *Failure
	}
	// TurnEnded is the event that a turn is over, with its calls.
	TurnEnded struct {
		MessageID string
		Finish    string   // as Message.Finish
		Failure   *Failure // nil unless it failed
		CostUSD   float64
		Tokens    Tokens
	}
	// Retrying is the event that the provider failed and is asked again At a time; the zero time is at once.
	Retrying struct {
		Attempt int
		Message string
		At      time.Time
	}
	// Asked is the event that the work waits for a reply: Client.Reply, or Client.Answer if the ask has questions. It can
	// be of a subagent.
	Asked struct{ Ask Ask }
	// Replied is the event that an ask was answered: by a program, a person, a rule or a policy.
	Replied struct {
		AskID string
		Reply Reply
	}
	// Compacted is the event that a summary took the place of the earlier history, for the model.
	Compacted struct{ MessageID, Summary string }
	// Interrupted is the event that work was stopped between two turns.
	Interrupted struct{ Failure Failure }
	// Note is live progress: a text for people, such as of a hook, about the session with the id.
	Note struct{ SessionID, Source, Text string }
	// Other is an event that has no type of its own here. Kind and Data are those of the V2 API (openapi/v2.json).
	Other struct {
		Kind string
		Data json.RawMessage
	}
)

func (PromptAdmitted) isEventData() {}
func (PromptStarted) isEventData()  {}
func (TurnStarted) isEventData()    {}
func (TextDelta) isEventData()      {}
func (TextEnded) isEventData()      {}
func (ReasoningDelta) isEventData() {}
func (ReasoningEnded) isEventData() {}
func (ToolCalled) isEventData()     {}
func (ToolProgress) isEventData()   {}
func (ToolEnded) isEventData()      {}
func (TurnEnded) isEventData()      {}
func (Retrying) isEventData()       {}
func (Asked) isEventData()          {}
func (Replied) isEventData()        {}
func (Compacted) isEventData()      {}
func (Interrupted) isEventData()    {}
func (Note) isEventData()           {}
func (Other) isEventData()          {}

// Events yields the events of the session with a Seq greater than after, those that exist and then those to come, and
// live progress between them. An after of -1 begins with the first event. A connection that breaks is restored, and
// events are neither lost nor repeated. It ends with an error: that of ctx, of the server, or of CodeUnreachable if the
// connection is not restored within a minute.
func (s *Session) Events(ctx context.Context, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := s.client.untilClosed(ctx)
		defer cancel()
		w := s.watch(ctx, follow.Options{After: after, Notes: true, Output: true})
		defer w.Stop()
		for {
			u, err := w.next(ctx)
			if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeConflict && e.Kind == api.KindCursor {
				e.Message = "after is greater than the Seq of the newest event, " + e.ID
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if e, ok := newEvent(u); ok && !yield(e, nil) {
				return
			}
		}
	}
}

// newEvent returns the event of an update; ok is false if it has none.
func newEvent(u follow.Update) (e Event, ok bool) {
	e.Seq = -1
	switch {
	case u.Event != nil:
		e.Seq, e.Data = u.Event.Seq, newEventData(*u.Event)
		if f := u.Event.Data.Stamp(); f != nil {
			e.Time = time.UnixMilli(f.Timestamp)
		}
		return e, true
	case u.Fragment != nil:
		e.Data = newDelta(*u.Fragment)
	case u.Output != nil:
		output, _ := splitContent(u.Output.Content)
		e.Data = ToolProgress{
			string(u.Output.SessionID), string(u.Output.AssistantMessageID), string(u.Output.PartID), u.Output.CallID,
			u.Output.Title, output,
		}
	case u.Note != nil:
		e.Data = Note{string(u.Note.SessionID), u.Note.Source, u.Note.Text}
	case u.Task != nil:
		switch d := u.Task.Data.(type) { // of a subagent only what the client may have to answer
		case *session.PermissionAsked:
			e.Data = Asked{newAsk(d.Ask)}
		case *session.PermissionReplied:
			e.Data = Replied{string(d.AskID), Reply(d.Reply)}
		}
	}
	return e, e.Data != nil
}

// newDelta returns what a fragment adds; nil for one that is not of a text.
func newDelta(f session.Fragment) EventData {
	switch f.Item {
	case session.FragmentText:
		return TextDelta{string(f.MessageID), string(f.PartID), f.Delta}
	case session.FragmentReasoning:
		return ReasoningDelta{string(f.MessageID), string(f.PartID), f.Delta}
	default:
		return nil
	}
}

// newTime returns a time of the server; the zero time if it is 0.
func newTime(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// newEventData returns the content of a stored event: Other if it has no type of its own.
func newEventData(e session.Event) EventData {
	switch d := e.Data.(type) {
	case *session.PromptAdmitted:
		return PromptAdmitted{string(d.MessageID), d.Prompt.Text}
	case *session.Prompted:
		return PromptStarted{string(d.MessageID), d.Prompt.Text}
	case *session.StepStarted:
		return TurnStarted{string(d.AssistantMessageID), d.Agent, formatModel(&d.Model)}
	case *session.TextEnded:
		return TextEnded{string(d.AssistantMessageID), string(d.PartID), d.Text}
	case *session.ReasoningEnded:
		return ReasoningEnded{string(d.AssistantMessageID), string(d.PartID), d.Text}
	case *session.ToolCalled:
		return ToolCalled{
			string(d.AssistantMessageID), string(d.PartID), d.CallID, d.Tool, json.RawMessage(d.Input),
		}
	case *session.ToolSuccess:
		output, files := splitContent(d.Content)
		return ToolEnded{
			string(d.AssistantMessageID), string(d.PartID), d.CallID, d.Title, output,
			append(files, newFiles(d.Attachments)...), nil,
		}
	case *session.ToolFailed:
		return ToolEnded{
			MessageID: string(d.AssistantMessageID), PartID: string(d.PartID), CallID: d.CallID,
			Failure: newFailure(&d.Error),
		}
	case *session.StepEnded:
		return TurnEnded{string(d.AssistantMessageID), d.Finish, nil, d.Cost.Dollars(), newTokens(d.Tokens)}
	case *session.StepFailed:
		out := TurnEnded{MessageID: string(d.AssistantMessageID), Failure: newFailure(&d.Error), CostUSD: d.Cost.Dollars()}
		if d.Tokens != nil {
			out.Tokens = newTokens(*d.Tokens)
		}
		return out
	case *session.Retried:
		return Retrying{d.Attempt, d.Error.Message, newTime(d.Next)}
	case *session.PermissionAsked:
		return Asked{newAsk(d.Ask)}
	case *session.PermissionReplied:
		return Replied{string(d.AskID), Reply(d.Reply)}
	case *session.CompactionEnded:
		return Compacted{string(d.MessageID), d.Text}
	case *session.Interrupted:
		return Interrupted{*newFailure(&d.Error)}
	default:
		return newOther(e)
	}
}

// newOther returns an event in the form of the V2 API.
func newOther(e session.Event) EventData {
	raw, err := jsonv2.Marshal(e.Data, jsonv2.Deterministic(true))
	if err != nil { // cannot be: it was decoded from that form
		raw = []byte("null")
	}
	return Other{string(e.Data.Kind()), raw}
}
