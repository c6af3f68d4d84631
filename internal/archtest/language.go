package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxColumns = 120 // runes per line of Go, a tab counted as one

// privateWords are words and phrases that hide the subject of a sentence or that are used for "invalid" and
// "missing". They are counted in Go sources and documents; package archtest, which lists them, is left out.
var privateWords = []string{
	"nobody", "somebody", "whoever", "told", "is none", "are none", "behind which", "what is said", "who has",
	"of ours",
	"no word", "heed", "heeds", "heeded", "where it stands",
}

var privateWord = regexp.MustCompile(`(?i)\b(` + strings.Join(privateWords, "|") + `)\b`)

// listPrivateWords finds privateWords, keyed by the word.
func listPrivateWords(t *Tree) map[string][]Finding {
	out := map[string][]Finding{}
	search := func(name string, src []byte) {
		for i, line := range bytes.Split(src, []byte("\n")) {
			for _, m := range privateWord.FindAll(bytes.ReplaceAll(line, []byte("http.NoBody"), nil), -1) {
				word := strings.ToLower(string(m))
				out[word] = append(out[word], Finding{At: fmt.Sprintf("%s:%d", name, i+1), Text: shortenLine(line)})
			}
		}
	}
	for _, p := range t.sortedPackages() {
		if p.Name == "archtest" {
			continue
		}
		for _, f := range p.Files {
			search(f.Path, f.Source)
		}
	}
	for _, doc := range t.listDocuments() {
		if src, err := fs.ReadFile(t.FS, doc); err == nil {
			search(doc, src)
		}
	}
	return out
}

// indirectSubject matches a doc comment such as "x is what y does", which hides that x returns or holds something.
var indirectSubject = regexp.MustCompile(`^\s*// \w+ (?:is|are) (what|how|where|whether|why|when) `)

// listIndirectComments finds comments that match indirectSubject, keyed by the conjunction.
func listIndirectComments(t *Tree) map[string][]Finding {
	out := map[string][]Finding{}
	for _, p := range t.sortedPackages() {
		for _, f := range p.Files {
			for i, line := range bytes.Split(f.Source, []byte("\n")) {
				if m := indirectSubject.FindSubmatch(line); m != nil {
					word := string(m[1])
					out[word] = append(out[word], Finding{At: fmt.Sprintf("%s:%d", f.Path, i+1), Text: shortenLine(line)})
				}
			}
		}
	}
	return out
}

func shortenLine(line []byte) string {
	text := strings.TrimSpace(string(line))
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	return text
}

// listLongLines finds lines of more than maxColumns runes in Go files, keyed by package. Lines that cannot be wrapped
// are left out: those of generated files, struct tags, raw strings of several lines, and single words such as a URL.
func listLongLines(t *Tree) map[string][]Finding {
	out := map[string][]Finding{}
	for _, p := range t.sortedPackages() {
		for _, f := range p.Files {
			if f.Generated {
				continue
			}
			raw := t.rawStringLines(f)
			for i, line := range bytes.Split(f.Source, []byte("\n")) {
				wrappable := bytes.ContainsRune(bytes.TrimSpace(line), ' ') && !structTag.Match(line) && !raw[i+1]
				if utf8.RuneCount(line) > maxColumns && wrappable {
					out[p.Name] = append(out[p.Name], Finding{At: fmt.Sprintf("%s:%d", f.Path, i+1), Text: shortenLine(line)})
				}
			}
		}
	}
	return out
}

var structTag = regexp.MustCompile("`[a-z]+:\"")

// rawStringLines returns the lines within raw string literals of several lines, the first line excepted.
func (t *Tree) rawStringLines(f *File) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.HasPrefix(lit.Value, "`") {
			first, last := t.Fset.Position(lit.Pos()).Line, t.Fset.Position(lit.End()).Line
			for line := first + 1; line <= last; line++ {
				lines[line] = true
			}
		}
		return true
	})
	return lines
}

// listOneWordFunctions finds functions and methods that are named by one word other than a well-known verb, keyed by
// package. A method without parameters is an accessor and may be named by a well-known noun.
func listOneWordFunctions(t *Tree) map[string][]Finding {
	verbs, nouns := wordSet(knownVerbs), wordSet(knownNouns)
	out := map[string][]Finding{}
	for _, p := range t.sortedPackages() {
		for _, f := range p.Files {
			if f.Test || f.Generated {
				continue
			}
			for _, decl := range f.AST.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok || !isOneWord(fn.Name.Name) {
					continue
				}
				word := strings.ToLower(fn.Name.Name)
				accessor := fn.Recv != nil && fn.Type.Params.NumFields() == 0
				if !verbs[word] && !(accessor && nouns[word]) {
					out[p.Name] = append(out[p.Name], Finding{At: t.position(fn.Pos()), Text: funcName(fn)})
				}
			}
		}
	}
	return out
}

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// isOneWord reports whether a name has no inner capital, digit or underscore: take and Take, but not takeAll.
func isOneWord(name string) bool {
	for i, r := range name {
		if i > 0 && !unicode.IsLower(r) {
			return false
		}
	}
	return true
}

