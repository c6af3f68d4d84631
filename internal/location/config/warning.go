package config

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// Warning reports a part of a configuration that has no effect, and why.
type Warning struct {
	document.Position
	Kind    WarningKind `json:"kind"`
	Key     string      `json:"key"`
	Message string      `json:"message"`
}

func (w Warning) String() string {
	if w.Key == "" {
		return fmt.Sprintf("%s: %s", w.Position, w.Message)
	}
	return fmt.Sprintf("%s: %s %s", w.Position, w.Key, w.Message)
}

// WarningKind is the category of a warning.
type WarningKind string

// The kinds of warning.
const (
	WarnUnknown   WarningKind = "unknown"   // no such key, or no such agent
	WarnUnused    WarningKind = "unused"    // a key of OpenCode that has no effect in cairn
	WarnUnsent    WarningKind = "unsent"    // an option or provider setting with an invalid value
	WarnIgnored   WarningKind = "ignored"   // a key that project files may not set
	WarnUnset     WarningKind = "unset"     // {env:NAME} of a variable that is not set
	WarnUnread    WarningKind = "unread"    // a file that cannot be read and is not required
	WarnUnmatched WarningKind = "unmatched" // a rule whose pattern matches nothing
	WarnUnrun     WarningKind = "unrun"     // a plugin, tool or hook, which cairn does not run
	WarnUntrusted WarningKind = "untrusted" // a key that has no effect until the project is trusted
	WarnOlder     WarningKind = "older"     // a key of an earlier version, which is read as one of the current version
)

// leftOutWarning returns an error as the warning under which a value or a Markdown file is left out.
func leftOutWarning(e *document.Error) Warning {
	return Warning{e.Position, WarnUnread, e.Key, "is left out: " + e.Message}
}

// GroupWarnings joins warnings that say the same of several keys or files: the first stays and names the others.
func GroupWarnings(list []Warning) (out []Warning) {
	type group struct {
		kind    WarningKind
		message string
	}
	// Keep the first of each group in its place, and collect the names of the others.
	first, others := map[group]int{}, map[int][]string{}
	for _, w := range list {
		g := group{w.Kind, w.Message}
		if i, found := first[g]; found {
			others[i] = append(others[i], cmp.Or(w.Key, w.File))
			continue
		}
		first[g] = len(out)
		out = append(out, w)
	}
	// Add the names, a bounded number of them.
	const most = 20
	for i, names := range others {
		text := strings.Join(names[:min(len(names), most)], ", ")
		if len(names) > most {
			text += ", …"
		}
		out[i].Message += fmt.Sprintf(" (and %d more: %s)", len(names), text)
	}
	return out
}
