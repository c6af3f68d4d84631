package file

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const (
	maxPageLines = 2000
	maxPageBytes = tool.MaxBytes - 1<<10 // of the lines with their numbers; the rest is for what stands around them
	maxLineRunes = 2000
	previewLines = 20
)

//go:embed read.md
var readDescription string

const readSchema = `{"type":"object","properties":{
"filePath":{"type":"string","description":"The file or directory to read"},
"offset":{"type":"integer","minimum":0,"description":"The line or entry to start at; the first is 1"},
"limit":{"type":"integer","minimum":0,"description":"How many lines or entries, 2000 if absent and at most"}
},"required":["filePath"],"additionalProperties":false}`

type readTool struct{ *fileTools }

type readInput struct {
	FilePath string `json:"filePath"`
	Offset   int    `json:"offset"`
	Limit    int    `json:"limit"`
}

// readInfo is the structured result of read, in OpenCode's shape, without a second copy of the text.
type readInfo struct {
	Preview   string       `json:"preview"`
	Truncated bool         `json:"truncated"`
	Loaded    []string     `json:"loaded"`
	Reminder  string       `json:"reminder,omitzero"` // the texts of Loaded, for OpenCode's clients
	Display   any          `json:"display,omitzero"`  // pageDisplay or listDisplay; absent for an image or a PDF
	Seen      fingerprints `json:"seen,omitzero"`
}

type pageDisplay struct {
	Type       string `json:"type"` // "file"
	Path       string `json:"path"`
	LineStart  int    `json:"lineStart"`
	LineEnd    int    `json:"lineEnd"`
	TotalLines int64  `json:"totalLines"` // 0 also if the file is too long to count its lines
	Truncated  bool   `json:"truncated"`
}

type listDisplay struct {
	Type         string   `json:"type"` // "directory"
	Path         string   `json:"path"`
	Entries      []string `json:"entries"`
	Offset       int      `json:"offset"`
	TotalEntries int      `json:"totalEntries"`
	Truncated    bool     `json:"truncated"`
}

// Definition describes the tool.
func (t *readTool) Definition() tool.Definition {
	return tool.Definition{
		Name: "read", Description: strings.TrimSpace(readDescription), Schema: jsontext.Value(readSchema),
		Bounded: true,
	}
}

// Run reads a page of a file, a directory, or an image.
func (t *readTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := tool.Input[readInput](call)
	if err != nil {
		return tool.Output{}, err
	}
	// Ask for permission. Files of managed tool output need none.
	p, err := t.config.Paths.Resolve(in.FilePath)
	if err != nil {
		return tool.Output{}, err
	}
	if !t.config.Paths.IsManagedOutput(p) {
		if err := p.AskOutside(ctx, call); err != nil {
			return tool.Output{}, err
		}
		if err := call.Ask(
			ctx, tool.Request{Action: "read", Resources: []string{p.Resource()}, Save: []string{"*"}},
		); err != nil {
			return tool.Output{}, err
		}
	}
	// Bound the page.
	in.Offset = max(in.Offset, 1)
	if in.Limit <= 0 || in.Limit > maxPageLines {
		in.Limit = maxPageLines
	}
	// Missing files and directories need no lock.
	switch {
	case p.Info == nil:
		return tool.Output{}, t.describeMissing(p)
	case p.IsDir():
		return readDir(call, p, in)
	}
	// Lock the file: a change by another call must not fall between its content and its fingerprint.
	var out tool.Output
	err = t.withLocks(ctx, []workpath.Path{p}, func() error {
		out, err = t.readFile(ctx, call, p, in)
		return err
	})
	if err == nil && t.config.Warm != nil && p.IsInside() { // a change may follow
		t.config.Warm(p.Real)
	}
	return out, err
}

