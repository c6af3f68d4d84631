package script

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// find searches as literally as it can, then more widely, and says which it was.
func (t *task) find(in intent) string {
	if strings.ContainsAny(in.a, "*") && !in.pattern || pathWord().MatchString(in.a) && !strings.Contains(in.a, " ") {
		if s := t.findFile(in); s != "" || len(t.pending) > 0 {
			return s
		}
	}
	literal := regexp.QuoteMeta(in.a)
	tries := []string{literal}
	if in.pattern {
		if _, err := regexp.Compile(in.a); err == nil {
			tries[0] = in.a
		}
	} else {
		tries = append(tries, "(?i)"+strings.Join(strings.Fields(literal), `[\s_-]*`))
		if k := keyword(in.a); k != "" && k != in.a {
			tries = append(tries, "(?i)"+regexp.QuoteMeta(k))
		}
	}
	for _, pattern := range tries {
		s, ready := t.search(in, pattern)
		if !ready || s != "" {
			return s
		}
	}
	return fmt.Sprintf("I searched %s for `%s` and found nothing.\n", place(in.path), strings.Join(tries, "`, then for `"))
}

func place(p string) string {
	if p == "" {
		return "the directory"
	}
	return "`" + p + "`"
}

func (t *task) findFile(in intent) string {
	pattern := in.a
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	e, ready := t.do("glob", "pattern", pattern)
	if !ready || e.failed {
		return ""
	}
	paths, more := pathsOf(e.text)
	if len(paths) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Files that match `%s`: %d%s\n\n", pattern, len(paths), orMore(more))
	for _, p := range paths[:min(len(paths), 50)] {
		fmt.Fprintf(&b, "- %s\n", t.rel(p))
	}
	if len(paths) > 50 {
		fmt.Fprintf(&b, "- … and %d more\n", len(paths)-50)
	}
	return b.String()
}

func orMore(more bool) string {
	if more {
		return " or more"
	}
	return ""
}

// search greps once; "" and ready means that nothing was found.
func (t *task) search(in intent, pattern string) (string, bool) {
	args := []any{"pattern", pattern}
	if in.path != "" {
		args = append(args, "path", in.path)
	}
	e, ready := t.do("grep", args...)
	if !ready {
		return "", false
	}
	if e.failed {
		return fmt.Sprintf("The search for `%s` in %s failed: %s\n", pattern, place(in.path), e.trouble()), true
	}
	matches, more := matchesOf(e.text)
	if len(matches) == 0 {
		return "", true
	}
	return t.found(in, pattern, matches, more), true
}

func (t *task) found(in intent, pattern string, matches []match, more bool) string {
	files := map[string]bool{}
	for _, m := range matches {
		files[m.path] = true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "grep finds `%s` on %s%s in %s.\n\n", pattern, count(len(matches), "line", "lines"), orMore(more), count(len(files), "file", "files"))
	if definitions := definitionsOf(in.a, matches); len(definitions) > 0 {
		b.WriteString("These lines look like definitions:\n")
		t.printMatches(&b, definitions, 10)
		matches = slices.DeleteFunc(matches, func(m match) bool { return slices.Contains(definitions, m) })
		if in.defined || len(matches) == 0 {
			if len(matches) > 0 {
				fmt.Fprintf(&b, "\nIt also stands on %s.\n", count(len(matches), "other line", "other lines"))
			}
			return b.String()
		}
		b.WriteString("\nOther lines:\n")
	}
	t.printMatches(&b, matches, 30)
	return b.String()
}

func (t *task) printMatches(b *strings.Builder, matches []match, most int) {
	for _, m := range matches[:min(len(matches), most)] {
		fmt.Fprintf(b, "- %s:%d: %s\n", t.rel(m.path), m.n, shorten(strings.TrimSpace(m.text), 160))
	}
	if len(matches) > most {
		fmt.Fprintf(b, "- … and %d more\n", len(matches)-most)
	}
}

// definitionsOf picks the lines in which name is introduced, by the words of common languages.
func definitionsOf(name string, matches []match) []match {
	if strings.ContainsAny(name, " \t") {
		return nil
	}
	definition, err := regexp.Compile(`(?i)\b(func|function|def|class|type|struct|interface|enum|trait|const|var|let|fn|module|package|macro|#define)\s+(\([^)]*\)\s*)?` + regexp.QuoteMeta(name) + `\b`)
	if err != nil {
		return nil
	}
	var out []match
	for _, m := range matches {
		if definition.MatchString(m.text) {
			out = append(out, m)
		}
	}
	return out
}
