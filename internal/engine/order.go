package engine

import (
	"context"
	"sync"
)

// askOrder is a call's turn to ask among those of its step: asks come in the order of the calls, as far as they are known. A call
// has passed when what it asked first is decided or listed, or when it has ended; what it asks later waits for nobody.
type askOrder struct {
	before *askOrder // the call before; nil: none, or it needs no order
	done   chan struct{}
	once   *sync.Once
}

// orderBehind is the turn of the call behind those.
func orderBehind(before []*call) askOrder {
	o := askOrder{done: make(chan struct{}), once: new(sync.Once)}
	if n := len(before); n > 0 {
		o.before = &before[n-1].order
	}
	return o
}

// await waits until the calls before have passed, or ctx ends.
func (o *askOrder) await(ctx context.Context) {
	if o.before == nil {
		return
	}
	select {
	case <-o.before.done:
	case <-ctx.Done():
	}
}

// passed lets the next call ask.
func (o *askOrder) passed() {
	if o.once != nil {
		o.once.Do(func() { close(o.done) })
	}
}
