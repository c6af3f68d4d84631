package search

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const maxListed = 500

//go:embed list.md
var listDescription string

const listSchema = `{"type":"object","properties":{
"path":{"type":"string","description":"The directory to list"}
},"additionalProperties":false}`

type listTool struct{ *searchTools }

// Definition describes the tool.
func (t *listTool) Definition() tool.Definition {
	return tool.Definition{
		Name: "list", Description: strings.TrimSpace(listDescription), Schema: jsontext.Value(listSchema),
	}
}

// Run lists the directory.
func (t *listTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := tool.Input[struct {
		Path string `json:"path"`
	}](call)
	if err != nil {
		return tool.Output{}, err
	}
	// Ask for permission, first for a directory outside of the project.
	p, err := t.config.Paths.Resolve(in.Path)
	if err != nil {
		return tool.Output{}, err
	}
	if err := p.AskOutside(ctx, call); err != nil {
		return tool.Output{}, err
	}
	if err := call.Ask(
		ctx, tool.Request{Action: "list", Resources: []string{p.Resource()}, Save: []string{"*"}},
	); err != nil {
		return tool.Output{}, err
	}
	// Read the tree level by level, so that the limit cuts the deepest levels and not the last names. Hidden files
	// are listed.
	if err := p.RequireDir(); err != nil {
		return tool.Output{}, err
	}
	tree, err := openTree(p)
	if err != nil {
		return tool.Output{}, err
	}
	defer tree.closeHandles()
	tree.hidden = true
	top := &listEntry{}
	count, cut, err := tree.fillLevels(ctx, top)
	if err != nil {
		return tool.Output{}, err
	}
	// Write it as an indented tree.
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(p.Abs, "/") + "/\n")
	top.writeTree(&b, 1)
	if cut {
		fmt.Fprintf(&b, "\n(%d entries shown, there are more. List a directory below, or use glob.)\n", count)
	}
	text := tool.MarkImitations(call, "names of files", b.String())
	out := tool.TextOutput(p.Title(), text, map[string]any{"count": count, "truncated": cut})
	out.Visited = []string{p.Real}
	return out, nil
}

// listEntry is an entry of the listing. The name of a directory ends with a slash.
type listEntry struct {
	name    string
	rel     string // relative to the root of the search
	rules   *ignoreRules
	entries []*listEntry
}

func (l *listEntry) writeTree(b *strings.Builder, depth int) {
	for _, e := range l.entries {
		b.WriteString(strings.Repeat("  ", depth) + e.name + "\n")
		e.writeTree(b, depth+1)
	}
}

// fillLevels reads the directories below top level by level until it has maxListed entries.
func (t *searchTree) fillLevels(ctx context.Context, top *listEntry) (count int, cut bool, err error) {
	top.rel, top.rules = t.start, t.startRules()
	queue := []*listEntry{top}
	for len(queue) > 0 {
		if ctx.Err() != nil {
			return count, cut, context.Cause(ctx)
		}
		dir := queue[0]
		queue = queue[1:]
		more, err := t.fillDir(dir, maxListed-count)
		if err != nil && dir == top {
			return 0, false, err
		}
		count += len(dir.entries)
		cut = cut || more
		for _, e := range dir.entries {
			if strings.HasSuffix(e.name, "/") {
				queue = append(queue, e)
			}
		}
	}
	return count, cut, nil
}

// fillDir reads one directory, at most room entries, and reports whether it has more. It does not follow links.
func (t *searchTree) fillDir(dir *listEntry, room int) (more bool, err error) {
	handle, err := t.root.OpenRoot(filepath.FromSlash(dir.rel))
	if err != nil {
		return false, workpath.FailOpen(dir.rel, err)
	}
	defer func() { _ = handle.Close() }()
	entries, more, err := workpath.ReadEntries(handle)
	if err != nil {
		return false, workpath.FailOpen(dir.rel, err)
	}
	for _, e := range entries {
		rel := path.Join(dir.rel, e.Name())
		if t.isSkipped(dir.rules, rel, e.IsDir()) {
			continue
		}
		if len(dir.entries) == room {
			return true, nil
		}
		item := &listEntry{name: e.Name(), rel: rel}
		if e.IsDir() {
			item.name += "/"
			item.rules = dir.rules.addDir(t.root, rel)
		}
		dir.entries = append(dir.entries, item)
	}
	return more, nil
}
