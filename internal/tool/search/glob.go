package search

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const maxFound = 100

//go:embed glob.md
var globDescription string

const globSchema = `{"type":"object","properties":{
"pattern":{"type":"string","minLength":1,"description":"Which files, e.g. src/**/*.ts"},
"path":{"type":"string","description":"The directory to search"}
},"required":["pattern"],"additionalProperties":false}`

type globTool struct{ *searchTools }

type globInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

// Definition describes the tool.
func (t *globTool) Definition() tool.Definition {
	return tool.Definition{
		Name: "glob", Description: strings.TrimSpace(globDescription), Schema: jsontext.Value(globSchema),
	}
}

// Run finds the files.
func (t *globTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := tool.Input[globInput](call)
	if err != nil {
		return tool.Output{}, err
	}
	dir, rest := splitPattern(in.Pattern)
	p, err := t.config.Paths.Resolve(joinPattern(in.Path, dir))
	if err != nil {
		return tool.Output{}, err
	}
	pattern, err := newFilePattern(rest)
	if err != nil {
		return tool.Output{}, err
	}
	if err := t.askSearch(ctx, call, p, searchAsk{action: "glob", Pattern: in.Pattern, Path: in.Path}); err != nil {
		return tool.Output{}, err
	}
	found, total, err := findFiles(ctx, p, pattern)
	for _, form := range literalForms(rest) {
		if pattern, invalid := newFilePattern(form); err == nil && total == 0 && invalid == nil {
			found, total, err = findFiles(ctx, p, pattern)
		}
	}
	if err != nil {
		return tool.Output{}, err
	}
	text := tool.MarkImitations(call, "names of files", formatGlob(found, total))
	return tool.TextOutput(p.Title(), text, map[string]any{"count": len(found), "truncated": total > len(found)}), nil
}

func joinPattern(base, dir string) string {
	switch {
	case dir == "":
		return base
	case filepath.IsAbs(dir) || base == "":
		return dir
	default:
		return filepath.Join(base, dir)
	}
}

// searchAsk is the metadata of a permission request: the input of the model.
type searchAsk struct {
	action  string
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitzero"`
	Include string `json:"include,omitzero"`
}

// askSearch asks for a search below p: for the directory if it is outside of the Location, then for the pattern.
func (s *searchTools) askSearch(ctx context.Context, call tool.Call, p workpath.Path, a searchAsk) error {
	if err := p.AskOutside(ctx, call); err != nil {
		return err
	}
	return call.Ask(ctx, tool.Request{
		Action: a.action, Resources: []string{a.Pattern}, Save: []string{"*"}, Metadata: tool.EncodeObject(a),
	})
}

type foundFile struct {
	path string
	time time.Time
}

// findFiles returns the most recently changed files that match, at most maxFound, and the number of all that match.
func findFiles(ctx context.Context, p workpath.Path, pattern filePattern) ([]foundFile, int, error) {
	// Open the directory that is searched, with its ignore rules.
	if err := p.RequireDir(); err != nil {
		return nil, 0, err
	}
	tree, err := openTree(p)
	if err != nil {
		return nil, 0, err
	}
	defer tree.closeHandles()
	tree.hidden = pattern.hidden
	// Collect the matches. They are cut to the newest from time to time, so that memory stays bounded.
	var mu sync.Mutex // guards found and total
	var found []foundFile
	total := 0
	err = tree.walkFiles(ctx, func(rel string, e fs.DirEntry) error {
		if !pattern.matchesPath(rel) {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil // it was removed meanwhile
		}
		mu.Lock()
		defer mu.Unlock()
		total++
		found = append(found, foundFile{filepath.Join(p.Abs, filepath.FromSlash(rel)), info.ModTime()})
		if len(found) >= 40*maxFound {
			found = sortNewest(found)
		}
		return nil
	})
	return sortNewest(found), total, err
}

func sortNewest(found []foundFile) []foundFile {
	slices.SortFunc(found, func(a, b foundFile) int {
		return cmp.Or(b.time.Compare(a.time), strings.Compare(a.path, b.path))
	})
	return found[:min(len(found), maxFound)]
}

func formatGlob(found []foundFile, total int) string {
	if total == 0 {
		return "No files found"
	}
	paths := make([]string, 0, len(found))
	for _, f := range found {
		paths = append(paths, f.path)
	}
	text := strings.Join(paths, "\n")
	if total > len(found) {
		text += fmt.Sprintf(
			"\n\n(Showing the %d most recently changed of %d files. Use a narrower pattern or path.)", len(found), total,
		)
	}
	return text
}
