package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// Prompt is what a session is asked to do.
type Prompt struct {
	Text  string
	Files []File
	// ID, if it is set, begins with "msg_". The same prompt with the same id is admitted once, so that a program that does
	// not know whether it was admitted can repeat it. "" chooses one.
	ID    string
	Agent string // from this prompt on; "" leaves that of the session
	Model string // from this prompt on, as "provider/model#variant"; "" leaves that of the session
	// Queue waits until the session is idle. Without it, a prompt to a session at work is taken at the next turn.
	Queue bool
	Asks  AskPolicy
	// Schema, a JSON schema of an object, makes the answer one JSON value that is valid by it: Result.Value.
	Schema json.RawMessage
}

// AskPolicy says how asks of the work on a prompt are answered. Rules that deny hold in any case.
type AskPolicy string

// The policies. With AskWait the work waits until Client.Reply or a person answers.
const (
	AskWait  AskPolicy = ""
	AskDeny  AskPolicy = "deny"  // each is denied, and the model goes on
	AskAllow AskPolicy = "allow" // each is allowed, but for those that only a person may allow
	AskEdits AskPolicy = "edits" // changes of files are allowed; all else waits
	AskFail  AskPolicy = "fail"  // the first one is denied and ends the work
)

// Result is how the work on a prompt came out.
type Result struct {
	Text    string          // the model's last words: the texts of the newest turn that has any
	Value   json.RawMessage // the answer of a prompt with a Schema
	Agent   string
	Model   string // as "provider/model#variant"
	Finish  string // as Message.Finish, of the last turn
	Turns   int
	CostUSD float64 // 0 also if no price is known
	Tokens  Tokens
	Denied  []string // the actions that were denied; not questions that AskDeny answered, after which the model went on
}

// RunError is the error of work that ended without an answer. Result is how far it came.
type RunError struct {
	Failure
	Result Result
}

// Error returns the message of the failure.
func (e *RunError) Error() string { return e.Message }

// Prompt records a prompt and returns its id. If the connection breaks before the answer, the prompt is sent again for
// a minute; it is admitted once. After an error of CodeUnreachable it may have been admitted: the same prompt with the
// id that is returned settles that. The work begins by itself, and goes on when the program ends. Run and Do follow it.
func (s *Session) Prompt(ctx context.Context, p Prompt) (id string, err error) {
	r, err := s.newRequest(p)
	if err != nil {
		return "", err
	}
	_, err = s.admit(ctx, r)
	return string(r.ID), err
}

// admit sends a prompt until the server has recorded it.
func (s *Session) admit(ctx context.Context, r api.PromptRequest) (in *session.Input, err error) {
	err = s.client.callUntilAnswered(ctx, func(ctx context.Context) (err error) {
		in, err = s.client.api.Prompt(ctx, s.id, r)
		return err
	})
	return in, err
}

// newRequest returns the request for a prompt, with an id.
func (s *Session) newRequest(p Prompt) (api.PromptRequest, error) {
	model, err := parseModel(p.Model)
	if err != nil {
		return api.PromptRequest{}, err
	}
	r := api.PromptRequest{
		ID: session.MessageID(p.ID), Delivery: session.Steer, Asks: session.AskPolicy(p.Asks),
		Prompt: &session.Prompt{Text: p.Text, Agent: p.Agent, Model: model},
	}
	if r.ID == "" {
		r.ID = session.MessageID(s.client.ids.New(session.PrefixMessage))
	}
	if p.Queue {
		r.Delivery = session.Queue
	}
	for _, f := range p.Files {
		r.Prompt.Files = append(r.Prompt.Files, f.encode())
	}
	if p.Schema != nil {
		if !json.Valid(p.Schema) {
			return r, newInvalid("Schema", "the schema is not valid JSON")
		}
		r.Prompt.Format = &session.Format{Schema: []byte(p.Schema)}
	}
	return r, nil
}

