package v2_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/tool"
)

func TestOnePromptThroughTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{Turns: []script.Turn{{
			Steps: []script.Step{
				{Text: script.Chunks{"Hello ", "there."}},
			}, Usage: script.Usage{Input: 100, Output: 10},
		}}})
		defer w.close(t)
		ctx := t.Context()
		s, err := w.client.Create(ctx, api.CreateSession{Title: "First"})
		if err != nil {
			t.Fatal(err)
		}
		if s.Location.Directory != work || s.Title != "First" || s.Slug == "" {
			t.Errorf("created %+v", s)
		}
		in, err := w.client.Prompt(ctx, s.ID, api.PromptRequest{ID: "msg_1", Prompt: &session.Prompt{Text: "Hi"}})
		if err != nil || in.ID != "msg_1" || in.AdmittedSeq != 1 {
			t.Fatalf("admitted %+v, %v", in, err)
		}
		text, last := "", int64(-1)
		for u, err := range w.client.Follow(ctx, s.ID, -1) {
			if err != nil {
				t.Fatal(err)
			}
			if u.Fragment != nil {
				text += u.Fragment.Delta
			}
			if u.Event == nil {
				continue
			}
			if u.Event.Seq != last+1 {
				t.Errorf("seq %d follows %d", u.Event.Seq, last)
			}
			last = u.Event.Seq
			if _, ok := u.Event.Data.(*session.StepEnded); ok {
				break
			}
		}
		if text != "" && text != "Hello there." {
			t.Errorf("live text %q", text)
		}
		if err := w.client.Wait(ctx, s.ID); err != nil {
			t.Fatal(err)
		}
		ms, err := w.client.Messages(ctx, s.ID, api.MessageQuery{})
		if err != nil || len(ms.Data) != 2 {
			t.Fatalf("messages %v, %v", ms, err)
		}
		if a, ok := ms.Data[0].(*session.Assistant); !ok || a.Content[0].(*session.Text).Text != "Hello there." {
			t.Errorf("the newest message is %+v", ms.Data[0])
		}
		h, err := w.client.Health(ctx)
		if err != nil || !h.Healthy || h.Version != "test" {
			t.Errorf("health %+v, %v", h, err)
		}
	})
}

func TestErrorsComeBackAsTheyWere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says("ok"))
		defer w.close(t)
		ctx := context.Background()
		_, err := w.client.Session(ctx, "ses_none")
		if !errors.Is(err, &session.Error{Code: session.CodeNotFound, Kind: "session"}) {
			t.Errorf("got %v", err)
		}
		_, err = w.client.Create(ctx, api.CreateSession{Model: &session.ModelRef{ID: "mian", ProviderID: "mock"}})
		e, ok := errors.AsType[*session.Error](err)
		if !ok || e.Code != session.CodeNotFound || e.Kind != "model" || len(e.Nearest) == 0 {
			t.Errorf("got %#v", err)
		}
		_, err = w.client.Sessions(ctx, api.SessionQuery{Within: "/w"})
		if e, ok := errors.AsType[*session.Error](err); !ok || e.Code != session.CodeInvalid || e.Field != "within" {
			t.Errorf("within without project: %v", err)
		}
		for _, err := range w.client.Follow(ctx, "ses_none", -1) {
			if !errors.Is(err, &session.Error{Code: session.CodeNotFound, Kind: "session"}) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// OpenCode 2.0 sends the rules of a session as "permissions".
func TestRulesInTheWordsOfOpenCode2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{})
		defer w.close(t)
		deny := []session.Rule{{Action: "bash", Resource: "*", Effect: session.Deny}}
		ask := []session.Rule{{Action: "edit", Resource: "*", Effect: session.Ask}}
		s, err := w.client.Create(t.Context(), api.CreateSession{Permissions: deny, Metadata: []byte(`{"a":1}`)})
		if err != nil || !slices.Equal(s.Permission, deny) || string(s.Metadata) != `{"a":1}` {
			t.Fatalf("%+v, %v", s, err)
		}
		s, err = w.client.Update(t.Context(), s.ID, api.SessionPatch{Permissions: &ask, Metadata: []byte(`{"b":2}`)})
		if err != nil || !slices.Equal(s.Permission, ask) || string(s.Metadata) != `{"b":2}` {
			t.Errorf("%+v, %v", s, err)
		}
		_, err = w.client.Update(t.Context(), s.ID, api.SessionPatch{Permission: &deny, Permissions: &ask})
		if refused, ok := errors.AsType[*session.Error](err); !ok || refused.Field != "permissions" {
			t.Errorf("rules under both names: %v", err)
		}
	})
}

// A session whose background job runs in this process was not cut off.
func TestActiveWithJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{})
		defer w.close(t)
		ended := make(chan struct{})
		s, err := w.client.Create(t.Context(), api.CreateSession{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.engine.Jobs.ForSession(s.ID).Start(t.Context(), session.Job{Command: "sleep 1"}, tool.Work{
			Run:      func(context.Context) tool.JobEnd { <-ended; return tool.JobEnd{} },
			ReadTail: func(int) string { return "" },
		})
		if err != nil {
			t.Fatal(err)
		}
		// What another process left is found all the same.
		left, err := w.client.Create(t.Context(), api.CreateSession{})
		if err != nil {
			t.Fatal(err)
		}
		err = w.store.Update(t.Context(), store.Durable, func(tx store.Tx) error { return tx.SetUnfinished(left.ID, true) })
		if err != nil {
			t.Fatal(err)
		}
		active, err := w.client.Active(t.Context())
		if err != nil || len(active) != 1 || active[left.ID].Type != api.TypeUnfinished {
			t.Errorf("while the job runs: %v, %v", active, err)
		}
		close(ended)
		synctest.Wait()
	})
}
