package command

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/location/config"
)

const allArguments = "$ARGUMENTS"

var (
	placeholder = regexp.MustCompile(`\$\d+`)
	token       = regexp.MustCompile(`(?i)\[Image\s+\d+\]|"[^"]*"|'[^']*'|[^\s"']+`)
)

// Expansion is a template with its arguments.
//
// Arguments are never program text. One without characters that mean something to a shell is part of the line, so that
// permission rules can read it. To others the lines refer as ${1}, ${2} … and $ARGUMENTS, which the shell resolves from
// its parameters Args and the variable ARGUMENTS.
type Expansion struct {
	Lines     []string // shell commands of the template, in order
	Args      []string // parameters of every line, from ${1} on
	Arguments string   // all arguments as typed

	pieces []piece
	names  []string
}

// Needs lists the programs and files that the template of a command runs and reads by itself.
type Needs struct {
	Agent string   // whose rules apply; "" is the session's, or the default
	Lines []string // shell commands
	Files []string // absolute paths of what the template, not the arguments, mentions
}

// Permit returns why a template may not have what it needs, or nil. It may wait for people. With readOnly the lines may
// write temporary files only.
type Permit func(context.Context, Needs) (readOnly bool, err error)

// Names returns what the template and the arguments mention with a leading @: files, directories or agents. Output of
// shell lines is not searched, nor is an untrusted template.
func (e Expansion) Names() []string { return e.names }

// piece is text, or the position of a line's output.
type piece struct {
	text string
	line bool
}

// Expand inserts the arguments into the template.
func (c Command) Expand(arguments string) Expansion {
	e := Expansion{Arguments: arguments}
	e.Args = assignWords(splitWords(arguments), highestPlaceholder(c.Template))
	rest := 0
	for _, at := range c.shellLines() {
		e.pieces = append(e.pieces, piece{text: e.fillPlaceholders(c.Template[rest:at[0]])}, piece{line: true})
		e.Lines = append(e.Lines, e.fillLine(c.Template[at[2]:at[3]]))
		rest = at[1]
	}
	last := e.fillPlaceholders(c.Template[rest:])
	if !placeholder.MatchString(c.Template) && !strings.Contains(c.Template, allArguments) &&
		strings.TrimSpace(arguments) != "" {
		last += "\n\n" + arguments
	}
	e.pieces = append(e.pieces, piece{text: last})
	e.names = FindMentions(arguments)
	if !c.isTextOnly() {
		e.names = FindMentions(e.PromptText(nil))
	}
	return e
}

// plainArgument matches an argument that is the same words as text of a shell line and as the value of a parameter.
var plainArgument = regexp.MustCompile(`^([\w./:@%+,^-][\w./:@%+,^~-]*( +[\w./:@%+,^-][\w./:@%+,^~-]*)*)?$`)

// SplitArguments returns the words of what was typed after a command: quotes hold words together.
func SplitArguments(arguments string) []string { return splitWords(arguments) }

// fillLine replaces the placeholders of a shell line by plain arguments, and by parameters of the shell for others.
func (e Expansion) fillLine(line string) string {
	var b strings.Builder
	rest := 0
	for _, at := range placeholder.FindAllStringIndex(line, -1) {
		number := line[at[0]+1 : at[1]]
		b.WriteString(line[rest:at[0]])
		rest = at[1]
		beforeRedirection := strings.HasPrefix(line[rest:], ">") || strings.HasPrefix(line[rest:], "<") // 2>file
		if a := e.argumentText(number); plainArgument.MatchString(a) && !beforeRedirection {
			b.WriteString(a)
		} else {
			b.WriteString("${" + number + "}")
		}
	}
	return b.String() + line[rest:]
}

// isTextOnly reports whether nothing in the template may be run or read: skills and untrusted commands.
func (c Command) isTextOnly() bool { return c.Source == FromSkill || c.Untrusted }

// shellLines returns the positions of the template's shell commands.
func (c Command) shellLines() [][]int {
	if c.isTextOnly() {
		return nil
	}
	return config.ShellLines(c.Template)
}

// PromptText returns the prompt with the output of the shell lines inserted.
func (e Expansion) PromptText(printed []string) string {
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

// fillPlaceholders replaces the placeholders of a text. Inserted text is not searched again.
func (e Expansion) fillPlaceholders(text string) string {
	var b strings.Builder
	for text != "" {
		at := placeholder.FindStringIndex(text)
		all := strings.Index(text, allArguments)
		switch {
		case all >= 0 && (at == nil || all < at[0]):
			b.WriteString(text[:all] + e.Arguments)
			text = text[all+len(allArguments):]
		case at != nil:
			b.WriteString(text[:at[0]] + e.argumentText(text[at[0]+1:at[1]]))
			text = text[at[1]:]
		default:
			b.WriteString(text)
			text = ""
		}
	}
	return b.String()
}

func (e Expansion) argumentText(number string) string {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(e.Args) {
		return ""
	}
	return e.Args[n-1]
}

// highestPlaceholder returns the highest number of a placeholder; 0 without placeholders.
func highestPlaceholder(template string) int {
	most := 0
	for _, p := range placeholder.FindAllString(template, -1) {
		if n, err := strconv.Atoi(p[1:]); err == nil {
			most = max(most, n)
		}
	}
	return most
}

// assignWords assigns one word to each placeholder and all remaining words to the highest one.
func assignWords(words []string, placeholders int) []string {
	if placeholders == 0 || len(words) <= placeholders {
		return words
	}
	return append(words[:placeholders-1:placeholders-1], strings.Join(words[placeholders-1:], " "))
}

// splitWords splits arguments at spaces outside of quotes, and removes the quotes.
func splitWords(arguments string) []string {
	all := token.FindAllString(arguments, -1)
	for i, w := range all {
		if n := len(w); n >= 2 && (w[0] == '"' || w[0] == '\'') && w[n-1] == w[0] {
			all[i] = w[1 : n-1]
		}
	}
	return all
}

var mention = regexp.MustCompile("@(\\.?[^\\s`,.]*(?:\\.[^\\s`,.]+)*)")

// FindMentions returns the distinct names that follow an @ in the text. An @ after a letter, as in an e-mail address,
// or after a backtick does not count.
func FindMentions(text string) []string {
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
