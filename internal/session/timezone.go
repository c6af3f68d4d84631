package session

import (
	"time"
	_ "time/tzdata" // machines without a database of time zones, such as containers
)

// TimeZone is the IANA name of a time zone; "" is that of this machine.
type TimeZone string

// Check returns a CodeInvalid error for an unknown zone; field is the name for it.
func (z TimeZone) Check(field string) error {
	if _, err := time.LoadLocation(string(z)); err != nil || z == "Local" {
		return Errorf(CodeInvalid, "unknown time zone %.80q: use a name such as Europe/Berlin", string(z)).At(field)
	}
	return nil
}

// ConvertTime returns the time in the zone; in that of this machine if it is unknown.
func (z TimeZone) ConvertTime(t time.Time) time.Time {
	if at, err := time.LoadLocation(string(z)); err == nil && z != "" {
		return t.In(at)
	}
	return t
}
