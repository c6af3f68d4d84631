package instruction

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/location/webcache"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// File is an instruction file as the model receives it.
type File struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// maxHanging bounds the reads of one source that wait for a file system.
const maxHanging = 16

// reader reads the files of one source.
type reader struct {
	Options
	candidates func() [][]candidate
	running    atomic.Int32
	at         atomic.Pointer[string] // the file that was opened last
}

// read returns the files, or a *systemcontext.ReadError. It does not wait for a file system that hangs longer than ctx.
func (r *reader) read(ctx context.Context) ([]File, error) {
	type result struct {
		files []File
		err   error
	}
	done := make(chan result, 1)
	if r.running.Add(1) <= maxHanging {
		go func() {
			defer r.running.Add(-1)
			files, err := r.readAll(ctx, r.candidates())
			done <- result{files, err}
		}()
	} else {
		r.running.Add(-1)
	}
	select {
	case found := <-done:
		return found.files, found.err
	case <-ctx.Done():
	}
	select {
	case found := <-done:
		return found.files, found.err
	case <-time.After(graceTime):
		return nil, &systemcontext.ReadError{Problems: []string{*r.at.Load() + ": the file system does not answer"}}
	}
}

// graceTime is the time that remains for a read that ends because ctx has ended.
const graceTime = 100 * time.Millisecond

// readAll returns the first existing file of each group, each file once, until the limit is reached. The error names
// the files that exist and cannot be read.
func (r *reader) readAll(ctx context.Context, groups [][]candidate) (files []File, err error) {
	seen := map[string]bool{}
	rest := MaxBytes
	var problems []string
	// take adds a file, or the problem of one that cannot be read, and counts the bytes that are left.
	take := func(f File, err error, c candidate) {
		switch {
		case err != nil:
			problems = append(problems, c.describeError(err))
		case f.Content != "":
			rest = max(0, rest-len(f.Content))
			files = append(files, f)
		}
	}
	// Fetch all pages at once; they take their places among the files below.
	pages := r.readPages(ctx, groups)
	for _, group := range groups {
		// Of each group take the first candidate that exists; a break ends the group.
		for _, c := range group {
			// A page is used once. A page that could not be fetched is replaced by a note, unless it is required.
			if c.page {
				if p := pages[c.path]; p != nil {
					delete(pages, c.path)
					if p.err != nil && !c.required {
						*p = webPage{body: []byte(NotFetched)}
					}
					take(File{webcache.ShowAddress(c.path), clean(p.body, rest, "the page is longer")}, p.err, c)
				}
				break
			}
			// A file. at says which file is being read, for a report if the file system does not answer.
			r.at.Store(&c.path)
			real, exists, err := findFile(c)
			if err == nil && !exists {
				continue
			}
			// The same file under another name is not repeated.
			if err == nil && seen[real] {
				break
			}
			seen[real] = true
			var f File
			if err == nil {
				f, err = readContent(c, real, rest)
			}
			take(f, err, c)
			break
		}
	}
	if len(problems) > 0 {
		return nil, &systemcontext.ReadError{Problems: problems}
	}
	return files, nil
}

// NotFetched stands for a page that is not required. It is the same for every reason, so that the context stays as it
// is while the network changes.
const NotFetched = "(Not fetched yet: this page cannot be reached, so its instructions are missing here.)"

// describeError names the candidate by its own path, whichever path the failed operation had.
func (c candidate) describeError(err error) string {
	if c.page {
		return webcache.ShowAddress(c.path) + ": " + err.Error()
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return c.path + ": " + err.Error()
}

// findFile returns the canonical path of a candidate that exists. A folder, pipe or socket is an error unless the
// configuration names it; a device, as it hides files in containers, counts as missing.
func findFile(c candidate) (real string, exists bool, err error) {
	info, err := os.Stat(c.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return "", false, nil
	case err != nil:
		return "", false, err
	case info.Mode()&fs.ModeDevice != 0, c.configured && !info.Mode().IsRegular():
		return "", false, nil
	case info.IsDir():
		return "", false, errors.New("is a folder")
	case !info.Mode().IsRegular():
		return "", false, errors.New("is not a regular file")
	}
	real, err = filepath.EvalSymlinks(c.path)
	return real, err == nil, err
}

// readContent reads at most limit bytes, whole lines where possible, and notes what is missing.
func readContent(c candidate, real string, limit int) (File, error) {
	f, outside, err := open(c, real)
	switch {
	case outside:
		return File{c.path, "(Not read: it is a link that leads out of the project.)"}, nil
	case err != nil:
		return File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	if !info.Mode().IsRegular() {
		return File{}, errors.New("not a regular file any more")
	}
	raw, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return File{}, err
	}
	return File{c.path, clean(raw, limit, fmt.Sprintf("the file is %d bytes long", info.Size()))}, nil
}

// open opens the file without blocking; inside of a root it cannot be redirected out of it.
func open(c candidate, real string) (f *os.File, outside bool, err error) {
	if c.root == "" {
		f, err = os.OpenFile(real, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		return f, false, err
	}
	rel, err := filepath.Rel(c.root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, true, nil
	}
	root, err := os.OpenRoot(c.root)
	if err != nil {
		return nil, false, err
	}
	defer root.Close()
	f, err = root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return f, false, err
}

// cut returns at most limit bytes of raw: up to the last end of line in the second half, else up to a whole character.
func cut(raw []byte, limit int) []byte {
	if len(raw) <= limit {
		return raw
	}
	raw = raw[:limit]
	if i := strings.LastIndexByte(string(raw), '\n'); i > limit/2 {
		return raw[:i]
	}
	for i := len(raw) - 1; i >= max(0, len(raw)-utf8.UTFMax); i-- {
		if utf8.RuneStart(raw[i]) {
			if !utf8.FullRune(raw[i:]) {
				return raw[:i]
			}
			break
		}
	}
	return raw
}
