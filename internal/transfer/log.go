package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/logfile"
	"github.com/cairn-dev/cairn/internal/session"
)

// WriteLog writes the log of the sessions and of their children as JSON Lines, which ImportLog reads (record/logfile).
// It keeps everything, secrets too, unless the export is sanitised; then it is for people, and cannot be imported. It
// returns how many contents of files were not stored any more.
func (e *Export) WriteLog(ctx context.Context, w io.Writer, ids []session.ID) (missing int, err error) {
	var t logfile.Trailer
	err = e.API.ExportLog(ctx, ids, func(from io.Reader) (err error) {
		if e.Sanitize {
			return e.sanitizeLog(w, from)
		}
		t, err = logfile.Copy(w, from)
		return err
	})
	return t.Missing, err
}

// sanitizeLog copies the events of a log without texts, and nothing of what is stored outside of it.
func (e *Export) sanitizeLog(w io.Writer, from io.Reader) error {
	r, err := logfile.NewReader(from)
	if err != nil {
		return err
	}
	h := r.Header
	h.Sanitized = true
	out, err := logfile.NewWriter(w, h)
	if err != nil {
		return err
	}
	omitted := 0
	for {
		item, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return out.Close(omitted)
		case err != nil:
			return err
		case item.Event == nil:
			if item.Chunk.Offset == 0 {
				omitted++
				e.note(string(item.Chunk.Kind), fmt.Sprintf("%d bytes", item.Chunk.Size))
			}
			continue
		}
		row := *item.Event
		row.Data, row.Private = e.sanitizeStored(row.Data), nil
		if err := out.WriteEvent(&row); err != nil {
			return err
		}
	}
}

// IsLog reports whether the document is an exported log, by its first bytes.
func IsLog(from io.ReadSeeker) (bool, error) {
	begin := make([]byte, 64)
	n, err := io.ReadFull(from, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	_, err = from.Seek(0, io.SeekStart)
	return logfile.HasFormat(begin[:n]), err
}

// logPiece is the number of bytes that are sent at once: less than the server's limit for a body, in base64.
const logPiece = 1 << 20

// ImportLog reads an exported log to its end, and imports its sessions at the client's location. The server checks it
// again, and has all of its sessions then, or none. The same log again changes nothing. What is wrong with the file is
// a *FormatError.
func ImportLog(ctx context.Context, c *api.Client, name string, from io.ReadSeeker) (*api.LogImport, error) {
	trailer, err := checkLog(name, from)
	if err != nil {
		return nil, err
	}
	size, err := from.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	// Send what the server does not have; it says where to go on, and is asked no more often than there are pieces.
	p := api.LogPiece{SHA256: trailer.SHA256, Size: size}
	buf := make([]byte, logPiece)
	for range size/logPiece + 2 {
		n := min(logPiece, size-p.Offset)
		if _, err := from.Seek(p.Offset, io.SeekStart); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(from, buf[:n]); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		p.Data = buf[:n]
		got, err := c.ImportLog(ctx, p)
		if err != nil || got.Result != nil {
			return got.Result, err
		}
		if got.Received < 0 || got.Received > size {
			break
		}
		p.Offset = got.Received
	}
	return nil, errors.New("the server does not take the file; it may be imported twice at once: try again")
}

// checkLog reads the whole file.
func checkLog(name string, from io.ReadSeeker) (logfile.Trailer, error) {
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return logfile.Trailer{}, err
	}
	r, err := logfile.NewReader(from)
	if err == nil {
		err = r.Header.CheckImport()
	}
	for err == nil {
		_, err = r.Next()
	}
	if e, ok := errors.AsType[*logfile.FormatError](err); ok {
		return logfile.Trailer{}, &FormatError{Name: name, Line: int(e.Line), What: e.What}
	}
	if !errors.Is(err, io.EOF) {
		return logfile.Trailer{}, err
	}
	return r.Trailer, nil
}
