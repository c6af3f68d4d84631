package snapshot

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// maxBase bounds the name of a copy, in bytes: it is written under a longer one first, and file systems allow 255.
const maxBase = 200

// CopyBlob implements scope.Worktree. The copy of a link is a file with its target. A content of a path is copied
// once.
func (w *DiskWorktree) CopyBlob(_ context.Context, p session.FilePath, blob string) (string, error) {
	content, err := w.options.Blobs.Read(blob, MaxBlob)
	if err != nil {
		return "", err
	}
	name := strings.ToValidUTF8(string(p), "_") // the path of the copy is shown and stored as text
	if base := path.Base(name); len(base) > maxBase {
		name = path.Join(path.Dir(name), strings.ToValidUTF8(base[:maxBase], ""))
	}
	copyPath := filepath.Join(w.options.Dir, "copies", blob[:16], filepath.FromSlash(name))
	if old, err := os.ReadFile(copyPath); err == nil && blobID(old) == blob {
		return copyPath, nil
	}
	if err := os.MkdirAll(filepath.Dir(copyPath), 0o700); err != nil {
		return "", err
	}
	return copyPath, statefile.Replace(copyPath, content, 0o600)
}
