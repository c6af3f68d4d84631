package snapshot

import (
	"crypto/sha1" //nolint:gosec // names a list of files
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// leftFiles are the files that a capture leaves out, because they are large or cannot be read, with their size and
// modification time.
type leftFiles map[string][2]int64

func (l leftFiles) add(name string, info fs.FileInfo) {
	l[name] = [2]int64{info.Size(), info.ModTime().UnixNano()}
}

// nameCapture returns a name for captures of the tree that leave out these files.
func (l leftFiles) nameCapture(tree string) string {
	if len(l) == 0 {
		return tree
	}
	h := sha1.New() //nolint:gosec // see above
	for _, file := range slices.Sorted(maps.Keys(l)) {
		_, _ = fmt.Fprintf(h, "%s\x00%d\x00", file, l[file])
	}
	return tree + "+" + hex.EncodeToString(h.Sum(nil))
}
