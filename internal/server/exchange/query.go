package exchange

import (
	"net/http"
	"strconv"
	"strings"
)

// Once refuses a request that says one of the parameters more than once: which one counts would be a guess, and who looks
// at a request before us may guess otherwise.
// names says which there are, and is called if there may be a doubt.
func Once(r *http.Request, names func() []string) error {
	if !strings.Contains(r.URL.RawQuery, "&") {
		return nil
	}
	q := r.URL.Query()
	for _, name := range names() {
		if n := len(q[name]); n > 1 {
			return Bad("query", name, "%s is there %d times; it must be there once", name, n)
		}
	}
	return nil
}

// Span is what a number may be, and what it is when it is absent.
type Span struct{ Default, Least, Most int64 }

// Number reads a decimal query parameter.
func Number(r *http.Request, name string, in Span) (int64, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return in.Default, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < in.Least || n > in.Most {
		return 0, Bad("query", name, "%s must be a whole number from %d to %d, got %q", name, in.Least, in.Most, Clip(s, 40))
	}
	return n, nil
}

// Choice reads a query parameter that is one of few.
func Choice(r *http.Request, name string, of ...string) (string, error) {
	s := r.URL.Query().Get(name)
	for _, o := range of {
		if s == o {
			return s, nil
		}
	}
	if s == "" {
		return "", nil
	}
	return "", Bad("query", name, "%s must be one of %s, got %q", name, strings.Join(of, ", "), Clip(s, 40))
}
