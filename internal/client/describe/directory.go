package describe

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// FormatDirectory returns the directory as it is seen from another one: "." for the same, a relative path below it, else
// the whole path.
func FormatDirectory(dir, from string) string {
	rel, err := filepath.Rel(from, dir)
	switch {
	case err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)):
		return terminal.FirstLine(dir, 80)
	case rel == ".":
		return rel
	default:
		return terminal.FirstLine(rel, 80) + "/"
	}
}

// FindGone returns the directories of sessions of this machine that do not exist any more.
func FindGone(list []*session.Session) map[string]bool {
	gone := map[string]bool{}
	for _, s := range list {
		if _, known := gone[s.Location.Directory]; !known {
			_, err := os.Stat(s.Location.Directory)
			gone[s.Location.Directory] = errors.Is(err, fs.ErrNotExist)
		}
	}
	return gone
}

// MarkGone marks the words about a session whose directory does not exist any more.
func MarkGone(text string, isGone bool) string {
	if !isGone {
		return text
	}
	return text + " (directory is gone)"
}
