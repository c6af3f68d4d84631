package embed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"regexp"
	"strconv"
	"time"

	"github.com/cairn-dev/cairn/internal/cutrune"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/sdk"
)

// Model is a language model that the program provides.
type Model struct {
	ID            string // letters, digits, '.', '_' and '-'; sessions use it as "cairn/ID"
	Name          string // for people; "" is the id
	ContextWindow int64  // tokens; 0 is unknown, and then nothing is compacted before the model refuses
	Images        bool   // it reads images; else it gets a text that says what is missing
	Documents     bool   // it reads PDFs, likewise
	// Generate answers a request: it yields what the model says, piece by piece. The first error ends it, and so does
	// ctx; two seconds later it is left alone. It is called concurrently, in a goroutine of its own, where a panic is an
	// error. The request belongs to cairn: do not change or keep it.
	Generate func(ctx context.Context, r *Request) iter.Seq2[Chunk, error]
}

// Request is one request to a model: all that it gets.
type Request struct {
	SessionID string
	System    []string // the system context, in its parts
	Messages  []Message
	Tools     []ToolDefinition // by name; a prompt with a schema adds one that takes the answer
}

// Message is an entry of the conversation. Role is sdk.RoleUser, sdk.RoleAssistant, sdk.RoleSystem, or RoleTool.
type Message struct {
	Role  sdk.Role
	Parts []Part
}

// RoleTool is the role of a message with the results of calls.
const RoleTool sdk.Role = "tool"

// Part is a piece of a message. One of its fields is set.
type Part struct {
	Text      string
	Reasoning string
	File      *sdk.File
	Call      *Call
	Result    *CallResult
}

// Call is a call of a tool by the model. Input is an object.
type Call struct {
	ID, Tool string
	Input    json.RawMessage
}

// CallResult is the outcome of the call with the id.
type CallResult struct {
	ID, Tool string
	Text     string
	Files    []sdk.File
	IsError  bool
}

// ToolDefinition describes a tool to the model. Schema is a JSON schema of an object.
type ToolDefinition struct {
	Name, Description string
	Schema            json.RawMessage
}

// Chunk is a piece of an answer. Texts continue one another. A Call is complete; one without an ID gets one. Usage is
// what the request used, and counts once, in the last chunk that has it.
type Chunk struct {
	Text      string
	Reasoning string
	Call      *Call
	Usage     *sdk.Tokens
	// Finish says why the answer ends, in its last chunk: stop, length or content-filter. "" is stop, or tool-calls after
	// a call.
	Finish string
}

// Retry returns an error of Generate after which the same request may succeed: it is sent again after a while, at the
// earliest after the duration; 0 leaves that to cairn. Without it an error ends the work.
func Retry(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryError{err, after}
}

type retryError struct {
	error
	after time.Duration
}

// Unwrap returns the cause.
func (e *retryError) Unwrap() error { return e.error }

func newModels(models []Model, logger *slog.Logger) (out []*llm.EmbeddedModel, err error) {
	name := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	seen := map[string]bool{"guide": true} // cairn's own
	for i, m := range models {
		field := "Models[" + strconv.Itoa(i) + "]"
		switch {
		case !name.MatchString(m.ID):
			return nil, newInvalid(field, "the id %q of a model is not made of letters, digits, '.', '_' and '-'", m.ID)
		case seen[m.ID]:
			return nil, newInvalid(
				field, "there is another model with the id %q: two of the program, or cairn's own guide", m.ID,
			)
		case m.Generate == nil:
			return nil, newInvalid(field, "the model %q has no function Generate", m.ID)
		}
		seen[m.ID] = true
		one := &llm.EmbeddedModel{ID: m.ID, Name: m.Name, Images: m.Images, Documents: m.Documents}
		if one.Name == "" {
			one.Name = m.ID
		}
		one.Open = func() (llm.Model, int64, error) { return model{m, logger}, m.ContextWindow, nil }
		out = append(out, one)
	}
	return out, nil
}

// model is a Model as the engine uses one.
type model struct {
	Model
	logger *slog.Logger
}

// Stream implements llm.Model.
func (m model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		ctx, dog := llm.Watch(ctx, req.Clocks)
		defer dog.Stop()
		dog.MarkConnected()
		s := stream{yield: yield}
		chunks := make(chan Chunk)
		ended := make(chan error, 1)
		generating, stop := context.WithCancel(ctx)
		defer stop()
		request := newRequest(req)
		go func() { // ends with Generate, or soon after its context
			_, err := call(generating, m.logger, "model "+m.ID, func() (struct{}, error) {
				return struct{}{}, m.generate(generating, request, chunks)
			})
			ended <- err
		}()
		for {
			select {
			case c := <-chunks:
				dog.MarkByte()
				if s.add(c); s.stopped {
					stop()
					<-ended
					return
				}
			case err := <-ended:
				s.close(ctx, err)
				return
			}
		}
	}
}

