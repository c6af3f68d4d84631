package api_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

func TestFindTimeZone(t *testing.T) {
	for tz, want := range map[string]session.TimeZone{
		"Asia/Tokyo": "Asia/Tokyo", ":Europe/Berlin": "Europe/Berlin", "CST6CDT,M3": "", "/etc/zone": "",
	} {
		got := api.FindTimeZone(func(name string) string { return map[string]string{"TZ": tz}[name] })
		if got != want {
			t.Errorf("TZ=%s: %q, want %q", tz, got, want)
		}
	}
}
