package wire

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxRetryAfter bounds a provider's delay. The engine has a much smaller bound of its own.
const maxRetryAfter = 30 * 24 * time.Hour

// parseRetryAfter reads Retry-After-Ms, and Retry-After in seconds or as a date; 0 if neither is usable. A date is
// relative to the response's own Date, so that a wrong clock on either side does not matter.
func parseRetryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := parseDelay(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := parseDelay(value, time.Second); ok {
		return d
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	if now.IsZero() {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

func parseDelay(value string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	if n > float64(maxRetryAfter/unit) {
		return maxRetryAfter, true
	}
	return time.Duration(math.Ceil(n * float64(unit))), true
}

// FindRequestID returns the provider's id of the exchange from the headers that vendors use for it; "" if there is
// none.
func FindRequestID(h http.Header) string {
	for _, name := range []string{
		"X-Request-Id", "Request-Id", "X-Amzn-Requestid", "X-Amz-Request-Id", "X-Goog-Request-Id", "Cf-Ray",
	} {
		if id := h.Get(name); id != "" {
			return Clip(id, 128)
		}
	}
	return ""
}

// delayText matches the delay in texts such as "Please try again in 1m20.5s" and "retry after 20 seconds".
var delayText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:try again|retry|retry again) (?:in|after) ` +
		`((?:\d{1,6}(?:\.\d{1,9})?(?:ms|h|m|s))+\b|` +
		`(\d{1,6}(?:\.\d{1,9})?) ?(milliseconds?|seconds?|minutes?|hours?)\b)`)
})

// findDelay returns the delay that an error message asks for; 0 if it names none.
func findDelay(message string) time.Duration {
	parts := delayText().FindStringSubmatch(message)
	if parts == nil {
		return 0
	}
	text := parts[1]
	if parts[2] != "" {
		unit := map[string]string{"mi": "ms", "se": "s", "ho": "h"}[strings.ToLower(parts[3][:2])]
		if strings.HasPrefix(strings.ToLower(parts[3]), "minute") {
			unit = "m"
		}
		text = parts[2] + unit
	}
	d, err := time.ParseDuration(strings.ToLower(text))
	if err != nil {
		return 0
	}
	return min(d, maxRetryAfter)
}
