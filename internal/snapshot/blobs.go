package snapshot

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha1" //nolint:gosec // git's names of contents
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MaxBlob bounds a content that is kept, in bytes.
const MaxBlob = 64 << 20

// unpinnedTime is how long a content without a pin is kept.
const unpinnedTime = 24 * time.Hour

// ErrNoBlob means that a content is not kept, or no longer.
var ErrNoBlob = errors.New("the content is not kept")

// ErrTooLarge means that a content or a directory is larger than what is kept.
var ErrTooLarge = errors.New("too large to be kept")

// Blobs keeps contents below a directory, compressed, each in a file that is named for its id. Sessions pin what they
// need. Safe for concurrent use, also by several processes.
type Blobs struct {
	dir string

	mu sync.Mutex // guards files of pins

	writers sync.Pool // of *flate.Writer
}

// NewBlobs returns the store in dir, which need not exist.
func NewBlobs(dir string) *Blobs { return &Blobs{dir: dir} }

func (b *Blobs) blobPath(id string) string { return filepath.Join(b.dir, "blobs", id[:2], id[2:]) }

func (b *Blobs) pinFile(owner string) string { return filepath.Join(b.dir, "pins", owner) }

// blobID returns git's id of a content.
func blobID(content []byte) string {
	h := sha1.New() //nolint:gosec // git's names of contents
	writeHeader(h, int64(len(content)))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

func writeHeader(w io.Writer, size int64) {
	_, _ = io.WriteString(w, "blob "+strconv.FormatInt(size, 10)+"\x00")
}

// Put keeps a content durably and returns its id.
func (b *Blobs) Put(content []byte) (string, error) {
	if len(content) > MaxBlob {
		return "", fmt.Errorf("%w: %d MiB, the limit is %d", ErrTooLarge, len(content)>>20, MaxBlob>>20)
	}
	id := blobID(content)
	path := b.blobPath(id)
	now := time.Now()
	if os.Chtimes(path, now, now) == nil { // it is kept, for another day without a pin
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

// Read returns a content of at most limit bytes. A damaged one is an error.
func (b *Blobs) Read(id string, limit int64) ([]byte, error) {
	if !isBlobID(id) {
		return nil, fmt.Errorf("%q is no id of a content", id)
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

// HasBlob reports whether a content is kept.
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

// PinBlobs keeps the contents until Unpin of the owner. It returns when that is durable.
func (b *Blobs) PinBlobs(owner string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := os.MkdirAll(filepath.Join(b.dir, "pins"), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(b.pinFile(owner), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n" + strings.Join(ids, "\n") + "\n") // a line that a crash cut off stays alone
	return errors.Join(err, f.Sync(), f.Close())
}

// ListOwners returns the owners of pins.
func (b *Blobs) ListOwners() (out []string, err error) {
	owners, err := b.readPins()
	for _, o := range owners {
		out = append(out, o.name)
	}
	return out, err
}

// UnpinAll ends the pins of an owner.
func (b *Blobs) UnpinAll(owner string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := os.Remove(b.pinFile(owner)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Usage is what the store takes.
type Usage struct {
	Blobs int
	Bytes int64
	Freed int64 // by Collect, and not part of Bytes
}

// Collect removes contents that nothing pins and that are older than a day. If the others take more than limit bytes,
// it ends the pins of the owners that were quiet longest, except those of the last day, until they fit. 0 is no limit.
func (b *Blobs) Collect(ctx context.Context, limit int64) (Usage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	files, err := b.list(ctx)
	if err != nil {
		return Usage{}, err
	}
	owners, err := b.readPins()
	if err != nil {
		return Usage{}, err
	}
	var u Usage
	for {
		u = Usage{}
		pinned := map[string]bool{}
		for _, o := range owners {
			for _, id := range o.ids {
				pinned[id] = true
			}
		}
		for _, f := range files {
			if pinned[f.id] || time.Since(f.time) < unpinnedTime {
				u.Blobs++
				u.Bytes += f.size
			}
		}
		if limit == 0 || u.Bytes <= limit || len(owners) == 0 || time.Since(owners[0].time) < unpinnedTime {
			return u, b.removeUnpinned(files, pinned, &u)
		}
		if err := os.Remove(b.pinFile(owners[0].name)); err != nil {
			return u, err
		}
		owners = owners[1:]
	}
}

// removeUnpinned removes the old contents that nothing pins.
func (b *Blobs) removeUnpinned(files []blobFile, pinned map[string]bool, u *Usage) error {
	for _, f := range files {
		if pinned[f.id] || time.Since(f.time) < unpinnedTime {
			continue
		}
		if err := os.Remove(f.path); err != nil {
			return err
		}
		u.Freed += f.size
	}
	return nil
}

type blobFile struct {
	path, id string
	size     int64
	time     time.Time
}

// list returns the files of contents, and of writes that were cut off.
func (b *Blobs) list(ctx context.Context) (out []blobFile, err error) {
	top := filepath.Join(b.dir, "blobs")
	err = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case e.IsDir():
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			id := filepath.Base(filepath.Dir(path)) + e.Name()
			out = append(out, blobFile{path, id, info.Size(), info.ModTime()})
		}
		return err
	})
	return out, err
}

type pinOwner struct {
	name string
	ids  []string
	time time.Time // of the newest pin
}

// readPins returns the owners, the one that was quiet longest first.
func (b *Blobs) readPins() (out []pinOwner, err error) {
	entries, err := os.ReadDir(filepath.Join(b.dir, "pins"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		info, infoErr := e.Info()
		raw, readErr := os.ReadFile(b.pinFile(e.Name()))
		if infoErr != nil || readErr != nil {
			return nil, errors.Join(err, infoErr, readErr)
		}
		o := pinOwner{name: e.Name(), time: info.ModTime()}
		for line := range bytes.Lines(raw) {
			o.ids = append(o.ids, string(bytes.TrimSpace(line)))
		}
		out = append(out, o)
	}
	slices.SortFunc(out, func(x, y pinOwner) int { return x.time.Compare(y.time) })
	return out, err
}
