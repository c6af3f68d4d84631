package cli_test

import (
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
)

func TestParseTime(t *testing.T) {
	zone := time.FixedZone("east", 2*3600)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"": {}, "2026-11-01": time.Date(2026, 11, 1, 0, 0, 0, 0, zone), "7d": now.AddDate(0, 0, -7), "0d": now,
		"12h": now.Add(-12 * time.Hour), "1h30m": now.Add(-90 * time.Minute), "36500d": now.AddDate(0, 0, -36500),
	} {
		if got, err := cli.ParseTime("since", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"12h7d", "200000d", "36501d", "99999999999999999999d", "-1d", "+1d", "d", "1.5d", "-1h", "yesterday", "2026-13-01", "7", "1e9h",
	} {
		if got, err := cli.ParseTime("since", text, now); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}

// A day is one of the calendar, also if it has 23 hours.
func TestParseTimeSummer(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	got, err := cli.ParseTime("since", "1d", time.Date(2026, 3, 29, 12, 0, 0, 0, zone))
	if want := time.Date(2026, 3, 28, 12, 0, 0, 0, zone); err != nil || !got.Equal(want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}
