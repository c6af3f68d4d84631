// Package attachment reads the files that a prompt names by file: URIs, for both contracts, before the prompt is
// admitted.
package attachment

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
)

// Reader reads the page of a file or directory that a prompt of the session attaches. It returns the output of the read
// tool, or the whole file if it is media. The error is a *MissingPageError if there is no such page.
type Reader interface {
	Attach(ctx context.Context, id session.ID, page opencode.Page) (text string, media *session.File, err error)
	// AttachResource reads a resource of an MCP server, as Attach reads a file.
	AttachResource(ctx context.Context, server, uri string) (text string, media *session.File, err error)
}

// MissingPageError reports an attachment that does not exist: the file, or the page of it.
type MissingPageError struct{ Message string }

func (e *MissingPageError) Error() string { return e.Message }

// ReadFiles puts the content of the named files into the prompt. open is called once, and only if there is such a file.
// A file that would need a permission ask remains a name, and so does a missing one, for which onMissing is called.
func ReadFiles(
	ctx context.Context, id session.ID, p *session.Prompt, open func() (Reader, error),
	onMissing func(f *session.File, path, message string),
) {
	var files Reader
	for i := range p.Files {
		f := &p.Files[i]
		// Skip files whose content the prompt has, and those that cannot be read.
		page, isFile := opencode.PageOf(*f)
		server, uri, isResource := opencode.ResourceOf(*f)
		if !isFile && !isResource || f.Text != "" {
			continue
		}
		// Open the reader for the first file; without a reader all files remain names.
		if files == nil {
			var err error
			if files, err = open(); err != nil {
				return
			}
		}
		if isResource {
			readResource(ctx, files, f, server, uri)
			continue
		}
		text, media, err := files.Attach(ctx, id, page)
		missing, isMissing := errors.AsType[*MissingPageError](err)
		// A file that may not be read, or cannot be, remains a name.
		switch {
		case isMissing:
			onMissing(f, page.FilePath, missing.Message)
		case err != nil:
		case media != nil:
			f.URI, f.Mime = media.URI, media.Mime
		default:
			f.Text = text
		}
	}
}

// readResource puts the content of an MCP resource into the file, or why it cannot be read.
func readResource(ctx context.Context, files Reader, f *session.File, server, uri string) {
	text, media, err := files.AttachResource(ctx, server, uri)
	switch {
	case err != nil:
		f.Text = "Reading the MCP resource " + uri + " of " + server + " failed: " + err.Error()
	case media != nil:
		f.URI, f.Mime = media.URI, media.Mime
	default:
		f.Text = text
	}
}
