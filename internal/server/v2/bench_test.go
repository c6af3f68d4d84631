package v2_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// BenchmarkMessagePage reads a page of 200 messages as the handler sends it.
func BenchmarkMessagePage(b *testing.B) {
	var s script.Script
	for range 100 {
		s.Turns = append(s.Turns, script.Turn{Steps: []script.Step{{Text: script.Chunks{strings.Repeat("word ", 200)}}}})
	}
	w := newWorld(b, s)
	defer w.close(b)
	id := w.talk(b, 100)
	req := httptest.NewRequest(http.MethodGet, "/api/session/"+string(id)+"/message?limit=200", nil)
	b.ReportAllocs()
	for b.Loop() {
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, req)
		b.SetBytes(int64(rec.Body.Len()))
	}
}

// BenchmarkReplay streams a session's whole log to one client: events per second through every layer.
func BenchmarkReplay(b *testing.B) {
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = fmt.Sprint("answer ", i)
	}
	w := newWorld(b, says(texts...))
	defer w.close(b)
	id := w.talk(b, len(texts))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		steps := 0
		for u, err := range w.client.Tail(b.Context(), id, -1) {
			if err != nil {
				b.Fatal(err)
			}
			n++
			if u.Event.Data.Kind() == session.KindStepEnded {
				if steps++; steps == len(texts) {
					break
				}
			}
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkDelta measures one live delta on its way from the engine's log to one client in the same process.
func BenchmarkDelta(b *testing.B) {
	chunks := make(script.Chunks, 10_000)
	for i := range chunks {
		chunks[i] = "token "
	}
	for b.Loop() {
		w := newWorld(b, script.Script{Turns: []script.Turn{{Steps: []script.Step{{Text: chunks}}}}})
		id := w.talk(b, 0)
		_, err := w.client.Prompt(b.Context(), id, api.PromptRequest{Prompt: &session.Prompt{Text: "go"}})
		if err != nil {
			b.Fatal(err)
		}
		fragments := 0
		for u, err := range w.client.Follow(b.Context(), id, -1) {
			if err != nil {
				b.Fatal(err)
			}
			if u.Fragment != nil {
				fragments++
			}
			if u.Event != nil && u.Event.Data.Kind() == session.KindStepEnded {
				break
			}
		}
		b.ReportMetric(float64(fragments), "fragments")
		w.close(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/delta")
}

// talk makes a session and prompts it n times, waiting for each answer.
func (w *world) talk(b *testing.B, n int) session.ID {
	b.Helper()
	s, err := w.client.Create(b.Context(), api.CreateSession{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		if _, err := w.client.Prompt(b.Context(), s.ID,
			api.PromptRequest{Prompt: &session.Prompt{Text: fmt.Sprint(i)}}); err != nil {
			b.Fatal(err)
		}
		if err := w.client.Wait(b.Context(), s.ID); err != nil {
			b.Fatal(err)
		}
	}
	return s.ID
}
