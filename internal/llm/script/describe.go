package script

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// compose says what the survey found. Everything in it is a quotation or a count.
func (s *survey) compose() string {
	var b strings.Builder
	for _, trouble := range s.trouble {
		b.WriteString(trouble + "\n")
	}
	title, para := readme(s.readme)
	if title.text == "" && para.text == "" {
		fmt.Fprintf(&b, "No README that I could read says what this project does. What its files show:\n\n")
	} else {
		b.WriteString(describeReadme(s.readme.path, title, para) + "\n")
	}
	for _, m := range s.manifests {
		writeFacts(&b, m)
	}
	for _, f := range s.entries {
		writeEntry(&b, f)
	}
	for _, f := range s.others {
		if len(f.lines) > 0 {
			writeFirstLine(&b, f)
		}
	}
	s.writeCounts(&b)
	s.writeHow(&b)
	return b.String()
}

func describeReadme(name string, title, para span) string {
	var b strings.Builder
	if title.text != "" {
		fmt.Fprintf(&b, "**%s** (%s:%d)\n\n", shorten(title.text, 120), name, title.n)
	}
	if para.text != "" {
		fmt.Fprintf(&b, "%s says: “%s” (%s)\n", name, shorten(para.text, 500), lines(name, para.n, para.last))
	}
	return b.String()
}

func lines(name string, first, last int) string {
	if first == last {
		return fmt.Sprintf("%s:%d", name, first)
	}
	return fmt.Sprintf("%s:%d-%d", name, first, last)
}

func writeFacts(b *strings.Builder, m file) {
	facts := manifestFacts(m)
	if len(facts) == 0 {
		return
	}
	fmt.Fprintf(b, "- `%s`: ", m.path)
	for i, f := range facts {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.text)
		if f.n > 0 {
			fmt.Fprintf(b, " (line %d)", f.n)
		}
	}
	b.WriteString("\n")
}

func writeEntry(b *strings.Builder, f file) {
	o := outlineOf(f)
	if o.comment.text == "" && len(o.definitions) == 0 && len(f.lines) > 0 {
		writeFirstLine(b, f)
		return
	}
	fmt.Fprintf(b, "- `%s`", f.path)
	if o.comment.text != "" {
		fmt.Fprintf(b, " says of itself: “%s” (%s)", o.comment.text, lines(f.path, o.comment.n, o.comment.n))
	}
	var names []string
	for _, d := range o.definitions {
		if len(names) < 4 && !strings.HasPrefix(d.text, "package ") {
			names = append(names, fmt.Sprintf("`%s` (line %d)", shorten(strings.TrimRight(strings.TrimSpace(d.text), " {:"), 70), d.n))
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(b, "; it defines %s", strings.Join(names, ", "))
	}
	b.WriteString("\n")
}

func writeFirstLine(b *strings.Builder, f file) {
	first := f.lines[0]
	fmt.Fprintf(b, "- `%s` begins: “%s” (%s:%d)\n", f.path, shorten(strings.TrimSpace(first.text), 160), f.path, first.n)
}

func (s *survey) writeCounts(b *strings.Builder) {
	limit := ""
	if s.more {
		limit = fmt.Sprintf(" (of the %d files that I saw; there are more)", len(s.files))
	}
	var kinds []string
	for _, language := range languagesOf(s.files) {
		if len(kinds) < 6 {
			kinds = append(kinds, fmt.Sprintf("%d %s", language.n, language.name))
		}
	}
	if len(kinds) > 0 {
		fmt.Fprintf(b, "- Files by kind: %s%s\n", strings.Join(kinds, ", "), limit)
	}
	var tests, dirs []string
	for _, p := range s.files {
		if testFile().MatchString(p) {
			tests = append(tests, p)
		}
	}
	for _, entry := range s.root {
		if strings.HasSuffix(entry, "/") && strings.Count(entry, "/") == 1 && entry != ".git/" {
			dirs = append(dirs, entry)
		}
	}
	if len(dirs) > 0 {
		fmt.Fprintf(b, "- Directories: %s\n", strings.Join(dirs[:min(len(dirs), 20)], " "))
	}
	if len(tests) > 0 {
		fmt.Fprintf(b, "- Tests: %s%s, such as `%s`\n", count(len(tests), "file", "files"), orMore(s.more), tests[0])
	}
}

// writeHow says how to run the project: in the README's words, else by the convention of its build tool.
func (s *survey) writeHow(b *strings.Builder) {
	if block := howToRun(s.readme); len(block) > 0 {
		fmt.Fprintf(b, "\nHow to run it, from %s:\n\n%s", lines(s.readme.path, block[0].n, block[len(block)-1].n), fence(block))
		return
	}
	var ways []string
	for _, m := range s.manifests {
		switch path.Base(m.path) {
		case "go.mod":
			for _, f := range s.entries {
				if path.Base(f.path) == "main.go" {
					ways = append(ways, "`go run ./"+strings.TrimSuffix(path.Dir(f.path), ".")+"`")
				}
			}
			ways = append(ways, "`go test ./...`")
		case "Cargo.toml":
			ways = append(ways, "`cargo run`", "`cargo test`")
		case "package.json":
			for _, name := range namesIn(m, "scripts") {
				if name == "start" || name == "dev" || name == "build" || name == "test" {
					ways = append(ways, "`npm run "+name+"`")
				}
			}
		case "Makefile":
			ways = append(ways, "`make`")
		}
	}
	if len(ways) > 0 {
		fmt.Fprintf(b, "- How to run it is not in what I read; by convention: %s\n", strings.Join(ways, ", "))
	}
}

// language counts the files of one kind.
type language struct {
	name  string
	n     int
	prose bool
}

var languageNames = map[string]string{
	".go": "Go", ".py": "Python", ".js": "JavaScript", ".mjs": "JavaScript", ".cjs": "JavaScript", ".jsx": "JavaScript",
	".ts": "TypeScript", ".tsx": "TypeScript", ".rs": "Rust", ".java": "Java", ".kt": "Kotlin", ".c": "C", ".h": "C header",
	".cc": "C++", ".cpp": "C++", ".hpp": "C++", ".cs": "C#", ".rb": "Ruby", ".php": "PHP", ".swift": "Swift", ".dart": "Dart",
	".ex": "Elixir", ".exs": "Elixir", ".erl": "Erlang", ".hs": "Haskell", ".lua": "Lua", ".scala": "Scala", ".zig": "Zig",
	".sh": "shell", ".sql": "SQL", ".html": "HTML", ".css": "CSS", ".vue": "Vue", ".svelte": "Svelte", ".tf": "Terraform",
	".md": "Markdown", ".rst": "reStructuredText", ".txt": "text", ".json": "JSON", ".yaml": "YAML", ".yml": "YAML",
	".toml": "TOML", ".xml": "XML", ".csv": "CSV", ".proto": "Protocol Buffers", ".ipynb": "notebook",
}

var proseNames = []string{"Markdown", "reStructuredText", "text", "JSON", "YAML", "TOML", "XML", "CSV", "HTML", "CSS", "notebook"}

// languagesOf counts files by the language of their extension, most frequent first.
func languagesOf(files []string) []language {
	counts := map[string]int{}
	for _, p := range files {
		if name := languageNames[strings.ToLower(path.Ext(p))]; name != "" {
			counts[name]++
		}
	}
	var out []language
	for name, n := range counts {
		out = append(out, language{name, n, slices.Contains(proseNames, name)})
	}
	slices.SortFunc(out, func(a, b language) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name)) })
	return out
}
