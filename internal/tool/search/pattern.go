package search

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/cairn-dev/cairn/internal/tool"
)

// filePattern matches paths as search tools do: ** matches directories at any depth, * stays within a name, {a,b} is a
// choice. A pattern without a slash matches the name in any directory.
type filePattern struct {
	glob   string
	hidden bool // it contains a name that begins with a dot
}

func newFilePattern(pattern string) (filePattern, error) {
	glob := strings.TrimPrefix(filepath.ToSlash(pattern), "./")
	if !doublestar.ValidatePattern(glob) {
		return filePattern{}, tool.Failf(
			"The pattern %q is not valid: a bracket or brace is not closed. Escape literal ones with a backslash.", pattern,
		)
	}
	hidden := strings.HasPrefix(glob, ".") || strings.Contains(glob, "/.") || strings.Contains(glob, "{.") ||
		strings.Contains(glob, ",.")
	if !strings.Contains(glob, "/") {
		glob = "**/" + glob
	}
	return filePattern{strings.TrimPrefix(glob, "/"), hidden}, nil
}

func (f filePattern) matchesPath(rel string) bool { return doublestar.MatchUnvalidated(f.glob, rel) }

// splitPattern splits an absolute pattern, or one that begins with ../, into its directory and the rest.
func splitPattern(pattern string) (dir, rest string) {
	slashed := filepath.ToSlash(pattern)
	if !filepath.IsAbs(pattern) && !strings.HasPrefix(slashed, "../") {
		return "", pattern
	}
	dir, rest = doublestar.SplitPattern(slashed)
	return filepath.FromSlash(path.Clean(dir)), rest
}
