package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// unpinnedRetention is the time for which a content without a pin is kept.
const unpinnedRetention = 24 * time.Hour

// Collect removes contents that no owner pins and that were stored more than unpinnedRetention ago. If the others take
// more than limit bytes, it removes the pins of owners, beginning with the one whose last pin is oldest, until they
// fit; owners that pinned within unpinnedRetention keep theirs. The limit 0 means no limit.
func (b *Blobs) Collect(ctx context.Context, limit int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	// List what is stored, and the owners, the one whose last pin is oldest first.
	files, err := b.listFiles(ctx)
	if err != nil {
		return err
	}
	owners, err := b.readPins()
	if err != nil {
		return err
	}
	// Remove the pins of one owner after the other until the rest fits.
	for {
		// Compute what would be kept now.
		pinned := map[string]bool{}
		for _, o := range owners {
			for _, id := range o.ids {
				pinned[id] = true
			}
		}
		var size int64
		for _, f := range files {
			if f.isRetained(pinned) {
				size += f.size
			}
		}
		// It fits, or no more pins may be removed: delete the contents.
		if limit == 0 || size <= limit || len(owners) == 0 || time.Since(owners[0].time) < unpinnedRetention {
			return removeUnpinned(files, pinned)
		}
		// Give up the oldest owner's pins. Its contents go only if no other owner pins them.
		if err := os.Remove(b.pinFile(owners[0].name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		owners = owners[1:]
	}
}

// ListDamaged reads all contents. It returns how many there are and the files of those that are damaged.
func (b *Blobs) ListDamaged(ctx context.Context) (read int, damaged []string, err error) {
	files, err := b.listFiles(ctx)
	for _, f := range files {
		if !isBlobID(f.id) {
			continue
		}
		if ctx.Err() != nil {
			return read, damaged, context.Cause(ctx)
		}
		switch _, err := b.Read(f.id, MaxBlob); {
		case errors.Is(err, ErrNoBlob): // it was removed meanwhile
			continue
		case err != nil:
			damaged = append(damaged, f.path)
		}
		read++
	}
	return read, damaged, err
}

// removeUnpinned removes the old contents that no owner pins.
func removeUnpinned(files []blobFile, pinned map[string]bool) error {
	for _, f := range files {
		if f.isRetained(pinned) {
			continue
		}
		info, err := os.Stat(f.path)
		if err == nil && time.Since(info.ModTime()) >= unpinnedRetention { // else it was stored again meanwhile
			err = os.Remove(f.path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // another process collects as well
			return err
		}
	}
	return nil
}

// blobFile is the file of a content, or of an interrupted Put: then its id is that of no content.
type blobFile struct {
	path, id string
	size     int64     // compressed bytes
	time     time.Time // when the content was stored last
}

// isRetained reports whether the content is pinned, or was stored within unpinnedRetention.
func (f blobFile) isRetained(pinned map[string]bool) bool {
	return pinned[f.id] || time.Since(f.time) < unpinnedRetention
}

// listFiles returns the files of contents, also those of interrupted Puts.
func (b *Blobs) listFiles(ctx context.Context) (out []blobFile, err error) {
	top := filepath.Join(b.dir, "blobs")
	err = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		// A file or folder that another process removes meanwhile is no error.
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
