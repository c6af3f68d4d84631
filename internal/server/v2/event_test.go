package v2_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// begin makes a session and prompts it.
func (w *world) begin(t *testing.T, text string) session.ID {
	t.Helper()
	s, err := w.client.Create(t.Context(), api.CreateSession{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Prompt(t.Context(), s.ID, api.PromptRequest{Prompt: &session.Prompt{Text: text}}); err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// A reader that comes in the middle of an answer gets the text so far and then the rest, without gap or overlap.
func TestLiveText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{Turns: []script.Turn{{Steps: []script.Step{
			{Text: script.Chunks{"One ", "two "}, Open: true}, {Gate: "g1"}, {Text: script.Chunks{"three"}},
		}}}})
		defer w.close(t)
		id := w.begin(t, "count")
		synctest.Wait()
		text, whole := "", ""
		for u, err := range w.client.Follow(t.Context(), id, -1) {
			if err != nil {
				t.Fatal(err)
			}
			if f := u.Fragment; f != nil {
				if f.Offset != len(text) {
					t.Errorf("a fragment at %d after %d bytes", f.Offset, len(text))
				}
				text += f.Delta
				if text == "One two " {
					close(w.player.Gates["g1"])
				}
			}
			if u.Event != nil {
				if e, ok := u.Event.Data.(*session.TextEnded); ok {
					whole = e.Text
					break
				}
			}
		}
		if text != whole || whole != "One two three" {
			t.Errorf("fragments %q, text %q", text, whole)
		}
	})
}

func TestTheFeedTellsOfEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says("Hello."))
		defer w.close(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var kinds []string
		var positions []int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			for u, err := range w.client.Feed(ctx, -1) {
				switch {
				case err != nil:
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				case u.Notice != nil:
					kinds = append(kinds, u.Notice.Kind)
				case u.Fragment != nil:
					kinds = append(kinds, string(u.Fragment.Kind()))
				default:
					kinds = append(kinds, string(u.Event.Data.Kind()))
					positions = append(positions, u.Event.Position)
				}
			}
		}()
		synctest.Wait()
		id := w.begin(t, "hi")
		if err := w.client.Wait(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		<-done
		got := strings.Join(kinds, " ")
		for _, want := range []string{
			"server.connected", "session.created", "session.next.prompt.admitted",
			"session.status", "session.next.text.delta", "session.next.step.ended",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("no %s among %s", want, got)
			}
		}
		for i, p := range positions {
			if p != int64(i+1) {
				t.Errorf("positions %v", positions)
				break
			}
		}
	})
}

// A stream resumed at any point of its history continues there, each event once and in order.
func TestStreamsResumeAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says("a", "b", "c"))
		defer w.close(t)
		id := w.begin(t, "1")
		for _, text := range []string{"2", "3"} {
			if err := w.client.Wait(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if _, err := w.client.Prompt(t.Context(), id, api.PromptRequest{Prompt: &session.Prompt{Text: text}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.client.Wait(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		var all []session.Event
		for after := int64(-1); ; {
			h, err := w.client.History(t.Context(), id, after, 5)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, h.Data...)
			if !h.HasMore {
				break
			}
			after = h.Data[len(h.Data)-1].Seq
		}
		for after := int64(-1); after < int64(len(all))-1; after++ {
			next := after + 1
			for u, err := range w.client.Tail(t.Context(), id, after) {
				if err != nil {
					t.Fatal(err)
				}
				if u.Event.Seq != next || u.Event.ID != all[next].ID {
					t.Fatalf("after %d came %d, wanted %d", after, u.Event.Seq, next)
				}
				if next++; next == int64(len(all)) {
					break
				}
			}
		}
		for _, err := range w.client.Tail(t.Context(), id, int64(len(all))) {
			if !errors.Is(err, &session.Error{Code: session.CodeConflict, Kind: api.KindCursor}) {
				t.Errorf("beyond the head: %v", err)
			}
		}
	})
}

// Closing the API ends streams and waits at once, and no new ones last.
func TestCloseEndsWhatLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(
			t,
			script.Script{Turns: []script.Turn{{Steps: []script.Step{{Text: script.Chunks{"x"}}, {Gate: "g1"}}}}},
		)
		id := w.begin(t, "hang")
		synctest.Wait()
		ends := make(chan error, 4)
		go func() { ends <- w.client.Wait(t.Context(), id) }()
		go func() {
			_, err := w.client.NextEditorRead(t.Context(), id, "editor")
			ends <- err
		}()
		go func() {
			for _, err := range w.client.Follow(t.Context(), id, -1) {
				if err != nil {
					ends <- err
				}
			}
		}()
		go func() {
			for _, err := range w.client.Feed(t.Context(), -1) {
				if err != nil {
					ends <- err
				}
			}
		}()
		synctest.Wait()
		begun := time.Now()
		w.api.Close()
		for range cap(ends) {
			if err := <-ends; err == nil {
				t.Error("ended without an error")
			}
		}
		if err := w.client.Wait(t.Context(), id); !errors.Is(err, &session.Error{Code: session.CodeUnavailable}) {
			t.Errorf("a new wait says %v", err)
		}
		if time.Since(begun) > time.Second {
			t.Error("it took long")
		}
		w.close(t)
	})
}

