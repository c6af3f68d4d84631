package main

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/projection"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/store/sqlite"
)

// history reads sessions that have a long past, and works on them.
func (b *bench) history(ctx context.Context) error {
	h := b.home("history")
	s, err := b.serve(ctx, h)
	if err != nil {
		return err
	}
	sizes := []int{100, 1_000, 10_000}
	ids := make([]session.ID, len(sizes))
	for i := range sizes {
		if ids[i], err = s.begin(ctx); err == nil {
			_, err = b.turn(ctx, s, ids[i], order{n: 1, size: 5})
		}
		if err != nil {
			break
		}
	}
	s.stop()
	if err == nil {
		err = fill(ctx, h.data(), ids, sizes)
	}
	if err != nil {
		return err
	}
	if s, err = b.serve(ctx, h); err != nil {
		return err
	}
	defer s.stop()
	for i, n := range sizes {
		if err := b.readHistory(ctx, s, ids[i], n); err != nil {
			return err
		}
	}
	for i, n := range sizes {
		if err := b.workOnHistory(ctx, s, ids[i], n); err != nil {
			return err
		}
	}
	quiet := b.settle(ctx)
	start := time.Now()
	if err := s.client.Delete(ctx, ids[1]); err != nil {
		return err
	}
	b.add(row{ID: "P23", What: "delete a session of 1000 messages", Figure: millis(time.Since(start)), Unit: "ms", N: 1, Target: 30, Foreign: quiet.foreign()})
	return nil
}

func (b *bench) readHistory(ctx context.Context, s *server, id session.ID, n int) error {
	target := map[int]float64{1_000: 15, 10_000: 150}[n]
	if target == 0 {
		return nil
	}
	quiet := b.settle(ctx)
	most := watch(s.pid())
	var paged, whole []float64
	size := 0
	for range 7 {
		start := time.Now()
		got, _, err := s.pages(ctx, "/api/session/"+string(id)+"/message", url.Values{"limit": {"200"}})
		if err != nil {
			return err
		}
		paged = append(paged, millis(time.Since(start)))
		start = time.Now()
		body, err := s.get(ctx, "/api/session/"+string(id)+"/context", nil)
		if err != nil {
			return err
		}
		whole, size = append(whole, millis(time.Since(start))), len(body)
		if got < n {
			return fmt.Errorf("%d messages of %d are listed", got, n)
		}
	}
	foreign := quiet.foreign()
	b.add(row{ID: "P18", What: fmt.Sprintf("GET %d messages (%.1f MB), pages of 200", n, float64(size)/1e6), Figure: median(paged), Unit: "ms", N: len(paged), Target: target, Foreign: foreign})
	b.add(row{ID: "P18", What: fmt.Sprintf("GET the context of %d messages at once", n), Figure: median(whole), Unit: "ms", N: len(whole), Target: target, Limit: millis(memcpy(size)), Of: "memcpy", Foreign: foreign})
	b.add(row{ID: "P18", What: fmt.Sprintf("peak RSS meanwhile, %d messages", n), Figure: most.end(), Unit: "MiB", N: 1, Foreign: foreign})
	return nil
}

func memcpy(n int) time.Duration {
	from := bytes.Repeat([]byte("x"), n)
	start := time.Now()
	_ = bytes.Clone(from)
	return time.Since(start)
}

// workOnHistory is a prompt on top of n messages: the first one reads them, the later ones only what is new.
func (b *bench) workOnHistory(ctx context.Context, s *server, id session.ID, n int) error {
	quiet := b.settle(ctx)
	var ms []float64
	cold := 0.0
	for i := range b.scaled(20) + 1 {
		t, err := b.turn(ctx, s, id, order{n: 1, size: 5})
		if err != nil {
			return err
		}
		if i == 0 {
			cold = millis(t.toRequest)
			continue
		}
		ms = append(ms, millis(t.toRequest))
	}
	foreign := quiet.foreign()
	p50, _ := b.limits.sync()
	target := map[int]float64{100: 5, 1_000: 10, 10_000: 60}[n]
	b.add(row{ID: "P19", What: fmt.Sprintf("prompt to provider request on %d messages", n), Figure: median(ms), Unit: "ms", N: len(ms), Target: target, Limit: p50, Of: "one fdatasync", Foreign: foreign})
	b.add(row{ID: "P19", What: fmt.Sprintf("the same, the first time, on %d messages", n), Figure: cold, Unit: "ms", N: 1, Foreign: foreign})
	return nil
}

