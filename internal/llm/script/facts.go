package script

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What a file says about itself, taken from its text by form, with the lines where it stands.

// span is a quotation with its first and last line.
type span struct {
	text    string
	n, last int
}

var (
	heading  = lazily(`^#{1,6}\s+(.+?)\s*#*$`)
	htmlHead = lazily(`(?i)<h1[^>]*>(.*?)</h1>`)
	tags     = lazily(`<[^>]*>`)
	images   = lazily(`\[?!\[[^\]]*\]\([^)]*\)(\]\([^)]*\))?`)
	links    = lazily(`\[([^\]]+)\]\([^)]*\)`)
	rule     = lazily(`^\s*([=\-*_~]\s*){3,}$`)
)

// readme returns the title and the first paragraph of prose of a README.
func readme(f file) (title, para span) {
	if !slices.Contains([]string{".md", ".markdown", ".rst", ".txt", ".adoc", ""}, strings.ToLower(path.Ext(f.path))) {
		return title, para
	}
	fenced := false
	for i, l := range f.lines {
		text := plain(l.text)
		if strings.HasPrefix(strings.TrimSpace(l.text), "```") {
			fenced = !fenced
		}
		head := headingOf(f.lines, i)
		switch {
		case fenced || strings.HasPrefix(strings.TrimSpace(l.text), "```"):
		case head != "":
			if title.text == "" && para.text == "" {
				title = span{head, l.n, l.n}
			}
			if para.text != "" {
				return title, para
			}
		case text == "" || rule().MatchString(l.text):
			if para.text != "" {
				return title, para
			}
		case para.text == "":
			para = span{text, l.n, l.n}
		case len(para.text) < 500:
			para.text, para.last = para.text+" "+text, l.n
		}
	}
	return title, para
}

// headingOf returns the heading that line i is, in its Markdown, reStructuredText or HTML form.
func headingOf(lines []line, i int) string {
	text := lines[i].text
	if m := heading().FindStringSubmatch(text); m != nil {
		return plain(m[1])
	}
	if m := htmlHead().FindStringSubmatch(text); m != nil {
		return plain(m[1])
	}
	if strings.HasPrefix(text, "= ") {
		return plain(text[2:])
	}
	if i+1 < len(lines) && strings.TrimSpace(text) != "" && !rule().MatchString(text) {
		if under := strings.TrimSpace(lines[i+1].text); len(under) > 2 && (strings.Trim(under, "=") == "" || strings.Trim(under, "-") == "") {
			return plain(text)
		}
	}
	return ""
}

// plain removes badges, tags and link targets from a line of prose.
func plain(s string) string {
	s = images().ReplaceAllString(s, "")
	s = tags().ReplaceAllString(s, "")
	s = links().ReplaceAllString(s, "$1")
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "> "))
}

var (
	howHead   = lazily(`(?i)\b(usage|run|running|quick ?start|start|started|install|installation|build|building|try)\b`)
	shellMark = lazily("(?i)^\\s*```\\s*(sh|bash|shell|console|zsh|terminal)?\\s*$")
)

// howToRun returns the code block of a README that most likely says how to run the project: the first under a heading
// that promises it, else the first that is marked as shell.
func howToRun(f file) []line {
	var best, block []line
	inside, promised, shell := false, false, false
	for i, l := range f.lines {
		switch {
		case strings.HasPrefix(strings.TrimSpace(l.text), "```"):
			if !inside {
				mark := shellMark().FindStringSubmatch(l.text)
				inside, shell, block = true, mark != nil && mark[1] != "", nil
				continue
			}
			inside = false
			if promised && len(block) > 0 {
				return block
			}
			if best == nil && shell {
				best = block
			}
		case inside:
			if len(block) < 12 {
				block = append(block, l)
			}
		default:
			if head := headingOf(f.lines, i); head != "" {
				promised = howHead().MatchString(head)
			}
		}
	}
	return best
}

