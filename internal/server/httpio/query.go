package httpio

import (
	"net/http"
	"strconv"
	"strings"
)

// CheckDuplicates refuses a request that says one of the parameters more than once: which one counts would be a guess, and who looks
// at a request before us may guess otherwise.
// names says which there are, and is called if there may be a doubt.
func CheckDuplicates(r *http.Request, names func() []string) error {
	if !strings.Contains(r.URL.RawQuery, "&") {
		return nil
	}
	q := r.URL.Query()
	for _, name := range names() {
		if n := len(q[name]); n > 1 {
			return Invalid("query", name, "%s is there %d times; it must be there once", name, n)
		}
	}
	return nil
}

// Range is what a number may be, and what it is when it is absent.
type Range struct{ Default, Min, Max int64 }

// ReadNumber reads a decimal query parameter.
func ReadNumber(r *http.Request, name string, in Range) (int64, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return in.Default, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < in.Min || n > in.Max {
		return 0, Invalid("query", name, "%s must be a whole number from %d to %d, got %q", name, in.Min, in.Max, Clip(s, 40))
	}
	return n, nil
}

// ReadChoice reads a query parameter that is one of few.
func ReadChoice(r *http.Request, name string, of ...string) (string, error) {
	s := r.URL.Query().Get(name)
	for _, o := range of {
		if s == o {
			return s, nil
		}
	}
	if s == "" {
		return "", nil
	}
	return "", Invalid("query", name, "%s must be one of %s, got %q", name, strings.Join(of, ", "), Clip(s, 40))
}
