package catalog

import (
	"fmt"
	"strings"
)

// UnknownError says that something named does not exist, with the names that come nearest, best first.
type UnknownError struct {
	Kind    string // model or provider
	Name    string
	Nearest []string
	Misread string // why what the facts list under the name cannot be read; "" if they list nothing
}

// Error names what was asked for and what may have been meant.
func (e *UnknownError) Error() string {
	if e.Misread != "" {
		return fmt.Sprintf("%s %.100q is listed, but cannot be read: %s", e.Kind, e.Name, e.Misread)
	}
	if len(e.Nearest) == 0 {
		return fmt.Sprintf("unknown %s %.100q", e.Kind, e.Name)
	}
	return fmt.Sprintf("unknown %s %.100q; did you mean %s?", e.Kind, e.Name, strings.Join(e.Nearest, ", "))
}
