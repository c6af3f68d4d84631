package audit

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// However many callers are refused, an entry is added every ten minutes at most, and none is lost.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &RefusalCounter{Trail: New(t.TempDir()), Logger: slog.New(slog.DiscardHandler)}
		for range 6000 {
			c.Count("credential_missing", "192.0.2.1:7")
			time.Sleep(time.Second)
		}
		c.Count("caller_is_tool", "@")
		c.Flush()
		c.Flush()
		r := readTrail(t, c.Trail)
		if len(r.Entries) != 11 || r.Problem != "" {
			t.Fatalf("%d entries", len(r.Entries))
		}
		if e := r.Entries[1]; e.Kind != KindRefused ||
			e.What != "refused credential_missing 600; the last from 192.0.2.1:7" {
			t.Errorf("%+v", e)
		}
		if got := r.Entries[10].What; got != "refused caller_is_tool 1, credential_missing 599; the last from @" {
			t.Error(got)
		}
	})
}
