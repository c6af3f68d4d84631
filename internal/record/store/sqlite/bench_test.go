package sqlite

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

func openBench(b *testing.B) *Store {
	b.Helper()
	s, err := Open(b.Context(), Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// BenchmarkAppend is the engine's unit of work: one event of 300 bytes and the session's row, in its own transaction,
// by 1, 10 and 100 sessions at once.
func BenchmarkAppend(b *testing.B) {
	for _, d := range []store.Durability{store.Relaxed, store.Durable} {
		for _, sessions := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf(
				"%s/sessions=%d", map[store.Durability]string{store.Relaxed: "relaxed", store.Durable: "durable"}[d],
				sessions,
			), func(b *testing.B) {
				benchAppend(b, openBench(b), d, sessions)
			})
		}
	}
}

func benchAppend(b *testing.B, s *Store, d store.Durability, sessions int) {
	data := fmt.Appendf(nil, `{"timestamp":1,"text":%q}`, strings.Repeat("x", 270))
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for w := range sessions {
		n := b.N / sessions
		if w < b.N%sessions {
			n++
		}
		all.Go(func() {
			x := &session.Session{
				ID: session.ID(fmt.Sprintf("ses_%026d", w)), Title: "a title",
				Location: session.Location{Directory: "/work/dir"},
			}
			for i := range int64(n) {
				row := store.EventRow{
					ID: session.EventID(fmt.Sprintf("evt_%07d%05d%014d", i, w, 0)), SessionID: x.ID, Seq: i,
					Kind: session.KindTextEnded, Version: 1, Data: data,
				}
				x.Time.Updated = i
				err := s.Update(b.Context(), d, func(tx store.Tx) error {
					if _, err := tx.InsertEvent(row); err != nil {
						return err
					}
					return tx.PutSession(x)
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tx/s")
}

// BenchmarkBytesWritten shows what one small transaction writes to the log.
func BenchmarkBytesWritten(b *testing.B) {
	s := openBench(b)
	before := written(b)
	benchAppend(b, s, store.Relaxed, 1)
	b.ReportMetric(float64(written(b)-before)/float64(b.N), "written-B/op")
}

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

// BenchmarkHistory reads a session's messages of 1.4 KB.
func BenchmarkHistory(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		s := openBench(b)
		fillMessages(b, s, n)
		b.Run(fmt.Sprintf("raw/messages=%d", n), func(b *testing.B) {
			benchView(b, s, n, func(r store.Reader) (int, error) {
				m, err := store.ReadRawMessages(r, "ses_a", store.MessageQuery{After: -1})
				return len(m), err
			})
		})
		b.Run(fmt.Sprintf("decoded/messages=%d", n), func(b *testing.B) {
			benchView(b, s, n, func(r store.Reader) (int, error) {
				m, err := store.ReadMessages(r, "ses_a", store.MessageQuery{After: -1})
				return len(m), err
			})
		})
		b.Run(fmt.Sprintf("page=50/messages=%d", n), func(b *testing.B) {
			benchView(b, s, 50, func(r store.Reader) (int, error) {
				m, err := store.ReadRawMessages(r, "ses_a", store.MessageQuery{After: -1, Newest: true, Limit: 50})
				return len(m), err
			})
		})
		b.Run(fmt.Sprintf("events/events=%d", n), func(b *testing.B) {
			benchView(b, s, n, func(r store.Reader) (int, error) {
				m, err := r.Events("ses_a", -1, 0)
				return len(m), err
			})
		})
	}
}

func benchView(b *testing.B, s *Store, want int, f func(store.Reader) (int, error)) {
	b.ReportAllocs()
	for b.Loop() {
		err := s.View(b.Context(), func(r store.Reader) error {
			n, err := f(r)
			if n != want {
				b.Fatalf("%d rows, want %d", n, want)
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func fillMessages(b *testing.B, s *Store, n int) {
	b.Helper()
	text := strings.Repeat("some text of a message. ", 50)
	for i := 0; i < n; i += 500 {
		err := s.Update(b.Context(), store.Relaxed, func(tx store.Tx) error {
			for j := i; j < i+500; j++ {
				seq := int64(j)
				if _, err := tx.InsertEvent(testEvent("ses_a", seq)); err != nil {
					return err
				}
				m := &session.Assistant{
					Head: session.Head{
						ID: session.MessageID(fmt.Sprintf("msg_%026d", j)), Type: session.TypeAssistant, Seq: seq,
					},
					Content: []session.Content{&session.Text{Type: "text", ID: "t", PartID: "prt_x", Text: text}},
				}
				if err := tx.PutMessage("ses_a", m, nil, 0); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList reads pages of 10,000 sessions. They changed one a minute, or ("-burst") all in the same one.
func BenchmarkList(b *testing.B) {
	const all = 10_000
	s := openBench(b)
	fillSessions(b, s, all, 60_000)
	lists := []list{
		{"first-page", store.SessionQuery{Limit: 50}, 50},
		{"directory-page", store.SessionQuery{Limit: 50, Directory: "/work/7"}, 50},
		{"search-rare", store.SessionQuery{Limit: 50, Search: "title 123"}, 11},
		{"all", store.SessionQuery{}, all},
		{"recent", store.SessionQuery{Limit: 100, Recent: true, ProjectID: "prj"}, 100},
		{
			"recent-roots",
			store.SessionQuery{Limit: 100, Recent: true, ProjectID: "prj", ParentID: new(session.ID)},
			100,
		},
		{
			"recent-since",
			store.SessionQuery{Limit: 100, Recent: true, ProjectID: "prj", Since: 60_000 * (all - 50)},
			50,
		},
		{"recent-search-rare", store.SessionQuery{Limit: 100, Recent: true, ProjectID: "prj", Search: "title 123"}, 11},
		{"recent-all", store.SessionQuery{Recent: true, ProjectID: "prj"}, all},
	}
	for _, l := range lists {
		l.run(b, s)
	}
	burst := openBench(b)
	fillSessions(b, burst, all, 1)
	list{"recent-burst", store.SessionQuery{Limit: 100, Recent: true, ProjectID: "prj"}, 100}.run(b, burst)
}

type list struct {
	name string
	q    store.SessionQuery
	want int
}

func (l list) run(b *testing.B, s *Store) {
	b.Run(l.name, func(b *testing.B) {
		benchView(b, s, l.want, func(r store.Reader) (int, error) {
			ss, err := store.ReadSessions(r, l.q)
			return len(ss), err
		})
	})
}

func fillSessions(b *testing.B, s *Store, all, every int64) {
	b.Helper()
	err := s.Update(b.Context(), store.Relaxed, func(tx store.Tx) error {
		for i := range all {
			x := &session.Session{
				ID: session.ID(fmt.Sprintf("ses_%026d", i)), ProjectID: "prj", Title: fmt.Sprint("title ", i),
				Location: session.Location{
					Directory: fmt.Sprint("/work/", i%100),
				}, Time: session.SessionTime{Created: i, Updated: i * every},
			}
			if err := tx.PutSession(x); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOpen opens and closes a store that exists.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		s, err := Open(b.Context(), Config{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
