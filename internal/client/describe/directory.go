package describe

import (
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/terminal"
)

// FormatDirectory returns the directory as it is seen from another one: "." for the same, a relative path below it,
// else the whole path.
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

// MarkMissingDirectory adds to the words about a session that its directory does not exist any more.
func MarkMissingDirectory(text string, isMissing bool) string {
	if !isMissing {
		return text
	}
	return text + " (directory is gone)"
}