// fill gives the sessions a past: rounds of one prompt, two reads and an answer, as an import would write them.
func fill(ctx context.Context, dir string, ids []session.ID, sizes []int) error {
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer s.Close()
	for i, id := range ids {
		w := &past{ids: &session.IDs{}, id: id, now: time.Now().UnixMilli()}
		for w.messages < sizes[i] {
			err := s.Update(ctx, store.Relaxed, func(tx store.Tx) error {
				if w.seq, err = tx.Head(id); err != nil {
					return err
				}
				for range 25 {
					if err := w.round(tx); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("fill a session: %w", err)
			}
		}
	}
	return nil
}

// past writes history.
type past struct {
	ids      *session.IDs
	id       session.ID
	seq      int64
	messages int
	now      int64
}

func (w *past) fact(tx store.Tx, d session.EventData) error {
	d.Stamp().Timestamp, d.Stamp().SessionID = w.now, w.id
	w.seq++
	e := session.Event{ID: session.EventID(w.ids.New(session.PrefixEvent)), SessionID: w.id, Seq: w.seq, Version: d.Version(), Data: d}
	if err := projection.Apply(tx, e); err != nil {
		return err
	}
	row, err := eventlog.Encode(e)
	if err != nil {
		return err
	}
	_, err = tx.InsertEvent(row)
	return err
}

func (w *past) round(tx store.Tx) error {
	prompt := session.Prompt{Text: strings.Repeat("a question ", 13)}
	facts := []session.EventData{&session.Prompted{MessageID: session.MessageID(w.ids.New(session.PrefixMessage)), Prompt: prompt, Delivery: session.Steer}}
	for i := range 3 {
		facts = append(facts, w.turn(i < 2)...)
	}
	for _, d := range facts {
		if err := w.fact(tx, d); err != nil {
			return err
		}
	}
	w.messages += 4
	return nil
}

// turn is one answer of the model: a read of 1200 bytes, or 600 bytes of text.
func (w *past) turn(reads bool) []session.EventData {
	m := session.MessageID(w.ids.New(session.PrefixMessage))
	p := session.PartID(w.ids.New(session.PrefixPart))
	facts := []session.EventData{&session.StepStarted{TurnFact: session.OfTurn(m), Agent: "build", Model: session.ModelRef{ID: "m", ProviderID: "mock"}}}
	finish := "stop"
	if reads {
		finish = "tool-calls"
		input := jsontext.Value(`{"filePath":"a.txt","offset":1,"limit":20}`)
		facts = append(facts,
			&session.ToolInputStarted{TurnFact: session.OfTurn(m), CallID: "c" + string(p), PartID: p, Name: "read"},
			&session.ToolInputEnded{TurnFact: session.OfTurn(m), CallID: "c" + string(p), PartID: p, Text: string(input)},
			&session.ToolCalled{TurnFact: session.OfTurn(m), CallID: "c" + string(p), PartID: p, Tool: "read", Input: input},
			&session.ToolSuccess{
				TurnFact: session.OfTurn(m), CallID: "c" + string(p), PartID: p, Structured: jsontext.Value(`{}`),
				Content: []session.ToolContent{{Type: "text", Text: strings.Repeat("a line of a file that was read\n", 39)}},
			})
	} else {
		facts = append(facts,
			&session.TextStarted{TurnFact: session.OfTurn(m), TextID: "0", PartID: p},
			&session.TextEnded{TurnFact: session.OfTurn(m), TextID: "0", PartID: p, Text: strings.Repeat("an answer ", 60)})
	}
	return append(facts, &session.StepEnded{TurnFact: session.OfTurn(m), Finish: finish, Tokens: session.Tokens{Input: 100, Output: 20, Total: 120}})
}
