package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

func headOf(id session.MessageID, t session.MessageType, seq int64) session.Head {
	return session.Head{ID: id, Type: t, Seq: seq, Time: session.MessageTime{Created: 100 + seq}}
}

// oneOfEach returns a message of every type, with seq 0, 2, 4, …
func oneOfEach() []session.Message {
	// Two shells share a call, so that the newest one of a call can be asked for.
	cost := session.Dollar / 7
	return []session.Message{
		&session.User{
			Head: headOf("msg_0", session.TypeUser, 0), Text: "ä 🙂",
			Files: []session.File{{URI: "file:///x", Mime: "text/plain"}},
		},
		&session.Synthetic{Head: headOf("msg_1", session.TypeSynthetic, 2), SessionID: "ses_a", Text: "made"},
		&session.System{Head: headOf("msg_2", session.TypeSystem, 4), Text: "changed"},
		&session.Shell{Head: headOf("msg_3", session.TypeShell, 6), CallID: "call_1", Command: "ls", Output: "a\nb"},
		&session.AgentSwitch{Head: headOf("msg_4", session.TypeAgentSwitch, 8), Agent: "plan"},
		&session.ModelSwitch{
			Head: headOf("msg_5", session.TypeModelSwitch, 10), Model: session.ModelRef{ID: "m", ProviderID: "p"},
		},
		&session.Assistant{
			Head: headOf("msg_6", session.TypeAssistant, 12), Agent: "build", Cost: &cost, Tokens: &session.Tokens{Input: 1},
			Content: []session.Content{
				&session.Text{Type: "text", ID: "t", PartID: "prt_1", Text: "hello"},
				&session.Reasoning{
					Type: "reasoning", ID: "r", PartID: "prt_2", Metadata: jsontext.Value(`{"sig":"x"}`),
				},
				&session.Tool{Type: "tool", ID: "c", PartID: "prt_3", Name: "read", State: session.ToolState{
					Status: session.ToolRunning, Input: jsontext.Value(`{"path":"x"}`),
				}},
			},
		},
		&session.Compaction{
			Head: headOf("msg_7", session.TypeCompaction, 14), Reason: "auto", Summary: "s", Recent: "r",
		},
		&session.Shell{Head: headOf("msg_8", session.TypeShell, 16), CallID: "call_2", Command: "pwd"},
		&session.Shell{Head: headOf("msg_9", session.TypeShell, 18), CallID: "call_1", Command: "ls again"},
	}
}

func putAll(id session.ID, messages []session.Message) func(store.Tx) error {
	return func(tx store.Tx) error {
		for _, m := range messages {
			if err := tx.PutMessage(id, m, nil, 0); err != nil {
				return err
			}
		}
		return nil
	}
}

