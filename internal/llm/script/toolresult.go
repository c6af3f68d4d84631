package script

import (
	"path"
	"strconv"
	"strings"
)

// The texts of tool results, read with tolerance: the tools are written elsewhere and may say it differently.

// file is what a read showed of a file.
type file struct {
	path  string
	lines []line
	whole bool // nothing says that there is more
}

type line struct {
	n    int
	text string
}

var (
	numbered = lazily(`^\s*(\d{1,7})(?:[:|] ?|\t|→)(.*)$`)
	moreNote = lazily(`(?i)(truncated|more lines|has more|showing lines|output capped|use .?offset)`)
)

// fileOf reads the result of the read tool. Lines are those that carry a number, in rising order; a text without any
// is taken as it is, numbered from 1.
func fileOf(path string, e *exchange) file {
	f := file{path: path, whole: true}
	last := 0
	var rest []string
	for raw := range strings.Lines(e.text) {
		raw = strings.TrimRight(raw, "\r\n")
		if m := numbered().FindStringSubmatch(raw); m != nil {
			if n, _ := strconv.Atoi(m[1]); n > last {
				f.lines = append(f.lines, line{n, m[2]})
				last = n
				continue
			}
		}
		rest = append(rest, raw)
	}
	if len(f.lines) == 0 {
		for i, text := range rest {
			if tagLine().MatchString(text) || remark().MatchString(text) {
				continue
			}
			f.lines = append(f.lines, line{i + 1, text})
		}
	}
	for len(f.lines) > 0 && f.lines[len(f.lines)-1].text == "" {
		f.lines = f.lines[:len(f.lines)-1]
	}
	for _, text := range rest {
		if moreNote().MatchString(text) {
			f.whole = false
		}
	}
	return f
}

func (f file) text() string {
	var b strings.Builder
	for i, l := range f.lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l.text)
	}
	return b.String()
}

func (f file) note() note {
	n := note{path: f.path, whole: f.whole}
	if len(f.lines) > 0 {
		n.first, n.last = f.lines[0].n, f.lines[len(f.lines)-1].n
	}
	return n
}

var (
	tagLine   = lazily(`^\s*</?[a-z_-]+>.*$`)
	remark    = lazily(`^\s*\(.*\)\s*$`)
	emptyNote = lazily(`(?i)^\s*(no (files|entries|matches|results)|nothing|\(?empty|(the )?directory .*empty)`)
)

// entriesOf reads a listing: names as they stand, directories with a slash. An indented tree becomes paths.
func entriesOf(text string) []string {
	var entries, parents []string
	var indents []int
	for raw := range strings.Lines(text) {
		raw = strings.TrimRight(raw, "\r\n ")
		name := strings.TrimLeft(raw, " \t")
		if name == "" || emptyNote().MatchString(name) || tagLine().MatchString(name) || remark().MatchString(name) {
			continue
		}
		name = strings.TrimPrefix(strings.TrimPrefix(name, "- "), "./")
		if strings.HasPrefix(name, "/") && len(entries) == 0 && strings.HasSuffix(name, "/") {
			continue // the directory itself
		}
		indent := len(raw) - len(strings.TrimLeft(raw, " \t"))
		for len(indents) > 0 && indents[len(indents)-1] >= indent {
			indents, parents = indents[:len(indents)-1], parents[:len(parents)-1]
		}
		full := strings.Join(parents, "") + name
		entries = append(entries, full)
		if strings.HasSuffix(name, "/") {
			indents, parents = append(indents, indent), append(parents, name)
		}
	}
	return entries
}

// pathsOf reads a list of paths, one per line.
func pathsOf(text string) (paths []string, more bool) {
	for raw := range strings.Lines(text) {
		raw = strings.TrimSpace(raw)
		switch {
		case raw == "" || emptyNote().MatchString(raw) || tagLine().MatchString(raw):
		case remark().MatchString(raw):
			more = true
		default:
			paths = append(paths, strings.TrimPrefix(raw, "./"))
		}
	}
	return paths, more
}

// match is one line that grep found.
type match struct {
	path string
	line
}

var (
	matchLine = lazily(`^\s*(?:[Ll]ine )?(\d+)[:|]\s?(.*)$`)
	flatMatch = lazily(`^([^\s:][^:]*):(\d+):\s?(.*)$`)
)

// matchesOf reads the result of the grep tool: a path and a colon, then its lines; or path:line:text.
func matchesOf(text string) (matches []match, more bool) {
	current := ""
	for raw := range strings.Lines(text) {
		raw = strings.TrimRight(raw, "\r\n")
		if m := matchLine().FindStringSubmatch(raw); m != nil && current != "" {
			n, _ := strconv.Atoi(m[1])
			matches = append(matches, match{current, line{n, m[2]}})
			continue
		}
		if m := flatMatch().FindStringSubmatch(raw); m != nil {
			n, _ := strconv.Atoi(m[2])
			matches = append(matches, match{m[1], line{n, m[3]}})
			continue
		}
		if remark().MatchString(raw) {
			more = true
		} else if head, ok := strings.CutSuffix(raw, ":"); ok && head != "" && head[0] != ' ' {
			current = strings.TrimPrefix(head, "./")
		}
	}
	return matches, more
}

// rootOf finds the directory in which absolute paths lie, with the help of what is known to lie directly in it.
func rootOf(paths, entries []string) string {
	common := ""
	for i, p := range paths {
		if !strings.HasPrefix(p, "/") {
			return ""
		}
		if i == 0 {
			common = path.Dir(p)
		}
		for common != "/" && !strings.HasPrefix(p, common+"/") {
			common = path.Dir(common)
		}
	}
	for _, entry := range entries {
		name := strings.TrimSuffix(entry, "/")
		if strings.Contains(name, "/") {
			continue
		}
		for _, p := range paths {
			if rest, ok := strings.CutPrefix(p, common+"/"); ok && (rest == name || strings.HasPrefix(rest, name+"/")) {
				return common
			}
		}
	}
	for _, entry := range entries {
		if dir, ok := strings.CutSuffix(entry, "/"); ok && !strings.Contains(dir, "/") {
			if before, _, found := strings.Cut(common+"/", "/"+dir+"/"); found {
				return before
			}
		}
	}
	return common
}
