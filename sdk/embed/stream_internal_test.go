package embed

import (
	"context"
	"iter"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
)

// A stream that its reader leaves returns when the function of the program has returned.
func TestStreamIsLeft(t *testing.T) {
	for range 50 {
		var returned atomic.Bool
		m := model{Model: Model{Generate: func(context.Context, *Request) iter.Seq2[Chunk, error] {
			return func(yield func(Chunk, error) bool) {
				defer returned.Store(true)
				for yield(Chunk{Text: "more"}, nil) {
				}
				for range 100 {
					runtime.Gosched()
				}
			}
		}}}
		for range m.Stream(t.Context(), &llm.Request{}) {
			break
		}
		if !returned.Load() {
			t.Fatal("the function goes on")
		}
	}
}
