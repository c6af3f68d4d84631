package turnlog_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// An output that comes too soon after the last notice is shown when the interval is over, although no other follows.
func TestProgressShowsTheLastOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := eventlog.New(eventlog.Config{})
		first := log.NewestMark().Notice
		p := (&turnlog.Journal{Log: log, Now: time.Now}).NewOutputNotices("ses_1", session.ToolProgress{})
		check := func(want int64) {
			t.Helper()
			synctest.Wait()
			if got := log.NewestMark().Notice - first; got != want {
				t.Errorf("%d notices after %v, want %d", got, time.Now(), want)
			}
		}
		p.Show(tool.Output{Title: "starts"})
		check(1)
		p.Show(tool.Output{Title: "too soon"})
		p.Show(tool.Output{Title: "the last"})
		check(1)
		time.Sleep(300 * time.Millisecond)
		check(2)
		p.Show(tool.Output{Title: "too soon again"})
		p.Flush()
		check(3)
		time.Sleep(time.Second)
		check(3)
	})
}
