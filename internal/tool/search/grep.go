package search

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const maxMatches = 100

//go:embed grep.md
var grepDescription string

const grepSchema = `{"type":"object","properties":{
"pattern":{"type":"string","minLength":1,"description":"The regular expression"},
"path":{"type":"string","description":"The directory or file to search"},
"include":{"type":"string","description":"Only files of such names, e.g. *.go"}
},"required":["pattern"],"additionalProperties":false}`

type grepTool struct{ *searchTools }

type grepInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Include string `json:"include"`
}

// Definition describes the tool.
func (t *grepTool) Definition() tool.Definition {
	return tool.Definition{
		Name: "grep", Description: strings.TrimSpace(grepDescription), Schema: jsontext.Value(grepSchema),
		Bounded: true,
	}
}

// grepResult is the structured result.
type grepResult struct {
	Matches   int  `json:"matches"`
	Truncated bool `json:"truncated"`
}

// match is a matching line. path is relative to the searched directory.
type match struct {
	path string
	line int
	text string
}

// Run searches, then asks to read the files with matches. Files that may not be read are left out of the result.
func (t *grepTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	// Check the arguments before permission is asked for: an invalid pattern needs none.
	in, err := tool.Input[grepInput](call)
	if err != nil {
		return tool.Output{}, err
	}
	p, err := t.config.Paths.Resolve(in.Path)
	if err != nil {
		return tool.Output{}, err
	}
	q, err := newQuery(in.Pattern, in.Include)
	if err != nil {
		return tool.Output{}, err
	}
	// Ask to search. Files of managed tool output need no permission.
	managed := t.config.Paths.IsManagedOutput(p)
	if !managed {
		if err := t.askSearch(ctx, call, p, searchAsk{"grep", in.Pattern, in.Path, in.Include}); err != nil {
			return tool.Output{}, err
		}
	}
	if p.Info == nil {
		return tool.TextOutput(in.Pattern, "No files found\n(There is no directory "+p.Abs+".)", grepResult{}), nil
	}
	// Search. A pattern of file names that finds nothing may mean its brackets or braces literally.
	matches, cut, err := t.searchPath(ctx, p, q)
	for _, form := range literalForms(in.Include) {
		if q, invalid := newQuery(in.Pattern, form); err == nil && len(matches) == 0 && invalid == nil {
			matches, cut, err = t.searchPath(ctx, p, q)
		}
	}
	if err != nil {
		return tool.Output{}, err
	}
	// Ask to read the files that match: permission to search does not include their contents.
	hidden := 0
	if !managed {
		if matches, hidden, err = askReadable(ctx, call, p, matches); err != nil {
			return tool.Output{}, err
		}
	}
	// Report the matches, and how many files are missing among them.
	text := tool.MarkImitations(call, "matches of grep", formatMatches(p, matches, cut))
	if hidden > 0 {
		text += fmt.Sprintf(
			"\n(Matches in %d %s are not shown: reading %s was not allowed.)\n", hidden,
			workpath.ChoosePlural(hidden, "file", "files"), workpath.ChoosePlural(hidden, "it", "them"),
		)
	}
	// Name each file once, for the instructions and rules that apply where the call has been.
	out := tool.TextOutput(in.Pattern, text, grepResult{len(matches), cut})
	for _, m := range matches {
		if f := p.Join(m.path).Real; !slices.Contains(out.Visited, f) {
			out.Visited = append(out.Visited, f)
		}
	}
	return out, nil
}

