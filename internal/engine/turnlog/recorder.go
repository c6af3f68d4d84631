package turnlog

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// RecorderConfig of a Recorder. Journal, SessionID and Model are required.
type RecorderConfig struct {
	Journal   *Journal
	SessionID session.ID
	Agent     string
	Model     session.ModelRef
	ParentID  session.MessageID    // the prompt that the turn answers
	Prefix    *session.CachePrefix // of the request; nil if none was sent
	Altered   *session.Alteration  // of the request, by extensions; nil if none changed it
	Cost      func(llm.Usage) (cost session.USD, known bool)
	// ToolName returns the name of the local tool that a call means; nil keeps the name.
	ToolName func(name string) string
	// NoPause makes an answer that its provider paused end instead of calling for another turn.
	NoPause     bool
	AnswerBytes int // limit of one answer: text, reasoning and arguments together
	CheckBytes  int // bytes of open items that cause a checkpoint
	// Subtasks says that the calls are subtasks of a prompt, and no answer of a model.
	Subtasks bool
	// ReviewText sees a text that the model has ended, and returns what takes its place and a record of that, nil for none.
	// It may be nil.
	ReviewText func(context.Context, session.MessageID, session.PartID, string) (string, *session.Replacement)
	// OnStart is called once the turn's message is committed; nil is allowed.
	OnStart func(session.MessageID)
}

// Recorder records one turn. It belongs to one goroutine; LocalCalls may be read by others once the stream has ended.
type Recorder struct {
	config   RecorderConfig
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

// NewRecorder returns the recorder of a turn that has not begun.
func NewRecorder(c RecorderConfig) *Recorder {
	return &Recorder{config: c, items: map[string]*item{}, callByID: map[string]*Call{}}
}

// ReopenTurn returns the recorder of a turn that an earlier drain left open, with its answer if that was complete.
func ReopenTurn(c RecorderConfig, m session.MessageID, answer *session.Answer) *Recorder {
	r := NewRecorder(c)
	r.message, r.answer = m, answer
	return r
}

// MessageID returns the id of the turn's message, "" until it is committed.
func (r *Recorder) MessageID() session.MessageID { return r.message }

// HasMessage reports whether the turn's message is committed.
func (r *Recorder) HasMessage() bool { return r.message != "" }

// FinalAnswer returns how the answer ended and what it cost, nil until the provider ended it.
func (r *Recorder) FinalAnswer() *session.Answer { return r.answer }

// IsPaused reports whether the provider paused the answer, also with RecorderConfig.NoPause.
func (r *Recorder) IsPaused() bool { return r.paused }

// IsEmpty reports whether the stream has yielded no content.
func (r *Recorder) IsEmpty() bool { return r.message == "" && len(r.order) == 0 && len(r.calls) == 0 }

// LocalCalls returns the calls of local tools, in order.
func (r *Recorder) LocalCalls() []*Call { return r.calls }

// HasOpenCall reports whether a call has begun, complete or not.
func (r *Recorder) HasOpenCall() bool {
	return slices.ContainsFunc(r.order, func(it *item) bool { return it.kind == session.FragmentToolInput })
}

// AnswerTexts returns the texts of the answer, in order.
func (r *Recorder) AnswerTexts() (out []string) {
	for _, it := range r.order {
		if it.kind == session.FragmentText {
			out = append(out, string(it.text))
		}
	}
	return out
}