// The stream of a deleted session, or of its child, ends with an error.
func TestDeletingEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says("ok"))
		defer w.close(t)
		parent := w.begin(t, "hi")
		child, err := w.client.Create(t.Context(), api.CreateSession{ParentID: parent})
		if err != nil {
			t.Fatal(err)
		}
		other := w.begin(t, "stays")
		ends := make(chan error, 2)
		ctx, cancel := context.WithCancel(t.Context())
		for _, id := range []session.ID{parent, child.ID, other} {
			go func() {
				for _, err := range w.client.Follow(ctx, id, -1) {
					if err != nil && ctx.Err() == nil {
						ends <- err
					}
				}
			}()
		}
		synctest.Wait()
		if err := w.client.Delete(t.Context(), parent); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := <-ends; !errors.Is(err, &session.Error{Code: session.CodeNotFound, Kind: "session"}) {
				t.Errorf("got %v", err)
			}
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		if len(ends) != 0 {
			t.Error("the other session's stream ended too")
		}
	})
}

// Readers that come and go at random while a session works see each event once, in order, and the same as the log.
func TestReconnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		texts := make([]string, 40)
		for i := range texts {
			texts[i] = fmt.Sprint("answer ", i)
		}
		w := newWorld(t, says(texts...))
		defer w.close(t)
		id := w.begin(t, "0")
		go func() {
			for i := 1; i < len(texts); i++ {
				_ = w.client.Wait(t.Context(), id)
				r := api.PromptRequest{Prompt: &session.Prompt{Text: fmt.Sprint(i)}}
				if _, err := w.client.Prompt(t.Context(), id, r); err != nil {
					t.Error(err)
				}
			}
		}()
		var wg sync.WaitGroup
		for reader := range 8 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(reader), 7))
				seen := int64(-1)
				for ends := 0; ends < len(texts); {
					n := 1 + rng.IntN(9)
					for u, err := range w.client.Follow(t.Context(), id, seen) {
						if err != nil {
							t.Error(err)
							return
						}
						if u.Event == nil {
							continue
						}
						if u.Event.Seq != seen+1 {
							t.Errorf("reader %d: %d follows %d", reader, u.Event.Seq, seen)
							return
						}
						seen = u.Event.Seq
						if _, ok := u.Event.Data.(*session.StepEnded); ok {
							ends++
						}
						if n--; n == 0 || ends == len(texts) {
							break
						}
					}
				}
			})
		}
		wg.Wait()
	})
}

// An event that is too large for a frame is cut in OpenCode's stream, and whole for our client.
func TestLargeEventsFitTheirFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says("ok"))
		defer w.close(t)
		s, err := w.client.Create(t.Context(), api.CreateSession{})
		if err != nil {
			t.Fatal(err)
		}
		image := "data:image/png;base64,iVBORw0KGgoA" + strings.Repeat("A", 3<<20)
		text := strings.Repeat("é", 600<<10)
		p := session.Prompt{Text: text, Files: []session.File{{URI: image, Mime: "image/png"}}}
		for i := range 3000 {
			p.Agents = append(p.Agents, session.AgentMention{Name: "plan", Source: &session.Span{Start: i}})
		}
		if _, err := w.client.Prompt(t.Context(), s.ID, api.PromptRequest{Prompt: &p, Resume: new(false)}); err != nil {
			t.Fatal(err)
		}
		for u, err := range w.client.Tail(t.Context(), s.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			d := u.Event.Data.(*session.PromptAdmitted)
			if d.Prompt.Text != text || d.Prompt.Files[0].URI != image || len(d.Prompt.Agents) != 3000 {
				t.Error("the client did not get it whole")
			}
			break
		}
		c := loadContract(t)
		frame := w.frames(t, "/api/session/"+string(s.ID)+"/event?after=0", 1)[0]
		if len(frame) > 900<<10 || !strings.Contains(frame, `"elided":true`) ||
			!strings.Contains(frame, "data:image/png;elided=") {
			t.Errorf("a frame of %d bytes", len(frame))
		}
		c.CheckEvent(t, "SessionDurableEvent", []byte(strings.Replace(frame, `"elided":true,`, "", 1)))
	})
}

// Live text beyond what fits one frame comes in several, which join.
func TestLongLiveTextIsSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{Turns: []script.Turn{{Steps: []script.Step{
			{Text: script.Chunks{strings.Repeat("é\x01", 1<<18)}, Open: true}, {Gate: "g1"}, {Text: script.Chunks{"!"}},
		}}}})
		defer w.close(t)
		id := w.begin(t, "much")
		synctest.Wait()
		size, fragments := 0, 0
		for u, err := range w.client.Follow(t.Context(), id, -1) {
			if err != nil {
				t.Fatal(err)
			}
			if f := u.Fragment; f != nil {
				if f.Offset != size {
					t.Fatalf("a fragment at %d after %d bytes", f.Offset, size)
				}
				size += len(f.Delta)
				fragments++
			}
			if size >= 3<<18 {
				break
			}
		}
		if size != 3<<18 || fragments < 6 {
			t.Errorf("%d bytes in %d fragments", size, fragments)
		}
		close(w.player.Gates["g1"])
	})
}
