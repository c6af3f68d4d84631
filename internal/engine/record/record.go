// Package record turns what a model streams into the durable events of its turn. It knows neither the engine nor the
// loop: a Recorder gets the journal (log, ids and clock), the identity of the turn and its limits, and can be tested
// with nothing else.
//
//	llm.Event -> Record -> items that are open or ended (item.go), calls (call.go)
//	                    -> Commit: what is due, in one append (commit.go)
//	                    -> Checkpoint: the text of open items, so that a crash loses little
//	the end             -> CommitCalls, End, Fail or Abandon (end.go)
//
// Live readers see text as it comes, as fragments; the log gets it at checkpoints and at the end of its item.
package record

import (
	"context"
	"fmt"

	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// Config of a Recorder. Journal, SessionID and Model are required.
type Config struct {
	Journal   *journal.Journal
	SessionID session.ID
	Agent     string
	Model     session.ModelRef
	ParentID  session.MessageID    // the prompt that the turn answers
	Prefix    *session.CachePrefix // of the request; nil if none was sent
	Cost      func(llm.Usage) session.USD
	// ToolName returns the name of the local tool that a call means; nil keeps the name.
	ToolName func(name string) string
	// NoPause makes an answer that its provider paused end instead of calling for another turn.
	NoPause     bool
	AnswerBytes int // limit of one answer: text, reasoning and arguments together
	CheckBytes  int // bytes of open items that cause a checkpoint
	// OnStart is called once the turn's message is committed; nil is allowed.
	OnStart func(session.MessageID)
}

// Recorder records one turn. It belongs to one goroutine; Calls may be read by others once the stream has ended.
type Recorder struct {
	config   Config
	message  session.MessageID // "" until the first commit
	start    session.PartID    // of the message's start, allocated before its items
	items    map[string]*item
	order    []*item
	unsaved  int // bytes of open items that no checkpoint has
	size     int // bytes of the answer
	calls    []*Call
	callByID map[string]*Call // by the provider's id, hosted calls included
	answer   *session.Answer
	paused   bool // the provider paused the answer
}

// New returns the recorder of a turn that has not begun.
func New(c Config) *Recorder {
	return &Recorder{config: c, items: map[string]*item{}, callByID: map[string]*Call{}}
}

// Reopen returns the recorder of a turn that an earlier drain left open, with its answer if that was complete.
func Reopen(c Config, m session.MessageID, answer *session.Answer) *Recorder {
	r := New(c)
	r.message, r.answer = m, answer
	return r
}

// MessageID returns the id of the turn's message, "" until it is committed.
func (r *Recorder) MessageID() session.MessageID { return r.message }

// HasMessage reports whether the turn's message is committed.
func (r *Recorder) HasMessage() bool { return r.message != "" }

// Finished returns how the answer ended and what it cost, nil until the provider ended it.
func (r *Recorder) Finished() *session.Answer { return r.answer }

// IsPaused reports whether the provider paused the answer, also with Config.NoPause.
func (r *Recorder) IsPaused() bool { return r.paused }

// IsEmpty reports whether the stream has yielded no content.
func (r *Recorder) IsEmpty() bool { return r.message == "" && len(r.order) == 0 && len(r.calls) == 0 }

// Calls returns the calls of local tools, in order.
func (r *Recorder) Calls() []*Call { return r.calls }

// Texts returns the texts of the answer, in order.
func (r *Recorder) Texts() (out []string) {
	for _, it := range r.order {
		if it.kind == session.FragmentText {
			out = append(out, string(it.text))
		}
	}
	return out
}

// Record records one event of the stream. Its errors are those of the commit, an *llm.Error for an event that breaks
// the protocol, and a *TooLongError.
func (r *Recorder) Record(ctx context.Context, ev llm.Event) error {
	switch ev := ev.(type) {
	case llm.ResponseStart:
		return fault.Point(ctx, fault.TurnHeaders)
	case llm.TextStart:
		return r.startItem(ctx, &item{kind: session.FragmentText, id: ev.ID})
	case llm.TextDelta:
		return r.appendDelta(ctx, session.FragmentText, ev.ID, ev.Delta)
	case llm.TextEnd:
		return r.endItem(session.FragmentText, ev.ID, ev.Metadata)
	case llm.ReasoningStart:
		return r.startItem(ctx, &item{kind: session.FragmentReasoning, id: ev.ID, meta: ev.Metadata})
	case llm.ReasoningDelta:
		return r.appendDelta(ctx, session.FragmentReasoning, ev.ID, ev.Delta)
	case llm.ReasoningEnd:
		return r.endItem(session.FragmentReasoning, ev.ID, ev.Metadata)
	case llm.ToolInputStart:
		return r.startItem(ctx, &item{kind: session.FragmentToolInput, id: ev.ID, name: ev.Name})
	case llm.ToolInputDelta:
		return r.appendDelta(ctx, session.FragmentToolInput, ev.ID, ev.Delta)
	case llm.ToolInputEnd:
		return r.endItem(session.FragmentToolInput, ev.ID, nil)
	case llm.ToolCallEvent:
		return r.recordCall(ctx, ev)
	case llm.HostedResult:
		return r.recordHostedResult(ctx, ev)
	case llm.Finish:
		return r.recordFinish(ev)
	default:
		return violationf("an event of type %T", ev)
	}
}

// violationf returns the failure of a stream that breaks the protocol.
func violationf(format string, args ...any) error {
	text := "the provider broke its protocol: " + fmt.Sprintf(format, args...)
	return &llm.Error{Class: llm.Malformed, Message: text}
}
