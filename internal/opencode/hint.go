package opencode

import (
	"regexp"
	"slices"
	"strings"
)

var numbered = regexp.MustCompile(`\$[0-9]+`)

// hints names what a template takes: $1, $2 …, and $ARGUMENTS.
func hints(template string) []string {
	out := numbered.FindAllString(template, -1)
	slices.Sort(out)
	out = slices.Compact(out)
	if strings.Contains(template, "$ARGUMENTS") {
		out = append(out, "$ARGUMENTS")
	}
	if out == nil {
		out = []string{}
	}
	return out
}
