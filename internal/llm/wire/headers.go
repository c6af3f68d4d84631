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

// delayText matches the delay in texts such as "try again in 1m20.5s", "retry after 20 seconds" and "reset in 2 hours 5
// minutes", which are in the form of normalizeText; delayPart matches one number with its unit.
var (
	delayText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:try again|retry|retry again|resets?|resets? again|refreshed|available again|wait) ` +
			`(?:(?:in|after|for|about|at least) )*` +
			`((?:` + delayUnit + `(?:,? (?:and )?)?)*` + delayUnit + `)\b`)
	})
	delayPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(delayUnit) })
)

const delayUnit = `(?:(\d{1,6}(?:\.\d{1,9})?) ?` +
	`(milliseconds?|ms|minutes?|mins?|m|seconds?|secs?|s|hours?|hrs?|h|days?|d))`

// findDelay returns the delay that one of the texts asks for; 0 if none does.
func findDelay(texts []string) time.Duration {
	units := map[string]time.Duration{
		"ms": time.Millisecond, "mi": time.Minute, "m": time.Minute, "se": time.Second, "s": time.Second,
		"ho": time.Hour, "hr": time.Hour, "h": time.Hour, "da": 24 * time.Hour, "d": 24 * time.Hour,
	}
	for _, text := range texts {
		delay := delayText().FindStringSubmatch(text)
		if delay == nil {
			continue
		}
		sum := time.Duration(0)
		for _, part := range delayPart().FindAllStringSubmatch(delay[1], -1) {
			unit := units[part[2][:min(2, len(part[2]))]]
			if strings.HasPrefix(part[2], "milli") {
				unit = time.Millisecond
			}
			d, _ := parseDelay(part[1], unit)
			sum = min(sum+d, maxRetryAfter)
		}
		return sum
	}
	return 0
}