func testMessages(t *testing.T, s store.Store) {
	// Put messages with and without their encoded form, and one in another session.
	want := oneOfEach()
	update(t, s, putAll("ses_a", want[:4]))
	update(t, s, func(tx store.Tx) error {
		for _, m := range want[4:] {
			stored, err := session.EncodeMessage(m)
			if err := errors.Join(err, tx.PutMessage("ses_a", m, stored, m.Meta().Seq)); err != nil {
				return err
			}
		}
		return nil
	})
	update(t, s, putAll("ses_b", []session.Message{&session.User{Head: headOf("msg_b", session.TypeUser, 3)}}))
	// Read all, each one, and the stored forms.
	view(t, s, func(r store.Reader) error {
		all, err := store.ReadMessages(r, "ses_a", store.MessageQuery{After: -1})
		checkEqual(t, "all", all, want)
		for _, m := range want {
			got, err := rowOrZero(store.FindMessage(r, "ses_a", m.Meta().ID))
			checkEqual(t, "one", got, m)
			if err != nil {
				return err
			}
		}
		foreign, ok, _ := store.FindMessage(r, "ses_b", "msg_0")
		if ok || foreign != nil {
			t.Error("a message was found in another session")
		}
		raw, rawErr := store.ReadRawMessages(r, "ses_a", store.MessageQuery{After: -1})
		for i, row := range raw {
			m, err := session.DecodeMessage(row.Data)
			if err != nil {
				return err
			}
			m.Meta().Seq = row.Seq
			checkEqual(t, "raw", m, want[i])
			checkEqual(t, "raw head", []any{row.ID, row.Type}, []any{m.Meta().ID, m.Meta().Type})
		}
		if len(raw) != len(want) {
			t.Errorf("%d raw messages", len(raw))
		}
		return errors.Join(err, rawErr)
	})

	// Replace a message.
	changed := want[6].(*session.Assistant)
	changed.Content[0].(*session.Text).Text = "hello, world"
	changed.Time.Completed = 500
	update(t, s, putAll("ses_a", []session.Message{changed}))
	got := get(
		t, s, func(r store.Reader) (session.Message, error) {
			return rowOrZero(store.FindMessage(r, "ses_a", "msg_6"))
		},
	)
	checkEqual(t, "replaced", got, session.Message(changed))

	// Delete the newest messages, one in the middle, and the rest.
	update(t, s, func(tx store.Tx) error { return tx.DeleteMessages("ses_a", 12, 0) })
	left := get(t, s, func(r store.Reader) ([]session.Message, error) {
		return store.ReadMessages(r, "ses_a", store.MessageQuery{After: -1})
	})
	checkEqual(t, "after deletion", left, want[:7])
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.DeleteMessages("ses_a", 3, 5), tx.DeleteMessages("ses_a", 3, 5))
	})
	rest := get(t, s, func(r store.Reader) ([]session.Message, error) {
		return store.ReadMessages(r, "ses_a", store.MessageQuery{After: -1})
	})
	checkEqual(t, "after deletion of one", rest, slices.Concat(want[:2], want[3:7]))
	update(t, s, putAll("ses_a", slices.Concat(want[2:3], want[7:]))) // the ids are free again
	update(t, s, func(tx store.Tx) error { return tx.DeleteMessages("ses_a", -1, 0) })
	none := get(t, s, func(r store.Reader) ([]session.Message, error) {
		return store.ReadMessages(r, "ses_a", store.MessageQuery{After: -1})
	})
	checkEqual(t, "after deleting all", none, []session.Message{})
}

func testMessageQueries(t *testing.T, s store.Store) {
	// Ranges, types and calls, each in both forms.
	update(t, s, putAll("ses_a", oneOfEach()))
	for _, tt := range []struct {
		q    store.MessageQuery
		want []int64
	}{
		{store.MessageQuery{After: -1, Limit: 3}, []int64{0, 2, 4}},
		{store.MessageQuery{After: -1, Limit: 3, Newest: true}, []int64{18, 16, 14}},
		{store.MessageQuery{After: 4, Before: 10}, []int64{6, 8}},
		{store.MessageQuery{After: 3, Before: 11, Newest: true, Limit: 2}, []int64{10, 8}},
		{store.MessageQuery{}, []int64{2, 4, 6, 8, 10, 12, 14, 16, 18}},
		{store.MessageQuery{After: 18}, []int64{}},
		{store.MessageQuery{After: 5, Before: 6}, []int64{}},
		{store.MessageQuery{After: -1, Type: session.TypeShell}, []int64{6, 16, 18}},
		{store.MessageQuery{After: -1, Type: session.TypeShell, Newest: true}, []int64{18, 16, 6}},
		{store.MessageQuery{After: 6, Type: session.TypeShell}, []int64{16, 18}},
		{store.MessageQuery{After: -1, Before: 18, Type: session.TypeShell}, []int64{6, 16}},
		{store.MessageQuery{After: -1, Type: session.TypeAssistant, Limit: 1}, []int64{12}},
		{store.MessageQuery{After: -1, Type: session.TypeAssistant, Newest: true, Before: 12}, []int64{}},
		{store.MessageQuery{After: -1, CallID: "call_1"}, []int64{6, 18}},
		{store.MessageQuery{After: -1, CallID: "call_1", Newest: true, Limit: 1}, []int64{18}},
		{store.MessageQuery{After: -1, CallID: "call_x"}, []int64{}},
	} {
		got, raws := []int64{}, []int64{}
		view(t, s, func(r store.Reader) error {
			messages, err := store.ReadMessages(r, "ses_a", tt.q)
			for _, m := range messages {
				got = append(got, m.Meta().Seq)
			}
			raw, rawErr := store.ReadRawMessages(r, "ses_a", tt.q)
			for _, m := range raw {
				raws = append(raws, m.Seq)
			}
			return errors.Join(err, rawErr)
		})
		checkEqual(t, fmt.Sprintf("%+v", tt.q), got, tt.want)
		checkEqual(t, fmt.Sprintf("raw %+v", tt.q), raws, tt.want)
	}
	// Look up single messages by type, id and call.
	view(t, s, func(r store.Reader) error {
		newest, err := rowOrZero(store.NewestMessage(r, "ses_a", session.TypeShell))
		checkEqual(t, "newest shell", newest.Meta().ID, session.MessageID("msg_9"))
		if _, ok, _ := store.NewestMessage(r, "ses_b", session.TypeShell); ok {
			t.Error("a shell message of nothing")
		}
		owner, _, ownErr := r.Message("msg_9")
		checkEqual(t, "owner", owner, session.ID("ses_a"))
		if owner, m, err := r.Message("msg_x"); owner != "" || m != nil || err != nil {
			t.Errorf("a message that does not exist: %q %v %v", owner, m, err)
		}
		sh, shErr := rowOrZero(store.FindShell(r, "ses_a", "call_1"))
		checkEqual(t, "shell by call", sh.Command, "ls again")
		if _, ok, _ := store.FindShell(r, "ses_a", "call_x"); ok {
			t.Error("a shell message of no call")
		}
		return errors.Join(err, shErr, ownErr)
	})
}

