package cell

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// grantLimits are paths that commands never get write access to, even if a person permits it. They may have symbolic
// links.
type grantLimits struct {
	home             string
	hidden, readable []string
}

// listGranted returns the paths to make writable for a command that was permitted to change paths outside of the
// location: each file or directory itself, and for a missing file its directory. It omits paths that would grant too
// much: the root, the home directory and those above it, hidden paths such as cairn's own, references and skills, and
// protected files.
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
