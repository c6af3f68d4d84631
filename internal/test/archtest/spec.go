package archtest

import (
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

const (
	specDir      = "docs/spec"
	securityFile = "docs/security.md"
)

var (
	// specRule matches "- **RC-7** sentence" and captures the code.
	specRule = regexp.MustCompile(`^- \*\*([A-Z]{2,3}-[0-9]+[a-z]?)\*\* `)
	// advisoryRow matches a row of the table of advisories, the one of three columns.
	advisoryRow = regexp.MustCompile(`(?m)^\| [^|\n]+ \| [^|\n]+ \| \[[^|\n]* \|$`)
	// specProof matches "[engine TestWake, server/v2 scenario resume]", the end of a rule.
	specProof = regexp.MustCompile(`\[([a-z0-9/]+ (?:Test[A-Za-z0-9_]+|scenario [a-z0-9_]+)[^\]]*)\]`)
	// ruleCode matches the citation of a rule in a comment.
	ruleCode = regexp.MustCompile(`\b([A-Z]{2,3})-[0-9]+[a-z]?\b`)
)

// checkSpec: every rule of docs/spec and every advisory of docs/security.md names a test that exists, no code is used
// twice, and every code that a comment cites is defined. A proof is "package TestName" or "package scenario name" for
// testdata/scenario/name.txt.
func checkSpec(t *Tree) []Finding {
	rules, families := map[string]string{}, map[string]bool{}
	var out []Finding
	// Collect the rules, and check their proofs.
	names, _ := fs.Glob(t.FS, specDir+"/*.md") // the pattern is well-formed
	for _, name := range names {
		src, err := fs.ReadFile(t.FS, name)
		if err != nil {
			out = append(out, newFinding(name, "cannot be read: %v", err))
			continue
		}
		for _, item := range listItems(string(src)) {
			m := specRule.FindStringSubmatch(item)
			if m == nil {
				continue
			}
			code := m[1]
			if rules[code] != "" {
				out = append(out, newFinding(name, "defines %s, which %s defines already", code, rules[code]))
			}
			rules[code] = name
			families[code[:strings.Index(code, "-")]] = true
			out = append(out, t.checkProof(name, code, item)...)
		}
	}
	// Check the proofs of the advisories.
	if src, err := fs.ReadFile(t.FS, securityFile); err == nil {
		for _, row := range advisoryRow.FindAllString(string(src), -1) {
			advisory, _, _ := strings.Cut(strings.Trim(row, "| "), " |")
			out = append(out, t.checkProof(securityFile, advisory, row)...)
		}
	}
	// Check the codes that comments cite, of the families that have rules.
	for _, p := range t.sortedPackages() {
		for _, f := range p.Files {
			for _, group := range f.AST.Comments {
				for _, m := range ruleCode.FindAllStringSubmatch(group.Text(), -1) {
					if families[m[1]] && rules[m[0]] == "" {
						out = append(out, newFinding(t.position(group.Pos()), "cites rule %s, which docs/spec does not define", m[0]))
					}
				}
			}
		}
	}
	return out
}

// listItems joins the lines of each top-level list item of a document.
func listItems(src string) []string {
	var out []string
	open := false
	for line := range strings.Lines(src) {
		switch {
		case strings.HasPrefix(line, "- "):
			out, open = append(out, strings.TrimSpace(line)), true
		case open && strings.HasPrefix(line, "  "):
			out[len(out)-1] += " " + strings.TrimSpace(line)
		default:
			open = false
		}
	}
	return out
}

// checkProof checks the tests that one rule names.
func (t *Tree) checkProof(name, code, item string) []Finding {
	m := specProof.FindStringSubmatch(item)
	if m == nil {
		return []Finding{newFinding(name, "rule %s names no test; end it with [package TestName]", code)}
	}
	var out []Finding
	pkg := ""
	for ref := range strings.SplitSeq(m[1], ", ") {
		fields := strings.Fields(ref)
		if fields[0] != "scenario" && !strings.HasPrefix(fields[0], "Test") {
			pkg, fields = fields[0], fields[1:]
		}
		for i := 0; i < len(fields); i++ {
			if fields[i] == "scenario" && i+1 < len(fields) {
				i++
				file := path.Join("internal", pkg, "testdata/scenario", fields[i]+".txt")
				if _, err := fs.Stat(t.FS, file); err != nil {
					out = append(out, newFinding(name, "rule %s names %s, which does not exist", code, file))
				}
			} else if !t.hasTest(pkg, fields[i]) {
				out = append(out, newFinding(name, "rule %s names %s, which package %s does not have", code, fields[i], pkg))
			}
		}
	}
	return out
}

// hasTest reports whether the package has a test function of that name.
func (t *Tree) hasTest(pkg, name string) bool {
	p := t.Packages[pkg]
	if p == nil {
		return false
	}
	for _, f := range p.Files {
		for _, decl := range f.AST.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && f.Test && fn.Recv == nil && fn.Name.Name == name {
				return true
			}
		}
	}
	return false
}