func testMessageConflicts(t *testing.T, s store.Store) {
	update(t, s, putAll("ses_a", oneOfEach()))
	conflict := &session.Error{Code: session.CodeConflict}
	for _, tt := range []struct {
		name string
		id   session.ID
		m    session.Message
		want error
	}{
		{"used by another session", "ses_b", &session.User{Head: headOf("msg_0", session.TypeUser, 0)}, conflict},
		{"other seq", "ses_a", &session.User{Head: headOf("msg_0", session.TypeUser, 1)}, nil},
		{"other type", "ses_a", &session.System{Head: headOf("msg_0", session.TypeSystem, 0)}, nil},
		{"seq of another message", "ses_a", &session.User{Head: headOf("msg_x", session.TypeUser, 0)}, nil},
	} {
		err := s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error { return tx.PutMessage(tt.id, tt.m, nil, 0) })
		if err == nil || (tt.want != nil && !errors.Is(err, tt.want)) {
			t.Errorf("%s: error is %v", tt.name, err)
		}
	}
	all := get(t, s, func(r store.Reader) ([]session.Message, error) {
		return store.ReadMessages(r, "ses_a", store.MessageQuery{After: -1})
	})
	checkEqual(t, "nothing changed", all, oneOfEach())
}

func testUnknownFields(t *testing.T, s store.Store) {
	raw := `{"id":"msg_u","time":{"created":1},"type":"assistant","agent":"a","model":{"id":"m","providerID":"p"},` +
		`"content":[{"type":"text","id":"t","text":"x","laterPart":[1]}],"later":{"deep":true}}`
	m, err := session.DecodeMessage([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	in := &session.Input{
		ID: "in", SessionID: "ses_a", Prompt: session.Prompt{Text: "x", Extra: jsontext.Value(`{"later":1}`)},
	}
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutMessage("ses_a", m, nil, 0), tx.PutSession(fullSession()), tx.PutInput(in))
	})
	got := get(
		t, s, func(r store.Reader) (session.Message, error) {
			return rowOrZero(store.FindMessage(r, "ses_a", "msg_u"))
		},
	)
	checkEqual(t, "message", got, m)
	checkEqual(t, "session", string(getSession(t, s, "ses_full").Extra), `{"later":{"x":[1,2]}}`)
	kept := get(t, s, func(r store.Reader) (*session.Input, error) { return rowOrZero(store.FindInput(r, "in")) })
	checkEqual(t, "input", kept, in)
}

