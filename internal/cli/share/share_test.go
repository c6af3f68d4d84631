package share

import (
	"testing"
	"time"
)

func TestParseExpiry(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7d": 7 * 24 * time.Hour, "90m": 90 * time.Minute, "2026-12-02": 36 * time.Hour,
		"5s": -1, "0d": -1, "2020-01-01": -1, "2026-11-30": -1, "99999d": -1, "2200-01-01": -1, "soon": -1, "-7d": -1,
	} {
		got, err := parseExpiry(text, now)
		if want < 0 != (err != nil) || err == nil && got != want {
			t.Errorf("%s: %v %v, want %v", text, got, err, want)
		}
	}
}
