package wire

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Turn emits one answer of a protocol with content blocks, under the contract of llm.Model. It belongs to the goroutine
// that ranges over the stream.
type Turn struct {
	*Stream
	answer string        // the provider's id of this answer
	open   map[int]Block // by the provider's index
	ids    CallIDs
	calls  []*Call // local calls in the order of their start
	count  int     // of all calls, hosted ones included
}

// Block is a content block between its start and its end.
type Block interface{ close(t *Turn) }

// The limits of open blocks: how many there may be, and how many bytes one keeps for its end.
const (
	maxOpen = 256
	MaxKept = 8 << 20
)

// NewTurn returns the turn of the answer to the request with that id. secrets are as for NewStream.
func NewTurn(requestID string, secrets []string, yield func(llm.Event, error) bool) *Turn {
	return &Turn{Stream: NewStream(requestID, secrets, yield), open: map[int]Block{}}
}

// BeginAnswer records that the answer has begun; id is the provider's id of it, as soon as it is known. A different id
// later means that the provider restarts the answer: the calls until then must not run.
func (t *Turn) BeginAnswer(id string) {
	if t.answer != "" && id != "" && id != t.answer {
		t.stopAllBlocks()
		for _, c := range t.calls {
			c.revoked = true
		}
	}
	t.answer = cmp.Or(id, t.answer)
	t.Open()
}

// BlockAt returns the open block at an index; nil if no block is open.
func (t *Turn) BlockAt(index int) Block { return t.open[index] }

// StartBlock opens a block at an index. A block that is still open there is closed first.
func (t *Turn) StartBlock(index int, b Block) error {
	t.StopBlock(index)
	if len(t.open) == maxOpen {
		return NewMalformed("the provider sent more than %d content blocks at a time", maxOpen)
	}
	t.open[index] = b
	return nil
}

// StopBlock closes the block at an index, if there is one.
func (t *Turn) StopBlock(index int) {
	if b := t.open[index]; b != nil {
		delete(t.open, index)
		b.close(t)
	}
}

func (t *Turn) stopAllBlocks() {
	for _, index := range slices.Sorted(maps.Keys(t.open)) {
		t.StopBlock(index)
	}
}

// HasCalls reports whether the answer has local calls.
func (t *Turn) HasCalls() bool { return len(t.calls) > 0 }

// IsWhole reports whether the answer may be accepted without a reason for its marked end.
func (t *Turn) IsWhole() bool {
	var arguments []string
	for _, c := range t.calls {
		arguments = append(arguments, c.Arguments())
	}
	return t.Stream.IsWhole(arguments...)
}

// Finish completes the turn after the last frame: it closes open blocks, emits the local calls and then Finish. An
// answer that did not begin, did not end (no reason) or has no content is an error.
func (t *Turn) Finish(reason llm.FinishReason, used llm.Usage) error {
	if err := t.CheckEnded(reason != ""); err != nil {
		return err
	}
	t.stopAllBlocks()
	if reason == llm.FinishError {
		return &llm.Error{Class: llm.Overloaded, Message: "the provider could not complete the answer"}
	}
	refused := &llm.Error{Class: llm.ContentFilter, Message: "the provider refused the request"}
	if err := t.CheckContent(reason, t.HasCalls(), refused); err != nil {
		return err
	}
	t.emitCalls(reason)
	t.Emit(llm.Finish{Reason: reason, Usage: used})
	return nil
}
