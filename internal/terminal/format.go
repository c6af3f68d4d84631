package terminal

import (
	"fmt"
	"strconv"
	"time"
)

// FormatCount formats a count with thousands separators.
func FormatCount(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// FormatAge formats a time in milliseconds as an age.
func FormatAge(ms int64) string {
	d := time.Since(time.UnixMilli(ms))
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	case d < 30*24*time.Hour:
		return fmt.Sprintf("%dd ago", int(d.Hours()/24))
	default:
		return time.UnixMilli(ms).Format("2006-01-02")
	}
}

// FormatPercent formats a share in percent without decimals.
func FormatPercent(p float64) string {
	if p > 0 && p < 1 {
		return "<1%"
	}
	return strconv.Itoa(int(p+0.5)) + "%"
}

// FormatPlural formats a count with its noun.
func FormatPlural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return FormatCount(int64(n)) + " " + noun + "s"
}
