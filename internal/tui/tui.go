// Package tui is a talk with a session of a server, line by line: what is typed are prompts, answers to what is
// asked, and words with a slash; what happens is shown as it comes. It speaks OpenCode's V1 contract, so the server may be
// cairn's or OpenCode's own. It needs no more of a terminal than lines, and works in pipes too.
//
// One goroutine has all that is known of the talk. What takes time is done beside it, and comes back as a function
// to call, so that neither a slow server nor a silent one keeps Ctrl-C from being heard.
package tui

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/peer"
	"github.com/cairn-dev/cairn/internal/session"
)

// Screen is where the talk is shown. What others wrote comes as they wrote it: making it harmless is the screen's.
type Screen interface {
	Said(text string)              // by the model, as it comes
	SaidAll()                      // that was the end of a text
	Called(c Call)                 // a tool
	Told(text string)              // a prompt of somebody else's
	Line(text string)              // of ours
	Note(text string)              // of ours, to be heeded
	Asked(a session.PendingAsk)    // a permission is wanted; the ways to answer follow as a Line
	Questioned(q session.Question) // answers are wanted
	Ready(answer bool)             // for a line, which may be an answer
	Typed()                        // a line was
}

// Call is a tool's call: that it began, or that it ended without the beginning having been shown, or why it failed.
type Call struct {
	Tool   string
	Input  jsontext.Value
	Ended  bool
	Failed string
}

// Begin says which session it is to be.
type Begin struct {
	Session string      // go on with this one
	Last    bool        // go on with the newest of the directory
	Fork    bool        // go on with a copy of it
	Rules   []peer.Rule // of a session that is made
	History int         // how many of its messages are shown; less than 0 is the last prompt with its answer
}

// Config is a talk to be had.
type Config struct {
	Client     *peer.Client
	Screen     Screen
	Input      io.Reader
	Interrupts <-chan struct{} // Ctrl-C
	Person     bool            // somebody reads and types; else each line is a prompt, and whatever asks is refused
	Begin      Begin
	Prompt     string // the first one
	Agent      string
	Model      *peer.Model
	Auto       bool // every ask is answered with once
}

// Outcome is what came of it.
type Outcome struct {
	Session string // the last one, "" if there was none
	Denied  int    // permissions that nobody could be asked for
	Failure string // of the work, the last that the server told
	Working bool   // the session was at work when it was left
}

// ErrLeft is Ctrl-C, twice.
var ErrLeft = errors.New("left with Ctrl-C")

// ErrNoSession says that there is nothing to go on with.
var ErrNoSession = errors.New("there is no session to continue")

// Run has the talk until it is left, the input ends, or the server cannot be reached.
func Run(ctx context.Context, c Config) (Outcome, error) {
	t := &talk{
		Config: c, events: make(chan heard), done: make(chan func(context.Context)), lines: make(chan typed),
		agent: c.Agent, model: c.Model,
	}
	if err := t.begin(ctx); err != nil {
		return t.outcome(), err
	}
	ctx, cancel := context.WithCancel(ctx)
	t.beside.Go(func() { t.follow(ctx) })
	go t.read(ctx) // ends with the input: nothing else can end a read of a terminal
	defer func() { // the others end with ctx
		cancel()
		t.beside.Wait()
	}()
	err := t.loop(ctx)
	return t.outcome(), err
}

// talk is the talk.
type talk struct {
	Config
	events chan heard
	done   chan func(context.Context)
	lines  chan typed
	beside sync.WaitGroup
	asked  atomic.Int64 // asks that were put on the screen, for the reader of lines

	room            // what is known of the session
	agent    string // of the next prompts, "" leaves it to the server
	model    *peer.Model
	waiting  []peer.Prompt // to be sent, one after another
	sending  bool
	doubt    <-chan time.Time // when to ask what the session is at
	tries    int              // how much is done beside
	up       bool             // events come
	lost     bool             // the stream broke
	warned   bool             // Ctrl-C once
	ended    bool             // the input
	leaving  bool
	stopped  bool // with Ctrl-C, where nobody types
	failure  string
	denied   int
	numbered []string // what the last list was of, to choose from by number
}

