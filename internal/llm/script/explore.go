package script

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// The rules, one function for each intent. Each is gone through from its beginning for every request; where it needs
// an outcome that is not there it returns "" and the call is pending.

// answer returns the answer, or "" with calls pending.
func (t *task) answer() string {
	in := intentOf(t.text)
	switch in.kind {
	case wantHelp:
		return capabilities
	case wantReplace:
		return t.replace(in)
	case wantCreate:
		return t.create(in)
	case wantRun:
		return t.run(in)
	case wantOverview:
		return t.overview()
	case wantList:
		return t.list(in)
	case wantShow:
		return t.show(in)
	case wantFind:
		return t.find(in)
	case wantExplain:
		return t.explain(in)
	case wantQuestion:
		return t.question(in)
	default:
		return t.other()
	}
}

const capabilities = `What I can do without a model, in this directory:
- "What does this project do?": look around, read the main files, and say what they say.
- "find NAME", "grep PATTERN", "where is NAME defined?": search, and answer with files and lines.
- "read FILE", "read FILE lines 10-40", "list DIR", "explain FILE": show what is there.
- "replace X with Y in FILE": a literal replacement, after you allow it.
- "create FILE with TEXT", "run COMMAND": after you allow it.
`

// read reads a file and notes it. limit 0 reads as much as the tool gives.
func (t *task) read(name string, offset, limit int) (f file, e *exchange, ready bool) {
	args := []any{"filePath", name}
	if offset > 1 {
		args = append(args, "offset", offset)
	}
	if limit > 0 {
		args = append(args, "limit", limit)
	}
	e, ready = t.do("read", args...)
	if !ready {
		return file{}, nil, false
	}
	name = t.rel(name)
	switch {
	case e.failed:
		t.notes = append(t.notes, note{path: name, trouble: e.trouble()})
		return file{path: name}, e, true
	case e.media:
		t.notes = append(t.notes, note{path: name, trouble: "it is an image or a document, and I read only text"})
		return file{path: name}, e, true
	}
	f = fileOf(name, e)
	if limit > 0 && len(f.lines) >= limit {
		f.whole = false
	}
	t.notes = append(t.notes, f.note())
	return f, e, true
}

// near looks for files whose name resembles that of p, when p could not be read.
func (t *task) near(p string) (paths []string, ready bool) {
	base := strings.TrimSuffix(path.Base(p), path.Ext(p))
	if base == "" || base == "." || base == "/" || strings.ContainsAny(base, "*?[{") {
		return nil, true
	}
	e, ready := t.do("glob", "pattern", "**/"+base+"*")
	if !ready || e.failed {
		return nil, ready
	}
	paths, _ = pathsOf(e.text)
	for i := range paths {
		paths[i] = t.rel(paths[i])
	}
	return paths[:min(len(paths), 5)], true
}

func (t *task) show(in intent) string {
	limit := 0
	if in.first > 0 {
		limit = max(in.last-in.first+1, 1)
	}
	f, e, ready := t.read(in.path, in.first, limit)
	if !ready {
		return ""
	}
	if e.failed {
		return t.unreadable(in.path, e)
	}
	if e.media {
		return fmt.Sprintf("`%s` is an image or a document; I read only text.\n", f.path)
	}
	if strings.Contains(e.text, "<type>directory") {
		return t.listing(f.path, entriesOf(e.text))
	}
	if len(f.lines) == 0 {
		return fmt.Sprintf("`%s` is empty.\n\n%s", f.path, t.filesRead())
	}
	const most = 200
	shown := f.lines[:min(len(f.lines), most)]
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`, lines %d-%d:\n\n%s", f.path, shown[0].n, shown[len(shown)-1].n, fence(shown))
	if len(shown) < len(f.lines) {
		fmt.Fprintf(&b, "\nI show %d of the %d lines that I read; ask for \"read %s lines %d-%d\" to see more.\n",
			most, len(f.lines), f.path, shown[most-1].n+1, shown[most-1].n+most)
	}
	return b.String() + "\n" + t.filesRead()
}

// fence quotes lines as a code block that they cannot end.
func fence(lines []line) string {
	mark := "```"
	var body strings.Builder
	for _, l := range lines {
		for strings.Contains(l.text, mark) {
			mark += "`"
		}
		body.WriteString(l.text + "\n")
	}
	return mark + "\n" + body.String() + mark + "\n"
}

