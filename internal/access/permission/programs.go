package permission

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/access/shell"
)

// programsText is the table of commands that a pattern is offered for; its head describes the rows.
//
//go:embed programs.txt
var programsText string

// programs is the table of programs.txt.
type programs struct {
	reading map[string]readOptions // by the words that name a command
	code    map[string]bool        // commands that run the project's own code, by these words
	editing map[string]bool        // programs that change the files that they name
}

// readOptions are the options with which a command only reads.
type readOptions struct {
	any     bool
	letters string
	words   map[string]bool
}

var loadPrograms = sync.OnceValue(func() programs {
	p := programs{map[string]readOptions{}, map[string]bool{}, map[string]bool{}}
	for row := range strings.Lines(programsText) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(row), " ")
		names, options, _ := strings.Cut(rest, ":")
		for name := range strings.SplitSeq(names, ",") {
			name = strings.TrimSpace(name)
			switch kind {
			case "read":
				p.reading[name] = parseReadOptions(options)
			case "code":
				p.code[name] = true
			case "edit":
				p.editing[name] = true
			}
		}
	}
	return p
})

func parseReadOptions(text string) readOptions {
	o := readOptions{words: map[string]bool{}}
	for field := range strings.FieldsSeq(text) {
		switch {
		case field == "any":
			o.any = true
		case strings.HasPrefix(field, "-"):
			o.words[field] = true
		default:
			o.letters += field
		}
	}
	return o
}

// allowsWord reports whether the command still only reads with the word among its arguments. Digits and signs may
// follow a letter as its value.
func (o readOptions) allowsWord(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	switch {
	case o.any || !strings.HasPrefix(word, "-") || word == "-" || word == "--" || o.words[name]:
		return true
	case strings.HasPrefix(word, "--"):
		return false
	}
	return strings.Trim(word[1:], o.letters+"0123456789.,+:") == ""
}

// maxNamingWords bounds the words that name a command of the table.
const maxNamingWords = 3

// findRow returns the row with the longest name that the command begins with. n is the number of words of that name, 0
// if there is no such row.
func findRow[T any](rows map[string]T, c shell.Command) (row T, n int) {
	names := []string{programName(c)}
	for _, w := range c.Words[1:min(len(c.Words), maxNamingWords)] {
		names = append(names, w.Text)
	}
	for n = len(names); n > 0; n-- {
		if row, ok := rows[strings.Join(names[:n], " ")]; ok {
			return row, n
		}
	}
	return row, 0
}

// OnlyReads reports whether the command of a plain line only reads files: it is inert or the table lists it as such
// with all of its options, and no redirection writes a file.
func OnlyReads(c shell.Command) bool {
	if slices.ContainsFunc(c.Redirections, writesFile) {
		return false
	}
	if isInert(c) {
		return true
	}
	c = skipGitOptions(c)
	options, n := findRow(loadPrograms().reading, c)
	return n > 0 && !slices.ContainsFunc(c.Words[n:], func(w shell.Word) bool { return !options.allowsWord(w.Text) })
}

func writesFile(r shell.Redirection) bool {
	return !strings.HasPrefix(r.Operator, "<") && r.Target.Text != "/dev/null"
}

// EditsArguments reports whether the command changes the files that it names.
func EditsArguments(c shell.Command) bool {
	_, n := findRow(loadPrograms().editing, skipGitOptions(c))
	return n > 0
}

// programName returns the name of the command's program without the directory of the system's programs, "" if it lies
// elsewhere or is not literal.
func programName(c shell.Command) string {
	dir, name := path.Split(c.Words[0].Text)
	switch dir {
	case "", "/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/":
	default:
		return ""
	}
	if !c.Words[0].Literal {
		return ""
	}
	return name
}

// gitOptions are options of git before its command that change only how it shows its output.
var gitOptions = []string{"--no-pager", "-P", "--no-optional-locks"}

// skipGitOptions returns the command without the leading options of git that change only where it runs and how it
// shows its output. A command with other leading options is returned as it is.
func skipGitOptions(c shell.Command) shell.Command {
	if programName(c) != "git" {
		return c
	}
	for i := 1; i < len(c.Words); i++ {
		switch w := c.Words[i].Text; {
		case slices.Contains(gitOptions, w):
		case w == "-C" && i+1 < len(c.Words):
			i++
		case strings.HasPrefix(w, "-"):
			return c
		default:
			plain := c
			plain.Words = slices.Concat(c.Words[:1], c.Words[i:])
			return plain
		}
	}
	return c
}

// withoutGitOptions is skipGitOptions for the text of a command.
func withoutGitOptions(text string) string {
	if !strings.HasPrefix(text, "git -") {
		return text
	}
	line, err := shell.Parse(text)
	if err != nil || len(line.Commands) != 1 {
		return text
	}
	return commandText(skipGitOptions(line.Commands[0]))
}

// SavePattern returns the pattern that the answer "always" saves for a command line or one of its commands: for a
// command of the table the words that name it and then anything, else exactly this text.
func SavePattern(text string) string {
	line, err := shell.Parse(text)
	if err != nil || len(line.Commands) != 1 {
		return Escape(strings.TrimSpace(text))
	}
	c := line.Commands[0]
	_, n := findRow(loadPrograms().code, c)
	if OnlyReads(c) {
		_, n = findRow(loadPrograms().reading, c)
	}
	if n == 0 || len(c.Redirections) > 0 {
		return Escape(c.Text)
	}
	named := make([]string, n)
	for i, w := range c.Words[:n] {
		named[i] = w.Text
	}
	if last := named[n-1]; last == "run" || last == "task" { // the name of a script follows
		if n == len(c.Words) || !c.Words[n].Literal || strings.HasPrefix(c.Words[n].Text, "-") {
			return Escape(c.Text)
		}
		named = append(named, quoteWord(c.Words[n].Text))
	}
	return Escape(strings.Join(named, " ")) + " *"
}

// IsOffered reports whether SavePattern returns the pattern for some command. Earlier versions offered others.
func IsOffered(pattern string) bool {
	named, ok := strings.CutSuffix(pattern, " *")
	return isExact(pattern) || ok && SavePattern(named) == pattern
}