// Do gives the session a prompt and returns its result when the work is done. If ctx ends before, the work goes on
// (Interrupt stops it). Since nothing else may answer, the asks of a prompt with AskWait are denied; Run lets the
// program answer them. The error of work that failed is a *RunError. After one of CodeUnreachable the prompt may have
// been admitted: with Prompt.ID set, the same call again returns the result of the same work.
func (s *Session) Do(ctx context.Context, p Prompt) (*Result, error) {
	if p.Asks == AskWait {
		p.Asks = AskDeny
	}
	var out Result
	for _, err := range s.run(ctx, p, follow.Options{}, &out) {
		if err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// Run gives the session a prompt and yields what happens in the work on it until that is done, without what belongs to
// other prompts. If the loop ends before, or ctx, the work goes on (Interrupt stops it). Answer what it asks, or set
// Prompt.Asks: otherwise it waits. If the work failed, the last thing yielded is a *RunError.
//
// A server allows a program 64 event streams (limits.streams of its configuration). A Run and an Events have two, a Do
// one, and each subagent at work of a Run or a Do another one. Beyond that the error is of CodeTooMany, and the work
// goes on.
func (s *Session) Run(ctx context.Context, p Prompt) iter.Seq2[Event, error] {
	return s.run(ctx, p, follow.Options{Notes: true, Output: true}, new(Result))
}

// run is Run with what o reports of the work. It sets out when the work is done.
func (s *Session) run(ctx context.Context, p Prompt, o follow.Options, out *Result) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r, err := s.newRequest(p)
		if err != nil {
			yield(Event{}, err)
			return
		}
		ctx, cancel := s.client.untilClosed(ctx)
		defer cancel()
		// Follow it from its admission on, which is an earlier one if the prompt was sent before.
		in, err := s.admit(ctx, r)
		if err != nil {
			yield(Event{}, err)
			return
		}
		w := work{Work: follow.Work{
			Client: s.client.api, ID: s.id, Request: r, Progress: follow.NewProgress(r.ID, in.AdmittedSeq-1),
		}}
		o.After, o.Tasks = in.AdmittedSeq-1, true
		w.watch = s.watch(ctx, o)
		defer w.watch.Stop()
		w.watch.ExpectIdle()
		if err = w.follow(ctx, yield); errors.Is(err, errStopped) {
			return
		}
		if err == nil {
			*out, err = w.result()
		}
		if err != nil {
			yield(Event{}, err)
		}
	}
}

// errStopped says that the caller wants no more events.
var errStopped = errors.New("stopped")

// work is the work on one prompt.
type work struct {
	follow.Work
	watch *watch
}

// follow yields events until the work is done.
func (w *work) follow(ctx context.Context, yield func(Event, error) bool) error {
	for {
		u, err := w.watch.next(ctx)
		if err != nil {
			return err
		}
		isOwn := w.Progress.IsUnderWay()
		switch {
		case u.Event != nil:
			isOwn = w.Progress.Apply(*u.Event) || isAdmission(*u.Event, w.Request.ID)
		case u.Task != nil && isOwn:
			w.Progress.ApplyAsk(u.Task.Data)
		case u.Found: // the process that worked may have ended
			w.watch.ExpectIdle()
		case u.Failed != nil:
			return publicError(u.Failed.Err)
		case u.Idle && w.IsDone():
			return nil
		case u.Idle:
			if err := w.Resume(w.watch.Watch); err != nil {
				return &Error{Code: CodeUnavailable, Message: err.Error()}
			}
		}
		if e, ok := newEvent(u); ok && isOwn && !yield(e, nil) {
			return errStopped
		}
		if w.Progress.Over || w.Progress.Withdrawn {
			return nil
		}
	}
}

func isAdmission(e session.Event, id session.MessageID) bool {
	d, ok := e.Data.(*session.PromptAdmitted)
	return ok && d.MessageID == id
}

// result returns how the work came out.
func (w *work) result() (Result, error) {
	p := w.Progress
	r := Result{
		Text: strings.Join(p.Said, "\n\n"), Value: json.RawMessage(p.Value), Agent: p.Agent, Model: formatModel(&p.Model),
		Finish: p.Finish, Turns: p.Turns, CostUSD: p.Cost.Dollars(), Tokens: newTokens(p.Tokens),
	}
	for _, d := range p.Denials {
		r.Denied = append(r.Denied, d.Action)
	}
	switch {
	case p.Withdrawn:
		return r, &RunError{Failure{"withdrawn", "the prompt was withdrawn"}, r}
	case !p.Begun && !p.Blocked:
		return r, &RunError{Failure{
			string(session.ReasonInterrupted), "the session was interrupted before the prompt was begun; it is pending, and " +
				"begins when the session works again",
		}, r}
	case p.Failure != nil:
		return r, &RunError{*newFailure(p.Failure), r}
	default:
		return r, nil
	}
}
