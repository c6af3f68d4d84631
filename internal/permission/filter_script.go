package permission

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/cairn-dev/cairn/internal/shell"
)

// FindFilterScripts returns which words of the command are scripts for sed or awk that run nothing and open no file.
// It returns nil without scripts, or if an option may make the program do either.
func FindFilterScripts(c shell.Command) map[int]bool {
	switch programName(c) {
	case "sed", "gsed":
		return findSedScripts(c.Words)
	case "awk", "gawk", "mawk", "nawk":
		return findAwkScript(c.Words)
	}
	return nil
}

// sedOptions match the options of sed without effect outside of its input. A script follows one that ends in e.
var sedOptions = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(-[nErsuz]*(i[A-Za-z0-9._]*|e)?|--(quiet|silent|regexp-extended|in-place|null-data))$`)
})

// setsVariable reports whether the option of awk sets a variable. If it is one letter, the value follows.
func setsVariable(option string) bool {
	return strings.HasPrefix(option, "-F") || strings.HasPrefix(option, "-v")
}

// findSedScripts returns the words after -e, or else the first operand.
func findSedScripts(words []shell.Word) map[int]bool {
	found, operand := map[int]bool{}, 0
	for i, w := range words[1:] {
		before := words[i].Text // the word before
		switch isScript := i > 0 && strings.HasSuffix(before, "e") && sedOptions().MatchString(before) &&
			!strings.HasPrefix(before, "--") && !strings.Contains(before, "i"); {
		case isScript:
			found[i+1] = true
		case strings.HasPrefix(w.Text, "-") && !sedOptions().MatchString(w.Text), strings.HasPrefix(w.Text, shell.Hole):
			return nil
		case !strings.HasPrefix(w.Text, "-") && operand == 0:
			operand = i + 1
		}
	}
	if len(found) == 0 && operand > 0 {
		found[operand] = true
	}
	for i := range found {
		if !words[i].Literal || !isSedScript(words[i].Text) {
			return nil
		}
	}
	return found
}

// findAwkScript returns the first operand.
func findAwkScript(words []shell.Word) map[int]bool {
	for i := 1; i < len(words); i++ {
		switch text := words[i].Text; {
		case setsVariable(text) && words[i].Literal:
			if len(text) == 2 {
				i++
			}
		case strings.HasPrefix(text, "-") || !words[i].Literal || !isAwkScript(text):
			return nil
		default:
			return map[int]bool{i: true}
		}
	}
	return nil
}

// sedCommand matches one command of sed: an address, a command that opens no file, and the separator before the next
// one. In a substitution, a bracket expression may contain the delimiter, so unbalanced brackets do not match.
var sedCommand = sync.OnceValue(func() *regexp.Regexp {
	part := func(end string) string { return `(?:[^\\\n\[` + end + `]|\\.|\[[^\\\n\[\]` + end + `]+\])*` }
	address := `(?:\d+(?:~\d+)?|\$|/` + part("/") + `/I?)`
	substitutions := make([]string, 0, 4)
	for _, d := range []string{"/", ",", "#", "|"} {
		d := regexp.QuoteMeta(d)
		substitutions = append(substitutions, `[sy]`+d+part(d)+d+`(?:[^\\\n`+d+`]|\\.)*`+d+`[gpiI0-9]*`)
	}
	return regexp.MustCompile(`^[\s;{}]*(?:` + address + `(?:,(?:` + address + `|[+~]\d+))?)?\s*!?\s*(?:[\s{]*` +
		`(?:[pdDgGhHxnNPl=]|[qQ]\d*|:\w+|[bt] ?\w*|` + strings.Join(substitutions, "|") + `)\s*)?(?:[;}\n][\s;}]*|$)`)
})

// isSedScript reports whether the text is a script of sed without commands that read, write or run something. It has
// ASCII only, because locales differ in where other characters end.
func isSedScript(text string) bool {
	if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
		return false
	}
	for text != "" {
		n := len(sedCommand().FindString(text))
		if n == 0 {
			return false
		}
		text = text[n:]
	}
	return true
}

// awkEffects matches the constructs of awk that open files, run programs or load other code.
var awkEffects = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`getline|system|ARG|SYMTAB|@|\\\n|print(?s:.*)>|\|`)
})

// isAwkScript reports whether the text is a script of awk that opens no files itself and runs nothing.
func isAwkScript(text string) bool {
	return strings.ContainsAny(text, "{$/=<>") && !awkEffects().MatchString(strings.ReplaceAll(text, "||", " "))
}
