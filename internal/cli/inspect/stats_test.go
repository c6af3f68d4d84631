package inspect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client/api"
)

// Days and dates begin in the zone in which the server counts the days.
func TestNewStatsQuery(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC) // the first of December in Tokyo
	midnight := func(month time.Month, day int) int64 {
		return time.Date(2026, month, day, 0, 0, 0, 0, tokyo).UnixMilli()
	}
	for _, tt := range []struct {
		flags statsFlags
		want  api.StatsQuery
	}{
		{statsFlags{}, api.StatsQuery{}},
		{statsFlags{days: 1}, api.StatsQuery{Since: midnight(12, 1)}},
		{statsFlags{days: 3}, api.StatsQuery{Since: midnight(11, 29)}},
		{statsFlags{since: "2026-11-01", until: "2026-11-03"}, api.StatsQuery{Since: midnight(11, 1), Until: midnight(11, 3)}},
		{statsFlags{since: "2h", by: []string{"tool"}}, api.StatsQuery{Since: now.Add(-2 * time.Hour).UnixMilli(), Messages: true}},
	} {
		tt.want.Timezone = "Asia/Tokyo"
		if got, err := tt.flags.query("Asia/Tokyo", now); err != nil || got != tt.want {
			t.Errorf("%+v: %v %s", tt.flags, err, cmp.Diff(tt.want, got))
		}
	}
	// A machine whose zone has no name has days in UTC.
	got, err := statsFlags{days: 1}.query("", now)
	if want := (api.StatsQuery{Since: now.Truncate(24 * time.Hour).UnixMilli()}); err != nil || got != want {
		t.Errorf("without a zone: %v %s", err, cmp.Diff(want, got))
	}
	for _, flags := range []statsFlags{
		{days: -1},
		{days: 40_000},
		{since: "soon"},
		{until: "12h7d"},
		{by: []string{"colour"}},
		{since: "2026-12-01", until: "2026-11-01"},
		{since: "2026-11-01", until: "2026-11-01"},
		{days: 1, until: "2026-11-01"},
	} {
		if _, err := flags.query("", now); err == nil {
			t.Errorf("%+v: no error", flags)
		}
	}
}
