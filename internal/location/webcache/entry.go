package webcache

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// MaxBody is the number of bytes that are used of a page. A body that Read returns has one byte more if the page has
// more.
const MaxBody = 256 << 10

// entry is the last good answer of a page. It does not contain the address, which may contain a secret.
type entry struct {
	ETag      string `json:"etag,omitzero"`
	FetchedAt int64  `json:"fetchedAt"` // milliseconds since the Unix epoch; 0: never
	Body      []byte `json:"body"`
}

const (
	maxFile  = 2 * MaxBody // of base64, with an ETag
	maxFiles = 256         // the longest unused are removed
)

// entryDir is the directory of the files; "" has none.
type entryDir string

// pathOf returns the path of the file of an address.
func (d entryDir) pathOf(address string) string {
	sum := sha256.Sum256([]byte(address))
	return filepath.Join(string(d), hex.EncodeToString(sum[:12])+".json")
}

// read returns the stored answer; an unreadable file counts as none.
func (d entryDir) read(address string) (e entry) {
	if d == "" {
		return e
	}
	raw, err := statefile.Read(d.pathOf(address), maxFile)
	if err != nil || raw == nil || json.Unmarshal(raw, &e) != nil {
		return entry{}
	}
	return e
}

// write stores the answer. Without a file the page is fetched again after a restart, so errors are ignored.
func (d entryDir) write(address string, e entry) {
	if d == "" || os.MkdirAll(string(d), 0o700) != nil {
		return
	}
	if raw, err := json.Marshal(e, json.Deterministic(true)); err == nil && len(raw) <= maxFile {
		_ = statefile.Replace(d.pathOf(address), raw, 0o600)
	}
	d.removeOldest()
}

// removeOldest removes the files that were written longest ago, down to maxFiles.
func (d entryDir) removeOldest() {
	names, _ := filepath.Glob(filepath.Join(string(d), "*.json"))
	if len(names) <= maxFiles {
		return
	}
	var files []fs.FileInfo
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, old := range files[min(len(files), maxFiles):] {
		_ = os.Remove(filepath.Join(string(d), old.Name()))
	}
}
