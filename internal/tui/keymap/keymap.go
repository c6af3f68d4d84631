// Package keymap binds keys to commands, as the user configures them.
package keymap

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Binding is a command with its key; "" has none.
type Binding struct{ Name, Key string }

// BindKeys returns the bindings with those of the user: a command's name and its key, "none" for no key. A user's
// binding replaces a default one of the same key. problems are the user's bindings that have no effect, each with the
// reason.
func BindKeys(defaults []Binding, own map[string]string) (bound []Binding, problems []string) {
	bound = slices.Clone(defaults)
	taken := map[string]string{} // the commands of the user's keys
	for _, name := range slices.Sorted(maps.Keys(own)) {
		key := own[name]
		i := slices.IndexFunc(bound, func(b Binding) bool { return b.Name == name })
		switch {
		case i < 0:
			problems = append(problems, "no command is named "+name)
		case key == "none":
			bound[i].Key = ""
		case !isKey(key):
			problems = append(problems, fmt.Sprintf("%s: %q is not a key", name, key))
		case taken[key] != "":
			problems = append(problems, fmt.Sprintf("%s: %s has %s already", name, taken[key], key))
		default:
			for j := range bound {
				if bound[j].Key == key {
					bound[j].Key = ""
				}
			}
			bound[i].Key, taken[key] = key, name
		}
	}
	return bound, problems
}

var (
	modifiers = strings.Fields("ctrl alt shift meta hyper super")
	names     = strings.Fields("enter tab backspace esc space up down left right begin find insert delete select " +
		"pgup pgdown home end menu pause printscreen capslock scrolllock numlock " +
		"equal mul plus comma minus period div sep " + // of the keypad
		"mediaplay mediapause mediaplaypause mediareverse mediastop mediafastforward mediarewind medianext " +
		"mediaprev mediarecord lowervol raisevol mute")
)

// isKey reports whether a terminal can send a key of that name, such as ctrl+k, f2 or alt+enter.
func isKey(name string) bool {
	base := name
	for {
		modifier, rest, found := strings.Cut(base, "+")
		if !found || rest == "" || !slices.Contains(modifiers, modifier) {
			break
		}
		base = rest
	}
	var f int
	if n, err := fmt.Sscanf(base, "f%d", &f); n == 1 && err == nil && base == fmt.Sprintf("f%d", f) {
		return f >= 1 && f <= 63
	}
	return utf8.RuneCountInString(base) == 1 || slices.Contains(names, base)
}
