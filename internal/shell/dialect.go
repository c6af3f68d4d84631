package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ParseFor reads a text as the shell of that name or path would. Shells that speak another language than bash and sh
// run what nobody has read: that is one opaque command.
func ParseFor(program, text string) Script {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(program, `\`, "/")), ".exe")
	switch name {
	case "bash":
		return Parse(text)
	case "sh", "dash", "ash": // which may be bash, or not
		return parse(text, syntax.LangBash, syntax.LangPOSIX)
	default:
		return Opaque(quoteAll(slices.Concat([]string{name, "-c"}, []string{text})))
	}
}
