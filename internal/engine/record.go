package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// turn records what a model says: llm.Event in, facts and live text out. It belongs to the drain's goroutine.
type turn struct {
	*drain
	set     *setting
	message session.MessageID // "" until the first output
	begins  session.PartID    // of its beginning
	sends   llm.Prefix        // the fingerprint of its request
	prefix  *session.CachePrefix
	items   map[string]*openItem
	order   []*openItem
	dirty   int // bytes that no checkpoint has
	size    int // bytes of the answer
	calls   []*call
	made    map[string]*call // by the provider's id
	answer  *session.Answer
	mu      sync.Mutex // guards the joint outcome of settlements
}

// openItem is a block that the model is still writing.
type openItem struct {
	kind  session.FragmentItem
	part  session.PartID
	id    string // the provider's
	name  string // of the tool
	meta  llm.Metadata
	text  []byte
	saved int       // bytes that a checkpoint has
	at    time.Time // when the model began it
	begun bool      // its start is committed
	done  bool      // the model ended it; the next commit says so
	ended bool      // that is committed
}

func newTurn(d *drain, set *setting) *turn {
	return &turn{drain: d, set: set, items: map[string]*openItem{}}
}

// stream asks the model and records its answer. The events are read in a goroutine of their own, so that checkpoints
// keep their time when the model is slow.
func (t *turn) stream(ctx context.Context, req *llm.Request) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan said)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(events)
		t.listen(ctx, req, events)
	})
	defer reader.Wait()
	defer cancel()
	tick := time.NewTicker(t.limits.Checkpoint)
	defer tick.Stop()
	for {
		select {
		case s, ok := <-events:
			if !ok {
				return t.ended(ctx)
			}
			if s.err != nil {
				return llm.AsError(ctx, s.err)
			}
			if err := t.record(ctx, s.event); err != nil {
				return err
			}
		case <-tick.C:
			if err := t.checkpoint(ctx); err != nil {
				return err
			}
		}
	}
}

// said is one thing that a stream yields.
type said struct {
	event llm.Event
	err   error
}

// listen passes on what the model says until the stream or ctx ends. A panic of the client ends this turn only.
func (t *turn) listen(ctx context.Context, req *llm.Request, events chan<- said) {
	pass := func(s said) bool {
		select {
		case events <- s:
			return true
		case <-ctx.Done():
			return false
		}
	}
	defer func() {
		if p := recover(); p != nil {
			t.logger.Error("a model's client panicked", "session", t.id, "panic", p, "stack", string(debug.Stack()))
			pass(said{err: &llm.Error{Class: llm.Unknown, Message: "the model's client broke down (a fault of ours, it is logged)"}})
		}
	}()
	for ev, err := range t.set.model.Client.Stream(ctx, req) {
		if !pass(said{ev, err}) {
			return
		}
	}
}

// ended judges a stream that stopped without error.
func (t *turn) ended(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case t.answer == nil:
		return &llm.Error{Class: llm.Incomplete, Message: "the model's answer ended in the middle"}
	case t.message == "" && len(t.order) == 0 && len(t.calls) == 0:
		return &llm.Error{Class: llm.Empty, Message: "the model answered with nothing"}
	default:
		return nil
	}
}

// record enters one event.
func (t *turn) record(ctx context.Context, ev llm.Event) error {
	switch ev := ev.(type) {
	case llm.Opened:
		return fault.Point(ctx, fault.TurnHeaders)
	case llm.TextStart:
		return t.start(ctx, &openItem{kind: session.FragmentText, id: ev.ID})
	case llm.TextDelta:
		return t.delta(ctx, session.FragmentText, ev.ID, ev.Delta)
	case llm.TextEnd:
		return t.end(session.FragmentText, ev.ID, ev.Metadata)
	case llm.ReasoningStart:
		return t.start(ctx, &openItem{kind: session.FragmentReasoning, id: ev.ID, meta: ev.Metadata})
	case llm.ReasoningDelta:
		return t.delta(ctx, session.FragmentReasoning, ev.ID, ev.Delta)
	case llm.ReasoningEnd:
		return t.end(session.FragmentReasoning, ev.ID, ev.Metadata)
	case llm.ToolInputStart:
		return t.start(ctx, &openItem{kind: session.FragmentToolInput, id: ev.ID, name: ev.Name})
	case llm.ToolInputDelta:
		return t.delta(ctx, session.FragmentToolInput, ev.ID, ev.Delta)
	case llm.ToolInputEnd:
		return t.end(session.FragmentToolInput, ev.ID, nil)
	case llm.ToolCallEvent:
		return t.called(ctx, ev)
	case llm.HostedResult:
		return t.hosted(ctx, ev)
	case llm.Finish:
		return t.finish(ev)
	default:
		return violation("an event of type %T", ev)
	}
}

