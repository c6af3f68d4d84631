package script

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
)

// performance is one turn being played to one consumer.
type performance struct {
	turn    Turn
	request int // the number of the request, for ids
	req     *llm.Request
	gates   map[string]chan struct{}

	yield     func(llm.Event, error) bool
	dog       *llm.Watchdog
	connected bool
	opened    bool
	open      block
	blocks    int
	calls     int
}

// errGone says that the consumer has stopped listening.
var errGone = errors.New("the consumer is gone")

// perform plays p.turn to yield under the clocks of p.req, and ends with a Finish or an *llm.Error.
func perform(ctx context.Context, p performance, yield func(llm.Event, error) bool) {
	ctx, dog := llm.Watch(ctx, p.req.Clocks)
	defer dog.Stop()
	p.yield, p.dog = yield, dog
	err := p.play(ctx)
	if err != nil && !errors.Is(err, errGone) {
		yield(nil, llm.AsError(ctx, err))
	}
}

func (p *performance) play(ctx context.Context) error {
	steps := p.turn.Steps
	for i, step := range steps {
		broken := i+1 < len(steps) && steps[i+1].Fault != nil
		if err := p.step(ctx, step, broken); err != nil {
			return err
		}
	}
	if err := p.end(ctx); err != nil {
		return err
	}
	finish := p.turn.Finish
	if finish == "" {
		finish = llm.FinishStop
		if p.calls > 0 {
			finish = llm.FinishToolCalls
		}
	}
	return p.say(ctx, llm.Finish{Reason: finish, Usage: llm.Usage(p.turn.Usage)})
}

// step plays s; broken says that a fault comes next.
func (p *performance) step(ctx context.Context, s Step, broken bool) error {
	switch {
	case s.Text != nil || s.Reasoning != nil:
		return p.speak(ctx, s, broken)
	case s.Call != nil:
		if err := p.end(ctx); err != nil {
			return err
		}
		return p.call(ctx, s)
	case s.Fault != nil:
		return p.fault(ctx, *s.Fault)
	case s.Gate != "":
		return p.gate(ctx, s.Gate)
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

// headers sends Opened, once.
func (p *performance) headers(ctx context.Context) error {
	p.connect()
	if p.opened {
		return nil
	}
	p.opened = true
	return p.say(ctx, llm.ResponseStart{RequestID: "script-" + strconv.Itoa(p.request)})
}

// say yields one event; Opened goes before every other.
func (p *performance) say(ctx context.Context, e llm.Event) error {
	if !p.opened {
		if err := p.headers(ctx); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.dog.MarkByte()
	if !p.yield(e, nil) {
		return errGone
	}
	return nil
}

// chunk waits for the turn's pace and says e.
func (p *performance) chunk(ctx context.Context, e llm.Event) error {
	if err := p.wait(ctx, p.turn.Every); err != nil {
		return err
	}
	return p.say(ctx, e)
}

// speak says the chunks of a text or reasoning step, in the open block of that kind or in a new one.
func (p *performance) speak(ctx context.Context, s Step, broken bool) error {
	kind, chunks := textBlock, s.Text
	if s.Reasoning != nil {
		kind, chunks = reasoningBlock, s.Reasoning
	}
	if p.open.kind != kind {
		if err := p.begin(ctx, kind); err != nil {
			return err
		}
	}
	if s.Metadata != nil {
		p.open.metadata = s.Metadata
	}
	for range max(s.Times, 1) {
		for _, delta := range chunks {
			if err := p.chunk(ctx, kind.delta(p.open.id, delta)); err != nil {
				return err
			}
		}
	}
	if s.Open || broken {
		return nil
	}
	return p.end(ctx)
}

func (p *performance) begin(ctx context.Context, kind blockKind) error {
	if err := p.end(ctx); err != nil {
		return err
	}
	p.blocks++
	p.open = block{kind: kind, id: string(kind) + "_" + strconv.Itoa(p.blocks)}
	if kind == reasoningBlock {
		return p.say(ctx, llm.ReasoningStart{ID: p.open.id})
	}
	return p.say(ctx, llm.TextStart{ID: p.open.id})
}

// end ends the open block, if there is one.
func (p *performance) end(ctx context.Context) error {
	b := p.open
	p.open = block{}
	switch b.kind {
	case textBlock:
		return p.say(ctx, llm.TextEnd{ID: b.id, Metadata: b.metadata})
	case reasoningBlock:
		return p.say(ctx, llm.ReasoningEnd{ID: b.id, Metadata: b.metadata})
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

func (k blockKind) delta(id, text string) llm.Event {
	if k == reasoningBlock {
		return llm.ReasoningDelta{ID: id, Delta: text}
	}
	return llm.TextDelta{ID: id, Delta: text}
}

func (p *performance) gate(ctx context.Context, name string) error {
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
