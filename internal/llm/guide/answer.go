package guide

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// answerCommand applies the rules for the user's command. It returns the answer, or "" with calls pending: each rule
// runs from its beginning for every request, up to the first outcome that is missing.
func (t *task) answerCommand() string {
	switch c := parseCommand(t.text); c.kind {
	case commandOverview:
		return t.describeProject()
	case commandList:
		return t.listDirectory(c)
	case commandRead:
		return t.showFile(c)
	case commandFind:
		return t.find(c)
	case commandReplace:
		return t.replace(c)
	default:
		return "Your text is not one of the requests that I understand; I changed nothing.\n\n" + capabilities
	}
}

const maxShown = 200 // lines of a file or a directory in an answer

// showLines quotes lines up to the limit of an answer.
func showLines(lines []line) string {
	s := codeBlock(lines[:min(len(lines), maxShown)])
	if len(lines) > maxShown {
		s += fmt.Sprintf("\n%d more lines are not shown.\n", len(lines)-maxShown)
	}
	return s
}

func (t *task) listDirectory(c command) string {
	args := arguments{}
	if c.path != "" {
		args["path"] = c.path
	}
	o, ready := t.callTool("list", args)
	switch {
	case !ready:
		return ""
	case o.failed:
		return fmt.Sprintf("I could not list %s: %s\n", placeName(c.path), quote(o.text))
	}
	if lines := parseFile(c.path, o).lines; len(lines) > 0 {
		return showLines(lines)
	}
	return fmt.Sprintf("The list tool shows nothing in %s.\n", placeName(c.path))
}

// placeName names path in a sentence.
func placeName(path string) string {
	if path == "" {
		return "the working directory"
	}
	return "`" + path + "`"
}

func (t *task) showFile(c command) string {
	limit := 0
	if c.first > 0 {
		limit = c.last - c.first + 1
	}
	f, ready := t.read(c.path, c.first, limit)
	switch {
	case !ready:
		return ""
	case f.problem != "":
		return fmt.Sprintf("`%s` could not be read: %s\n", f.path, f.problem)
	case len(f.lines) == 0:
		return fmt.Sprintf("`%s` is empty.\n%s", f.path, t.listSources())
	}
	return fmt.Sprintf("`%s`:\n\n%s%s", f.path, showLines(f.lines), t.listSources())
}

// find searches for a file name if the text has a wildcard; else for the text as written, then without regard to case.
func (t *task) find(c command) string {
	tool, patterns := "grep", []string{regexp.QuoteMeta(c.text), "(?i)" + regexp.QuoteMeta(c.text)}
	switch {
	case c.isPattern:
		patterns = []string{c.text}
	case strings.Contains(c.text, "*"):
		tool, patterns = "glob", []string{c.text}
	}
	for _, pattern := range patterns {
		args := arguments{"pattern": pattern}
		if c.path != "" {
			args["path"] = c.path
		}
		o, ready := t.callTool(tool, args)
		switch {
		case !ready:
			return ""
		case o.failed:
			return fmt.Sprintf("The search for `%s` failed: %s\n", c.text, quote(o.text))
		}
		if tool == "glob" {
			if paths := t.parsePaths(o.text); len(paths) > 0 {
				return fmt.Sprintf("Files named `%s`:\n\n- %s\n", c.text, strings.Join(paths, "\n- "))
			}
		} else if matches, more := t.parseMatches(o.text); len(matches) > 0 {
			return describeMatches(c, matches, more)
		}
	}
	return fmt.Sprintf("I searched %s for `%s` and found nothing.\n", placeName(c.path), c.text)
}

const maxMatches = 30

// describeMatches lists matches, those that look like definitions first.
func describeMatches(c command, matches []match, more bool) string {
	rank := func(m match) int {
		if isDefinition(m.text) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(matches, func(a, b match) int { return rank(a) - rank(b) })
	var b strings.Builder
	fmt.Fprintf(&b, "grep found `%s` on %s:\n\n", c.text, count(len(matches), "line"))
	for _, m := range matches[:min(len(matches), maxMatches)] {
		fmt.Fprintf(&b, "- %s:%d: %s\n", m.path, m.number, shorten(strings.TrimSpace(m.text), 160))
	}
	if more || len(matches) > maxMatches {
		b.WriteString("\nThere are more; add \"in DIR\" to search less.\n")
	}
	return b.String()
}

// isDefinition reports whether a line of source begins a definition, by the keywords of common languages.
func isDefinition(text string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "export "), " ")
	return slices.Contains(strings.Fields("func function def class type struct interface enum trait fn const var"), first)
}

func count(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// replace replaces text in a file through the edit tool, which asks for permission, and reports what the tool answered.
func (t *task) replace(c command) string {
	if c.text == c.replacement {
		return "The old and the new text are the same; I changed nothing.\n"
	}
	f, ready := t.read(c.path, 0, 0)
	if !ready {
		return ""
	}
	found := strings.Count(f.text(), c.text)
	switch {
	case f.problem != "":
		return fmt.Sprintf("`%s` could not be read: %s\nI changed nothing.\n", f.path, f.problem)
	case found == 0 && f.complete:
		return fmt.Sprintf("`%s` does not contain `%s`; I changed nothing. Case matters.\n", f.path, c.text)
	}
	args := arguments{"filePath": c.path, "oldString": c.text, "newString": c.replacement}
	if found != 1 || !f.complete {
		args["replaceAll"] = true
	}
	edit, ready := t.callTool("edit", args)
	what := fmt.Sprintf("`%s` with `%s` in `%s`", c.text, c.replacement, f.path)
	switch {
	case !ready:
		return ""
	case edit.failed:
		return fmt.Sprintf("I could not replace %s: %s\nI changed nothing.\n", what, quote(edit.text))
	case !f.complete:
		return fmt.Sprintf("I replaced %s wherever it occurs. The edit tool answered: %s\n", what, quote(edit.text))
	}
	return fmt.Sprintf("I replaced %s, %s. The edit tool answered: %s\n", what, count(found, "time"), quote(edit.text))
}
