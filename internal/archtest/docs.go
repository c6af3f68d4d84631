package archtest

import (
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

const (
	walkFile    = "docs/WALK.md"
	planned     = "(planned)"
	maxAgents   = 100 // lines of AGENTS.md
	dependences = "docs/adr/0001-dependencies.md"
)

var (
	quoted = regexp.MustCompile("`([^`]+)`")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	adr    = regexp.MustCompile(`^([0-9]{4})-[a-z0-9-]+\.md$`)
)

// checkWalk: every row of the walk's table names files under internal/ and, for each, a function in it. A row
// marked (planned) may be ahead of the code; when every file of the walk exists, no mark may be left.
func checkWalk(t *Tree) []Finding {
	src, err := fs.ReadFile(t.FS, walkFile)
	if err != nil {
		return []Finding{found(walkFile, "cannot be read: %v", err)}
	}
	var out, ahead []Finding
	rows, waiting := 0, 0
	for line := range strings.Lines(string(src)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 6 || !startsWithDigit(strings.TrimSpace(cells[1])) {
			continue
		}
		rows++
		at := walkFile + " row " + strings.TrimSpace(cells[1])
		missing, wrong := t.walkRow(at, cells)
		if !strings.Contains(line, planned) {
			out = append(append(out, missing...), wrong...)
			continue
		}
		waiting += len(missing)
		ahead = append(append(ahead, wrong...), found(at, "is marked %s, but the walk is complete; take the mark away", planned))
	}
	switch {
	case rows == 0:
		return append(out, found(walkFile, "has no table: | # | open | function | what happens |"))
	case waiting > 0:
		return out
	default:
		return append(out, ahead...)
	}
}

// walkRow checks one row: files that do not exist, and what is wrong with the others.
func (t *Tree) walkRow(at string, cells []string) (missing, wrong []Finding) {
	files, funcs := quotes(cells[2]), quotes(cells[3])
	if len(files) == 0 || len(files) != len(funcs) {
		return nil, []Finding{found(at, "names %d files and %d functions; give each file its function, in order",
			len(files), len(funcs))}
	}
	for i, file := range files {
		f := t.file("internal/" + file)
		switch {
		case f == nil:
			missing = append(missing, found(at, "internal/%s does not exist; mend the row, or mark it %s", file, planned))
		case !declares(f, funcs[i]):
			wrong = append(wrong, found(at, "internal/%s has no function %s", file, funcs[i]))
		}
	}
	return missing, wrong
}

func (t *Tree) file(name string) *File {
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if f.Path == name {
				return f
			}
		}
	}
	return nil
}

func declares(f *File, name string) bool {
	for _, decl := range f.AST.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && funcName(fn) == name {
			return true
		}
	}
	return false
}

func quotes(cell string) []string {
	var out []string
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	return out
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// checkLinks: every relative link of every document leads to something.
func checkLinks(t *Tree) []Finding {
	var out []Finding
	for _, doc := range t.documents() {
		src, err := fs.ReadFile(t.FS, doc)
		if err != nil {
			out = append(out, found(doc, "cannot be read: %v", err))
			continue
		}
		for _, m := range link.FindAllStringSubmatch(withoutCode(string(src)), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, ":") {
				continue // within the page, or out in the world
			}
			to := path.Join(path.Dir(doc), target)
			if _, err := fs.Stat(t.FS, to); err != nil {
				out = append(out, found(doc, "links to %s, which does not exist", target))
			}
		}
	}
	return out
}

// documents returns the Markdown files of the root, docs/, bench/ and changelog/.
func (t *Tree) documents() []string {
	out, _ := fs.Glob(t.FS, "*.md") // the pattern is well-formed
	for _, dir := range []string{"docs", "bench", "changelog"} {
		_ = fs.WalkDir(t.FS, dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && path.Ext(name) == ".md" {
				out = append(out, name)
			}
			return nil // a folder that is not there has no documents
		})
	}
	return out
}

// withoutCode drops fenced blocks and code spans, in which brackets are code.
func withoutCode(src string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(src) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if !fenced {
			b.WriteString(quoted.ReplaceAllString(line, ""))
		}
	}
	return b.String()
}

// checkPapers: AGENTS.md stays short, the glossary has every reserved verb, decisions are numbered without gaps and
// say what was given up, and every direct dependency has its reason.
func checkPapers(t *Tree) []Finding {
	out := t.agents()
	out = append(out, t.glossary()...)
	out = append(out, t.decisions()...)
	return append(out, t.dependencies()...)
}

func (t *Tree) agents() []Finding {
	src, err := fs.ReadFile(t.FS, "AGENTS.md")
	if err != nil {
		return []Finding{found("AGENTS.md", "cannot be read: %v", err)}
	}
	if n := strings.Count(string(src), "\n"); n > maxAgents {
		return []Finding{found("AGENTS.md", "has %d lines, more than %d; it is a map, not a manual", n, maxAgents)}
	}
	return nil
}

func (t *Tree) glossary() []Finding {
	src, err := fs.ReadFile(t.FS, "docs/GLOSSARY.md")
	if err != nil {
		return []Finding{found("docs/GLOSSARY.md", "cannot be read: %v", err)}
	}
	var out []Finding
	for _, verb := range sortedKeys(verbs) {
		if !strings.Contains(string(src), "**"+verb+"**") {
			out = append(out, found("docs/GLOSSARY.md", "does not explain the reserved verb **%s**", verb))
		}
	}
	return out
}

func (t *Tree) decisions() []Finding {
	names, _ := fs.Glob(t.FS, "docs/adr/*.md") // the pattern is well-formed; sorted
	var out []Finding
	for i, name := range names {
		m := adr.FindStringSubmatch(path.Base(name))
		if m == nil || m[1] != fmt.Sprintf("%04d", i+1) {
			out = append(out, found(name, "is not number %04d; decisions are NNNN-a-few-words.md without gaps", i+1))
		}
		src, err := fs.ReadFile(t.FS, name)
		if err != nil {
			out = append(out, found(name, "cannot be read: %v", err))
			continue
		}
		for _, part := range []string{"## Context", "## Decision", "## What we gave up"} {
			if !strings.Contains(string(src), part+"\n") {
				out = append(out, found(name, "has no section %q", part))
			}
		}
	}
	return out
}

func (t *Tree) dependencies() []Finding {
	mod, err := fs.ReadFile(t.FS, "go.mod")
	if err != nil {
		return []Finding{found("go.mod", "cannot be read: %v", err)}
	}
	reasons, err := fs.ReadFile(t.FS, dependences)
	if err != nil {
		return []Finding{found(dependences, "cannot be read: %v", err)}
	}
	var out []Finding
	for _, dep := range directRequires(string(mod)) {
		if !strings.Contains(string(reasons), "`"+dep+"`") {
			out = append(out, found(dependences, "gives no reason for `%s`; a dependency needs its line", dep))
		}
	}
	return out
}

// directRequires reads the module paths that go.mod requires for our own sake.
func directRequires(mod string) []string {
	var out []string
	block := false
	for line := range strings.Lines(mod) {
		text, comment, _ := strings.Cut(strings.TrimSpace(line), "//")
		fields := strings.Fields(text)
		switch {
		case len(fields) == 0:
			continue
		case len(fields) == 2 && fields[1] == "(":
			block = fields[0] == "require"
			continue
		case fields[0] == ")":
			block = false
			continue
		case fields[0] == "require":
			fields = fields[1:]
		case !block:
			continue
		}
		if strings.TrimSpace(comment) != "indirect" {
			out = append(out, fields[0])
		}
	}
	return out
}
