package host

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/sandbox"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// grantLimits are the paths that no permission for a path outside of the location opens, unresolved.
type grantLimits struct {
	home             string
	hidden, readable []string
}

// listGranted returns what a command may write of the paths outside of the location that it was permitted to change:
// each file or directory itself, and of a file that does not exist its directory. It leaves out what would open more
// than that: the root, the home directory and those above it, hidden paths such as cairn's own, references and skills,
// and protected files.
func (c grantLimits) listGranted(paths []string) (granted []string) {
	closed := resolveAll(slices.Concat(c.hidden, c.readable))
	home := resolveAll([]string{c.home})[0]
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			path = filepath.Dir(path)
			info, err = os.Stat(path)
		}
		isTooMuch := err != nil || path == filepath.Dir(path) || permission.ProtectedName(path) != "" ||
			home != "" && info.IsDir() && isAtOrBelow(path, home) ||
			slices.ContainsFunc(closed, func(dir string) bool { return isAtOrBelow(dir, path) }) ||
			sandbox.Policy{Write: []string{path}, Hide: c.hidden}.FindExposed() != ""
		if !isTooMuch && !slices.Contains(granted, path) {
			granted = append(granted, path)
		}
	}
	return granted
}

// resolveAll returns the paths without symbolic links.
func resolveAll(paths []string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = path
		if real, err := workpath.ResolveLinks(path); err == nil && path != "" {
			out[i] = real
		}
	}
	return out
}

// isAtOrBelow reports whether path is dir or below it.
func isAtOrBelow(dir, path string) bool {
	_, ok := workpath.RelativeTo(dir, path)
	return ok
}
