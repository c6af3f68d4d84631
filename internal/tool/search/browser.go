package search

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// Browser shows people the files of a Location. It resolves, opens and ignores files as the tools do. A path outside of
// the Location is an error with the code denied.
type Browser struct{ tools *searchTools }

// NewBrowser returns a Browser of the Location in c.Paths.
func NewBrowser(c Config) Browser { return Browser{newSearchTools(c)} }

// Entry is an entry of a directory.
type Entry struct {
	Name    string
	Path    string // relative to the Location
	Dir     bool
	Ignored bool // by the ignore files
}

// Content is the content of a file. Type is the media type that its first bytes tell, "" for text.
type Content struct {
	Data   []byte
	Binary bool
	Type   string
}

// Hit is a line that matches a pattern.
type Hit struct {
	Path   string // relative to the Location
	Line   int    // from 1
	Text   string // with its line end
	Offset int64  // of the line in the file, in bytes
	Spans  [][]int
}

const (
	maxContentBytes = 20 << 20
	maxHitLine      = 64 << 10
	maxListedFiles  = 50_000
)

// resolveInside resolves a path and fails if it is outside of the Location.
func (l Browser) resolveInside(name string) (workpath.Path, error) {
	p, err := l.tools.config.Paths.Resolve(name)
	if err != nil {
		return p, publicError(err)
	}
	if !p.IsInside() {
		return p, session.Errorf(session.CodeDenied, "the path leads out of the project").At("path")
	}
	return p, nil
}

// publicError turns an error for the model into one for people.
func publicError(err error) error {
	if f, ok := errors.AsType[*tool.Failure](err); ok {
		return session.Errorf(session.CodeInvalid, "%s", f.Error()).At("path")
	}
	return err
}

// relativePath returns the path relative to the Location.
func (l Browser) relativePath(p workpath.Path) string {
	dir, err := workpath.ResolveLinks(l.tools.config.Paths.Directory)
	if err != nil {
		return p.Rel
	}
	rel, err := filepath.Rel(dir, p.Real)
	if err != nil {
		return p.Rel
	}
	return filepath.ToSlash(rel)
}

// List returns the entries of a directory: directories first, then by name.
// Cairn's private directories are left out; ignored files are listed and marked as such.
func (l Browser) List(name string) ([]Entry, error) {
	// Open the directory twice: as a tree for its ignore rules, and itself for its entries.
	p, err := l.resolveInside(name)
	if err != nil {
		return nil, err
	}
	if err := p.RequireDir(); err != nil {
		return nil, publicError(err)
	}
	tree, err := openTree(p)
	if err != nil {
		return nil, publicError(err)
	}
	defer tree.closeHandles()
	dir, err := p.OpenDir()
	if err != nil {
		return nil, publicError(err)
	}
	defer func() { _ = dir.Close() }()
	entries, _, err := workpath.ReadEntries(dir)
	if err != nil {
		return nil, publicError(workpath.FailOpen(p.Abs, err))
	}
	// The rules of the directories above are read before the first entry is tested.
	rules := tree.startRules()
	out := []Entry{}
	for _, e := range entries {
		q := p.Join(e.Name())
		if e.IsDir() && p.IsPrivateEntry(q.Real) {
			continue
		}
		out = append(out, Entry{
			Name: e.Name(), Path: l.relativePath(q), Dir: strings.HasSuffix(workpath.DisplayName(dir, e), "/"),
			Ignored: rules.isIgnored(q.Rel, e.IsDir()),
		})
	}
	// The order is the same for every client, whatever the file system returns.
	slices.SortStableFunc(out, func(a, b Entry) int {
		return cmp.Or(-compareBool(a.Dir, b.Dir), strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)))
	})
	return out, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// Read returns the content of a regular file; found is false if it does not exist.
func (l Browser) Read(name string) (content Content, found bool, err error) {
	p, err := l.resolveInside(name)
	if err != nil || p.Info == nil {
		return Content{}, false, err
	}
	f, info, err := p.Open()
	if err != nil {
		return Content{}, false, publicError(err)
	}
	defer func() { _ = f.Close() }()
	if info.Size() > maxContentBytes {
		return Content{}, false, session.Errorf(session.CodeTooLarge, "%s is larger than %d MiB", name, maxContentBytes>>20)
	}
	b := Content{}
	if b.Data, err = io.ReadAll(io.LimitReader(f, maxContentBytes)); err != nil {
		return Content{}, false, publicError(workpath.FailOpen(p.Abs, err))
	}
	b.Type = workpath.MediaType(b.Data)
	b.Binary = b.Type != "" || bytes.IndexByte(b.Data, 0) >= 0 || !utf8.Valid(b.Data)
	return b, true, nil
}

// listFiles returns the paths of the files below the Location that are not ignored, sorted.
func (l Browser) listFiles(ctx context.Context) ([]string, error) {
	p, err := l.resolveInside("")
	if err != nil {
		return nil, err
	}
	tree, err := openTree(p)
	if err != nil {
		return nil, publicError(err)
	}
	defer tree.closeHandles()
	tree.hidden = true
	var mu sync.Mutex // guards out
	var out []string
	err = tree.walkFiles(ctx, func(rel string, _ fs.DirEntry) error {
		mu.Lock()
		defer mu.Unlock()
		if len(out) == maxListedFiles {
			return errLimit
		}
		out = append(out, rel)
		return nil
	})
	slices.Sort(out)
	return out, err
}

// Grep returns the matching lines below the Location by path and line, as many as the tool grep returns.
func (l Browser) Grep(ctx context.Context, pattern string) ([]Hit, error) {
	q, err := newQuery(pattern, "")
	if f, ok := errors.AsType[*tool.Failure](err); ok {
		return nil, session.Errorf(session.CodeInvalid, "%s", f.Error()).At("pattern")
	}
	if err != nil {
		return nil, err
	}
	p, err := l.resolveInside("")
	if err != nil {
		return nil, err
	}
	matches, _, err := l.tools.searchPath(ctx, p, q)
	if err != nil {
		return nil, publicError(err)
	}
	var out []Hit
	for len(matches) > 0 {
		n := 1
		for n < len(matches) && matches[n].path == matches[0].path {
			n++
		}
		out = append(out, l.findHits(p.Join(matches[0].path), matches[:n], q)...)
		matches = matches[n:]
	}
	return out, nil
}

// findHits finds the positions of matching lines in one file. It leaves out lines that changed since the search.
func (l Browser) findHits(p workpath.Path, matches []match, q *query) []Hit {
	f, _, err := p.Open()
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	r := skipBOM(bufio.NewReaderSize(f, maxHitLine))
	var out []Hit
	offset := int64(0)
	for line := 1; len(matches) > 0; line++ {
		text, size, err := readHitLine(r)
		if err != nil && size == 0 {
			break
		}
		if line == matches[0].line {
			matches = matches[1:]
			if spans := q.re.FindAllStringIndex(strings.TrimRight(text, "\r\n"), -1); spans != nil {
				out = append(out, Hit{Path: l.relativePath(p), Line: line, Text: text, Offset: offset, Spans: spans})
			}
		}
		offset += size
	}
	return out
}

// readHitLine returns the next line, cut at maxHitLine bytes, and its full length.
func readHitLine(r *bufio.Reader) (text string, size int64, err error) {
	part, err := r.ReadSlice('\n')
	text, size = strings.ToValidUTF8(string(part), "\uFFFD"), int64(len(part))
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = r.ReadSlice('\n')
		size += int64(len(part))
	}
	return text, size, err
}
