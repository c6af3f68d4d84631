package snapshot

import (
	"crypto/sha1" //nolint:gosec // names a list of files
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxUntracked bounds a file that is captured and not tracked by git, in bytes, as in OpenCode.
const maxUntracked = 2 << 20

// omittedFiles lists the files that a capture leaves out, by path, with two numbers that tell whether it changed: files
// that are large or cannot be read with their size in bytes and modification time in nanoseconds, and repositories
// inside of the worktree.
type omittedFiles map[string][2]int64

func (o omittedFiles) add(name string, info fs.FileInfo) {
	o[name] = [2]int64{info.Size(), info.ModTime().UnixNano()}
}

// addUnreadable adds a file of which nothing is known.
func (o omittedFiles) addUnreadable(name string) { o[name] = [2]int64{-1, -1} }

// nameCapture returns a name for captures of the tree that leave out these files.
func (o omittedFiles) nameCapture(tree string) string {
	if len(o) == 0 {
		return tree
	}
	h := sha1.New() //nolint:gosec // see above
	for _, file := range slices.Sorted(maps.Keys(o)) {
		_, _ = fmt.Fprintf(h, "%s\x00%d\x00", file, o[file])
	}
	return tree + "+" + hex.EncodeToString(h.Sum(nil))
}

// listChanged returns the files, sorted, that only one of two captures left out, or whose size or time differ.
func (o omittedFiles) listChanged(after omittedFiles) (out []session.FilePath) {
	for name := range o {
		if o[name] != after[name] {
			out = append(out, session.FilePath(name))
		}
	}
	for name := range after {
		if _, both := o[name]; !both {
			out = append(out, session.FilePath(name))
		}
	}
	slices.Sort(out)
	return out
}