func violation(format string, args ...any) error {
	return &llm.Error{Class: llm.Malformed, Message: "the provider broke its protocol: " + fmt.Sprintf(format, args...)}
}

func key(kind session.FragmentItem, id string) string { return string(kind) + "\x00" + id }

// begin commits the turn's message, once, together with more.
func (t *turn) begin(ctx context.Context, more ...eventlog.Draft) error {
	if t.message != "" && len(more) == 0 {
		return nil
	}
	return t.commit(ctx, store.Relaxed, more...)
}

func (t *turn) exists(ctx context.Context, m session.MessageID) (ok bool) {
	err := t.store.View(ctx, func(r store.Reader) (err error) {
		_, ok, err = r.Message(t.id, m)
		return err
	})
	return ok && err == nil
}

// commit appends the drafts behind what is due: the turn's message, once; the starts of items that nobody needed to see
// yet; the ends of those that the model has ended. These wait for it, because something else nearly always follows at
// once, and a commit of their own would cost as much again; checkpoint bounds the wait. Once begun it is not cancelled
// by ctx.
func (t *turn) commit(ctx context.Context, d store.Durability, drafts ...eventlog.Draft) error {
	ctx = context.WithoutCancel(ctx)
	message, facts := t.message, append(t.due(), drafts...)
	if message == "" {
		message = t.messageID()
		if t.begins == "" {
			t.begins = t.partID()
		}
		started := &session.StepStarted{
			AssistantMessageID: message, Agent: t.set.agent.ID, Model: t.set.model.Ref, ParentID: t.asked(ctx), StartID: t.begins, Prefix: t.prefix,
		}
		facts = append(eventlog.Drafts(started), facts...)
	}
	if len(facts) == 0 {
		return nil
	}
	for _, f := range facts {
		setMessage(f.Data, message)
	}
	_, err := t.append(ctx, t.id, d, facts...)
	if err == nil || errors.Is(err, store.ErrUncertain) && t.exists(ctx, message) {
		if t.message == "" {
			defer t.begun()
		}
		t.message = message // then whatever comes, the turn is ended under this id
	}
	if err != nil {
		return err
	}
	for _, it := range t.order {
		if it.ended = it.done; !it.begun {
			it.begun = true
			t.log.Publish(t.id, it.part, string(it.text))
		}
	}
	return nil
}

// asked returns the newest prompt of the history: the one that the turn answers. A compaction may have hidden it from the
// model.
func (t *turn) asked(ctx context.Context) (id session.MessageID) {
	err := t.store.View(ctx, func(r store.Reader) error {
		m, ok, err := r.NewestOf(t.id, session.TypeUser)
		if ok {
			id = m.Meta().ID
		}
		return err
	})
	if err != nil { // the commit that follows says so
		t.logger.Warn("look for the prompt of a turn", "session", t.id, "error", err)
	}
	return id
}

// due are the facts that wait for the next commit.
func (t *turn) due() (drafts []eventlog.Draft) {
	for _, it := range t.order {
		if !it.begun {
			drafts = append(drafts, eventlog.Draft{Data: t.startOf(it)})
		}
		if it.done && !it.ended {
			drafts = append(drafts, eventlog.Draft{Data: t.endOf(it, it.meta, false)})
		}
	}
	return drafts
}

// unseen reports whether an item began of which no fact says so yet.
func (t *turn) unseen() bool {
	return slices.ContainsFunc(t.order, func(it *openItem) bool { return !it.begun })
}

// setMessage names the turn in facts that were made before it had a message.
func setMessage(d session.EventData, id session.MessageID) {
	switch e := d.(type) {
	case *session.TextStarted:
		e.AssistantMessageID = id
	case *session.TextEnded:
		e.AssistantMessageID = id
	case *session.ReasoningStarted:
		e.AssistantMessageID = id
	case *session.ReasoningEnded:
		e.AssistantMessageID = id
	case *session.ToolInputStarted:
		e.AssistantMessageID = id
	case *session.ToolInputEnded:
		e.AssistantMessageID = id
	case *session.ToolCalled:
		e.AssistantMessageID = id
	case *session.ItemCheckpointed:
		e.AssistantMessageID = id
	case *session.StepEnded:
		e.AssistantMessageID = id
	}
}