// describeMissing returns the error for a missing file, with similar names in its directory.
func (t *readTool) describeMissing(p workpath.Path) error {
	// A parent that is no directory explains it all.
	text := "File not found: " + p.Abs
	if info, err := os.Lstat(filepath.Dir(p.Real)); err == nil && !info.IsDir() {
		return tool.Failf("%s: %s is not a directory.", text, filepath.Dir(p.Real))
	}
	// Without the names of the directory there is nothing to suggest.
	dir, err := p.OpenParent(false)
	if err != nil {
		return tool.Failf("%s", text)
	}
	defer func() { _ = dir.Close() }()
	entries, _, err := workpath.ReadEntries(dir)
	if err != nil {
		return tool.Failf("%s", text)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	// Suggest similar names, as paths that the model can use.
	near := spelling.FindNearest(filepath.Base(p.Real), names, 3)
	if len(near) == 0 {
		return tool.Failf("%s", text)
	}
	for i, name := range near {
		near[i] = filepath.Join(filepath.Dir(p.Abs), name)
	}
	return tool.Failf(
		"%s\n\nDid you mean %s?\n%s", text, workpath.ChoosePlural(len(near), "this", "one of these"),
		strings.Join(near, "\n"),
	)
}

// readFile returns a page of a text file, or an image. The session counts as having seen the whole file afterwards,
// whatever the page shows, which permits it to edit the file.
func (t *readTool) readFile(ctx context.Context, call tool.Call, p workpath.Path, in readInput) (tool.Output, error) {
	f, info, err := p.Open()
	if err != nil {
		return tool.Output{}, err
	}
	defer func() { _ = f.Close() }()
	// The first bytes decide the form, not the name: image, binary or text.
	sample, err := readSample(f)
	if err != nil {
		return tool.Output{}, workpath.FailOpen(p.Abs, err)
	}
	if mime := workpath.MediaType(sample); mime != "" {
		return t.readMedia(f, p, mime)
	}
	if why := binaryReason(p.Real, sample); why != "" {
		return tool.Output{}, tool.Failf("%s is a binary file (%s); it cannot be read as text.", p.Abs, why)
	}
	// Read the page; an offset behind the end is an error that says where the end is.
	page, err := readPage(ctx, pageSource{f.Name(), f, info.Size()}, in)
	if err != nil {
		return tool.Output{}, err
	}
	seen := page
	if page, err = t.readUnsaved(ctx, call, p, in, page); err != nil {
		return tool.Output{}, err
	}
	if page.total >= 0 && int64(in.Offset) > max(page.total, 1) {
		return tool.Output{}, tool.Failf(
			"Offset %d is beyond the end of %s, which has %d %s.", in.Offset, p.Abs, page.total,
			workpath.ChoosePlural(int(page.total), "line", "lines"),
		)
	}
	// Remember what was seen, then add instructions that apply to this directory.
	page.fingerprint = fingerprintOf(info, seen.sum)
	t.config.Tracker.recordSeen(call.SessionID, p.Real, snapshot{page.fingerprint, seen.whole})
	reminder, loaded := t.nearbyInstructions(call, p)
	return page.formatOutput(call, p, reminder, loaded), nil
}

// readUnsaved returns the page of the file as it is in an editor of the user, or the given one, of the disk, if none has
// changes of it.
func (t *readTool) readUnsaved(
	ctx context.Context, call tool.Call, p workpath.Path, in readInput, saved page,
) (page, error) {
	if t.config.Unsaved == nil {
		return saved, nil
	}
	text, ok := t.config.Unsaved(ctx, call.SessionID, p.Abs)
	if !ok || saved.whole != nil && IsSameText(text, string(saved.whole)) {
		return saved, nil
	}
	out, err := readPage(ctx, pageSource{p.Abs, strings.NewReader(text), int64(len(text))}, in)
	out.isUnsaved = true
	return out, err
}

// readDir returns a page of the names in a directory, sorted as people expect. Names of directories end in a slash.
func readDir(call tool.Call, p workpath.Path, in readInput) (tool.Output, error) {
	dir, err := p.OpenDir()
	if err != nil {
		return tool.Output{}, err
	}
	defer func() { _ = dir.Close() }()
	// Read and sort all names: the order must be the same for every page.
	entries, more, err := workpath.ReadEntries(dir)
	if err != nil {
		return tool.Output{}, workpath.FailOpen(p.Abs, err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, workpath.DisplayName(dir, e))
	}
	slices.SortFunc(names, spelling.Order)
	total := len(names)
	if in.Offset > max(total, 1) {
		return tool.Output{}, tool.Failf("Offset %d is beyond the end of %s, which has %d entries.", in.Offset, p.Abs, total)
	}
	// Cut out the page. more says that ReadEntries itself stopped at its limit.
	names = names[in.Offset-1:]
	names = names[:min(len(names), in.Limit)]
	last := in.Offset - 1 + len(names)
	cut := last < total || more
	// Write the text for the model and the same facts for clients.
	var b strings.Builder
	b.WriteString("<path>" + p.Abs + "</path>\n<type>directory</type>\n<entries>\n")
	for _, n := range names {
		b.WriteString(n + "\n")
	}
	b.WriteString("\n" + formatDirFooter(in.Offset, last, total, more) + "\n</entries>")
	preview := names[:min(len(names), previewLines)]
	return tool.TextOutput(p.Title(), tool.MarkImitations(call, p.Abs, b.String()), readInfo{
		Preview: strings.Join(preview, "\n"), Truncated: cut, Loaded: []string{},
		Display: listDisplay{
			Type: "directory", Path: p.Abs, Entries: names, Offset: in.Offset, TotalEntries: total, Truncated: cut,
		},
	}), nil
}
