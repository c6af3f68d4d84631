package snapshot

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// BackupFile implements location.Worktree. The copy of a link is a file with its target. Without a file the path of the
// copy is "".
func (w *DiskWorktree) BackupFile(_ context.Context, p session.FilePath) (string, error) {
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return "", err
	}
	defer root.Close()
	state, err := readState(root, string(p))
	if err != nil || state.IsAbsent() || state.Mode == modeDirectory {
		return "", err
	}
	content, err := readContent(root, string(p), state.Mode)
	if err != nil {
		return "", err
	}
	name := strings.ToValidUTF8(string(p), "_") // the path of the copy is shown and stored as text
	copyPath := filepath.Join(w.options.Dir, "copies", rand.Text(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(copyPath), 0o700); err != nil {
		return "", err
	}
	return copyPath, statefile.Replace(copyPath, content, 0o600)
}
