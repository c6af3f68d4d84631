package host

import (
	"context"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/server/attachment"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/search"
)

// openBrowser returns the files of a location as its tools see them.
func (l *locationCache) openBrowser(ctx context.Context, at session.Location) (search.Browser, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return search.Browser{}, err
	}
	return p.openBrowser(), nil
}

// openBrowser returns the files of the location as its tools see them.
func (p *locationSetup) openBrowser() search.Browser {
	return search.NewBrowser(search.Config{Paths: p.tools.browser})
}

// ListFiles implements v2.Files.
func (l *locationCache) ListFiles(ctx context.Context, at session.Location, path string) ([]api.FileEntry, error) {
	browser, err := l.openBrowser(ctx, at)
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

// OpenAttachments implements v2.Files.
func (l *locationCache) OpenAttachments(ctx context.Context, at session.Location) (attachment.Reader, error) {
	p, err := l.load(ctx, at.Directory)
	return v1Files{p}, err
}

// FindFiles implements v2.Files.
func (l *locationCache) FindFiles(ctx context.Context, at session.Location, q api.FileQuery) ([]api.FileEntry, error) {
	browser, err := l.openBrowser(ctx, at)
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