func (t *task) unreadable(p string, e *exchange) string {
	paths, ready := t.near(p)
	if !ready {
		return ""
	}
	s := fmt.Sprintf("I could not read `%s`: %s\n", p, e.trouble())
	if len(paths) > 0 {
		s += "Files with a similar name: `" + strings.Join(paths, "`, `") + "`.\n"
	}
	return s
}

func (t *task) list(in intent) string {
	var args []any
	where := "the working directory"
	if in.path != "" && in.path != "." {
		args, where = []any{"path", in.path}, in.path
	}
	e, ready := t.do("list", args...)
	if !ready {
		return ""
	}
	if e.failed {
		return fmt.Sprintf("I could not list %s: %s\n", where, e.trouble())
	}
	return t.listing(where, entriesOf(e.text))
}

func (t *task) listing(where string, entries []string) string {
	if len(entries) == 0 {
		return fmt.Sprintf("There is nothing in %s that the list tool shows.\n", where)
	}
	const most = 200
	var b strings.Builder
	fmt.Fprintf(&b, "%s holds %s:\n\n", capital(where), count(len(entries), "entry", "entries"))
	for _, entry := range entries[:min(len(entries), most)] {
		fmt.Fprintf(&b, "- %s\n", entry)
	}
	if len(entries) > most {
		fmt.Fprintf(&b, "- … and %d more\n", len(entries)-most)
	}
	return b.String()
}

func capital(s string) string {
	if strings.HasPrefix(s, "the ") {
		return "T" + s[1:]
	}
	return "`" + s + "`"
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func (t *task) explain(in intent) string {
	f, e, ready := t.read(in.path, 0, 0)
	if !ready {
		return ""
	}
	if e.failed || e.media {
		return t.unreadable(in.path, e)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "What stands in `%s` (I quote; I do not judge):\n\n", f.path)
	if title, para := readme(f); title.text != "" || para.text != "" {
		b.WriteString(describeReadme(f.path, title, para))
	}
	o := outlineOf(f)
	if o.comment.text != "" {
		fmt.Fprintf(&b, "- It says of itself: “%s” (%s:%d)\n", o.comment.text, f.path, o.comment.n)
	}
	for _, d := range o.definitions[:min(len(o.definitions), 25)] {
		fmt.Fprintf(&b, "- %s:%d: %s\n", f.path, d.n, shorten(strings.TrimSpace(d.text), 140))
	}
	if len(o.definitions) > 25 {
		fmt.Fprintf(&b, "- … and %d more definitions\n", len(o.definitions)-25)
	}
	if o.comment.text == "" && len(o.definitions) == 0 && len(f.lines) > 0 {
		b.WriteString("Its first lines:\n\n" + fence(f.lines[:min(len(f.lines), 12)]))
	}
	return b.String() + "\n" + t.filesRead()
}

func (t *task) question(in intent) string {
	pattern := "(?i)" + regexp.QuoteMeta(in.a)
	s, ready := t.search(in, pattern)
	if !ready {
		return ""
	}
	head := fmt.Sprintf("I cannot reason about your question. I searched for its most telling word, `%s`.\n\n", in.a)
	if s == "" {
		s = "Nothing in the directory mentions it.\n"
	}
	return head + s + "\n" + capabilities
}

func (t *task) other() string {
	e, ready := t.do("list")
	if !ready {
		return ""
	}
	s := "I do not understand that request, and I have changed nothing.\n\n"
	if !e.failed {
		if entries := entriesOf(e.text); len(entries) > 0 {
			s += "The working directory holds: " + strings.Join(entries[:min(len(entries), 20)], ", ")
			if len(entries) > 20 {
				s += fmt.Sprintf(" and %d more", len(entries)-20)
			}
			s += ".\n\n"
		}
	}
	return s + capabilities
}
