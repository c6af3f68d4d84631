package eventlog_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/store/sqlite"
)

func benchLog(b *testing.B, sessions int) (*eventlog.Log, []session.ID) {
	b.Helper()
	s, err := sqlite.Open(b.Context(), sqlite.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	l := eventlog.New(eventlog.Config{Store: s, IDs: &session.IDs{}})
	ids := make([]session.ID, sessions)
	for i := range ids {
		ids[i] = session.ID(fmt.Sprintf("ses_%026d", i))
		_, err := l.Append(b.Context(), ids[i], store.Relaxed, func(store.Tx) ([]eventlog.Draft, error) {
			return eventlog.Drafts(&session.Created{Info: session.Session{ID: ids[i], Location: session.Location{Directory: "/w"}}}), nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return l, ids
}

// BenchmarkAppend is one durable fact of 300 bytes with its projection, by 1, 10 and 100 sessions at once.
func BenchmarkAppend(b *testing.B) {
	for _, sessions := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			l, ids := benchLog(b, sessions)
			text := strings.Repeat("x", 200)
			b.ReportAllocs()
			b.ResetTimer()
			var all sync.WaitGroup
			for w, id := range ids {
				all.Go(func() {
					for range b.N/sessions + min(1, max(0, b.N%sessions-w)) {
						_, err := l.Append(b.Context(), id, store.Durable, func(store.Tx) ([]eventlog.Draft, error) {
							return eventlog.Drafts(&session.TextEnded{AssistantMessageID: "msg_x", TextID: "0", PartID: "prt_x", Text: text}), nil
						})
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}
