package v2_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// A request for a compaction gives the same receipt again, streams its summary, and is undone.
func TestCompact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("long ", 4000)
		turns := says(long, "two", "## Goal\n- All.", "three")
		w := newWorld(t, script.Script{Turns: turns.Turns})
		defer w.close(t)
		ctx := t.Context()
		s, err := w.client.Create(ctx, api.CreateSession{Title: "T"})
		if err != nil {
			t.Fatal(err)
		}
		prompt := func(text string) {
			t.Helper()
			r := api.PromptRequest{Prompt: &session.Prompt{Text: text}}
			if _, err := w.client.Prompt(ctx, s.ID, r); err != nil {
				t.Fatal(err)
			}
			if err := w.client.Wait(ctx, s.ID); err != nil {
				t.Fatal(err)
			}
		}
		prompt("one")
		prompt("two")
		r := api.CompactRequest{ID: "msg_c", Instructions: "keep it"}
		item, err := w.client.Compact(ctx, s.ID, r)
		if err != nil {
			t.Fatal(err)
		}
		want := api.CompactionItem{
			ID: "msg_c", SessionID: s.ID, Type: "compaction", Delivery: session.Steer, Time: item.Time,
			Payload: session.CompactionRequest{Instructions: "keep it"},
		}
		if d := cmp.Diff(want, item); d != "" || item.Time.Created == 0 {
			t.Error(d)
		}
		summary, done := "", false
		for u, err := range w.client.Follow(ctx, s.ID, -1) {
			if err != nil {
				t.Fatal(err)
			}
			if u.Fragment != nil && u.Fragment.Item == session.FragmentSummary {
				summary += u.Fragment.Delta
			}
			if u.Event == nil {
				continue
			}
			if d, ok := u.Event.Data.(*session.CompactionEnded); ok {
				if summary != "" && summary != d.Text {
					t.Errorf("streamed %q of %q", summary, d.Text)
				}
				done = true
				break
			}
		}
		if err := w.client.Wait(ctx, s.ID); err != nil || !done {
			t.Fatal(done, err)
		}
		if again, err := w.client.Compact(ctx, s.ID, r); err != nil || again.ID != item.ID || again.Time != item.Time {
			t.Errorf("the same request again: %+v, %v", again, err)
		}
		_, err = w.client.Compact(ctx, s.ID, api.CompactRequest{ID: "msg_c", Instructions: "other"})
		if !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
			t.Errorf("another request under the id: %v", err)
		}
		for _, bad := range []api.CompactRequest{
			{Delivery: "soon"}, {ID: "x"}, {Model: &session.ModelRef{ID: "nope", ProviderID: "mock"}},
		} {
			if _, err := w.client.Compact(ctx, s.ID, bad); err == nil {
				t.Errorf("%+v is admitted", bad)
			}
		}
		if _, err := w.client.Compact(ctx, "ses_none", api.CompactRequest{}); !errors.Is(
			err,
			&session.Error{Code: session.CodeNotFound},
		) {
			t.Errorf("an unknown session: %v", err)
		}
		if err := w.client.Wait(ctx, s.ID); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Uncompact(ctx, s.ID); err != nil {
			t.Error(err)
		}
		if err := w.client.Uncompact(ctx, s.ID); !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
			t.Errorf("nothing to undo: %v", err)
		}
	})
}

// A request for a compaction of a session that works is in the inbox, where it can be redirected and withdrawn.
func TestCompactWhileWorking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := script.Step{Call: &script.Call{ID: "c", Name: "edit"}}
		w := newWorld(t, script.Script{Turns: []script.Turn{{Steps: []script.Step{call}}}})
		defer w.close(t)
		ctx := t.Context()
		s, err := w.client.Create(ctx, api.CreateSession{Title: "T", Asks: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.client.Prompt(ctx, s.ID, api.PromptRequest{Prompt: &session.Prompt{Text: "go"}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the call asks
		if _, err := w.client.Compact(ctx, s.ID, api.CompactRequest{ID: "msg_c", Delivery: session.Queue}); err != nil {
			t.Fatal(err)
		}
		inbox := w.client.Inbox()
		if err := inbox.Redirect(ctx, s.ID, "msg_c", session.Steer); err != nil {
			t.Error(err)
		}
		if err := inbox.Edit(ctx, s.ID, "msg_c", session.Prompt{Text: "x"}); !errors.Is(
			err,
			&session.Error{Code: session.CodeConflict},
		) {
			t.Errorf("edited: %v", err)
		}
		pending, err := inbox.List(ctx, s.ID)
		if err != nil || len(pending) != 1 || pending[0].Compaction == nil || pending[0].Delivery != session.Steer ||
			pending[0].Text() != "/compact" {
			t.Errorf("pending are %+v, %v", pending, err)
		}
		if err := w.client.Uncompact(ctx, s.ID); !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
			t.Errorf("undone while it works: %v", err)
		}
		if err := inbox.Withdraw(ctx, s.ID, "msg_c"); err != nil {
			t.Error(err)
		}
		if pending, err = inbox.List(ctx, s.ID); err != nil || len(pending) != 0 {
			t.Errorf("pending are %+v, %v", pending, err)
		}
		if err := w.client.Interrupt(ctx, s.ID); err != nil {
			t.Error(err)
		}
	})
}
