package permission

import (
	"path"
	"strings"

	"github.com/cairn-dev/cairn/internal/shell"
)

// commandText is the text of a command that patterns match: its words without their quotes, joined by blanks; a word
// with a blank or an operator has single quotes.
func commandText(c shell.Command) string {
	words := make([]string, len(c.Words))
	for i, w := range c.Words {
		words[i] = quoteWord(w.Text)
	}
	return strings.Join(words, " ")
}

func quoteWord(s string) string {
	if s == "" {
		return "''"
	}
	if !strings.ContainsAny(s, " \t\n'\"\\;&|<>()`$") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// withoutDirectory returns a command text with the bare name of its program.
func withoutDirectory(text string) string {
	name, rest, more := strings.Cut(text, " ")
	if name = path.Base(name); more {
		name += " " + rest
	}
	return name
}

// Bounds of the positions in a text at which deny patterns are tried. Beyond them a deny pattern may match.
const (
	maxChunks    = 4096
	maxPositions = 64 // of one chunk
)

// listInnerCommands returns the texts that may be commands somewhere in a text, for rules that deny or ask: behind
// every operator, parenthesis, brace, backtick and newline, quoted or not, and there also behind keywords, assignments
// and programs that run others or may, as one of a path. all is false if there are more than the bounds.
func listInnerCommands(text string) (out []string, all bool) {
	text = strings.NewReplacer("\\\n", "", `\`, "", `'`, "", `"`, "").Replace(text)
	chunks := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(";&|(){}<>`\n\r", c) })
	for i, chunk := range chunks {
		if i == maxChunks {
			return out, false
		}
		words := strings.Fields(chunk)
		follows := true
		for j := range words {
			if j == maxPositions {
				return out, false
			}
			if follows {
				inner := strings.Join(words[j:], " ")
				out = append(out, inner)
				if bare := withoutDirectory(inner); bare != inner {
					out = append(out, bare)
				}
			}
			follows = isBeforeCommand(words[j]) || (j > 0 || strings.Contains(words[j], "/")) && follows
		}
	}
	return out, true
}

// isBeforeCommand reports whether a command may follow the word without an operator.
func isBeforeCommand(word string) bool {
	name := path.Base(word)
	switch name {
	case "!", "if", "then", "else", "elif", "while", "until", "do", "time", "coproc", "in", "find", "fd", "git",
		"docker", "podman", "kubectl", "npm", "go", "cargo":
		return true
	}
	return strings.Contains(word, "=") || strings.Contains(word, shell.Hole) || isRunner(name) || isBuilder(name)
}

// plainWord is the characters of words that hold no code of a shell or of another language.
const plainWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:@%+,=-~"

// holdsCommands reports whether a command that runs others is given them in words that look like code, by an option,
// or in its input.
func holdsCommands(c shell.Command) bool {
	if FindFilterScripts(c) != nil {
		return false
	}
	name := programName(c)
	operands, options := 0, false
	for _, w := range c.Words[1:] {
		if strings.Trim(w.Text, plainWord) != "" || mayBeOption(w, runningOptions[name]) {
			return true
		}
		if strings.HasPrefix(w.Text, "-") || strings.Contains(w.Text, "=") {
			options = true
		} else if !strings.HasPrefix(w.Text, "/dev/") {
			operands++
		}
	}
	if isRunner(name) {
		return options || operands == 0
	}
	return subcommands[name] != nil && strings.HasPrefix(c.Words[min(1, len(c.Words)-1)].Text, "-")
}