func (t *talk) outcome() Outcome {
	return Outcome{Session: t.id, Denied: t.denied, Failure: t.failure, Working: t.atWork()}
}

// loop hears one thing after another.
func (t *talk) loop(ctx context.Context) error {
	if t.Prompt != "" {
		t.prompt(peer.Prompt{Parts: []peer.Part{{Type: "text", Text: t.Prompt}}}, t.Prompt)
	}
	for {
		t.send(ctx)
		if t.leaving || t.ended && t.quiet() {
			return t.end()
		}
		t.ready()
		lines := t.lines
		if !t.Person && !t.quiet() {
			lines = nil // one prompt after another
		}
		select {
		case l := <-lines:
			t.typed(ctx, l)
		case h := <-t.events:
			if err := t.hear(ctx, h); err != nil {
				return err
			}
		case f := <-t.done:
			f(ctx)
		case <-t.doubt:
			if t.doubt = nil; t.owed {
				t.lookAgain(ctx)
			}
		case <-t.Interrupts:
			if t.interrupted(ctx) {
				return ErrLeft
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// end is how it ends by itself.
func (t *talk) end() error {
	if t.stopped {
		return ErrLeft
	}
	return nil
}

// quiet reports that nothing is under way.
func (t *talk) quiet() bool { return !t.atWork() && !t.sending && len(t.waiting) == 0 }

// ready asks for a line, if somebody is there to type one and nothing is being shown.
func (t *talk) ready() {
	if !t.Person {
		return
	}
	if answer := len(t.asks) > 0; answer || t.quiet() && t.up && t.tries == 0 {
		t.Screen.Ready(answer)
	}
}

// callTime bounds what is done beside, but for work that lasts as long as it lasts.
const callTime = 30 * time.Second

// aside does something that may take time. What it returns is called in the loop, with the loop's context.
func (t *talk) aside(ctx context.Context, f func(context.Context) func(context.Context)) {
	t.beside.Go(func() {
		then := f(ctx)
		select {
		case t.done <- then:
		case <-ctx.Done():
		}
	})
}

// try is aside for one exchange or some.
func (t *talk) try(ctx context.Context, f func(context.Context) error, then func(context.Context, error)) {
	t.tries++
	t.aside(ctx, func(ctx context.Context) func(context.Context) {
		ctx, cancel := context.WithTimeout(ctx, callTime)
		defer cancel()
		err := f(ctx)
		return func(ctx context.Context) {
			t.tries--
			then(ctx, err)
		}
	})
}

// call is try with failures told; ok is called if there was none.
func (t *talk) call(ctx context.Context, f func(context.Context) error, ok func()) {
	t.try(ctx, f, func(_ context.Context, err error) {
		switch {
		case err != nil:
			t.trouble(err)
		case ok != nil:
			ok()
		}
	})
}

// trouble tells what a server refused.
func (t *talk) trouble(err error) {
	if e, ok := errors.AsType[*peer.Error](err); ok {
		t.Screen.Note(e.Message)
		return
	}
	t.Screen.Note(err.Error())
}

// interrupted stops the work, and reports whether it is to be left: when that was asked for twice, or nothing goes on and
// nobody types.
func (t *talk) interrupted(ctx context.Context) bool {
	if t.warned || !t.Person && !t.atWork() {
		return true
	}
	t.warned, t.waiting = true, nil
	if !t.Person {
		t.ended, t.stopped = true, true
	}
	if !t.atWork() {
		t.Screen.Note("Ctrl-C again leaves, and so does /quit")
		return false
	}
	t.Screen.Note("stopping; Ctrl-C again leaves")
	t.abort(ctx)
	return false
}

func (t *talk) abort(ctx context.Context) {
	if id := t.id; id != "" {
		t.call(ctx, func(ctx context.Context) error { return t.Client.Abort(ctx, id) }, nil)
	}
}
