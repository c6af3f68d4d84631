//go:build unix

package admit_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// BenchmarkFork copies sessions with prompts and answers that call a tool: reads the source, and stores the copy.
func BenchmarkFork(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			st, err := sqlite.Open(b.Context(), sqlite.Config{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			ids := &session.IDs{Now: time.Now}
			log := eventlog.New(eventlog.Config{Store: st, IDs: ids})
			drafts := eventlog.NewDrafts(&session.Created{Info: session.Session{ID: "ses_source", ProjectID: "p"}})
			for i := range n {
				drafts = append(drafts, eventlog.Draft{Data: newBenchMessage(b, ids, i)})
			}
			appendAll := func(id session.ID, drafts []eventlog.Draft) {
				decide := func(store.Tx) ([]eventlog.Draft, error) { return drafts, nil }
				_, err := log.Append(b.Context(), id, store.Durable, decide)
				if err != nil {
					b.Fatal(err)
				}
			}
			appendAll("ses_source", drafts)
			var cpu time.Duration
			for b.Loop() {
				b.StopTimer() // the store copies its log to the database after the answer
				if err := st.Update(b.Context(), store.Relaxed, func(store.Tx) error { return nil }); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				cpu -= cpuTime()
				to := session.ID(ids.New(session.PrefixSession))
				var c *admit.Copy
				err := st.View(b.Context(), func(r store.Reader) (err error) {
					c, err = admit.ReadCopy(r, admit.CopyRequest{From: "ses_source", To: to, IDs: ids})
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
				appendAll(to, c.ListDrafts())
				cpu += cpuTime()
			}
			b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// newBenchMessage returns the i-th message: a prompt, or an answer of 1.5 KB.
func newBenchMessage(b *testing.B, ids *session.IDs, i int) session.EventData {
	b.Helper()
	head := session.Head{ID: session.MessageID(ids.New(session.PrefixMessage)), Type: session.TypeUser}
	part := func() session.PartID { return session.PartID(ids.New(session.PrefixPart)) }
	var m session.Message = &session.User{Head: head, Text: strings.Repeat("word ", 40)}
	if i%2 == 1 {
		head.Type, head.Time.Completed = session.TypeAssistant, 1
		m = &session.Assistant{
			Head: head, Agent: "build", Finish: "stop", StartID: part(), EndID: part(), Content: []session.Content{
				&session.Text{Type: "text", PartID: part(), Text: strings.Repeat("I will. ", 20)},
				&session.Tool{
					Type: "tool", ID: "c", PartID: part(), Name: "read", Time: session.ToolTime{Created: 1, Ran: 1, Completed: 1},
					State: session.ToolState{
						Status: session.ToolCompleted, Input: jsontext.Value(`{"filePath":"/x/a.go"}`),
						Content: session.TextContent(strings.Repeat("line of code\n", 60)),
					},
				},
			},
		}
	}
	raw, err := json.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	return &session.MessageImported{Fact: session.Fact{Timestamp: 1}, Message: raw}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
