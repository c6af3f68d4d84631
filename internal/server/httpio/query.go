package httpio

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// CheckDuplicates refuses a request that gives one of the query parameters more than once. Which value counts would be
// a guess, and a proxy in front of the server may guess differently. It calls names only if there can be a duplicate.
func CheckDuplicates(r *http.Request, names func() []string) error {
	if !strings.Contains(r.URL.RawQuery, "&") {
		return nil
	}
	q := r.URL.Query()
	for _, name := range names() {
		if n := len(q[name]); n > 1 {
			return NewInvalid("query", name, "%s is given %d times; give it once", name, n)
		}
	}
	return nil
}

// Range is the bounds of a number and its value where it is absent.
type Range struct{ Default, Min, Max int64 }

// ParseNumber parses a decimal query parameter; an empty one is absent.
func ParseNumber(name, s string, in Range) (int64, error) {
	if s == "" {
		return in.Default, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < in.Min || n > in.Max {
		return 0, NewInvalid(
			"query",
			name,
			"%s must be a whole number from %d to %d, got %q",
			name,
			in.Min,
			in.Max,
			session.ClipText(s, 40),
		)
	}
	return n, nil
}

// CheckChoice refuses a value of a query parameter that is not one of the choices.
func CheckChoice(name, value string, choices ...string) error {
	for _, choice := range choices {
		if value == choice {
			return nil
		}
	}
	return NewInvalid(
		"query", name, "%s must be one of %s, got %q", name, strings.Join(choices, ", "), session.ClipText(value, 40),
	)
}
