package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// LogPiece is a piece of an exported log that is being imported. SHA256 is the checksum of the log's last line.
type LogPiece struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"` // of the whole file
	Offset int64  `json:"offset"`
	Data   []byte `json:"data"`
}

// LogProgress says how many bytes of an imported log the server has: the next piece begins there. Result is nil until
// it has all of them.
type LogProgress struct {
	Received int64      `json:"received"`
	Result   *LogImport `json:"result,omitzero"`
}

// LogImport is what the import of a log did.
type LogImport struct {
	Sessions []session.ID `json:"sessions"`
	Here     []session.ID `json:"here,omitzero"`    // those that were here already, and stay as they are
	Deleted  []session.ID `json:"deleted,omitzero"` // those that were deleted here after they had costs, and stay deleted
	Known    bool         `json:"known,omitzero"`   // nothing changed: no session of the file was missing
	Grants   int          `json:"grants,omitzero"`  // events from which rights were removed
	Missing  int          `json:"missing,omitzero"` // contents of files that the export did not have
}

// ExportLog calls read with the exported log of sessions and their children. An error of read is returned as it is.
func (c *Client) ExportLog(ctx context.Context, ids []session.ID, read func(io.Reader) error) error {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	k := call{
		method: http.MethodGet, path: apiPath("session", "log"), query: url.Values{"session": {strings.Join(names, ",")}},
	}
	resp, err := c.send(ctx, k)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body := &bodyReader{from: resp.Body}
	err = read(body)
	if body.err != nil && !errors.Is(body.err, io.EOF) { // the server could not go on
		return k.transportError(ctx, body.err)
	}
	return err
}

// bodyReader keeps the error with which a body ended.
type bodyReader struct {
	from io.Reader
	err  error
}

// Read implements io.Reader.
func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.err = err
	return n, err
}

// ImportLog sends a piece of an exported log.
func (c *Client) ImportLog(ctx context.Context, p LogPiece) (LogProgress, error) {
	var out Data[LogProgress]
	err := c.sendCall(ctx, call{method: http.MethodPost, path: apiPath("session", "log"), in: p, out: &out})
	return out.Data, err
}
