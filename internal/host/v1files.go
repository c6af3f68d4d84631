package host

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/attachment"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/file"
	"github.com/cairn-dev/cairn/internal/tool/search"
)

// v1Files implements v1.Files.
type v1Files struct{ setup *locationSetup }

// List implements v1.Files.
func (f v1Files) List(path string) ([]opencode.FileNode, error) {
	list, err := f.setup.openBrowser().List(path)
	if err != nil {
		return nil, err
	}
	out := []opencode.FileNode{}
	for _, s := range list {
		n := opencode.FileNode{
			Name: s.Name, Path: s.Path, Type: "file", Ignored: s.Ignored,
			Absolute: filepath.Join(f.setup.project.Directory, filepath.FromSlash(s.Path)),
		}
		if s.Dir {
			n.Type, n.Path = "directory", n.Path+"/"
		}
		out = append(out, n)
	}
	return out, nil
}

// Read implements v1.Files.
func (f v1Files) Read(path string) (opencode.FileContent, error) {
	b, found, err := f.setup.openBrowser().Read(path)
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
func (f v1Files) Grep(ctx context.Context, pattern string) ([]opencode.Match, error) {
	hits, err := f.setup.openBrowser().Grep(ctx, pattern)
	if err != nil {
		return nil, err
	}
	out := []opencode.Match{}
	for _, h := range hits {
		m := opencode.Match{
			Path: opencode.Text{
				Text: h.Path,
			}, Lines: opencode.Text{Text: h.Text}, LineNumber: h.Line, AbsoluteOffset: h.Offset,
		}
		for _, s := range h.Spans {
			m.Submatches = append(m.Submatches, opencode.Submatch{
				Match: opencode.Text{Text: h.Text[s[0]:s[1]]}, Start: s[0], End: s[1],
			})
		}
		out = append(out, m)
	}
	return out, nil
}

// Find implements v1.Files.
func (f v1Files) Find(ctx context.Context, q v1.FileQuery) ([]string, error) {
	return f.setup.openBrowser().Find(ctx, search.NameQuery(q))
}

// Attach implements attachment.Reader.
func (f v1Files) Attach(
	ctx context.Context, id session.ID, page opencode.Page,
) (text string, media *session.File, err error) {
	out, err := file.Attach(ctx, f.setup.tools.file, file.Attachment{
		Session: id, Path: page.FilePath, Offset: page.Offset, Limit: page.Limit,
	})
	if err != nil {
		_, missing := os.Stat(page.FilePath)
		failure, failed := errors.AsType[*tool.Failure](err)
		if failed && (page.Offset > 1 || errors.Is(missing, fs.ErrNotExist)) {
			err = &attachment.MissingPageError{Message: failure.Message}
		}
		return "", nil, err
	}
	for _, c := range out.Content {
		if c.Type == "file" {
			return "", &session.File{URI: c.URI, Mime: c.Mime}, nil
		}
		text += c.Text
	}
	return text, nil, nil
}

// AttachResource implements attachment.Reader.
func (f v1Files) AttachResource(ctx context.Context, server, uri string) (text string, media *session.File, err error) {
	out, err := f.setup.servers.ReadResource(ctx, server, uri)
	if err != nil {
		return "", nil, err
	}
	for _, c := range out.Content {
		text += c.Text
	}
	if len(out.Attachments) > 0 && text == "" {
		return "", &out.Attachments[0], nil
	}
	return text, nil, nil
}
