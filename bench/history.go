//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/projection"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// measureHistory reads sessions with a long history and continues them.
func (b *bench) measureHistory(ctx context.Context) error {
	h := b.newHome("history")
	s, err := b.serve(ctx, h)
	if err != nil {
		return err
	}
	sizes := []int{100, 1_000, 10_000}
	ids := make([]session.ID, len(sizes))
	for i := range sizes {
		if ids[i], err = s.begin(ctx); err == nil {
			_, err = b.runTurn(ctx, s, ids[i], order{n: 1, size: 5})
		}
		if err != nil {
			break
		}
	}
	s.stop()
	if err == nil {
		err = writeHistory(ctx, h.dataDir(), ids, sizes)
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
	for i, n := range sizes[1:] {
		if err := b.forkHistory(ctx, s, ids[i+1], n); err != nil {
			return err
		}
	}
	quiet := b.settle(ctx)
	start := time.Now()
	if err := s.client.Delete(ctx, ids[1]); err != nil {
		return err
	}
	b.add(
		row{
			ID: "P23", What: "delete a session of 1000 messages", Figure: toMillis(time.Since(start)), Unit: "ms", N: 1,
			Target: 30, Foreign: quiet.foreignSince(),
		},
	)
	return nil
}

func (b *bench) readHistory(ctx context.Context, s *server, id session.ID, n int) error {
	target := map[int]float64{1_000: 15, 10_000: 150}[n]
	if target == 0 {
		return nil
	}
	quiet := b.settle(ctx)
	most := watchMemory(s.pid())
	var paged, whole []float64
	size := 0
	for range 7 {
		start := time.Now()
		got, _, err := s.readPages(ctx, "/api/session/"+string(id)+"/message", url.Values{"limit": {"200"}})
		if err != nil {
			return err
		}
		paged = append(paged, toMillis(time.Since(start)))
		start = time.Now()
		body, err := s.get(ctx, "/api/session/"+string(id)+"/context", nil)
		if err != nil {
			return err
		}
		whole, size = append(whole, toMillis(time.Since(start))), len(body)
		if got < n {
			return fmt.Errorf("%d messages of %d are listed", got, n)
		}
	}
	foreign := quiet.foreignSince()
	b.add(
		row{
			ID: "P18", What: fmt.Sprintf("GET %d messages (%.1f MB), pages of 200", n, float64(size)/1e6),
			Figure: medianOf(paged), Unit: "ms", N: len(paged), Target: target, Foreign: foreign,
		},
	)
	b.add(
		row{
			ID: "P18", What: fmt.Sprintf("GET the context of %d messages at once", n), Figure: medianOf(whole), Unit: "ms",
			N: len(whole), Target: target, Limit: toMillis(copyTime(size)), Of: "memcpy", Foreign: foreign,
		},
	)
	b.add(
		row{
			ID: "P18", What: fmt.Sprintf("peak RSS meanwhile, %d messages", n), Figure: most.finish(), Unit: "MiB", N: 1,
			Foreign: foreign,
		},
	)
	return nil
}

// forkHistory forks a session of n messages several times.
func (b *bench) forkHistory(ctx context.Context, s *server, id session.ID, n int) error {
	quiet := b.settle(ctx)
	var ms []float64
	for range 7 {
		start := time.Now()
		if _, err := (api.Forks{Client: s.client}).ForkSession(ctx, id, api.ForkRequest{}); err != nil {
			return err
		}
		ms = append(ms, toMillis(time.Since(start)))
	}
	b.add(
		row{
			ID: "P23", What: fmt.Sprintf("fork a session of %d messages", n), Figure: medianOf(ms), Unit: "ms", N: len(ms),
			Target: map[int]float64{1_000: 30, 10_000: 300}[n], Foreign: quiet.foreignSince(),
		},
	)
	return nil
}

func copyTime(n int) time.Duration {
	from := bytes.Repeat([]byte("x"), n)
	start := time.Now()
	_ = bytes.Clone(from)
	return time.Since(start)
}

// workOnHistory prompts a session of n messages: the first prompt reads them all, later ones only the new ones.
func (b *bench) workOnHistory(ctx context.Context, s *server, id session.ID, n int) error {
	quiet := b.settle(ctx)
	var ms []float64
	cold := 0.0
	for i := range b.scaleCount(20) + 1 {
		t, err := b.runTurn(ctx, s, id, order{n: 1, size: 5})
		if err != nil {
			return err
		}
		if i == 0 {
			cold = toMillis(t.toRequest)
			continue
		}
		ms = append(ms, toMillis(t.toRequest))
	}
	foreign := quiet.foreignSince()
	p50, _ := b.limits.syncTime()
	target := map[int]float64{100: 5, 1_000: 10, 10_000: 60}[n]
	b.add(
		row{
			ID: "P19", What: fmt.Sprintf("prompt to provider request on %d messages", n), Figure: medianOf(ms), Unit: "ms",
			N: len(ms), Target: target, Limit: p50, Of: "one fdatasync", Foreign: foreign,
		},
	)
	b.add(
		row{
			ID: "P19", What: fmt.Sprintf("the same, the first time, on %d messages", n), Figure: cold, Unit: "ms", N: 1,
			Foreign: foreign,
		},
	)
	return nil
}

// maxGrowth bounds the duration of a compacted session relative to one that stores only what is kept.
const maxGrowth = 2

// measureCompacted compares a session of 10,000 messages with a compaction to one that stores only what it keeps.
func (b *bench) measureCompacted(ctx context.Context) error {
	const stored, kept = 10_000, 100
	h := b.newHome("compacted")
	var ids []session.ID // compacted, short, and one that opens the project
	prompt := func(s *server) error {
		for _, id := range ids {
			if _, err := b.runTurn(ctx, s, id, order{n: 1, size: 5}); err != nil {
				return err
			}
		}
		return nil
	}
	err := b.runServer(ctx, h, func(s *server) error {
		for range 3 {
			id, err := s.begin(ctx)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return prompt(s)
	})
	if err == nil {
		err = writeHistory(ctx, h.dataDir(), ids[:2], []int{stored, kept})
	}
	if err == nil {
		err = writeCompaction(ctx, h.dataDir(), ids[0], kept)
	}
	if err == nil {
		err = b.runServer(ctx, h, prompt) // the first prompt after the compaction begins its context epoch
	}
	if err != nil {
		return err
	}
	return b.runServer(ctx, h, func(s *server) error {
		if _, err := b.runTurn(ctx, s, ids[2], order{n: 1, size: 5}); err != nil {
			return err
		}
		return b.compareCompacted(ctx, s, ids[:2], fmt.Sprintf("%d messages, compacted to %d", stored, kept))
	})
}

// runServer calls f with a server that stops after it.
func (b *bench) runServer(ctx context.Context, h *home, f func(*server) error) error {
	s, err := b.serve(ctx, h)
	if err != nil {
		return err
	}
	defer s.stop()
	return f(s)
}

// compareCompacted reads and prompts both sessions in turns: the compacted one, which the rows name, and the short one,
// whose figures are the limits.
func (b *bench) compareCompacted(ctx context.Context, s *server, ids []session.ID, name string) error {
	quiet := b.settle(ctx)
	var reads, prompts [2][]float64
	for range b.scaleCount(20) {
		for i, id := range ids {
			start := time.Now()
			if _, err := s.get(ctx, "/api/session/"+string(id)+"/context", nil); err != nil {
				return err
			}
			reads[i] = append(reads[i], toMillis(time.Since(start)))
			t, err := b.runTurn(ctx, s, id, order{n: 1, size: 5})
			if err != nil {
				return err
			}
			prompts[i] = append(prompts[i], toMillis(t.toRequest))
		}
	}
	foreign := quiet.foreignSince()
	const limit = "only what is kept"
	for _, m := range []struct {
		what string
		ms   [2][]float64
	}{{"GET the context of ", reads}, {"prompt to provider request on ", prompts}} {
		b.add(
			row{
				ID: "P24", What: m.what + name, Figure: medianOf(m.ms[0]), Unit: "ms", N: len(m.ms[0]),
				Target: maxGrowth * medianOf(m.ms[1]), Limit: medianOf(m.ms[1]), Of: limit, Foreign: foreign,
			},
		)
		b.add(
			row{
				ID: "P24", What: "the same, the first time", Figure: m.ms[0][0], Unit: "ms", N: 1, Limit: m.ms[1][0],
				Of: limit, Foreign: foreign,
			},
		)
	}
	return nil
}

// writeHistory writes rounds of one prompt, two reads and a response to the sessions, as an import would.
func writeHistory(ctx context.Context, dir string, ids []session.ID, sizes []int) error {
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer s.Close()
	for i, id := range ids {
		w := &historyWriter{ids: &session.IDs{}, id: id, now: time.Now().UnixMilli()}
		for w.messages < sizes[i] {
			err := s.Update(ctx, store.Relaxed, func(tx store.Tx) error {
				if w.seq, err = tx.Head(id); err != nil {
					return err
				}
				for range 25 {
					if err := w.appendRound(tx); err != nil {
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

// writeCompaction appends a compaction that keeps the session's newest messages.
func writeCompaction(ctx context.Context, dir string, id session.ID, kept int) error {
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Update(ctx, store.Relaxed, func(tx store.Tx) error {
		visible, err := store.ReadVisible(tx, id)
		if err != nil {
			return err
		}
		w := &historyWriter{ids: &session.IDs{}, id: id, now: time.Now().UnixMilli()}
		if w.seq, err = tx.Head(id); err != nil {
			return err
		}
		first := visible[len(visible)-kept]
		return w.append(tx, &session.CompactionEnded{
			MessageID: session.MessageID(w.ids.New(session.PrefixMessage)),
			Reason:    session.CompactionManual,
			Text:      "## Goal\n- read the file",
			Kept:      session.Kept{Seq: first.Seq, MessageID: first.ID},
		})
	})
}

// historyWriter writes the events and rows of a session's history.
type historyWriter struct {
	ids      *session.IDs
	id       session.ID
	seq      int64
	messages int
	newest   session.MessageID // of the newest turn
	now      int64
}

func (w *historyWriter) append(tx store.Tx, d session.EventData) error {
	d.Stamp().Timestamp, d.Stamp().SessionID = w.now, w.id
	w.seq++
	e := session.Event{
		ID:        session.EventID(w.ids.New(session.PrefixEvent)),
		SessionID: w.id,
		Seq:       w.seq,
		Version:   d.Version(),
		Data:      d,
	}
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

func (w *historyWriter) appendRound(tx store.Tx) error {
	prompt := session.Prompt{Text: strings.Repeat("a question ", 13)}
	facts := []session.EventData{
		&session.Prompted{
			MessageID: session.MessageID(w.ids.New(session.PrefixMessage)),
			Prompt:    prompt,
			Delivery:  session.Steer,
		},
	}
	for i := range 3 {
		facts = append(facts, w.turnEvents(i < 2)...)
	}
	for _, d := range facts {
		if err := w.append(tx, d); err != nil {
			return err
		}
	}
	w.messages += 4
	return nil
}

// turnEvents returns the events of one turn: a read of 1200 bytes, or 600 bytes of text.
func (w *historyWriter) turnEvents(reads bool) []session.EventData {
	m := session.MessageID(w.ids.New(session.PrefixMessage))
	w.newest = m
	p := session.PartID(w.ids.New(session.PrefixPart))
	facts := []session.EventData{
		&session.StepStarted{
			TurnFact: session.OfTurn(m),
			Agent:    "build",
			Model:    session.ModelRef{ID: "m", ProviderID: "mock"},
		},
	}
	finish := "stop"
	if reads {
		finish = "tool-calls"
		input := jsontext.Value(`{"filePath":"a.txt","offset":1,"limit":20}`)
		facts = append(
			facts,
			&session.ToolInputStarted{TurnFact: session.OfTurn(m), CallID: "c" + string(p), PartID: p, Name: "read"},
			&session.ToolInputEnded{
				TurnFact: session.OfTurn(m),
				CallID:   "c" + string(p),
				PartID:   p,
				Text:     string(input),
			},
			&session.ToolCalled{
				TurnFact: session.OfTurn(m),
				CallID:   "c" + string(p),
				PartID:   p,
				Tool:     "read",
				Input:    input,
			},
			&session.ToolSuccess{
				TurnFact: session.OfTurn(m), CallID: "c" + string(p), PartID: p, Structured: jsontext.Value(`{}`),
				Content: []session.ToolContent{
					{Type: "text", Text: strings.Repeat("a line of a file that was read\n", 39)},
				},
			},
		)
	} else {
		facts = append(facts,
			&session.TextStarted{TurnFact: session.OfTurn(m), TextID: "0", PartID: p},
			&session.TextEnded{
				TurnFact: session.OfTurn(m), TextID: "0", PartID: p,
				Text: strings.Repeat("an answer ", 60),
			})
	}
	return append(
		facts,
		&session.StepEnded{
			TurnFact: session.OfTurn(m),
			Finish:   finish,
			Tokens:   session.Tokens{Input: 100, Output: 20, Total: 120},
		},
	)
}
