package builtin

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
)

// Look shows people the files of a place, by the same ways of resolving, opening and ignoring as the tools: nothing of it
// ever leaves the place. What is outside is an error of code denied.
type Look struct{ site *site }

// NewLook returns a Look at the place of which a Config says the directory and the worktree.
func NewLook(c Config) Look { return Look{&site{config: c.orDefault()}} }

// Seen is a file or a directory of a listing.
type Seen struct {
	Name    string
	Path    string // relative to the Location
	Dir     bool
	Ignored bool // by git's rules
}

// Bytes is the content of a file. Type is its media type as far as the first bytes tell; "" is text.
type Bytes struct {
	Data   []byte
	Binary bool
	Type   string
}

// Hit is a line that matches a pattern.
type Hit struct {
	Path   string // relative to the Location
	Line   int    // the first is 1
	Text   string // with its newline
	Offset int64  // where the line begins in the file
	Spans  [][]int
}

const (
	maxLookBytes = 20 << 20
	maxHitLine   = 64 << 10
	maxSeenFiles = 50_000
)

// find resolves a path within the place.
func (l Look) find(name string) (place, error) {
	p, err := l.site.locate(name)
	if err != nil {
		return p, forPeople(err)
	}
	if !p.inside() {
		return p, session.Errorf(session.CodeDenied, "the path leads out of the project").At("path")
	}
	return p, nil
}

// forPeople makes what a tool would tell the model an error for people.
func forPeople(err error) error {
	if f, ok := errors.AsType[*tool.Failure](err); ok {
		return session.Errorf(session.CodeInvalid, "%s", f.Error()).At("path")
	}
	return err
}

// relative is the path as people below the Location name it.
func (l Look) relative(p place) string {
	dir, err := canonical(l.site.config.Directory, maxLinks)
	if err != nil {
		return p.rel
	}
	rel, err := filepath.Rel(dir, p.real)
	if err != nil {
		return p.rel
	}
	return filepath.ToSlash(rel)
}

// List returns the entries of a directory: directories first, then by name.
func (l Look) List(name string) ([]Seen, error) {
	p, err := l.find(name)
	if err != nil {
		return nil, err
	}
	if err := p.mustBeDir(); err != nil {
		return nil, forPeople(err)
	}
	tree, err := p.grow()
	if err != nil {
		return nil, forPeople(err)
	}
	defer tree.close()
	dir, err := p.enterDir()
	if err != nil {
		return nil, forPeople(err)
	}
	defer func() { _ = dir.Close() }()
	entries, _, err := entriesOf(dir)
	if err != nil {
		return nil, forPeople(openFailure(p.abs, err))
	}
	rules := tree.rules()
	out := []Seen{}
	for _, e := range entries {
		q := p.below(e.Name())
		out = append(out, Seen{
			Name: e.Name(), Path: l.relative(q), Dir: strings.HasSuffix(entryName(dir, e), "/"), Ignored: rules.ignores(q.rel, e.IsDir()),
		})
	}
	slices.SortStableFunc(out, func(a, b Seen) int {
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

// Read returns the content of a regular file; found is false where there is none.
func (l Look) Read(name string) (content Bytes, found bool, err error) {
	p, err := l.find(name)
	if err != nil || p.info == nil {
		return Bytes{}, false, err
	}
	f, info, err := p.open()
	if err != nil {
		return Bytes{}, false, forPeople(err)
	}
	defer func() { _ = f.Close() }()
	if info.Size() > maxLookBytes {
		return Bytes{}, false, session.Errorf(session.CodeTooLarge, "%s is larger than %d MiB", name, maxLookBytes>>20)
	}
	b := Bytes{}
	if b.Data, err = io.ReadAll(io.LimitReader(f, maxLookBytes)); err != nil {
		return Bytes{}, false, forPeople(openFailure(p.abs, err))
	}
	b.Type = mediaType(b.Data)
	b.Binary = b.Type != "" || bytes.IndexByte(b.Data, 0) >= 0 || !utf8.Valid(b.Data)
	return b, true, nil
}

// files returns the paths of the files below the Location that are not ignored, by name.
func (l Look) files(ctx context.Context) ([]string, error) {
	p, err := l.find("")
	if err != nil {
		return nil, err
	}
	tree, err := p.grow()
	if err != nil {
		return nil, forPeople(err)
	}
	defer tree.close()
	tree.hidden = true
	var mu sync.Mutex // guards out
	var out []string
	err = tree.walk(ctx, func(rel string, _ fs.DirEntry) error {
		mu.Lock()
		defer mu.Unlock()
		if len(out) == maxSeenFiles {
			return errEnough
		}
		out = append(out, rel)
		return nil
	})
	slices.Sort(out)
	return out, err
}

// Grep returns the lines below the Location that match, by path and line, as many as the tool shows.
func (l Look) Grep(ctx context.Context, pattern string) ([]Hit, error) {
	q, err := newQuery(pattern, "")
	if f, ok := errors.AsType[*tool.Failure](err); ok {
		return nil, session.Errorf(session.CodeInvalid, "%s", f.Error()).At("pattern")
	}
	if err != nil {
		return nil, err
	}
	p, err := l.find("")
	if err != nil {
		return nil, err
	}
	matches, _, err := l.site.search(ctx, p, q)
	if err != nil {
		return nil, forPeople(err)
	}
	var out []Hit
	for len(matches) > 0 {
		n := 1
		for n < len(matches) && matches[n].path == matches[0].path {
			n++
		}
		out = append(out, l.hits(p.below(matches[0].path), matches[:n], q)...)
		matches = matches[n:]
	}
	return out, nil
}

// hits looks up where the matching lines of one file stand. What changed since it was searched is left out.
func (l Look) hits(p place, matches []match, q *query) []Hit {
	f, _, err := p.open()
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	r := unmarked(bufio.NewReaderSize(f, maxHitLine))
	var out []Hit
	offset := int64(0)
	for line := 1; len(matches) > 0; line++ {
		text, size, err := hitLine(r)
		if err != nil && size == 0 {
			break
		}
		if line == matches[0].line {
			matches = matches[1:]
			if spans := q.re.FindAllStringIndex(strings.TrimRight(text, "\r\n"), -1); spans != nil {
				out = append(out, Hit{Path: l.relative(p), Line: line, Text: text, Offset: offset, Spans: spans})
			}
		}
		offset += size
	}
	return out
}

// hitLine returns the next line, of a long one its beginning, and how long it is.
func hitLine(r *bufio.Reader) (text string, size int64, err error) {
	part, err := r.ReadSlice('\n')
	text, size = strings.ToValidUTF8(string(part), "\uFFFD"), int64(len(part))
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = r.ReadSlice('\n')
		size += int64(len(part))
	}
	return text, size, err
}
