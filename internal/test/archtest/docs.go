package archtest

import (
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	walkFile      = "docs/WALK.md"
	planned       = "(planned)"
	dependencyADR = "docs/adr/0001-dependencies.md"
)

var (
	quoted       = regexp.MustCompile("`([^`]+)`")
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// dependencyRow matches a row of the table of dependencies and captures the module path.
	dependencyRow = regexp.MustCompile("^\\| `([^`]+)` \\|")
	adrName       = regexp.MustCompile(`^([0-9]{4})-[a-z0-9-]+\.md$`)
	fragmentStart = regexp.MustCompile(`^(Added|Changed|Fixed|Removed|Security): [^\n]+\n(\n|$)`)
)

// checkWalk: every row of the walk's table names files under internal/ and, for each, a function in it. A row
// marked (planned) may be ahead of the code; when every file of the walk exists, no mark may be left.
func checkWalk(t *Tree) []Finding {
	src, err := fs.ReadFile(t.FS, walkFile)
	if err != nil {
		return []Finding{newFinding(walkFile, "cannot be read: %v", err)}
	}
	var out, ahead []Finding
	rows, waiting := 0, 0
	// Check the rows of the table. Findings of planned rows are collected apart.
	for line := range strings.Lines(string(src)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 6 || !startsWithDigit(strings.TrimSpace(cells[1])) {
			continue
		}
		rows++
		at := walkFile + " row " + strings.TrimSpace(cells[1])
		missing, wrong := t.checkWalkRow(at, cells)
		if !strings.Contains(line, planned) {
			out = append(append(out, missing...), wrong...)
			continue
		}
		waiting += len(missing)
		ahead = append(append(ahead, wrong...), newFinding(at,
			"is marked %s, but the walk is complete; take the mark away", planned))
	}
	// A mark is a finding only if no planned file is missing.
	switch {
	case rows == 0:
		return append(out, newFinding(walkFile, "has no table: | # | open | function | what happens |"))
	case waiting > 0:
		return out
	default:
		return append(out, ahead...)
	}
}

// checkWalkRow checks one row: files that do not exist, and what is wrong with the others.
func (t *Tree) checkWalkRow(at string, cells []string) (missing, wrong []Finding) {
	files, funcs := findBackquoted(cells[2]), findBackquoted(cells[3])
	if len(files) == 0 || len(files) != len(funcs) {
		return nil, []Finding{newFinding(at, "names %d files and %d functions; give each file its function, in order",
			len(files), len(funcs))}
	}
	for i, file := range files {
		f := t.findFile("internal/" + file)
		switch {
		case f == nil:
			missing = append(missing, newFinding(at, "internal/%s does not exist; mend the row, or mark it %s", file, planned))
		case !declaresFunc(f, funcs[i]):
			wrong = append(wrong, newFinding(at, "internal/%s has no function %s", file, funcs[i]))
		}
	}
	return missing, wrong
}

func (t *Tree) findFile(name string) *File {
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if f.Path == name {
				return f
			}
		}
	}
	return nil
}

func declaresFunc(f *File, name string) bool {
	for _, decl := range f.AST.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && funcName(fn) == name {
			return true
		}
	}
	return false
}

func findBackquoted(cell string) []string {
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
	for _, doc := range t.listDocuments() {
		src, err := fs.ReadFile(t.FS, doc)
		if err != nil {
			out = append(out, newFinding(doc, "cannot be read: %v", err))
			continue
		}
		for _, m := range markdownLink.FindAllStringSubmatch(withoutCode(string(src)), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, ":") {
				continue // within the page, or out in the world
			}
			to := path.Join(path.Dir(doc), target)
			if _, err := fs.Stat(t.FS, to); err != nil {
				out = append(out, newFinding(doc, "links to %s, which does not exist", target))
			}
		}
	}
	return out
}

// listDocuments returns the Markdown files of the root, docs/, bench/ and changelog/.
func (t *Tree) listDocuments() []string {
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

// checkPapers: decisions are numbered without gaps and say what was given up, fragments of the changelog have one form,
// and every direct dependency has its reason.
func checkPapers(t *Tree) []Finding {
	return slices.Concat(t.checkDecisions(), t.checkFragments(), t.checkDependencies())
}

// checkFragments: a release collects the first lines of the changelog's fragments into lists by their first word.
func (t *Tree) checkFragments() []Finding {
	names, _ := fs.Glob(t.FS, "changelog/unreleased/*.md") // the pattern is well-formed
	var out []Finding
	for _, name := range names {
		src, err := fs.ReadFile(t.FS, name)
		if path.Base(name) != "README.md" && (err != nil || !fragmentStart.Match(src)) {
			out = append(out, newFinding(name, "does not begin with one line such as \"Fixed: …\" and an empty one; "+
				"see changelog/unreleased/README.md"))
		}
	}
	return out
}

func (t *Tree) checkDecisions() []Finding {
	names, _ := fs.Glob(t.FS, "docs/adr/*.md") // the pattern is well-formed; sorted
	var out []Finding
	for i, name := range names {
		m := adrName.FindStringSubmatch(path.Base(name))
		if m == nil || m[1] != fmt.Sprintf("%04d", i+1) {
			out = append(out, newFinding(name, "is not number %04d; decisions are NNNN-a-few-words.md without gaps", i+1))
		}
		src, err := fs.ReadFile(t.FS, name)
		if err != nil {
			out = append(out, newFinding(name, "cannot be read: %v", err))
			continue
		}
		for _, part := range []string{"## Context", "## Decision", "## What we gave up"} {
			if !strings.Contains(string(src), part+"\n") {
				out = append(out, newFinding(name, "has no section %q", part))
			}
		}
	}
	return out
}

func (t *Tree) checkDependencies() []Finding {
	mod, err := fs.ReadFile(t.FS, "go.mod")
	if err != nil {
		return []Finding{newFinding("go.mod", "cannot be read: %v", err)}
	}
	reasons, err := fs.ReadFile(t.FS, dependencyADR)
	if err != nil {
		return []Finding{newFinding(dependencyADR, "cannot be read: %v", err)}
	}
	var out []Finding
	direct := directRequires(string(mod))
	for _, dep := range direct {
		if !strings.Contains(string(reasons), "`"+dep+"`") {
			out = append(out, newFinding(dependencyADR, "gives no reason for `%s`; a dependency needs its line", dep))
		}
	}
	for line := range strings.Lines(string(reasons)) {
		if m := dependencyRow.FindStringSubmatch(line); m != nil && !slices.Contains(direct, m[1]) {
			out = append(out, newFinding(dependencyADR, "explains `%s`, which go.mod does not require", m[1]))
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