func testInbox(t *testing.T, s store.Store) {
	// Put inputs in two sessions.
	put := func(id session.MessageID, owner session.ID, d session.Delivery, order, admitted int64) *session.Input {
		in := &session.Input{
			ID: id, SessionID: owner, Delivery: d, Order: order, AdmittedSeq: admitted,
			Prompt: session.Prompt{Text: string(id)}, Hold: true,
		}
		update(t, s, func(tx store.Tx) error { return tx.PutInput(in) })
		return in
	}
	a := put("a", "ses_a", session.Steer, 5, 5)
	b := put("b", "ses_a", session.Queue, 3, 6)
	c := put("c", "ses_a", session.Queue, 5, 4)
	put("d", "ses_b", session.Queue, 0, 0)
	// Lists are sorted by order, then by the seq of admission.
	list := func(d session.Delivery, limit int) []*session.Input {
		return get(
			t, s, func(r store.Reader) ([]*session.Input, error) { return store.PendingInputs(r, "ses_a", d, limit) },
		)
	}
	checkEqual(t, "any", list("", 0), []*session.Input{b, c, a})
	checkEqual(t, "queued", list(session.Queue, 0), []*session.Input{b, c})
	checkEqual(t, "steers", list(session.Steer, 0), []*session.Input{a})
	checkEqual(t, "limited", list("", 1), []*session.Input{b})
	// A promoted input leaves the lists, and a changed one moves.
	b.PromotedSeq = new(int64(9))
	c.Order, c.Delivery = 7, session.Steer
	update(t, s, func(tx store.Tx) error { return errors.Join(tx.PutInput(b), tx.PutInput(c)) })
	checkEqual(t, "after promotion and reordering", list("", 0), []*session.Input{a, c})
	checkEqual(
		t, "promoted",
		get(t, s, func(r store.Reader) (*session.Input, error) { return rowOrZero(store.FindInput(r, "b")) }), b,
	)
	// An id belongs to one session until it is deleted.
	err := s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
		return tx.PutInput(&session.Input{ID: "a", SessionID: "ses_b"})
	})
	if !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
		t.Errorf("an id of another session: %v", err)
	}
	update(t, s, func(tx store.Tx) error { return errors.Join(tx.DeleteInput("a"), tx.DeleteInput("none")) })
	checkEqual(t, "after deletion", list("", 0), []*session.Input{c})
	if in := get(
		t, s, func(r store.Reader) (*session.Input, error) { return rowOrZero(store.FindInput(r, "a")) },
	); in != nil {
		t.Errorf("the deleted input is %v", in)
	}
}

func testEpochs(t *testing.T, s store.Store) {
	epoch := func() *store.Epoch {
		return get(t, s, func(r store.Reader) (*store.Epoch, error) { return rowOrZero(r.Epoch("ses_a")) })
	}
	if e := epoch(); e != nil {
		t.Errorf("there is an epoch %v", e)
	}
	for _, want := range []store.Epoch{
		{Baseline: "one\x00two", BaselineSeq: 3, Snapshot: jsontext.Value(`{"z":1,"a":2}`), Revision: 1},
		{Revision: 2},
	} {
		update(t, s, func(tx store.Tx) error { return tx.PutEpoch("ses_a", &want) })
		checkEqual(t, "epoch", epoch(), &want)
	}
	update(t, s, func(tx store.Tx) error { return tx.PutEpoch("ses_a", nil) })
	if e := epoch(); e != nil {
		t.Errorf("the deleted epoch is %v", e)
	}
}

func testAsks(t *testing.T, s store.Store) {
	// Put two requests of one session and one of another.
	put := func(id session.AskID, owner session.ID, seq, time int64) *store.AskRow {
		a := &store.AskRow{Seq: seq, PendingAsk: session.PendingAsk{
			ID: id, SessionID: owner, Action: "edit", Resources: []string{"a", "b"}, Metadata: jsontext.Value(`{"diff":"x"}`),
			Source: &session.AskSource{Type: "tool", MessageID: "m", CallID: "c"}, Time: time,
		}}
		update(t, s, func(tx store.Tx) error { return tx.PutAsk(a) })
		return a
	}
	second := put("per_1", "ses_a", 7, 20)
	first := put("per_2", "ses_a", 5, 30) // the clock stepped back between them
	other := put("per_3", "ses_b", 5, 20)
	// One session's are sorted by seq, those of all by time.
	list := func(id session.ID, pending bool) []*store.AskRow {
		return get(t, s, func(r store.Reader) ([]*store.AskRow, error) {
			return r.Asks(store.AskQuery{SessionID: id, Pending: pending})
		})
	}
	checkEqual(t, "of one session", list("ses_a", false), []*store.AskRow{first, second})
	checkEqual(t, "of all", list("", true), []*store.AskRow{second, other, first})
	// A reply removes a request from the pending ones only.
	second.Reply, second.Message, second.By = session.ReplyReject, "no", "user"
	update(t, s, func(tx store.Tx) error { return tx.PutAsk(second) })
	checkEqual(t, "pending", list("ses_a", true), []*store.AskRow{first})
	checkEqual(t, "pending of all", list("", true), []*store.AskRow{other, first})
	checkEqual(t, "all of all", list("", false), []*store.AskRow{second, other, first})
	checkEqual(
		t, "replied",
		get(t, s, func(r store.Reader) (*store.AskRow, error) { return rowOrZero(store.FindAsk(r, "per_1")) }), second,
	)
	if a := get(
		t, s, func(r store.Reader) (*store.AskRow, error) { return rowOrZero(store.FindAsk(r, "per_x")) },
	); a != nil {
		t.Errorf("there is an ask %v", a)
	}
	// An id belongs to one session.
	err := s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
		return tx.PutAsk(&store.AskRow{PendingAsk: session.PendingAsk{ID: "per_1", SessionID: "ses_b"}})
	})
	if !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
		t.Errorf("an id of another session: %v", err)
	}
}

