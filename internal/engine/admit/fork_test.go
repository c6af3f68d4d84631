package admit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

// The messages of a fork are copied in few events, whose size is bounded, in order, and with seqs of their own before
// those of events.
func TestCopyOfManyMessages(t *testing.T) {
	const count = 150
	st, ids := storetest.NewMemory(), &session.IDs{Now: time.Now}
	log := eventlog.New(eventlog.Config{Store: st, IDs: ids})
	appendDrafts := func(id session.ID, drafts []eventlog.Draft) []session.Event {
		t.Helper()
		decide := func(store.Tx) ([]eventlog.Draft, error) { return drafts, nil }
		events, err := log.Append(t.Context(), id, store.Durable, decide)
		if err != nil {
			t.Fatal(err)
		}
		return events
	}
	drafts := eventlog.NewDrafts(&session.Created{Info: session.Session{ID: "ses_source", ProjectID: "p"}})
	text := func(i int) string {
		if i >= 100 && i < 104 {
			return fmt.Sprint(i, strings.Repeat(" long", 8000)) // two of these fill an event
		}
		return fmt.Sprint(i)
	}
	for i := range count {
		m := &session.User{
			Head: session.Head{ID: session.MessageID(ids.New(session.PrefixMessage)), Type: session.TypeUser}, Text: text(i),
		}
		raw, err := session.EncodeMessage(m)
		if err != nil {
			t.Fatal(err)
		}
		drafts = append(drafts, eventlog.Draft{Data: &session.MessageImported{Message: raw}})
	}
	appendDrafts("ses_source", drafts)
	var c *admit.Copy
	err := st.View(t.Context(), func(r store.Reader) (err error) {
		c, err = admit.ReadCopy(r, admit.CopyRequest{From: "ses_source", To: "ses_fork", IDs: ids})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	events := appendDrafts("ses_fork", c.ListDrafts())
	var sizes []int
	for i, e := range events {
		if e.Seq != count+1+int64(i) {
			t.Errorf("event %d has the seq %d", i, e.Seq)
		}
		if d, ok := e.Data.(*session.MessagesCopied); ok {
			sizes = append(sizes, len(d.Messages))
		}
	}
	if want := []int{64, 37, 1, 1, 47}; !slices.Equal(sizes, want) {
		t.Errorf("the events copy %v messages, want %v", sizes, want)
	}
	appendDrafts("ses_fork", eventlog.NewDrafts(&session.MessageImported{
		Message: jsontext.Value(`{"id":"msg_later","type":"user","time":{"created":1},"text":"150"}`),
	}))
	ms, err := store.Query(t.Context(), st, func(r store.Reader) ([]session.Message, error) {
		return store.ReadMessages(r, "ses_fork", store.MessageQuery{After: -1})
	})
	if err != nil || len(ms) != count+1 {
		t.Fatalf("the fork has %d messages: %v", len(ms), err)
	}
	for i, m := range ms {
		if u, ok := m.(*session.User); !ok || u.Text != text(i) || i < count && u.Seq != int64(i)+1 {
			t.Errorf("message %d is %+v", i, m)
		}
	}
	report, err := check.Run(t.Context(), st)
	if err != nil || len(report.Violations) > 0 {
		t.Errorf("%v, %v", report.Violations, err)
	}
}
