package llmtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Exam checks a protocol's encoder: the vendor accepts the request of every conversation that the engine makes, and the
// requests of a growing conversation keep their beginning byte for byte.
type Exam struct {
	Encode func(req *llm.Request) ([]byte, error)
	// Model is a model name for the requests.
	Model string
	// Check returns the reason why the vendor would refuse a request body.
	Check func(body []byte) error
	// Conversation returns the part of a body that may only grow from turn to turn: tools, system texts and messages in
	// their order in the request, without closing brackets and breakpoints.
	Conversation func(body []byte) ([]byte, error)
	// Metadata returns the reasoning metadata in the protocol's namespace; nil for none.
	Metadata func(r *rand.Rand) llm.Metadata
}

const (
	conversations = 300
	turns         = 50
)

// Run runs all checks.
func (x Exam) Run(t *testing.T) {
	t.Run("requests are accepted", x.checkAccepted)
	t.Run("requests keep their beginning", x.checkStablePrefix)
}

func (x Exam) checkAccepted(t *testing.T) {
	for seed := range uint64(conversations) {
		g := generator{rand.New(rand.NewPCG(seed, 1)), x, 0}
		req := g.newRequest()
		body, err := x.Encode(req)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := x.Check(body); err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, clip(body))
		}
		again, err := x.Encode(req)
		if err != nil || !bytes.Equal(body, again) {
			t.Fatalf("seed %d: a second encoding differs: %v\n%s\n%s", seed, err, clip(body), clip(again))
		}
	}
}

// checkStablePrefix lets a conversation grow. Each request must begin with all of the previous one.
func (x Exam) checkStablePrefix(t *testing.T) {
	for seed := range uint64(8) {
		g := generator{rand.New(rand.NewPCG(seed, 2)), x, 0}
		req := &llm.Request{Model: x.Model, System: []string{"You build.", "Today is a day."}, Tools: g.newTools()}
		var before []byte
		for turn := range turns {
			req.Messages = append(req.Messages, g.newQuestion()...)
			req.Breakpoints = llm.TurnBreakpoints(req)
			body, err := x.Encode(req)
			if err != nil {
				t.Fatal(err)
			}
			now, err := x.Conversation(body)
			if err != nil {
				t.Fatalf("seed %d turn %d: %v", seed, turn, err)
			}
			if !bytes.HasPrefix(now, before) {
				t.Fatalf("seed %d turn %d changes what was before:\n%s", seed, turn, firstDifference(before, now))
			}
			before = now
			req.Messages = append(req.Messages, g.newAnswer()...)
		}
	}
}

// firstDifference returns where two texts begin to differ.
func firstDifference(a, b []byte) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-200)
	return fmt.Sprintf("%s\n%s", clip(a[min(from, len(a)):]), clip(b[min(from, len(b)):]))
}

func clip(b []byte) []byte { return b[:min(len(b), 4000)] }
