package guide

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// mainFiles are the names, as one glob pattern, of the files that say what a project is.
const mainFiles = "{README*,go.mod,package.json,Cargo.toml,pyproject.toml,main.*,index.*,cmd/*/main.go,src/main.*}"

const (
	maxSources    = 6   // files that an overview reads
	maxSourceSize = 200 // lines that it reads of each
)

// describeProject lists the directory, reads its main files and quotes what they say about themselves.
func (t *task) describeProject() string {
	list, listed := t.callTool("list", arguments{})
	glob, searched := t.callTool("glob", arguments{"pattern": mainFiles})
	if !listed || !searched {
		return ""
	}
	var b strings.Builder
	for _, o := range []*outcome{list, glob} {
		if o.failed {
			fmt.Fprintf(&b, "I could not look for files: %s\n", quote(o.text))
		}
	}
	entries, names := t.topEntries(list), t.chooseSources(glob)
	if len(names) == 0 {
		names = slices.DeleteFunc(slices.Clone(entries), func(name string) bool { return strings.HasSuffix(name, "/") })
		names = names[:min(len(names), 3)]
	}
	for _, name := range names {
		_, _ = t.read(name, 0, maxSourceSize)
	}
	if len(t.pending) > 0 {
		return ""
	}
	for _, f := range t.sources {
		describeSource(&b, f)
	}
	if len(t.sources) == 0 && b.Len() == 0 {
		b.WriteString("The directory has no files that I can read; there is no project to describe.\n")
	}
	if len(entries) > 0 {
		fmt.Fprintf(&b, "- The directory: %s\n", shorten(strings.Join(entries, " "), 500))
	}
	for _, f := range t.sources {
		if block := firstShellBlock(f); len(block) > 0 {
			cite := formatCitation(f.path, block[0].number, block[len(block)-1].number)
			fmt.Fprintf(&b, "\nHow to run it, from %s:\n\n%s", cite, codeBlock(block))
			break
		}
	}
	return b.String() + t.listSources()
}

// topEntries returns the names directly in the directory. The first line of a listing is the directory itself, and
// the entries below it are indented by two spaces a level.
func (t *task) topEntries(list *outcome) []string {
	var entries []string
	if list.failed {
		return nil
	}
	for i, l := range contentLines(list.text) {
		name, isTop := strings.CutPrefix(l, "  ")
		switch {
		case i == 0 && t.root == "" && strings.HasPrefix(l, "/"):
			t.root = strings.TrimSuffix(l, "/")
		case isTop && !strings.HasPrefix(name, " "):
			entries = append(entries, name)
		}
	}
	return entries
}

// chooseSources picks at most one README, then manifests, then entry points, those near the top first.
func (t *task) chooseSources(glob *outcome) []string {
	if glob.failed {
		return nil
	}
	rank := func(name string) int {
		switch base := strings.ToLower(path.Base(name)); {
		case base == "readme.md":
			return 0
		case strings.HasPrefix(base, "readme"):
			return 1
		case isManifest(name):
			return 2
		default:
			return 3 + strings.Count(name, "/")
		}
	}
	var chosen []string
	names := slices.SortedFunc(slices.Values(t.parsePaths(glob.text)), func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
	})
	for _, name := range names {
		if len(chosen) < maxSources && (len(chosen) == 0 || rank(name) > 1) {
			chosen = append(chosen, name)
		}
	}
	return chosen
}

// isManifest reports whether a file describes a package to a build tool.
func isManifest(name string) bool {
	return slices.Contains([]string{".mod", ".json", ".toml"}, path.Ext(name))
}

// describeSource writes what f says about itself. Everything in it is a quotation with its line.
func describeSource(b *strings.Builder, f file) {
	base := strings.ToLower(path.Base(f.path))
	switch {
	case len(f.lines) == 0:
	case strings.HasPrefix(base, "readme"):
		title, paragraph := readmeSummary(f)
		if title.text != "" {
			fmt.Fprintf(b, "**%s** (%s)\n\n", shorten(title.text, 120), title.citationFor(f.path))
		}
		if paragraph.text != "" {
			fmt.Fprintf(b, "%s says: “%s” (%s)\n\n", f.path, shorten(paragraph.text, 600), paragraph.citationFor(f.path))
		}
	case isManifest(f.path):
		fmt.Fprintf(b, "- `%s`:", f.path)
		for _, l := range manifestLines(f) {
			fmt.Fprintf(b, " `%s` (line %d)", shorten(strings.TrimSpace(l.text), 100), l.number)
		}
		b.WriteString("\n")
	default:
		comment := firstComment(f.lines)
		if comment.text == "" {
			comment = quotation{f.lines[0].text, f.lines[0].number, f.lines[0].number}
		}
		fmt.Fprintf(b, "- `%s` begins: “%s” (%s)", f.path, shorten(comment.text, 240), comment.citationFor(f.path))
		shown := 0
		for _, l := range f.lines {
			if shown < 4 && l.text == strings.TrimSpace(l.text) && isDefinition(l.text) {
				shown++
				fmt.Fprintf(b, "; `%s` (line %d)", shorten(strings.TrimRight(l.text, " {:("), 60), l.number)
			}
		}
		b.WriteString("\n")
	}
}

// manifestLines returns the first lines that name or describe the package.
func manifestLines(f file) []line {
	keys := strings.Fields("module go name version description")
	var lines []line
	for _, l := range f.lines {
		key, _, _ := strings.Cut(strings.TrimLeft(l.text, " \t\""), " ")
		if key = strings.TrimRight(key, "\":="); slices.Contains(keys, key) && len(lines) < 4 {
			lines = append(lines, l)
		}
	}
	return lines
}
