package catalog

import (
	"fmt"
	"strings"
)

// UnknownError reports that a named provider or model does not exist, with similar names, best first.
type UnknownError struct {
	Kind    string // model or provider
	Name    string
	Nearest []string
	Misread string // why the row of that name cannot be read; "" if the row is missing
}

// Error implements error.
func (e *UnknownError) Error() string {
	if e.Misread != "" {
		return fmt.Sprintf("%s %.100q is listed, but cannot be read: %s", e.Kind, e.Name, e.Misread)
	}
	if len(e.Nearest) == 0 {
		return fmt.Sprintf("unknown %s %.100q", e.Kind, e.Name)
	}
	return fmt.Sprintf("unknown %s %.100q; did you mean %s?", e.Kind, e.Name, strings.Join(e.Nearest, ", "))
}
