package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
)

const maxListed = 500

//go:embed list.md
var listDescription string

const listSchema = `{"type":"object","properties":{
"path":{"type":"string","description":"The directory to list"}
},"additionalProperties":false}`

type listTool struct{ *site }

// Definition describes the tool.
func (t *listTool) Definition() tool.Definition {
	return tool.Definition{Name: "list", Description: trimDescription(listDescription), Schema: jsontext.Value(listSchema), ReadOnly: true}
}

// Run lists the directory.
func (t *listTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := decode[struct {
		Path string `json:"path"`
	}](call)
	if err != nil {
		return tool.Output{}, err
	}
	p, err := t.locate(in.Path)
	if err != nil {
		return tool.Output{}, err
	}
	if err := t.askOutside(ctx, call, p); err != nil {
		return tool.Output{}, err
	}
	if err := call.Ask(ctx, tool.Request{Action: "list", Resources: []string{p.resource()}, Save: []string{"*"}}); err != nil {
		return tool.Output{}, err
	}
	if err := p.mustBeDir(); err != nil {
		return tool.Output{}, err
	}
	tree, err := p.grow()
	if err != nil {
		return tool.Output{}, err
	}
	defer tree.close()
	tree.hidden = true
	top := &listed{}
	count, cut, err := tree.list(ctx, top)
	if err != nil {
		return tool.Output{}, err
	}
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(p.abs, "/") + "/\n")
	top.write(&b, 1)
	if cut {
		fmt.Fprintf(&b, "\n(%d entries shown, there are more. List a directory below, or use glob.)\n", count)
	}
	return textOutput(p.title(), b.String(), map[string]any{"count": count, "truncated": cut}), nil
}

// listed is one entry of the tree, its name with a slash if it is a directory.
type listed struct {
	name  string
	rel   string // relative to the root of the tree
	rules *ignore
	below []*listed
}

func (l *listed) write(b *strings.Builder, depth int) {
	for _, e := range l.below {
		b.WriteString(strings.Repeat("  ", depth) + e.name + "\n")
		e.write(b, depth+1)
	}
}

// list fills in what is below top, level by level, until there are maxListed entries.
func (t *tree) list(ctx context.Context, top *listed) (count int, cut bool, err error) {
	top.rel, top.rules = t.start, t.rules()
	queue := []*listed{top}
	for len(queue) > 0 {
		if ctx.Err() != nil {
			return count, cut, context.Cause(ctx)
		}
		dir := queue[0]
		queue = queue[1:]
		more, err := t.fill(dir, maxListed-count)
		if err != nil && dir == top {
			return 0, false, err
		}
		count += len(dir.below)
		cut = cut || more
		for _, e := range dir.below {
			if strings.HasSuffix(e.name, "/") {
				queue = append(queue, e)
			}
		}
	}
	return count, cut, nil
}

// fill reads the entries of one directory, at most room of them, and says whether there are more. Links are not
// followed.
func (t *tree) fill(dir *listed, room int) (more bool, err error) {
	handle, err := t.root.OpenRoot(filepath.FromSlash(dir.rel))
	if err != nil {
		return false, openFailure(dir.rel, err)
	}
	defer func() { _ = handle.Close() }()
	entries, more, err := entriesOf(handle)
	if err != nil {
		return false, openFailure(dir.rel, err)
	}
	for _, e := range entries {
		rel := path.Join(dir.rel, e.Name())
		if t.skips(dir.rules, rel, e.IsDir()) {
			continue
		}
		if len(dir.below) == room {
			return true, nil
		}
		item := &listed{name: e.Name(), rel: rel}
		if e.IsDir() {
			item.name += "/"
			item.rules = dir.rules.with(t.root, rel)
		}
		dir.below = append(dir.below, item)
	}
	return more, nil
}
