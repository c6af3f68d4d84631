package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ParseFor parses a text for the shell with this name or path. The language of a shell other than bash and sh is not
// supported: the text is one opaque command.
func ParseFor(program, text string) Script {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(program, `\`, "/")), ".exe")
	switch name {
	case "bash":
		return ParseScript(text)
	case "sh", "dash", "ash": // which may be bash, or not
		return parseScript(text, syntax.LangBash, syntax.LangPOSIX)
	default:
		return Opaque(quoteAll(slices.Concat([]string{name, "-c"}, []string{text})))
	}
}