// fact is one thing that a manifest says.
type fact struct {
	text string
	n    int // its line; 0 if not known
}

// manifestFacts reads the manifests whose form it knows.
func manifestFacts(f file) []fact {
	switch base := path.Base(f.path); base {
	case "go.mod":
		return goModFacts(f)
	case "package.json", "composer.json", "deno.json":
		return packageFacts(f)
	case "Makefile":
		return makeFacts(f)
	case "Cargo.toml", "pyproject.toml":
		return tomlFacts(f)
	case "requirements.txt":
		return []fact{{text: count(len(f.lines), "line of Python requirements", "lines of Python requirements")}}
	default:
		return patternFacts(f, `^\s*(?:<artifactId>|<name>|<description>|<version>|project\s*\(|name\s*=|name:|description:|rootProject\.name|app:|setup\()`, 3)
	}
}

func goModFacts(f file) []fact {
	facts := patternFacts(f, `^(?:module|go)\s`, 2)
	needs := 0
	for _, l := range f.lines {
		text := strings.TrimSpace(strings.TrimPrefix(l.text, "require "))
		if strings.Contains(text, " v") && !strings.Contains(text, "// indirect") && !strings.Contains(text, "=>") && !strings.HasPrefix(text, "exclude") {
			needs++
		}
	}
	if needs > 0 {
		facts = append(facts, fact{text: count(needs, "direct dependency", "direct dependencies")})
	}
	return facts
}

func packageFacts(f file) []fact {
	facts := patternFacts(f, `^(?:  |\t)?\s{0,2}"(?:name|version|description|main|type)"\s*:\s*"`, 5)
	for i, fa := range facts {
		facts[i].text = strings.TrimSuffix(fa.text, ",")
	}
	if names := namesIn(f, "scripts"); len(names) > 0 {
		facts = append(facts, fact{text: "scripts: " + strings.Join(names[:min(len(names), 10)], ", ")})
	}
	if names := namesIn(f, "dependencies"); len(names) > 0 {
		facts = append(facts, fact{text: count(len(names), "dependency", "dependencies") + ": " + strings.Join(names[:min(len(names), 8)], ", ")})
	}
	return facts
}