// listSharedTypeNames finds type names that more than two packages declare, keyed by the lower-case name. Names in
// commonTypeNames mean the same everywhere; protocols and stores implement one contract in parallel and count as one
// package.
func listSharedTypeNames(t *Tree) map[string][]Finding {
	homes := map[string]map[string]bool{}
	places := map[string][]Finding{}
	for _, p := range t.sortedPackages() {
		for _, f := range p.Files {
			if f.Test || f.Generated {
				continue
			}
			for _, spec := range typeSpecs(f) {
				name := strings.ToLower(spec.Name.Name)
				if slices.Contains(commonTypeNames, name) {
					continue
				}
				family := p.Name
				if entry, ok := floorOf(p.Name); ok && entry.kind == driverKind {
					family = path.Dir(p.Name)
				}
				if homes[name] == nil {
					homes[name] = map[string]bool{}
				}
				if !homes[name][family] {
					homes[name][family] = true
					places[name] = append(places[name], Finding{At: t.position(spec.Pos()), Text: p.Name + "." + spec.Name.Name})
				}
			}
		}
	}
	for name := range places {
		if len(places[name]) <= 2 {
			delete(places, name)
		}
	}
	return places
}

// commonTypeNames mean the same in every package that declares them: technical terms, and terms of the domain in the
// forms that the log, the configuration, the APIs and the protocols give them.
var commonTypeNames = []string{
	"api", "client", "config", "options", "error", "decoder", "encoder", "parser", "reader", "writer", "server",
	"entry",
	"request", "response", "result", "event", "message", "state", "kind", "node", "row", "query", "status", "info",
	"agent", "call", "command", "failure", "file", "limits", "model", "project", "prompt", "provider", "question",
	"rule",
	"schema", "session", "skill", "text", "todo", "tool", "toolcall", "usage",
}

var (
	participle = regexp.MustCompile(`(?i)^([a-z]*[^aeiou]ed|[a-z]*[aiou]ed|told|known|found|made|kept|left|said|heard|` +
		`seen|shown|held|sent|begun|broken|given|taken|written|chosen|meant|brought|done|lost|gone|spoken)$`)
	nounsLikeParticiples = []string{"feed", "speed", "seed", "need", "bed", "shed", "embed"}
)

// checkTypeNames: a type is named by a noun. A past participle (told, placed, handed) describes a value's history and
// leaves open what the value is. The events of package session are named by what happened.
func checkTypeNames(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		if p.Name == "session" {
			continue
		}
		for _, f := range p.Files {
			if f.Test || f.Generated {
				continue
			}
			for _, spec := range typeSpecs(f) {
				name := spec.Name.Name
				if isOneWord(name) && participle.MatchString(name) &&
					!slices.Contains(nounsLikeParticiples, strings.ToLower(name)) {
					out = append(out, newFinding(t.position(spec.Pos()),
						"type %s is named by a participle; name it by a noun", name))
				}
			}
		}
	}
	return out
}

// foreignCitation matches references to documents that are not part of the repository.
var foreignCitation = regexp.MustCompile(`spec/(v1|v2|http|guarantees|performance|libraries|pains)\b|\bseeds? ` +
	`[0-9]{3}\b|§`)

// checkCitations: comments and documents cite nothing that a reader of the repository cannot open.
func checkCitations(t *Tree) []Finding {
	var out []Finding
	search := func(name string, src []byte) {
		for i, line := range bytes.Split(src, []byte("\n")) {
			if m := foreignCitation.Find(line); m != nil {
				out = append(out, newFinding(fmt.Sprintf("%s:%d", name, i+1),
					"cites %q, which is not in the repository; "+
						"state the rule, or cite a rule of docs/spec", m))
			}
		}
	}
	for _, p := range t.sortedPackages() {
		for _, f := range p.Files {
			if p.Name != "archtest" {
				search(f.Path, f.Source)
			}
		}
	}
	for _, doc := range t.listDocuments() {
		if src, err := fs.ReadFile(t.FS, doc); err == nil {
			search(doc, src)
		}
	}
	return out
}
