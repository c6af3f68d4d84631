package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/record/logfile"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Piece is a part of an exported log that is being uploaded. SHA256 is the checksum of its last line; it names the
// upload.
type Piece struct {
	SHA256   string
	Size     int64 // of the whole file
	Offset   int64
	Data     []byte
	Location session.Location // of the imported sessions
}

// Progress says how much of an upload is here, and with the last piece what the import did.
type Progress struct {
	Received int64
	Result   *Result // nil until the last piece
}

// The bounds of uploads that wait for their next piece.
const (
	maxUploads = 8
	uploadAge  = 24 * time.Hour
)

// Upload receives the next piece, and imports the file with the last one. A piece may be sent again, and an upload that
// was cut off goes on at Received: a piece after it is not stored. The caller must be one that may approve, since a log
// says which contents a revert may write to files. A full disk is a store.ErrFull.
func (a *Archive) Upload(ctx context.Context, p Piece) (*Progress, error) {
	if err := a.CheckOpen(); err != nil {
		return nil, err
	}
	if err := caller.Require(ctx, caller.Approve, "an import of a log"); err != nil {
		return nil, err
	}
	if err := checkPiece(p); err != nil {
		return nil, err
	}
	got, err := a.receive(ctx, p)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = errors.Join(store.ErrFull, store.ErrUnavailable, err)
	}
	return got, err
}

// receive stores the piece, and imports the file with the last one.
func (a *Archive) receive(ctx context.Context, p Piece) (*Progress, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := a.openSpool(p.SHA256)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// Store what is not here yet.
	received, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if skip := received - p.Offset; skip >= 0 && skip < int64(len(p.Data)) {
		n, err := f.Write(p.Data[skip:])
		if received += int64(n); err != nil {
			return nil, err
		}
	}
	if received < p.Size {
		return &Progress{Received: received}, nil
	}
	// The file is here. It is not needed again, unless the same file may be imported later: then its first piece
	// repeats the import.
	result, err := a.importFile(ctx, f, p.Location)
	if isFinal(err) {
		_ = os.Remove(f.Name()) // an old upload is removed later
	}
	if e, ok := errors.AsType[*logfile.FormatError](err); ok {
		return nil, session.Errorf(session.CodeInvalid, "%v", e).At("data")
	}
	return &Progress{received, result}, err
}

// isFinal reports whether an import would end in the same way again: it succeeded, or was refused.
func isFinal(err error) bool {
	if errors.Is(err, store.ErrUnavailable) {
		return false
	}
	_, isInvalid := errors.AsType[*logfile.FormatError](err)
	_, isRefused := errors.AsType[*session.Error](err)
	return err == nil || isInvalid || isRefused
}

func checkPiece(p Piece) error {
	isDigest := len(p.SHA256) == 64 && strings.Trim(p.SHA256, "0123456789abcdef") == ""
	switch {
	case !isDigest:
		return session.Errorf(session.CodeInvalid, "the checksum must be 64 hexadecimal digits").At("sha256")
	case p.Size <= 0 || p.Size > logfile.MaxFile:
		return session.Errorf(session.CodeInvalid, "the size must be 1 to %d bytes, got %d", int64(logfile.MaxFile), p.Size).
			At("size")
	case p.Offset < 0 || p.Offset > p.Size-int64(len(p.Data)):
		return session.Errorf(session.CodeInvalid, "the piece is not inside of the %d bytes of the file", p.Size).At("offset")
	}
	return nil
}

// openSpool opens the file of the upload. A new one removes old uploads first.
func (a *Archive) openSpool(digest string) (*os.File, error) {
	dir := a.Files.SpoolDir()
	path := filepath.Join(dir, digest+".part")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	waiting := 0
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) > uploadAge {
			err = os.Remove(filepath.Join(dir, e.Name()))
		} else {
			waiting++
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if waiting >= maxUploads {
		return nil, session.Errorf(session.CodeTooMany, "%d imports of logs wait for the rest of their files, as many "+
			"as may; finish one, or try again after a day", waiting)
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}
