package cli

import (
	"strconv"
	"strings"
	"time"
)

// maxDays bounds an age in days.
const maxDays = 36_500

// ParseTime reads the value of a flag: a date in the zone of now, or an age such as 7d or 12h. A day of an age is one of the
// calendar, not always 24 hours. "" is the zero time.
func ParseTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return t, nil
	}
	if number, ok := strings.CutSuffix(text, "d"); ok {
		if days, err := strconv.ParseUint(number, 10, 32); err == nil && days <= maxDays {
			return now.AddDate(0, 0, -int(days)), nil
		}
	} else if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return now.Add(-age), nil
	}
	return time.Time{}, UsageErrorf("--%s takes a date such as 2026-11-01, or an age such as 7d or 12h, got %q", flag, text)
}
