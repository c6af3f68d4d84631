package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// meanings are what the words of a command may become by what the text says of its variables.
type meanings struct {
	others   [][]string // the words with the values of variables in them
	free     []string   // texts of words that may become anything all the same
	several  []string   // texts of those that the shell may make several words of
	patterns []string   // texts of those that begin as the names of files do, which may begin with a dash
}

// meanings looks into the words with holes.
func (v *values) meanings(list []*syntax.Word, texts []string) (m meanings) {
	m.others = [][]string{nil}
	for i, w := range list {
		become := [][]string{{texts[i]}}
		if v.elsewhere(texts[i]) {
			m.free = append(m.free, texts[i])
		}
		if !known(texts[i]) {
			said, complete := v.texts(w)
			if !complete && !isPattern(w) || v.loose {
				m.free = append(m.free, texts[i])
				if braces(w) || splits(w) || manyInQuotes(w) {
					m.several = append(m.several, texts[i])
				}
			}
			if len(said) > 0 {
				become = said
			}
			if isPattern(w) {
				m.patterns = append(m.patterns, texts[i])
			}
			for _, words := range said {
				if complete && strings.HasPrefix(words[0], Hole) {
					m.patterns = append(m.patterns, words...)
				}
			}
		}
		var longer [][]string
		for _, before := range m.others {
			for _, words := range become {
				longer = append(longer, append(slices.Clone(before), words...))
			}
		}
		m.others = longer
		if len(m.others) > maxTexts {
			return meanings{free: texts, several: texts}
		}
	}
	m.others = slices.DeleteFunc(m.others, func(words []string) bool { return slices.Equal(words, texts) })
	return m
}

// elsewhere reports a path below the home where that is set in the text.
func (v *values) elsewhere(path string) bool { return strings.HasPrefix(path, "~") && v.names("HOME") }

// manyInQuotes reports an expansion that becomes several words in quotes, too.
func manyInQuotes(w *syntax.Word) bool {
	many := false
	syntax.Walk(w, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok {
			many = many || p.Names != 0 || p.Index != nil && !numericExpr(p.Index) ||
				p.Param != nil && (p.Param.Value == "@" || p.Param.Value == "*")
		}
		return true
	})
	return many
}

// isFree reports that the word may become any text.
func (c call) isFree(word string) bool {
	return slices.ContainsFunc(
		c.free, func(f string) bool { return f == word || !known(word) && strings.HasSuffix(f, word) },
	)
}

// change notes a file that the command is known to change.
func (r *reader) change(c call, word string) {
	r.path(word, Change)
	r.aimed(c, word)
}

// write notes a file that is written as if by the shell.
func (r *reader) write(c call, word string) {
	r.path(word, Write)
	r.aimed(c, word)
}

func (r *reader) aimed(c call, word string) {
	r.anywhere = r.anywhere || c.isFree(word)
	r.relative = r.relative || !strings.HasPrefix(word, "/") && !strings.HasPrefix(word, "~")
}

// operandsEnd is how many of the arguments may be options: those before a --.
func operandsEnd(args []string) int {
	if i := slices.Index(args, "--"); i >= 0 {
		return i
	}
	return len(args)
}

// plainGit are commands of git without an option that runs something.
var plainGit = words(`add commit status checkout branch tag rm mv restore switch reset rev-parse ls-files merge
	merge-base describe cherry-pick revert
	check-ignore worktree config remote stash blame`)

// mayGive reports that one of the arguments is not known and may be an option that executes knows.
func (c call) mayGive(program string, args []string) bool {
	if len(executing[program]) == 0 {
		return false
	}
	if program != "go" && program != "find" {
		args = args[:operandsEnd(args)]
	}
	for i, a := range args {
		switch {
		case known(a):
		case slices.Contains(c.several, a):
			return true
		case !strings.HasPrefix(a, Hole):
		case i > 0 && slices.Contains(valued[program], args[i-1]) && c.isFree(a): // its value, in quotes
		case c.isFree(a) || slices.Contains(c.patterns, a):
			return true
		}
	}
	return false
}

// valued are options behind which a word stands that is no option, by program.
var valued = map[string][]string{
	"tar": {
		"-C", "-f", "-cf", "-xf", "-czf", "-xzf", "-tf", "-tzf", "xf", "cf", "czf", "xzf", "tf", "--directory", "--file",
		"--exclude",
	},
	"rg": {"-e", "-g", "-t", "-A", "-B", "-C", "-m", "--glob", "--type"}, "sort": {"-k", "-t", "-S"},
	"make": {"-C", "-j"},
	"go":   {"-run", "-o", "-tags", "-bench", "-C"}, "npm": {"--prefix", "-w"},
	"git": {"-S", "-G", "-n", "--grep", "--author", "--since", "--until"},
	"gcc": {"-o", "-I", "-L"}, "cc": {"-o", "-I", "-L"}, "g++": {"-o", "-I", "-L"}, "clang": {"-o", "-I", "-L"},
	"scp": {"-P", "-i"}, "zip": {"-x"},
}