// start opens an item. Text is there for readers at once; the arguments of a call only when they take longer than a
// moment to come, because most come whole.
func (t *turn) start(ctx context.Context, it *openItem) error {
	k := key(it.kind, it.id)
	if t.items[k] != nil {
		return violation("%s %q starts twice", it.kind, it.id)
	}
	if t.begins == "" {
		t.begins = t.partID() // before its items
	}
	it.part, it.at = t.partID(), t.now()
	t.items[k] = it
	t.order = append(t.order, it)
	if it.kind == session.FragmentToolInput {
		return nil
	}
	return t.commit(ctx, store.Relaxed)
}

// moment is how long the arguments of a call may take before readers see them come.
const moment = 20 * time.Millisecond

func (t *turn) startOf(it *openItem) session.EventData {
	switch it.kind {
	case session.FragmentText:
		return &session.TextStarted{TextID: it.id, PartID: it.part}
	case session.FragmentReasoning:
		return &session.ReasoningStarted{ReasoningID: it.id, PartID: it.part, ProviderMetadata: metadata(it.meta)}
	default:
		return &session.ToolInputStarted{CallID: it.id, PartID: it.part, Name: it.name}
	}
}

func (t *turn) open(kind session.FragmentItem, id string) (*openItem, error) {
	it := t.items[key(kind, id)]
	if it == nil || it.done {
		return nil, violation("%s %q goes on but is not open", kind, id)
	}
	return it, nil
}

func (t *turn) delta(ctx context.Context, kind session.FragmentItem, id, delta string) error {
	it, err := t.open(kind, id)
	if err != nil {
		return err
	}
	delta, long := t.fit(strings.ToValidUTF8(delta, "\uFFFD")) // what cannot be stored is not shown either
	it.text = append(it.text, delta...)
	t.dirty += len(delta)
	switch {
	case it.begun:
		t.log.Publish(t.id, it.part, delta)
	case t.now().Sub(it.at) > moment:
		if err := t.commit(ctx, store.Relaxed); err != nil {
			return err
		}
	}
	if err := fault.Point(ctx, fault.TurnDelta); err != nil {
		return err
	}
	if t.dirty >= t.limits.CheckBytes {
		if err := t.checkpoint(ctx); err != nil {
			return err
		}
	}
	return long
}

func (t *turn) end(kind session.FragmentItem, id string, meta llm.Metadata) error {
	it, err := t.open(kind, id)
	if err != nil {
		return err
	}
	it.done, it.meta = true, meta
	t.dirty -= len(it.text) - it.saved
	return nil
}

func (t *turn) endOf(it *openItem, meta llm.Metadata, partial bool) session.EventData {
	text := string(it.text)
	switch it.kind {
	case session.FragmentText:
		return &session.TextEnded{AssistantMessageID: t.message, TextID: it.id, PartID: it.part, Text: text, Partial: partial, ProviderMetadata: metadata(meta)}
	case session.FragmentReasoning:
		return &session.ReasoningEnded{AssistantMessageID: t.message, ReasoningID: it.id, PartID: it.part, Text: text, Partial: partial, ProviderMetadata: metadata(meta)}
	default:
		return &session.ToolInputEnded{AssistantMessageID: t.message, CallID: it.id, PartID: it.part, Text: text}
	}
}

// checkpoint makes what the open items hold durable.
func (t *turn) checkpoint(ctx context.Context) error {
	var drafts []eventlog.Draft
	for _, it := range t.order {
		if !it.done && it.saved < len(it.text) {
			drafts = append(drafts, eventlog.Draft{Data: &session.ItemCheckpointed{
				AssistantMessageID: t.message, PartID: it.part, Offset: it.saved, Text: string(it.text[it.saved:]),
			}})
			it.saved = len(it.text)
		}
	}
	t.dirty = 0
	if len(drafts) == 0 && len(t.due()) == 0 {
		return nil
	}
	return t.commit(ctx, store.Durable, drafts...)
}

// metadata encodes opaque provider data; nil stays nil.
func metadata(m llm.Metadata) jsontext.Value {
	if len(m) == 0 {
		return nil
	}
	b, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return nil // not JSON: nothing that could be given back
	}
	return b
}
