package host

import (
	"context"
	"encoding/base64"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/opencode"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/search"
)

// openBrowser returns the files of a location as its tools see them.
func (l *locationCache) openBrowser(ctx context.Context, at session.Location) (search.Browser, *locationSetup, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return search.Browser{}, nil, err
	}
	return search.NewBrowser(search.Config{Paths: p.tools.search.Paths}), p, nil
}

// List implements v1.Files.
func (l v1Backend) List(ctx context.Context, at session.Location, path string) ([]opencode.FileNode, error) {
	browser, p, err := l.openBrowser(ctx, at)
	if err != nil {
		return nil, err
	}
	list, err := browser.List(path)
	if err != nil {
		return nil, err
	}
	out := []opencode.FileNode{}
	for _, s := range list {
		n := opencode.FileNode{
			Name: s.Name, Path: s.Path, Absolute: filepath.Join(p.project.Directory, filepath.FromSlash(s.Path)),
			Type: "file", Ignored: s.Ignored,
		}
		if s.Dir {
			n.Type, n.Path = "directory", n.Path+"/"
		}
		out = append(out, n)
	}
	return out, nil
}

// Read implements v1.Files.
func (l v1Backend) Read(ctx context.Context, at session.Location, path string) (opencode.FileContent, error) {
	browser, _, err := l.openBrowser(ctx, at)
	if err != nil {
		return opencode.FileContent{}, err
	}
	b, found, err := browser.Read(path)
	switch {
	case err != nil:
		return opencode.FileContent{}, err
	case found && b.Binary:
		if b.Type == "" {
			b.Type = http.DetectContentType(b.Data)
		}
		content := base64.StdEncoding.EncodeToString(b.Data)
		return opencode.FileContent{Type: "binary", Content: content, Encoding: "base64", MimeType: b.Type}, nil
	default:
		return opencode.FileContent{Type: "text", Content: string(b.Data)}, nil
	}
}

// Grep implements v1.Files.
func (l v1Backend) Grep(ctx context.Context, at session.Location, pattern string) ([]opencode.Match, error) {
	browser, _, err := l.openBrowser(ctx, at)
	if err != nil {
		return nil, err
	}
	hits, err := browser.Grep(ctx, pattern)
	if err != nil {
		return nil, err
	}
	out := []opencode.Match{}
	for _, h := range hits {
		m := opencode.Match{
			Path: opencode.Text{Text: h.Path}, Lines: opencode.Text{Text: h.Text},
			LineNumber: h.Line, AbsoluteOffset: h.Offset,
		}
		for _, s := range h.Spans {
			match := opencode.Text{Text: h.Text[s[0]:s[1]]}
			m.Submatches = append(m.Submatches, opencode.Submatch{Match: match, Start: s[0], End: s[1]})
		}
		out = append(out, m)
	}
	return out, nil
}

// Find implements v1.Files.
func (l v1Backend) Find(ctx context.Context, at session.Location, w v1.Wanted) ([]string, error) {
	browser, _, err := l.openBrowser(ctx, at)
	if err != nil {
		return nil, err
	}
	return browser.Find(ctx, search.NameQuery(w))
}

// ListFiles implements v2.Files.
func (l *locationCache) ListFiles(ctx context.Context, at session.Location, path string) ([]api.FileEntry, error) {
	browser, _, err := l.openBrowser(ctx, at)
	if err != nil {
		return nil, err
	}
	list, err := browser.List(path)
	if err != nil {
		return nil, err
	}
	out := []api.FileEntry{}
	for _, s := range list {
		if s.Dir {
			s.Path += "/"
		}
		out = append(out, fileEntry(s.Path))
	}
	return out, nil
}

// FindFiles implements v2.Files.
func (l *locationCache) FindFiles(ctx context.Context, at session.Location, q api.FileQuery) ([]api.FileEntry, error) {
	browser, _, err := l.openBrowser(ctx, at)
	if err != nil {
		return nil, err
	}
	paths, err := browser.Find(ctx, search.NameQuery{
		Query: q.Query, Files: q.Type != api.TypeDirectory, Directories: q.Type != api.TypeFile, Limit: q.Limit,
	})
	if err != nil {
		return nil, err
	}
	out := []api.FileEntry{}
	for _, path := range paths {
		out = append(out, fileEntry(path))
	}
	return out, nil
}

func fileEntry(path string) api.FileEntry {
	if strings.HasSuffix(path, "/") {
		return api.FileEntry{Path: path, Type: api.TypeDirectory}
	}
	return api.FileEntry{Path: path, Type: api.TypeFile}
}
