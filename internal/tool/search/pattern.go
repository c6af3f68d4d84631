package search

import (
	"path"
	"path/filepath"
	"slices"
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

// literalForms returns the pattern with its brackets, its braces and both as characters of names. Route folders of web
// frameworks have such names; a pattern that finds nothing may mean one. A choice, which has a comma, stays one.
func literalForms(pattern string) (forms []string) {
	if strings.Contains(pattern, `\`) {
		return nil
	}
	for _, signs := range []string{"[]", "{}", "[]{}"} {
		form := pattern
		for _, sign := range strings.Split(signs, "") {
			form = strings.ReplaceAll(form, sign, `\`+sign)
		}
		isChoice := strings.Contains(signs, "{") && strings.Contains(pattern, ",")
		if form != pattern && !isChoice && !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
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
