package builtin

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/tool"
)

const (
	maxPageLines = 2000
	maxPageBytes = 50 << 10 // of the lines themselves, newlines between them included
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

type readTool struct{ *site }

type readInput struct {
	FilePath string `json:"filePath"`
	Offset   int    `json:"offset"`
	Limit    int    `json:"limit"`
}

// readInfo is what programs get to know; the shape is OpenCode's (spec/v1 §33.1), without a second copy of the text.
type readInfo struct {
	Preview   string     `json:"preview"`
	Truncated bool       `json:"truncated"`
	Loaded    []string   `json:"loaded"`
	Display   any        `json:"display,omitzero"` // pageDisplay or listDisplay; nothing of what is no text
	Seen      seenPrints `json:"seen,omitzero"`
}

type pageDisplay struct {
	Type       string `json:"type"` // "file"
	Path       string `json:"path"`
	LineStart  int    `json:"lineStart"`
	LineEnd    int    `json:"lineEnd"`
	TotalLines int64  `json:"totalLines"` // 0 also of a file too long to count
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
		Name: "read", Description: trimDescription(readDescription), Schema: jsontext.Value(readSchema), ReadOnly: true, Bounded: true,
	}
}

// Run reads a page of a file, a directory, or a whole image.
func (t *readTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := decode[readInput](call)
	if err != nil {
		return tool.Output{}, err
	}
	p, err := t.locate(in.FilePath)
	if err != nil {
		return tool.Output{}, err
	}
	if !t.managed(p) {
		if err := t.askOutside(ctx, call, p); err != nil {
			return tool.Output{}, err
		}
		if err := call.Ask(ctx, tool.Request{Action: "read", Resources: []string{p.resource()}, Save: []string{"*"}}); err != nil {
			return tool.Output{}, err
		}
	}
	in.Offset = max(in.Offset, 1)
	if in.Limit <= 0 || in.Limit > maxPageLines {
		in.Limit = maxPageLines
	}
	switch {
	case p.info == nil:
		return tool.Output{}, t.missing(p)
	case p.isDir():
		return readDir(p, in)
	}
	var out tool.Output
	err = t.locked(ctx, []place{p}, func() error {
		out, err = t.readFile(ctx, call, p, in)
		return err
	})
	return out, err
}

// missing says that there is no such file, and which one may have been meant.
func (t *readTool) missing(p place) error {
	text := "File not found: " + p.abs
	if info, err := os.Lstat(filepath.Dir(p.real)); err == nil && !info.IsDir() {
		return tool.Failf("%s: %s is not a directory.", text, filepath.Dir(p.real))
	}
	dir, err := p.enter(false)
	if err != nil {
		return tool.Failf("%s", text)
	}
	defer func() { _ = dir.Close() }()
	entries, _, err := entriesOf(dir)
	if err != nil {
		return tool.Failf("%s", text)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	near := spelling.Nearest(filepath.Base(p.real), names, 3)
	if len(near) == 0 {
		return tool.Failf("%s", text)
	}
	for i, name := range near {
		near[i] = filepath.Join(filepath.Dir(p.abs), name)
	}
	return tool.Failf("%s\n\nDid you mean %s?\n%s", text, plural(len(near), "this", "one of these"), strings.Join(near, "\n"))
}

func (t *readTool) readFile(ctx context.Context, call tool.Call, p place, in readInput) (tool.Output, error) {
	f, info, err := p.open()
	if err != nil {
		return tool.Output{}, err
	}
	defer func() { _ = f.Close() }()
	sample, err := sampleOf(f)
	if err != nil {
		return tool.Output{}, openFailure(p.abs, err)
	}
	if mime := mediaType(sample); mime != "" {
		return t.readMedia(f, p, mime)
	}
	if why := binary(p.real, sample); why != "" {
		return tool.Output{}, tool.Failf("%s is a binary file (%s); it cannot be read as text.", p.abs, why)
	}
	page, err := readPage(ctx, f, info, in)
	if err != nil {
		return tool.Output{}, err
	}
	if page.total >= 0 && int64(in.Offset) > max(page.total, 1) {
		return tool.Output{}, tool.Failf("Offset %d is beyond the end of %s, which has %d %s.", in.Offset, p.abs, page.total, plural(int(page.total), "line", "lines"))
	}
	page.print = printOf(info, page.sum)
	t.config.Files.saw(call.SessionID, p.real, sight{page.print, page.whole})
	reminder, loaded := t.nearby(call, p)
	return page.output(p, reminder, loaded), nil
}

func readDir(p place, in readInput) (tool.Output, error) {
	dir, err := p.enterDir()
	if err != nil {
		return tool.Output{}, err
	}
	defer func() { _ = dir.Close() }()
	entries, more, err := entriesOf(dir)
	if err != nil {
		return tool.Output{}, openFailure(p.abs, err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, entryName(dir, e))
	}
	slices.SortFunc(names, spelling.Order)
	total := len(names)
	if in.Offset > max(total, 1) {
		return tool.Output{}, tool.Failf("Offset %d is beyond the end of %s, which has %d entries.", in.Offset, p.abs, total)
	}
	names = names[in.Offset-1:]
	names = names[:min(len(names), in.Limit)]
	last := in.Offset - 1 + len(names)
	cut := last < total || more
	var b strings.Builder
	b.WriteString("<path>" + p.abs + "</path>\n<type>directory</type>\n<entries>\n")
	for _, n := range names {
		b.WriteString(n + "\n")
	}
	b.WriteString("\n" + dirFooter(in.Offset, last, total, more) + "\n</entries>")
	preview := names[:min(len(names), previewLines)]
	return textOutput(p.title(), b.String(), readInfo{
		Preview: strings.Join(preview, "\n"), Truncated: cut, Loaded: []string{},
		Display: listDisplay{Type: "directory", Path: p.abs, Entries: names, Offset: in.Offset, TotalEntries: total, Truncated: cut},
	}), nil
}

// maxEntries bounds how many entries of one directory are looked at.
const maxEntries = 50_000

// entriesOf returns the entries of a directory by name, and whether there are more than maxEntries.
func entriesOf(dir *os.Root) ([]fs.DirEntry, bool, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	more := len(entries) > maxEntries
	entries = entries[:min(len(entries), maxEntries)]
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, more, nil
}

// entryName marks directories, and links to directories within, with a slash.
func entryName(dir *os.Root, e fs.DirEntry) string {
	name := e.Name()
	if e.IsDir() {
		return name + "/"
	}
	if e.Type()&fs.ModeSymlink != 0 {
		if info, err := dir.Stat(name); err == nil && info.IsDir() {
			return name + "/"
		}
	}
	return name
}
