package compaction

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// limitedModel rejects requests of more than limit bytes, and keeps the sizes of those that it got.
type limitedModel struct {
	limit int
	sizes []int
}

func (m *limitedModel) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	size := len(req.Messages[0].Parts[0].(llm.Text).Text)
	m.sizes = append(m.sizes, size)
	return func(yield func(llm.Event, error) bool) {
		if size > m.limit {
			yield(nil, &llm.Error{Class: llm.Overflow, Status: 400, Message: "too long"})
			return
		}
		_ = yield(llm.TextStart{ID: "t"}, nil) && yield(llm.TextDelta{ID: "t", Delta: "## Goal\n- Go."}, nil) &&
			yield(llm.TextEnd{ID: "t"}, nil) && yield(llm.Finish{Reason: llm.FinishStop}, nil)
	}
}

// A question that the provider finds too large is divided until the pieces fit; the same question is not sent again.
func TestOverflowOfSummaries(t *testing.T) {
	for _, c := range []struct {
		name         string
		limit, bytes int // of the model, of the transcript
		ok           bool
		requests     int
	}{
		{"pieces that fit", 6000, 16_000, true, 1 + 1 + 4},
		{"a transcript that is small anyway", 100, 500, false, 1},
		{"no piece is small enough", 100, 16_000, false, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &limitedModel{limit: c.limit}
			w := &Writer{Logger: slog.New(slog.DiscardHandler), Now: time.Now}
			_, _, err := w.Write(t.Context(), SummaryRequest{
				Model:      &scope.Model{Ref: session.ModelRef{ID: "m", ProviderID: "p"}, Client: m},
				Transcript: []string{strings.Repeat("word ", c.bytes/5)}, HeadTokens: 1000,
			})
			failure, _ := errors.AsType[*llm.Error](err)
			if (err == nil) != c.ok || err != nil && (failure == nil || failure.Class != llm.Overflow) {
				t.Errorf("error %v", err)
			}
			if len(m.sizes) != c.requests {
				t.Errorf("requests of %d bytes, want %d requests", m.sizes, c.requests)
			}
		})
	}
}

// An answer without text is no summary: the model is asked once more, and not as after a failure.
func TestEmptySummaries(t *testing.T) {
	requests := 0
	w := &Writer{Logger: slog.New(slog.DiscardHandler), Now: time.Now}
	_, _, err := w.Write(t.Context(), SummaryRequest{
		Model: &scope.Model{Client: modelFunc(func(yield func(llm.Event, error) bool) {
			requests++
			yield(nil, &llm.Error{Class: llm.Empty, Message: "nothing"})
		})},
		Transcript: []string{"word"}, HeadTokens: 1000,
	})
	if _, ok := errors.AsType[*UnusableError](err); !ok || requests != 2 {
		t.Errorf("%d requests, error %v", requests, err)
	}
}

type modelFunc iter.Seq2[llm.Event, error]

func (f modelFunc) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	return iter.Seq2[llm.Event, error](f)
}
