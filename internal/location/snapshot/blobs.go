package snapshot

import (
	"compress/flate"
	"crypto/sha1" //nolint:gosec // git's names of contents
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// MaxBlob bounds the contents that are stored, in bytes.
const MaxBlob = 64 << 20

// ErrNoBlob is the error of a content that is not stored, or no longer.
var ErrNoBlob = errors.New("it is not stored: it was larger than 64 MiB, or was removed to free space")

// ErrTooLarge is the error of a content or a directory that is too large to be stored.
var ErrTooLarge = errors.New("too large for a snapshot")

// Blobs stores contents, each under its id: the SHA-1 that git gives it as a blob, in hexadecimal. They are compressed
// files below dir/blobs that are named for their ids. Each owner, which is a session, pins those that it needs in its
// file below dir/pins. Safe for concurrent use, also by several processes.
type Blobs struct {
	dir string

	mu       sync.Mutex               // guards the files of pins, removals, and the fields below
	holds    int                      // that last
	captures map[string]int           // the HoldCaptures that last, by Options.Dir
	prunes   map[string]chan struct{} // closed when a PruneCaptures of this Options.Dir has ended

	writers sync.Pool // of *flate.Writer
}

// NewBlobs returns the store in dir, which is created when something is stored.
func NewBlobs(dir string) *Blobs {
	return &Blobs{dir: dir, captures: map[string]int{}, prunes: map[string]chan struct{}{}}
}

func (b *Blobs) blobPath(id string) string { return filepath.Join(b.dir, "blobs", id[:2], id[2:]) }

// blobID returns the id of a content.
func blobID(content []byte) string {
	h := sha1.New() //nolint:gosec // git's names of contents
	writeHeader(h, int64(len(content)))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// writeHeader writes what git hashes before the content of a blob.
func writeHeader(w io.Writer, size int64) {
	_, _ = io.WriteString(w, "blob "+strconv.FormatInt(size, 10)+"\x00")
}

// Put stores a content and returns its id when the content is synced. It is not removed for a day, and later only if no
// owner has pinned it. A content of more than MaxBlob bytes is ErrTooLarge.
func (b *Blobs) Put(content []byte) (string, error) {
	if len(content) > MaxBlob {
		return "", fmt.Errorf("%w: %d MiB, the limit is %d", ErrTooLarge, len(content)>>20, MaxBlob>>20)
	}
	id := blobID(content)
	path := b.blobPath(id)
	now := time.Now()
	if os.Chtimes(path, now, now) == nil { // it is stored; the new time protects it for another day
		return id, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return "", err
	}
	err = errors.Join(b.compress(f, content), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return id, nil
}

func (b *Blobs) compress(w io.Writer, content []byte) error {
	z, ok := b.writers.Get().(*flate.Writer)
	if ok {
		z.Reset(w)
	} else {
		var err error
		if z, err = flate.NewWriter(w, flate.BestSpeed); err != nil {
			return err
		}
	}
	defer b.writers.Put(z)
	_, err := z.Write(content)
	return errors.Join(err, z.Close())
}

// Read returns the content with the id. It is ErrNoBlob without one, ErrTooLarge above limit bytes, and another error
// if the stored content does not have the id.
func (b *Blobs) Read(id string, limit int64) ([]byte, error) {
	if !isBlobID(id) {
		return nil, fmt.Errorf("%q is not the id of a content", id)
	}
	f, err := os.Open(b.blobPath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoBlob
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(flate.NewReader(f), limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the content %s: %w", id, err)
	case int64(len(content)) > limit:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	case blobID(content) != id:
		return nil, fmt.Errorf("the content %s is damaged", id)
	}
	return content, nil
}

// HasBlob reports whether a content is stored. It may be damaged.
func (b *Blobs) HasBlob(id string) bool {
	if !isBlobID(id) {
		return false
	}
	_, err := os.Stat(b.blobPath(id))
	return err == nil
}

func isBlobID(id string) bool {
	_, err := hex.DecodeString(id)
	return err == nil && len(id) == 40
}
