package file

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// maxPatched bounds the bytes of all files of a patch, before and after it.
const maxPatched = 64 << 20

//go:embed apply_patch.md
var patchDescription string

const patchSchema = `{"type":"object","properties":{
"patchText":{"type":"string","minLength":1,"description":"The whole patch, from *** Begin Patch to *** End Patch"}
},"required":["patchText"],"additionalProperties":false}`

type patchTool struct{ *fileTools }

// patchInfo is the structured result of a patch, in OpenCode's shape.
type patchInfo struct {
	Diff        string                    `json:"diff"`
	Files       []patchedFile             `json:"files"`
	Diagnostics map[string]jsontext.Value `json:"diagnostics"`
	Notes       []string                  `json:"notes,omitempty"` // about language servers
	Truncated   bool                      `json:"truncated"`
	Seen        fingerprints              `json:"seen"`
}

// patchedFile describes what one section of a patch changed.
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
	return tool.Definition{
		Name: "apply_patch", Description: strings.TrimSpace(patchDescription), Schema: jsontext.Value(patchSchema),
		Action: "edit",
	}
}

// Run applies the patch, all of it or nothing.
func (t *patchTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := tool.Input[struct {
		PatchText string `json:"patchText"`
	}](call)
	if err != nil {
		return tool.Output{}, err
	}
	// Parse the text, then find the file of each section.
	hunks, err := parsePatch(in.PatchText)
	if err != nil {
		return tool.Output{}, failPatch(err)
	}
	p := &resolvedPatch{hunks: hunks, index: map[string]int{}}
	if err := p.resolveAll(t.fileTools); err != nil {
		return tool.Output{}, failPatch(err)
	}
	// Ask for permission and write all files.
	done, err := t.changeAll(ctx, call, changePlan{paths: p.paths, apply: p.apply})
	if err != nil {
		return tool.Output{}, failPatch(err)
	}
	// Report the files. A patch of one file has its name as title.
	title := fmt.Sprintf("%d files", len(done.files))
	if len(done.files) == 1 {
		title = done.files[0].RelativePath
	}
	out := tool.TextOutput(
		title, done.message,
		patchInfo{
			Diff: truncateDiff(done.diff), Files: done.files, Diagnostics: done.diagnostics, Notes: done.notes, Seen: done.seen,
		},
	)
	for _, changed := range p.paths {
		out.Visited = append(out.Visited, changed.Real)
	}
	return out, nil
}

// failPatch adds to an error about the patch that no file was changed.
func failPatch(err error) error {
	if f, ok := errors.AsType[*tool.Failure](err); ok {
		return tool.Failf("apply_patch verification failed, no file was changed: %s", f.Message)
	}
	return err
}

// resolvedPatch is a patch whose paths are resolved.
type resolvedPatch struct {
	hunks    []patchSection
	paths    []workpath.Path // each file once
	index    map[string]int
	from, to []int // indices in paths, by section: the file it names and the file it writes
}

func (p *resolvedPatch) resolveAll(s *fileTools) error {
	for _, h := range p.hunks {
		from, err := p.addPath(s, h.path)
		if err != nil {
			return err
		}
		to := from
		if h.target != "" {
			if to, err = p.addPath(s, h.target); err != nil {
				return err
			}
		}
		if (h.kind == sectionDelete || to != from) && isLink(p.paths[from].Abs) {
			return tool.Failf(
				"%s is a symbolic link. A patch neither deletes nor moves links: use a command.", p.paths[from].Abs,
			)
		}
		p.from, p.to = append(p.from, from), append(p.to, to)
	}
	for _, at := range p.paths {
		for dir := filepath.Dir(at.Real); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if _, ok := p.index[dir]; ok {
				return tool.Failf("The patch takes %s for a file and for a directory. Make two calls.", dir)
			}
		}
	}
	return nil
}

// addPath returns the index of the path in p.paths.
func (p *resolvedPatch) addPath(s *fileTools, path string) (int, error) {
	at, err := s.config.Paths.Resolve(path)
	if err != nil {
		return 0, err
	}
	i, ok := p.index[at.Real]
	if !ok {
		i = len(p.paths)
		p.index[at.Real] = i
		p.paths = append(p.paths, at)
	}
	return i, nil
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// apply applies the sections in order, each to the result of those before it.
func (p *resolvedPatch) apply(steps []*fileStep) (summary, error) {
	// The limit counts the files as they were and each result, since memory holds all of them.
	size := 0
	for _, st := range steps {
		size += len(st.before.data)
	}
	var sum summary
	// Apply each section to what the sections before it left, so several sections may name one file.
	says := "Success. Updated the following files:"
	for i, h := range p.hunks {
		from, to := steps[p.from[i]], steps[p.to[i]]
		was, lost := from.after, to.after
		letter, err := h.applyTo(from, to)
		if err != nil {
			return summary{}, err
		}
		if size += len(to.after); size > maxPatched {
			return summary{}, tool.Failf(
				"The files of the patch are larger than %d MiB together. Make several calls.", maxPatched>>20,
			)
		}
		// Describe the section: from what the file was before it.
		diff := unifiedDiff(from.path.Abs, was, to.after)
		f := patchedFile{FilePath: from.path.Abs, RelativePath: to.path.Title(), Type: changeTypes[letter], Patch: diff}
		f.Additions, f.Deletions = countChangedLines(diff)
		// A move shows the difference to the old file, and what it overwrites at its new path.
		if to != from {
			f.Type, f.MovePath = "move", to.path.Abs
			if lost != nil {
				diff += unifiedDiff(to.path.Abs, lost, to.after)
			}
		}
		// All differences of a patch share one limit.
		f.Patch = truncateLines(f.Patch, max(0, maxDiff-len(sum.diff)))
		sum.diff += diff + "\n"
		sum.files = append(sum.files, f)
		says += "\n" + letter + " " + to.path.Title()
	}
	sum.message = says
	return sum, nil
}

var changeTypes = map[string]string{"A": "add", "M": "update", "D": "delete"}

// applyTo applies the section to the file it names (from) and the file it writes (to), which differ for a move. It
// returns the letter of the change for the result.
func (h patchSection) applyTo(from, to *fileStep) (letter string, err error) {
	// Additions and deletions do not depend on the text.
	switch {
	case h.kind == sectionAdd:
		letter = "A"
		if !from.removed {
			letter = "M"
		}
		from.after, from.removed = keepBOM(from.after, h.content), false
		return letter, nil
	case from.removed:
		return "", tool.Failf("File not found: %s", from.path.Abs)
	case h.kind == sectionDelete:
		from.after, from.removed = nil, true
		return "D", nil
	case workpath.IsBinary(from.after):
		return "", tool.Failf("%s is a binary file; it is not patched as text.", from.path.Abs)
	}
	// Apply the chunks. A patch without effect is reported, because the model expects a change.
	content, err := applyChunks(from.path.Abs, string(from.after), h.chunks)
	if err != nil {
		return "", err
	}
	if len(h.chunks) > 0 && content == string(from.after) {
		return "", tool.Failf("The patch changes nothing in %s: its text already is as the patch says.", from.path.Abs)
	}
	if len(h.chunks) == 0 {
		content = string(from.after) // a move alone keeps the file as it is, also without a newline at its end
	}
	// Write the result. A move gives the new file the mode and owner of the old one, and removes that.
	to.after, to.removed = []byte(content), false
	if to != from {
		to.template = from.before.info
		from.after, from.removed = nil, true
	}
	return "M", nil
}
