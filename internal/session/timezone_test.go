package session

import (
	"testing"
	"time"
)

func TestTimeZone(t *testing.T) {
	at := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	for zone, want := range map[TimeZone]int{"": 20, "UTC": 20, "Asia/Tokyo": 21, "Mars/Base": 20} {
		if got := zone.ConvertTime(at).Day(); got != want {
			t.Errorf("%q: day %d, want %d", zone, got, want)
		}
		if err := zone.Check("timezone"); (err != nil) != (zone == "Mars/Base") {
			t.Errorf("%q: %v", zone, err)
		}
	}
}
