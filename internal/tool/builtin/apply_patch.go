package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
)

// maxPatched bounds the bytes of all files of a patch, before and after.
const maxPatched = 64 << 20

//go:embed apply_patch.md
var patchDescription string

const patchSchema = `{"type":"object","properties":{
"patchText":{"type":"string","minLength":1,"description":"The whole patch, from *** Begin Patch to *** End Patch"}
},"required":["patchText"],"additionalProperties":false}`

type patchTool struct{ *site }

// patchInfo is what programs get to know of a patch; the shape is OpenCode's.
type patchInfo struct {
	Diff        string              `json:"diff"`
	Files       []patchedFile       `json:"files"`
	Diagnostics map[string][]string `json:"diagnostics"`
	Truncated   bool                `json:"truncated"`
	Seen        seenPrints          `json:"seen"`
}

// patchedFile is what one section of a patch does.
type patchedFile struct {
	FilePath     string `json:"filePath"`
	RelativePath string `json:"relativePath"`
	Type         string `json:"type"` // add, update, delete, move
	Patch        string `json:"patch"`
	Additions    int    `json:"additions"`
	Deletions    int    `json:"deletions"`
	MovePath     string `json:"movePath,omitzero"`
}

// Definition describes the tool.
func (t *patchTool) Definition() tool.Definition {
	return tool.Definition{Name: "apply_patch", Description: trimDescription(patchDescription), Schema: jsontext.Value(patchSchema), Action: "edit"}
}

// Run applies the patch, all of it or nothing.
func (t *patchTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := decode[struct {
		PatchText string `json:"patchText"`
	}](call)
	if err != nil {
		return tool.Output{}, err
	}
	hunks, err := parsePatch(in.PatchText)
	if err != nil {
		return tool.Output{}, refused(err)
	}
	p := &patching{hunks: hunks, index: map[string]int{}}
	if err := p.locate(t.site); err != nil {
		return tool.Output{}, refused(err)
	}
	done, err := t.changeFiles(ctx, call, intent{places: p.places, plan: p.plan})
	if err != nil {
		return tool.Output{}, refused(err)
	}
	title := fmt.Sprintf("%d files", len(done.files))
	if len(done.files) == 1 {
		title = done.files[0].RelativePath
	}
	return textOutput(title, done.says, patchInfo{Diff: shortDiff(done.diff), Files: done.files, Diagnostics: map[string][]string{}, Seen: done.seen}), nil
}

// refused says that nothing of the patch was applied, where the error is about the patch.
func refused(err error) error {
	if f, ok := errors.AsType[*tool.Failure](err); ok {
		return tool.Failf("apply_patch verification failed, no file was changed: %s", f.Message)
	}
	return err
}

// patching is a patch whose files are located.
type patching struct {
	hunks    []hunk
	places   []place // each file once
	index    map[string]int
	from, to []int // of each hunk, the file it is about and the one it makes, in places
}

func (p *patching) locate(s *site) error {
	for _, h := range p.hunks {
		from, err := p.add(s, h.path)
		if err != nil {
			return err
		}
		to := from
		if h.move != "" {
			if to, err = p.add(s, h.move); err != nil {
				return err
			}
		}
		if (h.kind == hunkDelete || to != from) && isLink(p.places[from].abs) {
			return tool.Failf("%s is a symbolic link. A patch neither deletes nor moves links: use a command.", p.places[from].abs)
		}
		p.from, p.to = append(p.from, from), append(p.to, to)
	}
	for _, at := range p.places {
		for dir := filepath.Dir(at.real); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if _, ok := p.index[dir]; ok {
				return tool.Failf("The patch takes %s for a file and for a directory. Make two calls.", dir)
			}
		}
	}
	return nil
}

// add returns the number of the file at the path.
func (p *patching) add(s *site, path string) (int, error) {
	at, err := s.locate(path)
	if err != nil {
		return 0, err
	}
	i, ok := p.index[at.real]
	if !ok {
		i = len(p.places)
		p.index[at.real] = i
		p.places = append(p.places, at)
	}
	return i, nil
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// plan goes through the sections in order, each on what those before made.
func (p *patching) plan(steps []*step) (summary, error) {
	size := 0
	for _, st := range steps {
		size += len(st.before.data)
	}
	var sum summary
	says := "Success. Updated the following files:"
	for i, h := range p.hunks {
		from, to := steps[p.from[i]], steps[p.to[i]]
		was, lost := from.after, to.after
		letter, err := h.apply(from, to)
		if err != nil {
			return summary{}, err
		}
		if size += len(to.after); size > maxPatched {
			return summary{}, tool.Failf("The files of the patch are larger than %d MiB together. Make several calls.", maxPatched>>20)
		}
		diff := unifiedDiff(from.place.abs, was, to.after)
		f := patchedFile{FilePath: from.place.abs, RelativePath: to.place.title(), Type: kinds[letter], Patch: diff}
		f.Additions, f.Deletions = countLines(diff)
		if to != from {
			f.Type, f.MovePath = "move", to.place.abs
			if lost != nil {
				diff += unifiedDiff(to.place.abs, lost, to.after)
			}
		}
		f.Patch = cutLines(f.Patch, max(0, maxDiff-len(sum.diff)))
		sum.diff += diff + "\n"
		sum.files = append(sum.files, f)
		says += "\n" + letter + " " + to.place.title()
	}
	sum.says = says
	return sum, nil
}

var kinds = map[string]string{"A": "add", "M": "update", "D": "delete"}

// apply makes of the files what the section says and returns the letter for it. Both are the same unless it moves.
func (h hunk) apply(from, to *step) (letter string, err error) {
	switch {
	case h.kind == hunkAdd:
		letter = "A"
		if !from.gone {
			letter = "M"
		}
		from.after, from.gone = keepMark(from.after, h.add), false
		return letter, nil
	case from.gone:
		return "", tool.Failf("File not found: %s", from.place.abs)
	case h.kind == hunkDelete:
		from.after, from.gone = nil, true
		return "D", nil
	case badText(from.after):
		return "", tool.Failf("%s is a binary file; it is not patched as text.", from.place.abs)
	}
	content, err := patched(from.place.abs, string(from.after), h.chunks)
	if err != nil {
		return "", err
	}
	if len(h.chunks) > 0 && content == string(from.after) {
		return "", tool.Failf("The patch changes nothing in %s: its text already is as the patch says.", from.place.abs)
	}
	if len(h.chunks) == 0 {
		content = string(from.after) // only moved, the last line stays as it is
	}
	to.after, to.gone = []byte(content), false
	if to != from {
		to.like = from.before.info
		from.after, from.gone = nil, true
	}
	return "M", nil
}
