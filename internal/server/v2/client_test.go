package v2_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// Every operation of the client, once, against the real thing.
func TestTheWholeClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, script.Script{Turns: []script.Turn{
			{Steps: []script.Step{{Call: &script.Call{ID: "c", Name: "edit"}}}},
			{
				Repeat: true,
				Steps:  []script.Step{{Text: script.Chunks{"ok"}}},
				Usage:  script.Usage{Input: 10, Output: 1},
			},
		}})
		defer w.close(t)
		ctx, c := t.Context(), w.client
		c.Directory = "/elsewhere"
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		s, err := c.Create(
			ctx,
			api.CreateSession{Permission: []session.Rule{{Action: "x", Resource: "*", Effect: session.Deny}}},
		)
		must(err)
		if s.Location.Directory != "/elsewhere" || len(s.Permission) != 1 {
			t.Errorf("created %+v", s)
		}
		_, err = c.Prompt(ctx, s.ID, api.PromptRequest{ID: "msg_1", Prompt: &session.Prompt{Text: "edit"}})
		must(err)
		synctest.Wait()
		w.answerAsk(t, s.ID)
		must(c.Wait(ctx, s.ID))
		w.inboxOperations(t, s.ID)
		must(c.Resume(ctx, s.ID))
		w.reads(t, s.ID)
		must(c.Rename(ctx, s.ID, "New name"))
		must(c.Archive(ctx, s.ID, true))
		must(c.SetBudget(ctx, s.ID, &session.Budget{Turns: 3}))
		path := "/api/session/" + string(s.ID)
		request[struct{}](t, w, http.MethodPost, path+"/agent", `{"agent":"plan"}`)
		request[struct{}](t, w, http.MethodPost, path+"/model", `{"model":{"id":"other","providerID":"mock"}}`)
		must(c.Interrupt(ctx, s.ID))
		got, err := c.Session(ctx, s.ID)
		must(err)
		if got.Title != "New name" || got.Time.Archived == 0 || got.Budget.Turns != 3 || got.Agent != "plan" ||
			got.Model.ID != "other" {
			t.Errorf("now %+v", got)
		}
		must(c.Delete(ctx, s.ID))
		if _, err := c.Session(ctx, s.ID); !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			t.Errorf("after deletion: %v", err)
		}
	})
}

func (w *world) answerAsk(t *testing.T, id session.ID) {
	t.Helper()
	ctx, c := t.Context(), w.client
	here, err := c.Asks(ctx, "")
	if err != nil || len(here) != 1 || here[0].Agent != "build" {
		t.Fatalf("asks %+v, %v", here, err)
	}
	path := "/api/session/" + string(id) + "/permission"
	one := request[api.Data[session.PendingAsk]](t, w, http.MethodGet, path+"/"+string(here[0].ID), "").Data
	if one.Action != "edit" || one.Source.CallID != "c" {
		t.Errorf("ask %+v", one)
	}
	if st, err := c.Status(ctx, id); err != nil || st.Type != "awaiting-permission" {
		t.Errorf("status %+v, %v", st, err)
	}
	if a, err := c.Active(ctx); err != nil || a[id].Type != "running" {
		t.Errorf("active %+v, %v", a, err)
	}
	if err := c.Reply(ctx, id, one.ID, api.ReplyRequest{Reply: session.ReplyAlways}); err != nil {
		t.Fatal(err)
	}
	saved, err := c.Approvals(ctx, "")
	if err != nil || len(saved) != 1 {
		t.Fatalf("saved %+v, %v", saved, err)
	}
	if err := c.Revoke(ctx, saved[0].ID); err != nil {
		t.Error(err)
	}
	asked := request[api.Data[api.AskReceipt]](t, w, http.MethodPost, path, `{"action":"write","resources":["x"]}`)
	if asked.Data.Effect != session.Allow {
		t.Errorf("asked %+v", asked)
	}
	if qs, err := c.Questions().List(ctx, id); err != nil || len(qs) != 0 {
		t.Errorf("questions %v, %v", qs, err)
	}
	if err := c.Questions().Answer(ctx, id, "que_1", [][]string{{"a"}}); !errors.Is(
		err,
		&session.Error{Code: session.CodeNotFound, Kind: "question"},
	) {
		t.Errorf("answered %v", err)
	}
	if err := c.Questions().Reject(ctx, id, "que_1"); !errors.Is(
		err,
		&session.Error{Code: session.CodeNotFound, Kind: "question"},
	) {
		t.Errorf("rejected %v", err)
	}
}