func testApprovals(t *testing.T, s store.Store) {
	// Put two projects' approvals, one twice and one under another id: equal approvals are stored once.
	a := store.Approval{ID: "a", RecordID: "p", Action: "edit", Resource: "*", Lifetime: "project", Time: 2}
	b := store.Approval{ID: "b", RecordID: "q", Action: "edit", Resource: "*", Lifetime: "project", Time: 1}
	held := a // the same for a shorter time is another approval
	held.ID, held.Lifetime, held.Holder, held.Time = "d", "session", "ses_a", 4
	equal := a
	equal.ID, equal.Time = "c", 3
	update(t, s, func(tx store.Tx) error {
		var err error
		for _, approval := range []store.Approval{a, b, a, equal, held} {
			err = errors.Join(err, tx.PutApproval(approval))
		}
		return err
	})
	list := func(p session.RecordID) []store.Approval {
		return get(t, s, func(r store.Reader) ([]store.Approval, error) { return r.Approvals(p) })
	}
	checkEqual(t, "all", list(""), []store.Approval{b, a, held})
	checkEqual(t, "of one project", list("p"), []store.Approval{a, held})
	// A session's approval ends with the session.
	update(t, s, func(tx store.Tx) error { return tx.DeleteSession("ses_a") })
	checkEqual(t, "after the deletion of their session", list("p"), []store.Approval{a})
	// An id stands for one approval.
	err := s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
		return tx.PutApproval(store.Approval{ID: "a", RecordID: "r"})
	})
	if !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
		t.Errorf("a used id: %v", err)
	}
	// A deletion reports whether the approval existed.
	var existed []bool
	update(t, s, func(tx store.Tx) error {
		// A transaction that runs again begins with an empty result.
		existed = existed[:0]
		for range 2 {
			ok, err := tx.DeleteApproval("a")
			if err != nil {
				return err
			}
			existed = append(existed, ok)
		}
		return nil
	})
	checkEqual(t, "existed", existed, []bool{true, false})
	checkEqual(t, "after deletion", list(""), []store.Approval{b})
}

func testSpend(t *testing.T, s store.Store) {
	line := func(id session.ID, seq, time int64) store.Spend {
		return store.Spend{
			SessionID: id, Seq: seq, Time: time, Model: session.ModelRef{
				ID: "m", ProviderID: "p",
			}, Cost: session.Dollar / 3,
			Tokens: session.Tokens{Input: 10, Output: 20},
		}
	}
	lines := []store.Spend{line("ses_b", 1, 5), line("ses_a", 3, 5), line("ses_a", 1, 7), line("ses_a", 2, 1)}
	update(t, s, func(tx store.Tx) error {
		for _, l := range lines {
			if err := tx.AddSpend(l); err != nil {
				return err
			}
		}
		again := lines[0]
		again.Cost = 0
		return tx.AddSpend(again)
	})
	spent := func(id session.ID, since int64) []store.Spend {
		return get(t, s, func(r store.Reader) ([]store.Spend, error) { return r.Spent(id, since) })
	}
	checkEqual(t, "all", spent("", 0), []store.Spend{lines[3], lines[1], lines[0], lines[2]})
	checkEqual(t, "of one, since", spent("ses_a", 5), []store.Spend{lines[1], lines[2]})
	checkEqual(t, "of none", slices.Concat(spent("ses_x", 0), spent("", 8)), []store.Spend(nil))
}
