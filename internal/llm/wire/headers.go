package wire

import (
	"math"
	"net/http"
	"strconv"
	"strings"
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