// askReadable removes the matches in files that may not be read. It asks for all files at once; if a rule refuses that,
// it asks for each. A refusal by a person ends the call.
func askReadable(
	ctx context.Context, call tool.Call, p workpath.Path, matches []match,
) (kept []match, hidden int, err error) {
	// List the files. The matches of a file follow each other.
	var files []string
	for _, m := range matches {
		if f := p.Join(m.path).Resource(); len(files) == 0 || files[len(files)-1] != f {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return matches, 0, nil
	}
	// Ask for all at once, so that a person answers once.
	ask := func(files ...string) error {
		return call.Ask(ctx, tool.Request{Action: "read", Resources: files, Save: []string{"*"}})
	}
	if err := ask(files...); err == nil || !workpath.IsRuleDenial(err) {
		return matches, 0, err
	}
	// A rule refused one of them at least: find out which.
	refused := map[string]bool{}
	for _, f := range files {
		err := ask(f)
		if err != nil && !workpath.IsRuleDenial(err) {
			return nil, 0, err
		}
		if err != nil {
			refused[f] = true
			hidden++
		}
	}
	kept = slices.DeleteFunc(matches, func(m match) bool { return refused[p.Join(m.path).Resource()] })
	return kept, hidden, nil
}

// searchPath returns the matches by path and line, at most maxMatches, and whether there are more.
func (s *searchTools) searchPath(ctx context.Context, p workpath.Path, q *query) ([]match, bool, error) {
	if p.Info != nil && p.Info.Mode().IsRegular() {
		return searchFile(ctx, p, q)
	}
	if err := p.RequireDir(); err != nil {
		return nil, false, err
	}
	tree, err := openTree(p)
	if err != nil {
		return nil, false, err
	}
	defer tree.closeHandles()
	tree.hidden = true
	all, err := s.searchFiles(ctx, tree, q)
	if err != nil {
		return nil, false, err
	}
	slices.SortStableFunc(all, func(a, b match) int { return cmp.Or(strings.Compare(a.path, b.path), a.line-b.line) })
	return all[:min(len(all), maxMatches)], len(all) > maxMatches, nil
}

// searchFiles returns matches in no order; of more than maxMatches, only a few more. It searches the files that ripgrep
// names, or all files if ripgrep is not installed or fails.
func (s *searchTools) searchFiles(ctx context.Context, t *searchTree, q *query) ([]match, error) {
	if argv := s.ripgrepCommand(q); argv != nil {
		c := matchCollector{tree: t, query: q}
		err := t.visitNamed(ctx, argv, func(rel string) error { return c.searchVisited(ctx, rel) })
		if err == nil || errors.Is(err, errLimit) {
			return c.all, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		s.config.Log.DebugContext(ctx, "searching without ripgrep", "error", err)
	}
	c := matchCollector{tree: t, query: q}
	err := t.walkFiles(ctx, func(rel string, _ fs.DirEntry) error { return c.searchVisited(ctx, rel) })
	return c.all, err
}

// matchCollector searches files from several goroutines and collects their matches.
type matchCollector struct {
	tree  *searchTree
	query *query

	mu  sync.Mutex // guards all
	all []match
}

func (c *matchCollector) searchVisited(ctx context.Context, rel string) error {
	if !c.query.isIncluded(rel) {
		return nil
	}
	f, size, err := c.tree.openFile(rel)
	if err != nil {
		return nil // removed meanwhile, or not readable
	}
	defer func() { _ = f.Close() }()
	found, err := c.query.scanFile(ctx, f, scanTarget{rel: rel, size: size})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, found...)
	if len(c.all) > maxMatches {
		return errLimit
	}
	return nil
}

func searchFile(ctx context.Context, p workpath.Path, q *query) ([]match, bool, error) {
	f, info, err := p.Open()
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	found, err := q.scanFile(ctx, f, scanTarget{size: info.Size()})
	if err != nil {
		return nil, false, err
	}
	return found[:min(len(found), maxMatches)], len(found) > maxMatches, nil
}

func formatMatches(p workpath.Path, matches []match, cut bool) string {
	if len(matches) == 0 {
		return "No files found"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Found %d matches", len(matches))
	if cut {
		b.WriteString(" (there are more)")
	}
	b.WriteString("\n")
	for i, m := range matches {
		if i == 0 || matches[i-1].path != m.path {
			if i > 0 {
				b.WriteString("\n")
			}
			b.WriteString(p.Join(m.path).Abs + ":\n")
		}
		fmt.Fprintf(&b, "  Line %d: %s\n", m.line, m.text)
	}
	if cut {
		fmt.Fprintf(&b, "\n(Only %d matches are shown. Use a narrower pattern, path or include.)\n", len(matches))
	}
	return b.String()
}