func (w *world) inboxOperations(t *testing.T, id session.ID) {
	t.Helper()
	ctx, c := t.Context(), w.client
	for _, m := range []session.MessageID{"msg_a", "msg_b", "msg_c"} {
		r := api.PromptRequest{
			ID:       m,
			Prompt:   &session.Prompt{Text: string(m)},
			Delivery: session.Queue,
			Resume:   new(false),
			Asks:     "deny",
		}
		if _, err := c.Prompt(ctx, id, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		c.Inbox().Withdraw(ctx, id, "msg_b"), c.Inbox().Reorder(ctx, id, []session.MessageID{"msg_c", "msg_a"}),
		c.Inbox().Edit(ctx, id, "msg_c", session.Prompt{Text: "better"}),
	); err != nil {
		t.Error(err)
	}
	ins, err := c.Inbox().List(ctx, id)
	if err != nil || len(ins) != 2 || ins[0].Prompt.Text != "better" || ins[0].Asks != "deny" || !ins[0].Hold {
		t.Errorf("inbox %+v, %v", ins, err)
	}
	if err := c.Inbox().Redirect(ctx, id, "msg_a", session.Steer); err != nil {
		t.Error(err)
	}
}

func (w *world) reads(t *testing.T, id session.ID) {
	t.Helper()
	ctx, c := t.Context(), w.client
	var all []session.Message
	for cursor := ""; ; {
		p, err := c.Messages(ctx, id, api.MessageQuery{Oldest: true, Limit: 2, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Data) == 0 {
			break
		}
		all, cursor = append(all, p.Data...), p.Cursor.Next
	}
	path := "/api/session/" + string(id)
	context := request[api.Data[[]jsontext.Value]](t, w, http.MethodGet, path+"/context", "").Data
	if len(context) != len(all) || len(all) < 7 {
		t.Errorf("%d messages, %d in the context", len(all), len(context))
	}
	for _, m := range all {
		got, err := c.Message(ctx, id, m.Meta().ID)
		if err != nil || got.Meta().Type != m.Meta().Type {
			t.Errorf("%+v, %v", got, err)
		}
	}
	spent := request[api.Data[[]api.Spend]](t, w, http.MethodGet, path+"/spend", "").Data
	if len(spent) == 0 || spent[0].SessionID != id {
		t.Errorf("spent %+v", spent)
	}
	if st, err := c.Stats(ctx, api.StatsQuery{}); err != nil || st.Sessions != 1 || st.Cost == 0 || len(st.Models) != 1 ||
		len(st.Days) != 1 {
		t.Errorf("stats %+v, %v", st, err)
	}
	for _, list := range []string{"/todo", "/children"} {
		if got := request[api.Data[[]jsontext.Value]](t, w, http.MethodGet, path+list, "").Data; len(got) != 0 {
			t.Errorf("%s lists %v", list, got)
		}
	}
	if p, err := c.Sessions(ctx, api.SessionQuery{Directory: "/elsewhere", Parent: new(session.ID(""))}); err != nil ||
		len(p.Data) != 1 {
		t.Errorf("sessions %v, %v", p, err)
	}
	w.readsLocation(t)
}

func (w *world) readsLocation(t *testing.T) {
	t.Helper()
	ctx, c := t.Context(), w.client
	if l, err := c.Location(ctx); err != nil || l.Directory != "/elsewhere" {
		t.Errorf("location %+v, %v", l, err)
	}
	if cs, err := c.Commands(ctx); err != nil || len(cs.Data) != 1 || cs.Data[0].Hints[0] != "$1" {
		t.Errorf("commands %v, %v", cs, err)
	}
	if x, err := c.Expand(ctx, api.ExpandRequest{Command: "ship", Arguments: "it"}); err != nil ||
		x.Prompt.Text != "Ship it." ||
		x.Prompt.Agent != "plan" {
		t.Errorf("expanded %v, %v", x, err)
	}
	if ss, err := c.Skills(ctx); err != nil || len(ss.Data) != 2 || ss.Data[0].Name != "deploy" ||
		ss.Data[1].Problem == "" {
		t.Errorf("skills %v, %v", ss, err)
	}
	if as, err := c.Agents(ctx); err != nil || len(as.Data) != 2 {
		t.Errorf("agents %+v, %v", as, err)
	}
	if ms, err := c.Models(ctx); err != nil || len(ms.Data) != 1 || ms.Data[0].Ref().String() != "mock/main" {
		t.Errorf("models %+v, %v", ms, err)
	}
	if ps, err := c.Providers(ctx); err != nil || len(ps.Data) != 1 {
		t.Errorf("providers %+v, %v", ps, err)
	}
	p := request[api.AtLocation[api.Provider]](t, w, http.MethodGet, "/api/provider/mock", "")
	if p.Data.Name != "Mock" {
		t.Errorf("provider %+v", p)
	}
	if v, err := c.Explain(ctx, "model"); err != nil || string(v) != `{"key":"model"}` {
		t.Errorf("explain %s, %v", v, err)
	}
	if v, err := c.Doctor(ctx); err != nil || string(v) != `{"ok":true}` {
		t.Errorf("doctor %s, %v", v, err)
	}
}

// Lists page in both directions, also when many sessions were made in the same millisecond.
func TestSessionPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says("ok"))
		defer w.close(t)
		const n = 23
		for range n { // the clock of the bubble stands still
			if _, err := w.client.Create(t.Context(), api.CreateSession{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, oldest := range []bool{false, true} {
			whole, err := w.client.Sessions(t.Context(), api.SessionQuery{Oldest: oldest, Limit: 100})
			if err != nil || len(whole.Data) != n {
				t.Fatalf("%d sessions, %v", len(whole.Data), err)
			}
			i, page := 0, api.Page[*session.Session]{}
			for cursor := ""; i < n; cursor = page.Cursor.Next {
				if page, err = w.client.Sessions(t.Context(),
					api.SessionQuery{Oldest: oldest, Limit: 5, Cursor: cursor}); err != nil {
					t.Fatal(err)
				}
				for _, s := range page.Data {
					if s.ID != whole.Data[i].ID {
						t.Fatalf("forward: %s at %d", s.ID, i)
					}
					i++
				}
			}
			for i -= len(page.Data); i > 0; {
				if page, err = w.client.Sessions(t.Context(),
					api.SessionQuery{Limit: 5, Cursor: page.Cursor.Previous}); err != nil ||
					len(page.Data) == 0 {
					t.Fatal(len(page.Data), err)
				}
				i -= len(page.Data)
				for k, s := range page.Data {
					if s.ID != whole.Data[i+k].ID {
						t.Fatalf("back: %s at %d", s.ID, i+k)
					}
				}
			}
		}
	})
}
