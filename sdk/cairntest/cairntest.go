// Package cairntest helps to test programs that use cairn: a model that plays a script, and a store in a temporary
// directory. Nothing of it needs a network, a key or an installed cairn.
//
//	model := cairntest.NewModel(
//		cairntest.Turn(cairntest.Call("lookup", map[string]any{"name": "ada"})),
//		cairntest.Turn(cairntest.Text("Ada wrote the first program.")),
//	)
//	store := cairntest.Open(t, &embed.Options{Models: []embed.Model{model.Model()}, Tools: []embed.Tool{lookup}})
package cairntest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/sdk"
	"github.com/cairn-dev/cairn/sdk/embed"
)

// Open opens a store in a temporary home, with an empty directory below it as the directory of sessions, unless o names
// others. It is closed at the end of the test. The user's own configuration, keys and credentials are not read. A nil o
// is the zero value.
func Open(t testing.TB, o *embed.Options) *embed.Store {
	t.Helper()
	own := embed.Options{}
	if o != nil {
		own = *o
	}
	home := t.TempDir()
	if own.Home == "" {
		own.Home = filepath.Join(home, "cairn")
	}
	if own.Directory == "" {
		own.Directory = filepath.Join(home, "work")
		if err := os.Mkdir(own.Directory, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if own.Env == nil {
		own.Env = isolatedEnv(home)
	}
	store, err := embed.Open(t.Context(), &own)
	if err != nil {
		t.Fatalf("open a store: %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return store
}

// isolatedEnv returns an environment without keys and settings of the user.
func isolatedEnv(home string) func(string) string {
	return func(name string) string {
		switch name {
		case "HOME", "USERPROFILE":
			return home
		case "PATH", "TMPDIR", "SystemRoot":
			return os.Getenv(name)
		case "CAIRN_DISABLE_KEYRING", "CAIRN_DISABLE_MODELS_FETCH":
			return "1"
		}
		return ""
	}
}

// Step is a piece of what a scripted model says.
type Step struct{ chunk embed.Chunk }

// Text says a text.
func Text(text string) Step { return Step{embed.Chunk{Text: text}} }

// Reasoning thinks a text.
func Reasoning(text string) Step { return Step{embed.Chunk{Reasoning: text}} }

// Call calls a tool. The input is encoded as JSON and should be an object; nil is an empty one. It panics if it cannot
// be encoded.
func Call(tool string, input any) Step {
	if input == nil {
		input = map[string]any{}
	}
	raw, err := json.Marshal(input)
	if err != nil {
		panic(fmt.Sprintf("cairntest: encode the input of %s: %v", tool, err))
	}
	return Step{embed.Chunk{Call: &embed.Call{Tool: tool, Input: raw}}}
}

// Usage reports the tokens of the turn.
func Usage(t sdk.Tokens) Step { return Step{embed.Chunk{Usage: &t}} }

// Answer is one answer of a scripted model: a turn, or an error.
type Answer struct {
	steps []Step
	err   error
}

// Turn is an answer that consists of the steps.
func Turn(steps ...Step) Answer { return Answer{steps: steps} }

// Fail is an answer that fails. embed.Retry makes an error after which cairn asks again.
func Fail(err error) Answer { return Answer{err: err} }

// Model is a model that plays answers, one a request, in their order. Requests after the last one fail. It is safe for
// concurrent use.
type Model struct {
	mu       sync.Mutex // guards what follows
	answers  []Answer
	requests []*embed.Request
}

// NewModel returns a model that plays the answers.
func NewModel(answers ...Answer) *Model { return &Model{answers: answers} }

// Model returns the model for embed.Options.Models. Its id is "script".
func (m *Model) Model() embed.Model {
	return embed.Model{ID: "script", Name: "Script", Generate: m.generate}
}

// Requests returns the requests so far, in their order. They must not be changed.
func (m *Model) Requests() []*embed.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*embed.Request(nil), m.requests...)
}

var errNoAnswer = errors.New("the script of the model has no further answer")

func (m *Model) generate(ctx context.Context, r *embed.Request) iter.Seq2[embed.Chunk, error] {
	return func(yield func(embed.Chunk, error) bool) {
		answer := m.next(r)
		for _, s := range answer.steps {
			if err := context.Cause(ctx); err != nil {
				yield(embed.Chunk{}, err)
				return
			}
			if !yield(s.chunk, nil) {
				return
			}
		}
		if answer.err != nil {
			yield(embed.Chunk{}, answer.err)
		}
	}
}

// next records a request and returns its answer.
func (m *Model) next(r *embed.Request) Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, r)
	if len(m.requests) > len(m.answers) {
		return Fail(errNoAnswer)
	}
	return m.answers[len(m.requests)-1]
}
