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

// look returns the files of a location as the tools see them.
func (l *locations) look(ctx context.Context, at session.Location) (search.Browser, *place, error) {
	p, err := l.place(ctx, at.Directory)
	if err != nil {
		return search.Browser{}, nil, err
	}
	return search.NewBrowser(search.Config{Paths: p.tools.search.Paths}), p, nil
}

// List implements v1.Files.
func (l v1Backend) List(ctx context.Context, at session.Location, path string) ([]opencode.FileNode, error) {
	look, p, err := l.look(ctx, at)
	if err != nil {
		return nil, err
	}
	list, err := look.List(path)
	if err != nil {
		return nil, err
	}
	out := []opencode.FileNode{}
	for _, s := range list {
		n := opencode.FileNode{
			Name: s.Name, Path: s.Path, Absolute: filepath.Join(p.project.Directory, filepath.FromSlash(s.Path)), Type: "file", Ignored: s.Ignored,
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
	look, _, err := l.look(ctx, at)
	if err != nil {
		return opencode.FileContent{}, err
	}
	b, found, err := look.Read(path)
	switch {
	case err != nil:
		return opencode.FileContent{}, err
	case found && b.Binary:
		if b.Type == "" {
			b.Type = http.DetectContentType(b.Data)
		}
		return opencode.FileContent{Type: "binary", Content: base64.StdEncoding.EncodeToString(b.Data), Encoding: "base64", MimeType: b.Type}, nil
	default:
		return opencode.FileContent{Type: "text", Content: string(b.Data)}, nil
	}
}

// Grep implements v1.Files.
func (l v1Backend) Grep(ctx context.Context, at session.Location, pattern string) ([]opencode.Match, error) {
	look, _, err := l.look(ctx, at)
	if err != nil {
		return nil, err
	}
	hits, err := look.Grep(ctx, pattern)
	if err != nil {
		return nil, err
	}
	out := []opencode.Match{}
	for _, h := range hits {
		m := opencode.Match{Path: opencode.Text{Text: h.Path}, Lines: opencode.Text{Text: h.Text}, LineNumber: h.Line, AbsoluteOffset: h.Offset}
		for _, s := range h.Spans {
			m.Submatches = append(m.Submatches, opencode.Submatch{Match: opencode.Text{Text: h.Text[s[0]:s[1]]}, Start: s[0], End: s[1]})
		}
		out = append(out, m)
	}
	return out, nil
}

// Find implements v1.Files.
func (l v1Backend) Find(ctx context.Context, at session.Location, w v1.Wanted) ([]string, error) {
	look, _, err := l.look(ctx, at)
	if err != nil {
		return nil, err
	}
	return look.Find(ctx, search.NameQuery(w))
}

// ListFiles implements v2.Files.
func (l *locations) ListFiles(ctx context.Context, at session.Location, path string) ([]api.FileEntry, error) {
	look, _, err := l.look(ctx, at)
	if err != nil {
		return nil, err
	}
	list, err := look.List(path)
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
func (l *locations) FindFiles(ctx context.Context, at session.Location, q api.FileQuery) ([]api.FileEntry, error) {
	look, _, err := l.look(ctx, at)
	if err != nil {
		return nil, err
	}
	found, err := look.Find(ctx, search.NameQuery{Query: q.Query, Files: q.Type != api.TypeDirectory, Directories: q.Type != api.TypeFile, Limit: q.Limit})
	if err != nil {
		return nil, err
	}
	out := []api.FileEntry{}
	for _, path := range found {
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
