package script

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
)

// performance is one turn that is being played to one consumer.
type performance struct {
	turn    Turn
	request int // the number of the request, for ids
	req     *llm.Request
	gates   map[string]chan struct{}

	yield     func(llm.Event, error) bool
	dog       *llm.Watchdog
	connected bool
	opened    bool
	block     block
	blocks    int
	calls     int
}

// errConsumerGone means that the consumer has stopped ranging over the stream.
var errConsumerGone = errors.New("the consumer has stopped")

// playTurn plays p.turn to yield under the clocks of p.req. It ends with a Finish or an *llm.Error.
func playTurn(ctx context.Context, p performance, yield func(llm.Event, error) bool) {
	ctx, dog := llm.Watch(ctx, p.req.Clocks)
	defer dog.Stop()
	p.yield, p.dog = yield, dog
	err := p.playSteps(ctx)
	if err != nil && !errors.Is(err, errConsumerGone) {
		yield(nil, llm.AsError(ctx, err))
	}
}

func (p *performance) playSteps(ctx context.Context) error {
	steps := p.turn.Steps
	for i, step := range steps {
		isBroken := i+1 < len(steps) && steps[i+1].Fault != nil
		if err := p.playStep(ctx, step, isBroken); err != nil {
			return err
		}
	}
	if err := p.endBlock(ctx); err != nil {
		return err
	}
	finish := p.turn.Finish
	if finish == "" {
		finish = llm.FinishStop
		if p.calls > 0 {
			finish = llm.FinishToolCalls
		}
	}
	return p.emit(ctx, llm.Finish{Reason: finish, Usage: llm.Usage(p.turn.Usage)})
}

// playStep plays s; isBroken reports that a fault follows.
func (p *performance) playStep(ctx context.Context, s Step, isBroken bool) error {
	switch {
	case s.Text != nil || s.Reasoning != nil:
		return p.playBlock(ctx, s, isBroken)
	case s.Call != nil:
		if err := p.endBlock(ctx); err != nil {
			return err
		}
		return p.playCall(ctx, s)
	case s.Fault != nil:
		return p.playFault(ctx, *s.Fault)
	case s.Gate != "":
		return p.waitAtGate(ctx, s.Gate)
	default:
		p.connect()
		return p.wait(ctx, s.Delay)
	}
}

// connect starts the first-byte clock.
func (p *performance) connect() {
	if !p.connected {
		p.connected = true
		p.dog.MarkConnected()
	}
}

// open emits ResponseStart, once.
func (p *performance) open(ctx context.Context) error {
	p.connect()
	if p.opened {
		return nil
	}
	p.opened = true
	return p.emit(ctx, llm.ResponseStart{RequestID: "script-" + strconv.Itoa(p.request)})
}

// emit yields one event, after ResponseStart.
func (p *performance) emit(ctx context.Context, e llm.Event) error {
	if !p.opened {
		if err := p.open(ctx); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.dog.MarkByte()
	if !p.yield(e, nil) {
		return errConsumerGone
	}
	return nil
}

// emitChunk waits for the turn's pace and emits e.
func (p *performance) emitChunk(ctx context.Context, e llm.Event) error {
	if err := p.wait(ctx, p.turn.Every); err != nil {
		return err
	}
	return p.emit(ctx, e)
}

// playBlock plays a text or reasoning step, in the open block of that kind or in a new one.
func (p *performance) playBlock(ctx context.Context, s Step, isBroken bool) error {
	kind, chunks := textBlock, s.Text
	if s.Reasoning != nil {
		kind, chunks = reasoningBlock, s.Reasoning
	}
	if p.block.kind != kind {
		if err := p.beginBlock(ctx, kind); err != nil {
			return err
		}
	}
	if s.Metadata != nil {
		p.block.metadata = s.Metadata
	}
	for range max(s.Times, 1) {
		for _, delta := range chunks {
			if err := p.emitChunk(ctx, kind.newDelta(p.block.id, delta)); err != nil {
				return err
			}
		}
	}
	if s.Open || isBroken {
		return nil
	}
	return p.endBlock(ctx)
}

func (p *performance) beginBlock(ctx context.Context, kind blockKind) error {
	if err := p.endBlock(ctx); err != nil {
		return err
	}
	p.blocks++
	p.block = block{kind: kind, id: string(kind) + "_" + strconv.Itoa(p.blocks)}
	if kind == reasoningBlock {
		return p.emit(ctx, llm.ReasoningStart{ID: p.block.id})
	}
	return p.emit(ctx, llm.TextStart{ID: p.block.id})
}

// endBlock ends the open block, if there is one.
func (p *performance) endBlock(ctx context.Context) error {
	b := p.block
	p.block = block{}
	switch b.kind {
	case textBlock:
		return p.emit(ctx, llm.TextEnd{ID: b.id, Metadata: b.metadata})
	case reasoningBlock:
		return p.emit(ctx, llm.ReasoningEnd{ID: b.id, Metadata: b.metadata})
	default:
		return nil
	}
}

// block is a text or reasoning block that has begun and not ended.
type block struct {
	kind     blockKind
	id       string
	metadata llm.Metadata
}

type blockKind string

const (
	textBlock      blockKind = "text"
	reasoningBlock blockKind = "reasoning"
)

func (k blockKind) newDelta(id, text string) llm.Event {
	if k == reasoningBlock {
		return llm.ReasoningDelta{ID: id, Delta: text}
	}
	return llm.TextDelta{ID: id, Delta: text}
}

func (p *performance) waitAtGate(ctx context.Context, name string) error {
	p.connect()
	gate, ok := p.gates[name]
	if !ok {
		return &llm.Error{
			Class: llm.InvalidRequest, Message: fmt.Sprintf("script: gate %q has no channel in Player.Gates", clip(name, 80)),
		}
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *performance) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