// generate sends the chunks of an answer, until ctx ends.
func (m model) generate(ctx context.Context, r *Request, chunks chan<- Chunk) error {
	for c, err := range m.Generate(ctx, r) {
		if err != nil {
			return err
		}
		select {
		case chunks <- c:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return context.Cause(ctx)
}

// stream turns chunks into events.
type stream struct {
	yield   func(llm.Event, error) bool
	begun   bool
	stopped bool   // the consumer wants no more
	open    string // the kind of the open block: "text", "reasoning" or ""
	blocks  int
	calls   int
	ids     map[string]bool // of calls
	rest    string          // the beginning of a character at the end of the newest chunk of the open block
	usage   sdk.Tokens
	reason  string
}

// close ends the stream when the answer has ended, with an error or without one.
func (s *stream) close(ctx context.Context, err error) {
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		s.end()
		s.fail(ctx, err)
		return
	}
	s.finish()
}

func (s *stream) emit(e llm.Event) {
	if !s.begun {
		s.begun = true
		s.stopped = !s.yield(llm.ResponseStart{}, nil)
	}
	if !s.stopped {
		s.stopped = !s.yield(e, nil)
	}
}

// add emits a chunk.
func (s *stream) add(c Chunk) {
	s.addText("reasoning", c.Reasoning)
	s.addText("text", c.Text)
	if c.Call != nil {
		s.end()
		s.calls++
		id := s.nameCall(c.Call.ID)
		input := string(c.Call.Input)
		if input == "" {
			input = "{}"
		}
		event := llm.ToolCallEvent{ID: id, Name: c.Call.Tool, Input: []byte(input), Raw: input}
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(input), &object) != nil || object == nil {
			event.Invalid = "the arguments are not a JSON object"
		}
		s.emit(llm.ToolInputStart{ID: id, Name: c.Call.Tool})
		s.emit(llm.ToolInputDelta{ID: id, Delta: input})
		s.emit(llm.ToolInputEnd{ID: id})
		s.emit(event)
	}
	if c.Usage != nil {
		s.usage = *c.Usage
	}
	if c.Finish != "" {
		s.reason = c.Finish
	}
}

// nameCall returns the id of a call, one that no other call of the answer has.
func (s *stream) nameCall(id string) string {
	if s.ids == nil {
		s.ids = map[string]bool{}
	}
	for n := s.calls; id == "" || s.ids[id]; n++ {
		id = "call_" + strconv.Itoa(n)
	}
	s.ids[id] = true
	return id
}

// addText continues the open block, or begins one of the kind. A character may be split over chunks.
func (s *stream) addText(kind, text string) {
	if text == "" {
		return
	}
	if s.open != kind {
		s.end()
		s.open, s.blocks = kind, s.blocks+1
		if kind == "text" {
			s.emit(llm.TextStart{ID: s.blockID()})
		} else {
			s.emit(llm.ReasoningStart{ID: s.blockID()})
		}
	}
	text = s.rest + text
	whole := len(text) - cutrune.SuffixLen(text)
	text, s.rest = text[:whole], text[whole:]
	switch {
	case text == "":
	case kind == "text":
		s.emit(llm.TextDelta{ID: s.blockID(), Delta: text})
	default:
		s.emit(llm.ReasoningDelta{ID: s.blockID(), Delta: text})
	}
}

func (s *stream) blockID() string { return s.open + "_" + strconv.Itoa(s.blocks) }

// end ends the open block.
func (s *stream) end() {
	s.rest = "" // of a character that did not come
	switch s.open {
	case "text":
		s.emit(llm.TextEnd{ID: s.blockID()})
	case "reasoning":
		s.emit(llm.ReasoningEnd{ID: s.blockID()})
	}
	s.open = ""
}

func (s *stream) finish() {
	s.end()
	reason := llm.FinishReason(s.reason)
	switch {
	case reason == "" && s.calls > 0:
		reason = llm.FinishToolCalls
	case reason == "":
		reason = llm.FinishStop
	}
	u := s.usage
	for _, n := range []*int64{&u.Input, &u.Output, &u.Reasoning, &u.CacheRead, &u.CacheWrite} {
		*n = min(max(*n, 0), maxTokens)
	}
	s.emit(llm.Finish{Reason: reason, Usage: llm.Usage{
		Input: u.Input + u.CacheRead + u.CacheWrite, Output: u.Output + u.Reasoning, Reasoning: u.Reasoning,
		CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
	}})
}

// maxTokens bounds what a model can report.
const maxTokens = 1 << 40

// fail ends the stream with an error.
func (s *stream) fail(ctx context.Context, err error) {
	if s.stopped {
		return
	}
	if ctx.Err() != nil {
		s.yield(nil, llm.AsError(ctx, err))
		return
	}
	e := &llm.Error{Class: llm.Unknown, Permanent: true, Message: err.Error(), Err: err}
	if again, ok := errors.AsType[*retryError](err); ok {
		e.Class, e.Permanent, e.RetryAfter = llm.Overloaded, false, again.after
	}
	s.yield(nil, e)
}

func newRequest(r *llm.Request) *Request {
	out := &Request{SessionID: r.Session, System: r.System}
	for _, m := range r.Messages {
		one := Message{Role: sdk.Role(m.Role)}
		for _, p := range m.Parts {
			one.Parts = append(one.Parts, newPart(p))
		}
		out.Messages = append(out.Messages, one)
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, ToolDefinition{t.Name, t.Description, json.RawMessage(t.Schema)})
	}
	return out
}

func newPart(p llm.Part) Part {
	switch p := p.(type) {
	case llm.Text:
		return Part{Text: p.Text}
	case llm.Reasoning:
		return Part{Reasoning: p.Text}
	case llm.Media:
		return Part{File: &sdk.File{Name: p.Name, MediaType: p.MediaType, Data: p.Data, URI: p.URL}}
	case llm.ToolCall:
		return Part{Call: &Call{p.ID, p.Name, json.RawMessage(p.Input)}}
	case llm.ToolResult:
		r := &CallResult{ID: p.ID, Tool: p.Name, IsError: p.IsError}
		for _, c := range p.Content {
			switch c := newPart(c); {
			case c.File != nil:
				r.Files = append(r.Files, *c.File)
			case r.Text != "":
				r.Text += "\n" + c.Text
			default:
				r.Text = c.Text
			}
		}
		return Part{Result: r}
	default:
		return Part{Text: fmt.Sprintf("[%T]", p)}
	}
}