// namesIn returns the member names of an object at the top of a JSON file, sorted; nil if the file does not parse.
func namesIn(f file, key string) []string {
	var top map[string]jsontext.Value
	if json.Unmarshal([]byte(f.text()), &top, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(top[key], &members, jsontext.AllowDuplicateNames(true)) != nil {
		return nil
	}
	var names []string
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func tomlFacts(f file) []fact {
	var facts []fact
	section := ""
	for _, l := range f.lines {
		text := strings.TrimSpace(l.text)
		if strings.HasPrefix(text, "[") {
			section = strings.Trim(text, "[]")
			continue
		}
		key, _, found := strings.Cut(text, "=")
		key = strings.TrimSpace(key)
		switch section {
		case "package", "project", "tool.poetry":
			if found && slices.Contains([]string{"name", "version", "description", "edition", "requires-python"}, key) {
				facts = append(facts, fact{text, l.n})
			}
		case "project.scripts", "tool.poetry.scripts", "bin":
			if found && len(facts) < 10 {
				facts = append(facts, fact{section + ": " + text, l.n})
			}
		}
	}
	return facts
}

func makeFacts(f file) []fact {
	var targets []string
	target := regexp.MustCompile(`^([A-Za-z0-9][\w./-]*)\s*:(?:[^=]|$)`)
	for _, l := range f.lines {
		if m := target.FindStringSubmatch(l.text); m != nil && !slices.Contains(targets, m[1]) {
			targets = append(targets, m[1])
		}
	}
	if len(targets) == 0 {
		return nil
	}
	return []fact{{text: "targets: " + strings.Join(targets[:min(len(targets), 12)], ", ")}}
}

func patternFacts(f file, expr string, most int) []fact {
	re := regexp.MustCompile(expr)
	var facts []fact
	for _, l := range f.lines {
		if len(facts) < most && re.MatchString(l.text) {
			facts = append(facts, fact{shorten(strings.TrimSpace(l.text), 160), l.n})
		}
	}
	return facts
}

// outline is what can be seen of a source file without understanding it.
type outline struct {
	comment     span
	definitions []line
}

var (
	definitionLine = lazily(`^(?:export\s+)?(?:default\s+)?(?:pub(?:\([a-z]+\))?\s+)?(?:public\s+|private\s+|static\s+|final\s+|abstract\s+|async\s+)*` +
		`(?:func|function|def|class|type|struct|interface|enum|trait|impl|fn|module|package|namespace|object|record)\s+[\w(].*$|^if __name__ ==.*$|^#{1,3}\s+\S.*$|^(?:int|void)\s+main\s*\(.*$`)
	commentMark = lazily(`^\s*(?:///?!?|#!?|/\*+|\*+/?|--|"""|'''|;;+|<!--)\s?`)
	licence     = lazily(`(?i)(copyright|\(c\) \d{4}|spdx-|all rights reserved|licensed under)`)
	directive   = lazily(`(?i)^(go:|\+build|eslint|prettier|-\*-|coding[:=]|/(usr|bin)/|use strict|shellcheck|code generated|vim?:)`)
	beforeDoc   = lazily(`^(package\s|<\?php|['"]use strict|<!doctype|@charset)`)
)

func outlineOf(f file) outline {
	var o outline
	markdown := strings.EqualFold(path.Ext(f.path), ".md")
	for _, l := range f.lines {
		if definitionLine().MatchString(l.text) && (markdown || !strings.HasPrefix(l.text, "#")) {
			o.definitions = append(o.definitions, l)
		}
	}
	if !markdown {
		o.comment = leadingComment(f.lines)
	}
	return o
}

// leadingComment returns the first sentence of the first comment before the code that is not a licence.
func leadingComment(lines []line) span {
	var block []line
	closing := "" // what ends the comment that is open; "" for comments of one line
	for _, l := range lines[:min(len(lines), 80)] {
		text := strings.TrimSpace(l.text)
		mark := commentMark().FindString(l.text)
		if closing == "" && mark == "" {
			if s := prose(block); s.text != "" {
				return s
			}
			block = nil
			if text != "" && !beforeDoc().MatchString(text) {
				return span{}
			}
			continue
		}
		opens := closing == ""
		if opens {
			closing = closingOf(text)
		}
		rest := strings.TrimPrefix(text, strings.TrimSpace(mark))
		if closing != "" && strings.Contains(rest, closing) {
			rest, _, _ = strings.Cut(rest, closing)
			closing = ""
		}
		block = append(block, line{l.n, strings.TrimSpace(rest)})
	}
	return prose(block)
}

// closingOf returns what ends the comment that begins with text, if it may span lines.
func closingOf(text string) string {
	for _, pair := range [][2]string{{"/*", "*/"}, {`"""`, `"""`}, {"'''", "'''"}, {"<!--", "-->"}} {
		if strings.HasPrefix(text, pair[0]) {
			return pair[1]
		}
	}
	return ""
}

// prose returns the first sentence of a comment block; none if the block is a licence.
func prose(block []line) span {
	var s span
	for _, l := range block {
		if licence().MatchString(l.text) {
			return span{}
		}
	}
	for _, l := range block {
		switch {
		case l.text == "" || directive().MatchString(l.text):
			if s.text != "" {
				return firstSentence(s)
			}
		case s.text == "":
			s = span{l.text, l.n, l.n}
		default:
			s.text, s.last = s.text+" "+l.text, l.n
		}
	}
	return firstSentence(s)
}

func firstSentence(s span) span {
	for i := range len(s.text) {
		if s.text[i] == '.' && (i+1 == len(s.text) || s.text[i+1] == ' ') && i > 20 {
			s.text = s.text[:i+1]
			break
		}
	}
	s.text = shorten(s.text, 240)
	return s
}
