package command

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/config"
)

const allArguments = "$ARGUMENTS"

var (
	placeholder = regexp.MustCompile(`\$\d+`)
	token       = regexp.MustCompile(`(?i)\[Image\s+\d+\]|"[^"]*"|'[^']*'|[^\s"']+`)
)

// Expansion is a template with what was typed behind its name.
//
// What was typed is never program text: the lines to run refer to it as ${1}, ${2} … and $ARGUMENTS, which a shell has as
// its parameters Args and as the variable ARGUMENTS.
type Expansion struct {
	Lines     []string // what the template wants to have run, in order
	Args      []string // of a line, from ${1} on
	Arguments string   // everything that was typed

	pieces []piece
	names  []string
}

// Names are what the template and what was typed name with an @ before it: files, directories or agents. What lines print
// names nothing, nor does a template that only speaks.
func (e Expansion) Names() []string { return e.names }

// piece is text, or where a line's output goes.
type piece struct {
	text string
	line bool
}

// Expand puts what was typed into the template.
func (c Command) Expand(arguments string) Expansion {
	e := Expansion{Arguments: arguments}
	e.Args = spread(words(arguments), highest(c.Template))
	rest := 0
	for _, at := range c.lines() {
		e.pieces = append(e.pieces, piece{text: e.fill(c.Template[rest:at[0]])}, piece{line: true})
		e.Lines = append(e.Lines, placeholder.ReplaceAllStringFunc(c.Template[at[2]:at[3]], func(p string) string { return "${" + p[1:] + "}" }))
		rest = at[1]
	}
	last := e.fill(c.Template[rest:])
	if !placeholder.MatchString(c.Template) && !strings.Contains(c.Template, allArguments) && strings.TrimSpace(arguments) != "" {
		last += "\n\n" + arguments
	}
	e.pieces = append(e.pieces, piece{text: last})
	e.names = Mentions(arguments)
	if !c.speaks() {
		e.names = Mentions(e.Text(nil))
	}
	return e
}

// speaks reports whether the template is anybody's words, which have nothing run and name nothing: a skill's, which may be of
// a project that nobody trusts, and a command's of such a project.
func (c Command) speaks() bool { return c.Source == FromSkill || c.Anybodys }

// lines finds what the template wants to have run.
func (c Command) lines() [][]int {
	if c.speaks() {
		return nil
	}
	return config.ShellLines(c.Template)
}

// Text is the prompt, with what the lines printed in their places.
func (e Expansion) Text(printed []string) string {
	var b strings.Builder
	for _, p := range e.pieces {
		switch {
		case !p.line:
			b.WriteString(p.text)
		case len(printed) > 0:
			b.WriteString(printed[0])
			printed = printed[1:]
		}
	}
	return strings.TrimSpace(b.String())
}

// fill replaces the placeholders of a text. What is put in is not looked at again.
func (e Expansion) fill(text string) string {
	var b strings.Builder
	for text != "" {
		at := placeholder.FindStringIndex(text)
		all := strings.Index(text, allArguments)
		switch {
		case all >= 0 && (at == nil || all < at[0]):
			b.WriteString(text[:all] + e.Arguments)
			text = text[all+len(allArguments):]
		case at != nil:
			b.WriteString(text[:at[0]] + e.arg(text[at[0]+1:at[1]]))
			text = text[at[1]:]
		default:
			b.WriteString(text)
			text = ""
		}
	}
	return b.String()
}

func (e Expansion) arg(number string) string {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(e.Args) {
		return ""
	}
	return e.Args[n-1]
}

// highest is the highest number of a placeholder, 0 without any.
func highest(template string) int {
	most := 0
	for _, p := range placeholder.FindAllString(template, -1) {
		if n, err := strconv.Atoi(p[1:]); err == nil {
			most = max(most, n)
		}
	}
	return most
}

// spread gives one word to each placeholder, and all that are left to the highest.
func spread(words []string, placeholders int) []string {
	if placeholders == 0 || len(words) <= placeholders {
		return words
	}
	return append(words[:placeholders-1:placeholders-1], strings.Join(words[placeholders-1:], " "))
}

// words splits what was typed: at spaces, but for what stands in quotes, which go.
func words(arguments string) []string {
	all := token.FindAllString(arguments, -1)
	for i, w := range all {
		if n := len(w); n >= 2 && (w[0] == '"' || w[0] == '\'') && w[n-1] == w[0] {
			all[i] = w[1 : n-1]
		}
	}
	return all
}

var mention = regexp.MustCompile("@(\\.?[^\\s`,.]*(?:\\.[^\\s`,.]+)*)")

// Mentions returns what the text names with an @ before it, each once: files, directories or agents. One behind a
// letter, as in an address of mail, or behind a backtick is none.
func Mentions(text string) []string {
	var names []string
	seen := map[string]bool{"": true}
	for _, at := range mention.FindAllStringSubmatchIndex(text, -1) {
		if at[0] > 0 && isWord(text[at[0]-1]) {
			continue
		}
		if name := text[at[2]:at[3]]; !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

func isWord(b byte) bool {
	return b == '_' || b == '`' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}
