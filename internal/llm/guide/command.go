package guide

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// command is a request that the user's text contains.
type command struct {
	kind        commandKind
	path        string
	text        string // what to find or to replace
	replacement string
	isPattern   bool // text is a regular expression
	first, last int  // the range of lines to read; 0 is open
}

type commandKind string

const (
	commandOverview commandKind = "overview"
	commandList     commandKind = "list"
	commandRead     commandKind = "read"
	commandFind     commandKind = "find"
	commandReplace  commandKind = "replace"
)

// maxCommand bounds the texts, in bytes, that are parsed.
const maxCommand = 64 << 10

// grammar holds the forms of a command. operand and word are an argument in quotes or without: operand may have spaces.
type grammar struct{ replace, read, list, find, overview *regexp.Regexp }

var loadGrammar = sync.OnceValue(func() grammar {
	const quoted = "\"[^\"]+\"|'[^']+'|`[^`]+`"
	const word = `(` + quoted + `|\S+?)`
	const operand = `(` + quoted + `|.+?)`
	const lines = `(?::(\d+)(?:-(\d+))?|\s+lines?\s+(\d+)(?:\s*(?:-|to)\s*(\d+))?)?`
	form := func(expr string) *regexp.Regexp {
		return regexp.MustCompile(`(?is)^(?:please\s+)?` + expr + `[\s.!?]*$`)
	}
	return grammar{
		replace: form(`replace\s+` + operand + `\s+with\s+(""|` + quoted + `|.+)\s+in\s+(?:(?:the\s+)?file\s+)?` + word),
		read:    form(`(?:read|show|cat|open)\s+(?:(?:me\s+)?(?:the\s+)?file\s+)?` + word + lines),
		list:    form(`(?:list|ls)(?:\s+(?:the\s+)?(?:files|directory))?(?:\s+in)?(?:\s+` + word + `)?`),
		find: form(`(find|grep|search\s+for|search|where\s+(?:is|are))\s+(?:(?:all\s+)?(?:uses|mentions)\s+of\s+)?` +
			operand + `(?:\s+(?:defined|used))?(?:\s+in\s+(?:(?:this|the)\s+\w+|` + word + `))?`),
		overview: form(`(?:.*\b(?:what|how|explain|describe|summari[sz]e|overview|tell)\b.*` +
			`\b(?:this|project|repository|repo|code\s?base|directory)\b.*|(?:give me an )?overview)`),
	}
})

// parseCommand parses the user's text.
func parseCommand(text string) command {
	if len(text) > maxCommand {
		return command{}
	}
	g := loadGrammar()
	if m := g.replace.FindStringSubmatch(text); m != nil {
		return command{kind: commandReplace, text: unquote(m[1]), replacement: unquote(m[2]), path: unquote(m[3])}
	}
	if m := g.list.FindStringSubmatch(text); m != nil {
		return command{kind: commandList, path: unquote(m[1])}
	}
	if m := g.read.FindStringSubmatch(text); m != nil {
		c := command{kind: commandRead, path: unquote(m[1])}
		c.first, _ = strconv.Atoi(m[2] + m[4])
		c.last, _ = strconv.Atoi(m[3] + m[5])
		c.last = max(c.first, c.last)
		return c
	}
	if m := g.find.FindStringSubmatch(text); m != nil {
		return command{
			kind: commandFind, text: unquote(m[2]), path: unquote(m[3]), isPattern: strings.EqualFold(m[1], "grep"),
		}
	}
	if g.overview.MatchString(text) {
		return command{kind: commandOverview}
	}
	return command{}
}

// unquote removes one pair of quotation marks around s.
func unquote(s string) string {
	if n := len(s); n >= 2 && s[0] == s[n-1] && strings.IndexByte("\"'`", s[0]) >= 0 {
		return s[1 : n-1]
	}
	return s
}
