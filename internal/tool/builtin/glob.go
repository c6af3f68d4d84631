package builtin

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
)

const maxFound = 100

//go:embed glob.md
var globDescription string

const globSchema = `{"type":"object","properties":{
"pattern":{"type":"string","minLength":1,"description":"Which files, e.g. src/**/*.ts"},
"path":{"type":"string","description":"The directory to search"}
},"required":["pattern"],"additionalProperties":false}`

type globTool struct{ *site }

type globInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

// Definition describes the tool.
func (t *globTool) Definition() tool.Definition {
	return tool.Definition{Name: "glob", Description: trimDescription(globDescription), Schema: jsontext.Value(globSchema), ReadOnly: true}
}

// Run finds the files.
func (t *globTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := decode[globInput](call)
	if err != nil {
		return tool.Output{}, err
	}
	dir, rest := splitPattern(in.Pattern)
	p, err := t.locate(under(in.Path, dir))
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
	if err != nil {
		return tool.Output{}, err
	}
	return textOutput(p.title(), globText(found, total), map[string]any{"count": len(found), "truncated": total > len(found)}), nil
}

func under(base, dir string) string {
	switch {
	case dir == "":
		return base
	case filepath.IsAbs(dir) || base == "":
		return dir
	default:
		return filepath.Join(base, dir)
	}
}

// searchAsk is what is asked for, as the model said it.
type searchAsk struct {
	action  string
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitzero"`
	Include string `json:"include,omitzero"`
}

// askSearch asks for a search below p: first for the directory if it is outside, then for the pattern.
func (s *site) askSearch(ctx context.Context, call tool.Call, p place, a searchAsk) error {
	if err := s.askOutside(ctx, call, p); err != nil {
		return err
	}
	return call.Ask(ctx, tool.Request{
		Action: a.action, Resources: []string{a.Pattern}, Save: []string{"*"}, Metadata: object(a),
	})
}

// mustBeDir refuses a search below what is no directory.
func (p place) mustBeDir() error {
	switch {
	case p.info == nil:
		return tool.Failf("There is no directory %s.", p.abs)
	case !p.isDir():
		return tool.Failf("%s is %s, not a directory.", p.abs, fileKind(p.info.Mode()))
	default:
		return nil
	}
}

func fileKind(m fs.FileMode) string {
	if m.IsRegular() {
		return "a file"
	}
	return kindOf(m)
}

type foundFile struct {
	path string
	time time.Time
}

// findFiles returns the newest files that match, at most maxFound, and how many there are.
func findFiles(ctx context.Context, p place, pattern filePattern) ([]foundFile, int, error) {
	if err := p.mustBeDir(); err != nil {
		return nil, 0, err
	}
	tree, err := p.grow()
	if err != nil {
		return nil, 0, err
	}
	defer tree.close()
	tree.hidden = pattern.hidden
	var mu sync.Mutex // guards found and total
	var found []foundFile
	total := 0
	err = tree.walk(ctx, func(rel string, e fs.DirEntry) error {
		if !pattern.matches(rel) {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil // it is gone
		}
		mu.Lock()
		defer mu.Unlock()
		total++
		found = append(found, foundFile{filepath.Join(p.abs, filepath.FromSlash(rel)), info.ModTime()})
		if len(found) >= 40*maxFound {
			found = newest(found)
		}
		return nil
	})
	return newest(found), total, err
}

func newest(found []foundFile) []foundFile {
	slices.SortFunc(found, func(a, b foundFile) int {
		return cmp.Or(b.time.Compare(a.time), strings.Compare(a.path, b.path))
	})
	return found[:min(len(found), maxFound)]
}

func globText(found []foundFile, total int) string {
	if total == 0 {
		return "No files found"
	}
	paths := make([]string, 0, len(found))
	for _, f := range found {
		paths = append(paths, f.path)
	}
	text := strings.Join(paths, "\n")
	if total > len(found) {
		text += fmt.Sprintf("\n\n(Showing the %d most recently changed of %d files. Use a narrower pattern or path.)", len(found), total)
	}
	return text
}
