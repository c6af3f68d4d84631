package embed_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cairn-dev/cairn/sdk"
	"github.com/cairn-dev/cairn/sdk/cairntest"
	"github.com/cairn-dev/cairn/sdk/embed"
)

// newFuncModel returns a model that does what its function does with each request.
func newFuncModel(f func(ctx context.Context, yield func(embed.Chunk, error) bool)) embed.Model {
	return embed.Model{ID: "m", Generate: func(ctx context.Context, _ *embed.Request) iter.Seq2[embed.Chunk, error] {
		return func(yield func(embed.Chunk, error) bool) { f(ctx, yield) }
	}}
}

// A model that panics or ends its goroutine fails the work, and takes nothing else with it.
func TestModelBreaks(t *testing.T) {
	for name, c := range map[string]struct {
		f    func()
		text string
	}{
		"panic": {func() { panic("boom") }, "it panicked: boom"},
		"exit":  {runtime.Goexit, "it ended its goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			model := newFuncModel(func(context.Context, func(embed.Chunk, error) bool) { c.f() })
			s := newSession(t, cairntest.Open(t, &embed.Options{Models: []embed.Model{model}}).Client())
			_, err := s.Do(t.Context(), sdk.Prompt{Text: "go"})
			if failed, ok := errors.AsType[*sdk.RunError](err); !ok || !strings.Contains(failed.Message, c.text) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// An interrupt returns although the model, or a tool, does not.
func TestInterruptLeavesFunctions(t *testing.T) {
	release, started := make(chan struct{}), make(chan struct{}, 1)
	defer close(release)
	wait := func() {
		started <- struct{}{}
		<-release
	}
	tool := embed.Tool{Name: "wait", Run: func(context.Context, embed.ToolCall) (embed.ToolResult, error) {
		wait()
		return embed.ToolResult{}, nil
	}}
	for name, o := range map[string]*embed.Options{
		"model": {Models: []embed.Model{newFuncModel(func(context.Context, func(embed.Chunk, error) bool) { wait() })}},
		"tool": {
			Models: []embed.Model{cairntest.NewModel(cairntest.Turn(cairntest.Call("wait", nil))).Model()},
			Tools:  []embed.Tool{tool},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, cairntest.Open(t, o).Client())
			if _, err := s.Prompt(t.Context(), sdk.Prompt{Text: "go"}); err != nil {
				t.Fatal(err)
			}
			<-started
			if err := s.Interrupt(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// What a model says is joined over its chunks, also within a character; calls have ids of their own, and arguments that
// are no object do not reach the tool.
func TestOddChunks(t *testing.T) {
	var ran atomic.Int32 // calls of one turn run at the same time
	turn := 0
	model := newFuncModel(func(_ context.Context, yield func(embed.Chunk, error) bool) {
		if turn++; turn > 1 {
			yield(embed.Chunk{Text: "\xc3"}, nil)
			yield(embed.Chunk{Text: "\xa4rger k\xc3"}, nil)
			yield(embed.Chunk{Text: "\xa4se"}, nil)
			return
		}
		yield(embed.Chunk{Call: &embed.Call{ID: "call_2", Tool: "count"}}, nil)
		yield(embed.Chunk{Call: &embed.Call{Tool: "count"}}, nil)
		yield(embed.Chunk{Call: &embed.Call{Tool: "count", Input: []byte("[1]")}}, nil)
		yield(embed.Chunk{Usage: &sdk.Tokens{Input: -1, Output: 2}}, nil)
	})
	tool := embed.Tool{Name: "count", Run: func(context.Context, embed.ToolCall) (embed.ToolResult, error) {
		ran.Add(1)
		return embed.ToolResult{Text: "ok"}, nil
	}}
	s := newSession(t, cairntest.Open(t, &embed.Options{Models: []embed.Model{model}, Tools: []embed.Tool{tool}}).Client())
	r, err := s.Do(t.Context(), sdk.Prompt{Text: "go"})
	if err != nil || r.Text != "ärger käse" || ran.Load() != 2 || r.Tokens != (sdk.Tokens{Output: 2}) {
		t.Errorf("%+v, %v, ran %d times", r, err, ran.Load())
	}
}

// A tool that panics or ends its goroutine fails its call, and the model goes on.
func TestToolBreaks(t *testing.T) {
	for name, c := range map[string]struct {
		f    func()
		text string
	}{
		"panic": {func() { panic("boom") }, "it panicked: boom"},
		"exit":  {runtime.Goexit, "it ended its goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			tool := embed.Tool{Name: "broken", Run: func(context.Context, embed.ToolCall) (embed.ToolResult, error) {
				c.f()
				return embed.ToolResult{}, nil
			}}
			model := cairntest.NewModel(cairntest.Turn(cairntest.Call("broken", nil)), cairntest.Turn(cairntest.Text("Sorry.")))
			o := &embed.Options{Models: []embed.Model{model.Model()}, Tools: []embed.Tool{tool}}
			s := newSession(t, cairntest.Open(t, o).Client())
			if r, err := s.Do(t.Context(), sdk.Prompt{Text: "go"}); err != nil || r.Text != "Sorry." {
				t.Errorf("%+v, %v", r, err)
			}
			if call := findCall(t, s, "broken"); call.Error == nil || !strings.Contains(call.Error.Message, c.text) {
				t.Errorf("the call is %+v", call)
			}
		})
	}
}

// A panic of a function of the program is logged with its stack, for each kind of function.
func TestPanicsAreLogged(t *testing.T) {
	run := func(context.Context, embed.ToolCall) (embed.ToolResult, error) { panic("boom") }
	tool := embed.Tool{Name: "broken", Run: run}
	broken := newFuncModel(func(context.Context, func(embed.Chunk, error) bool) { panic("boom") })
	source := embed.ContextSource{Key: "mine", Read: func(context.Context) (string, error) { panic("boom") }}
	hook := func(context.Context, *embed.PromptHook) error { panic("boom") }
	for name, o := range map[string]embed.Options{
		"model m":     {Models: []embed.Model{broken}},
		"tool broken": {Tools: []embed.Tool{tool}},
		"source mine": {Context: []embed.ContextSource{source}},
		"hook Prompt": {Hooks: embed.Hooks{Prompt: hook}},
	} {
		t.Run(name, func(t *testing.T) {
			var log lockedBuffer
			o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
			if o.Models == nil {
				answers := []cairntest.Answer{
					cairntest.Turn(cairntest.Call("broken", nil)), cairntest.Turn(cairntest.Text("Sorry.")),
				}
				o.Models = []embed.Model{cairntest.NewModel(answers...).Model()}
			}
			s := newSession(t, cairntest.Open(t, &o).Client())
			_, _ = s.Do(t.Context(), sdk.Prompt{Text: "go"}) // other tests check what becomes of the work
			for _, text := range []string{"panicked", name, "boom", "hostile_test.go"} {
				if strings.Count(log.String(), "panicked") != 1 || !strings.Contains(log.String(), text) {
					t.Errorf("the log lacks %q: %q", text, log.String())
				}
			}
		})
	}
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// A source that panics or is too large is named, and keeps a first turn from beginning.
func TestSourceBreaks(t *testing.T) {
	for name, read := range map[string]func(context.Context) (string, error){
		"it panicked: boom":      func(context.Context) (string, error) { panic("boom") },
		"the limit is 1048576":   func(context.Context) (string, error) { return strings.Repeat("x", 2<<20), nil },
		"no such thing":          func(context.Context) (string, error) { return "", errors.New("no such thing") },
		"it ended its goroutine": func(context.Context) (string, error) { runtime.Goexit(); return "", nil },
	} {
		t.Run(name, func(t *testing.T) {
			o := &embed.Options{
				Models:  []embed.Model{cairntest.NewModel(cairntest.Turn(cairntest.Text("Hi."))).Model()},
				Context: []embed.ContextSource{{Key: "mine", Read: read}},
			}
			_, err := newSession(t, cairntest.Open(t, o).Client()).Do(t.Context(), sdk.Prompt{Text: "go"})
			if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "mine") {
				t.Errorf("got %v", err)
			}
		})
	}
}
