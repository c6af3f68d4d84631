package eventlog_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
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
			return eventlog.NewDrafts(&session.Created{
				Info: session.Session{ID: ids[i], Location: session.Location{Directory: "/w"}},
			}), nil
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
							return eventlog.NewDrafts(&session.TextEnded{
								TurnFact: session.OfTurn("msg_x"), TextID: "0", PartID: "prt_x", Text: text,
							}), nil
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

// BenchmarkLongText is one answer, checkpointed every 16 KiB and ended. What a byte of it costs, in time and on disk,
// does not depend on its length.
func BenchmarkLongText(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20, 8 << 20} {
		b.Run(fmt.Sprintf("KiB=%d", size>>10), func(b *testing.B) {
			l, ids := benchLog(b, 1)
			text := strings.Repeat("0123456789abcdef", size/16)
			before := written(b)
			b.ResetTimer()
			for i := range b.N {
				say(b, l, ids[0], session.MessageID(fmt.Sprintf("msg_%d", i)), text)
			}
			bytes := float64(b.N * size)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/bytes, "ns/B")
			b.ReportMetric(float64(written(b)-before)/bytes, "written-B/B")
		})
	}
}

// say records a turn of one text.
func say(b *testing.B, l *eventlog.Log, id session.ID, m session.MessageID, text string) {
	b.Helper()
	part := session.PartID("prt_" + m)
	fact := func(d store.Durability, data ...session.EventData) {
		_, err := l.Append(
			b.Context(), id, d, func(store.Tx) ([]eventlog.Draft, error) { return eventlog.NewDrafts(data...), nil },
		)
		if err != nil {
			b.Fatal(err)
		}
	}
	fact(store.Relaxed, &session.StepStarted{TurnFact: session.OfTurn(m)}, &session.TextStarted{
		TurnFact: session.OfTurn(m), TextID: "0", PartID: part,
	})
	for at := 0; at < len(text); at += 16 << 10 {
		fact(store.Durable, &session.ItemCheckpointed{
			TurnFact: session.OfTurn(m), PartID: part, Offset: at, Text: text[at:min(at+16<<10, len(text))],
		})
	}
	fact(
		store.Durable, &session.TextEnded{TurnFact: session.OfTurn(m), TextID: "0", PartID: part, Text: text},
		&session.StepEnded{TurnFact: session.OfTurn(m), Finish: "stop"},
	)
}

// written returns the number of bytes that this process has written.
func written(b *testing.B) (n int64) {
	b.Helper()
	io, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(io)) {
		if rest, ok := strings.CutPrefix(line, "wchar: "); ok {
			_, _ = fmt.Sscan(rest, &n)
		}
	}
	return n
}
