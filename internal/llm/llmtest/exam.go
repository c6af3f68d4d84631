package llmtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Exam asks of a protocol's lowering what must hold whatever its words mean: that the vendor accepts the request of any
// conversation that the engine makes, and that the requests of a growing one keep their beginning byte for byte.
type Exam struct {
	Encode func(req *llm.Request) ([]byte, error)
	// Model is a name that its requests may bear.
	Model string
	// Check says what of a request's body the vendor would refuse.
	Check func(body []byte) error
	// Conversation returns the part of a body that must only grow from turn to turn: tools, system texts and messages
	// in their order on the wire, without what closes the lists, and without marks.
	Conversation func(body []byte) ([]byte, error)
	// Metadata is what a piece of the model's reasoning may carry in the protocol's own namespace; nil for none.
	Metadata func(r *rand.Rand) llm.Metadata
}

const (
	conversations = 300
	turns         = 50
)

// Run holds the protocol to everything.
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

// checkStablePrefix lets a conversation grow. Each request must begin with all of the one before.
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

// firstDifference shows where two texts part.
func firstDifference(a, b []byte) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-200)
	return fmt.Sprintf("%s\n%s", clip(a[min(from, len(a)):]), clip(b[min(from, len(b)):]))
}

func clip(b []byte) []byte { return b[:min(len(b), 4000)] }
