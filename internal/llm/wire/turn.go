package wire

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Turn gives out one answer of a protocol that counts content blocks, by llm's contract for streams. It belongs to the
// goroutine that ranges over the stream.
type Turn struct {
	*Stream
	answer string        // the provider's id of this answer
	open   map[int]Block // by the provider's index
	ids    IDs
	calls  []*Call // local ones, in the order of their beginning
	count  int     // of all calls
}

// Block is a content block between its start and its end.
type Block interface{ end(t *Turn) }

// maxOpen bounds the blocks that grow at a time, and MaxKept the bytes that one keeps for its end.
const (
	maxOpen = 256
	MaxKept = 8 << 20
)

// NewTurn returns the turn of an answer to the request of that id.
func NewTurn(requestID string, yield func(llm.Event, error) bool) *Turn {
	return &Turn{Stream: NewStream(requestID, yield), open: map[int]Block{}}
}

// Answer says that the answer has begun, once; id is the provider's for it, as soon as that is known. Another id later
// says that it begins anew: the calls until then are not to be run.
func (t *Turn) Answer(id string) {
	if t.answer != "" && id != "" && id != t.answer {
		t.stopAll()
		for _, c := range t.calls {
			c.revoked = true
		}
	}
	t.answer = cmp.Or(id, t.answer)
	t.Open()
}

// At returns the block that grows under an index; nil for none.
func (t *Turn) At(index int) Block { return t.open[index] }

// Start puts a block under an index. One that still grows there ends first.
func (t *Turn) Start(index int, b Block) error {
	t.Stop(index)
	if len(t.open) == maxOpen {
		return Malformed("the provider sent more than %d content blocks at a time", maxOpen)
	}
	t.open[index] = b
	return nil
}

// Stop ends the block under an index, if there is one.
func (t *Turn) Stop(index int) {
	if b := t.open[index]; b != nil {
		delete(t.open, index)
		b.end(t)
	}
}

func (t *Turn) stopAll() {
	for _, index := range slices.Sorted(maps.Keys(t.open)) {
		t.Stop(index)
	}
}

// HasCalls reports whether the answer has calls that are ours to run.
func (t *Turn) HasCalls() bool { return len(t.calls) > 0 }

// Finish completes the turn after the last frame: what is open ends, the local calls are given out, then Finish. An
// answer that did not begin, did not end (no reason) or says nothing is an error.
func (t *Turn) Finish(reason llm.FinishReason, used llm.Usage) error {
	if err := t.Whole(reason != ""); err != nil {
		return err
	}
	t.stopAll()
	if reason == llm.FinishError {
		return &llm.Error{Class: llm.Overloaded, Message: "the provider could not complete the answer"}
	}
	refused := &llm.Error{Class: llm.ContentFilter, Message: "the provider refused the request"}
	if err := t.Usable(reason, t.HasCalls(), refused); err != nil {
		return err
	}
	t.emitCalls(reason)
	t.Emit(llm.Finish{Reason: reason, Usage: used})
	return nil
}
