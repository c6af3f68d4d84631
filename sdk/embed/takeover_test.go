package embed_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/sdk"
	"github.com/cairn-dev/cairn/sdk/cairntest"
	"github.com/cairn-dev/cairn/sdk/embed"
)

// A client takes over when the owner closes. What the owner's model began fails in words: the built-in guide does not
// finish it, also if the model has said nothing yet. The guide answers sessions that never had another model.
func TestGuideFinishesNothing(t *testing.T) {
	for name, c := range map[string]struct{ says, first, second string }{
		"it has said something": {"So far. ", "cairn/m", "cairn/m"},
		"it has said nothing":   {"", "the model of this prompt is unknown", ""},
	} {
		t.Run(name, func(t *testing.T) {
			waits := make(chan struct{}, 1)
			model := newFuncModel(func(ctx context.Context, yield func(embed.Chunk, error) bool) {
				if c.says == "" {
					waits <- struct{}{}
				} else if !yield(embed.Chunk{Text: c.says}, nil) {
					return
				}
				<-ctx.Done()
				yield(embed.Chunk{}, ctx.Err())
			})
			home, dir := t.TempDir(), t.TempDir()
			owner := cairntest.Open(t, &embed.Options{Home: home, Directory: dir, Models: []embed.Model{model}})
			client := cairntest.Open(t, &embed.Options{Home: home, Directory: dir}).Client()
			// The owner closes while its model answers.
			s := newSession(t, client)
			var closing sync.WaitGroup
			closeOwner := func() {
				if err := owner.Close(); err != nil {
					t.Error(err)
				}
			}
			if c.says == "" {
				closing.Go(func() { <-waits; closeOwner() })
			}
			var failed *sdk.RunError
			for e, err := range s.Run(t.Context(), sdk.Prompt{Text: "work"}) {
				if _, ok := e.Data.(sdk.TextDelta); ok && failed == nil {
					closing.Go(closeOwner)
				}
				errors.As(err, &failed)
			}
			closing.Wait()
			if failed == nil || !strings.Contains(failed.Message, c.first) {
				t.Errorf("the work that the owner began: %v", failed)
			}
			// The next prompt, and a session of the client's own.
			r, err := s.Do(t.Context(), sdk.Prompt{Text: "go on"})
			if c.second != "" && (!errors.As(err, &failed) || !strings.Contains(failed.Message, c.second)) {
				t.Errorf("the next prompt: %+v, %v", r, err)
			}
			r, err = newSession(t, client).Do(t.Context(), sdk.Prompt{Text: "hello"})
			if err != nil || r.Model != "cairn/guide" {
				t.Errorf("a session of the client's own: %+v, %v", r, err)
			}
		})
	}
}

// A session whose prompt failed because its model cannot be used is answered by the guide once no model is configured.
func TestGuideAfterUnusableModel(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	store, err := embed.Open(t.Context(), &embed.Options{
		Home: home, Directory: dir, Env: func(string) string { return "" }, Config: []byte(`{"model":"anthropic/nosuch"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, store.Client())
	if r, err := s.Do(t.Context(), sdk.Prompt{Text: "hello"}); err == nil {
		t.Errorf("%+v", r)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	c := cairntest.Open(t, &embed.Options{Home: home, Directory: dir}).Client()
	if s, err = c.OpenSession(t.Context(), s.ID()); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Do(t.Context(), sdk.Prompt{Text: "hello again"}); err != nil || r.Model != "cairn/guide" {
		t.Errorf("%+v, %v", r, err)
	}
}
