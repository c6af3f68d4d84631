package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// What the folder of managed files may hold, unless Outputs says otherwise (spec/v2 TB-4, docs/adr/0011).
const (
	MaxOutputFile = 4 << 30            // bytes of one file
	OutputAge     = 7 * 24 * time.Hour // since a file was last written
	maxReserve    = 1 << 30            // bytes of the disk that stay free, unless a tenth of it is less
)

// Outputs is the flat folder of managed output files: what tools said beyond the limits, one file each, with the
// session to which it belongs in its name. Files are made exclusively with mode 0600 in a folder of mode 0700. Safe for
// concurrent use; the zero value but for Dir is ready.
type Outputs struct {
	Dir string // absolute; made when first needed
	IDs *session.IDs
	Log *slog.Logger // nil: nothing is logged

	File    int64 // bytes that one file may have, 0 is MaxOutputFile; all together may have twice as many
	Reserve int64 // bytes of the disk that stay free, 0 is a GiB or a tenth of a small disk

	mu      sync.Mutex // guards ids, written and open
	ids     session.IDs
	written int64           // bytes since the last sweep
	open    map[string]bool // files that are being written; no sweep takes them
}

func (o *Outputs) maxFile() int64 { return cmp.Or(o.File, MaxOutputFile) }

// maxAll is how much all files may have together.
func (o *Outputs) maxAll() int64 { return 2 * o.maxFile() }

// reservedSpace is how much of the file's disk stays free.
func (o *Outputs) reservedSpace(f *os.File) int64 {
	return cmp.Or(o.Reserve, min(maxReserve, diskSize(f)/10))
}

// createFile makes a new managed file of the session.
func (o *Outputs) createFile(id session.ID) (*os.File, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for tool output: %w", err)
	}
	ids := &o.ids
	if o.IDs != nil {
		ids = o.IDs
	}
	name := filepath.Join(o.Dir, ids.New(session.PrefixTool)+fileSuffix(id))
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make a tool output file: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		o.open = map[string]bool{}
	}
	o.open[filepath.Base(name)] = true
	return f, nil
}

// releaseFile says that a file is not written any more.
func (o *Outputs) releaseFile(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, filepath.Base(path))
}

func (o *Outputs) isOpen(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open[name]
}

// fileSuffix names the session. One whose id not every file system takes is not named: its files go when they are old.
func fileSuffix(id session.ID) string {
	unfit := func(c rune) bool {
		return c > 'z' || !strings.ContainsRune("-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", c)
	}
	if id == "" || strings.ContainsFunc(string(id), unfit) {
		return ""
	}
	return ownedBy + string(id)
}

// ownedBy stands between a file's own id and its session's.
const ownedBy = "-"

// fileOwner returns the session to which a managed file belongs, "" if nobody knows.
func fileOwner(name string) session.ID {
	_, id, _ := strings.Cut(name, ownedBy)
	return session.ID(id)
}

// countWritten counts what was stored and sweeps when an eighth of the folder's allowance came since the last sweep.
func (o *Outputs) countWritten(ctx context.Context, n int64) {
	o.mu.Lock()
	o.written += n
	due := o.written > o.maxAll()/8
	if due {
		o.written = 0
	}
	o.mu.Unlock()
	if !due {
		return
	}
	if err := o.RemoveOld(ctx, time.Now()); err != nil && o.Log != nil {
		o.Log.WarnContext(ctx, "old tool output could not be removed", "error", err)
	}
}

// RemoveOld removes files that were last written longer than OutputAge before now, and then the oldest until the rest fits
// into the folder's allowance. It touches only regular files of its own naming, none that is being written. Call it at
// start and every hour.
func (o *Outputs) RemoveOld(ctx context.Context, now time.Time) error {
	entries, err := os.ReadDir(o.Dir)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep tool output: %w", err)
	}
	var kept []fs.FileInfo
	var total int64
	var failed error // the first failure; the sweep goes on
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		info, err := e.Info()
		if err != nil || !isManagedFile(info) {
			continue
		}
		total += info.Size()
		switch {
		case o.isOpen(info.Name()):
		case now.Sub(info.ModTime()) > OutputAge:
			total -= info.Size()
			failed = cmp.Or(failed, o.removeFile(info))
		default:
			kept = append(kept, info)
		}
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range kept {
		if total <= o.maxAll() {
			break
		}
		failed = cmp.Or(failed, o.removeFile(info))
		total -= info.Size()
	}
	return failed
}

// Remove removes the session's files, and those of the paths that are files of the folder, of its own naming; others
// are left alone.
func (o *Outputs) Remove(id session.ID, paths []string) error {
	// the first failure; the others are removed
	failed := o.RemoveOrphans(
		context.Background(), time.Time{}, func(of session.ID) (bool, error) { return of == id, nil },
	)
	for _, p := range paths {
		if filepath.Dir(p) != filepath.Clean(o.Dir) {
			continue
		}
		info, err := os.Lstat(p)
		if err == nil && isManagedFile(info) {
			failed = cmp.Or(failed, o.removeFile(info))
		}
	}
	return failed
}

// Read returns at most n bytes of a file of the folder from an offset on, which counts from the end if it is negative,
// and the offset behind them. It ends at a character, and from the end begins at one. Any other path is one that does
// not exist.
func (o *Outputs) Read(path string, offset int64, n int) (text []byte, next int64, err error) {
	info, err := os.Lstat(path)
	if err == nil && (filepath.Dir(path) != filepath.Clean(o.Dir) || !isManagedFile(info)) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read tool output: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read tool output: %w", err)
	}
	defer func() { _ = f.Close() }()
	fromEnd := offset < 0
	if fromEnd {
		offset = max(0, info.Size()+offset)
	}
	text = make([]byte, n)
	read, err := f.ReadAt(text, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, fmt.Errorf("read tool output: %w", err)
	}
	text = text[:read]
	if fromEnd && offset > 0 {
		begin := runeAfter(text, 0)
		text, offset = text[begin:], offset+int64(begin)
	}
	text = text[:len(text)-incompleteSuffix(text)]
	return text, offset + int64(len(text)), nil
}

// RemoveOrphans removes the files of sessions that are gone, which is asked once for each session that has any. With a
// time before, files last written since then stay.
func (o *Outputs) RemoveOrphans(ctx context.Context, before time.Time, gone func(session.ID) (bool, error)) error {
	entries, err := os.ReadDir(o.Dir)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("look for tool output of sessions that are gone: %w", err)
	}
	var failed error // the first failure; the others are removed
	known := map[session.ID]bool{}
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		id := fileOwner(e.Name())
		if id == "" {
			continue
		}
		orphan, asked := known[id]
		if !asked {
			is, err := gone(id)
			failed = cmp.Or(failed, err)
			orphan = is && err == nil // it stays while nobody can say
			known[id] = orphan
		}
		info, err := e.Info()
		if err == nil && orphan && isManagedFile(info) && (before.IsZero() || info.ModTime().Before(before)) {
			failed = cmp.Or(failed, o.removeFile(info))
		}
	}
	return failed
}

// isManagedFile reports whether a file of the folder is one of ours.
func isManagedFile(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && strings.HasPrefix(info.Name(), string(session.PrefixTool)+"_")
}

func (o *Outputs) removeFile(info fs.FileInfo) error {
	err := os.Remove(filepath.Join(o.Dir, info.Name()))
	if err == nil || os.IsNotExist(err) {
		return nil
	}
	return fmt.Errorf("sweep tool output: %w", err)
}
