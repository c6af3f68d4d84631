package api

import (
	"os"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// FindTimeZone returns the name of this machine's time zone, "" if it has none.
func FindTimeZone(getenv func(string) string) session.TimeZone {
	name := strings.TrimPrefix(getenv("TZ"), ":")
	if name == "" {
		path, _ := os.Readlink("/etc/localtime") // a copy instead of a link has no name
		_, name, _ = strings.Cut(path, "zoneinfo/")
	}
	if zone := session.TimeZone(name); zone.Check("") == nil {
		return zone
	}
	return ""
}
