package cli

import (
	"strings"
	"time"
)

// ParseTime reads the value of a flag: a date, or how long ago a time is, such as 7d or 12h. "" is the zero time.
func ParseTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return t, nil
	}
	age := text
	if days, ok := strings.CutSuffix(text, "d"); ok {
		age = days + "h"
	}
	d, err := time.ParseDuration(age)
	if err != nil || d < 0 {
		return time.Time{}, UsageErrorf("--%s takes a date such as 2026-11-01, or an age such as 7d or 12h, got %q", flag, text)
	}
	if age != text {
		d *= 24
	}
	return now.Add(-d), nil
}
