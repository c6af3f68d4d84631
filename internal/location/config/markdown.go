package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

const (
	maxMarkdown = 512 // files of one folder
	maxFolders  = 64  // below one folder
)

// listMarkdown returns the Markdown files of a part below a folder, sorted. Each defines an entry named by its path
// below the folder without the extension.
func (l *loader) listMarkdown(s source) []source {
	var out []source
	folders := 0
	var walk func(dir, prefix string)
	walk = func(dir, prefix string) {
		// Stamp each folder: a new file in it changes the configuration.
		l.addStamp(dir)
		entries, err := os.ReadDir(dir)
		if folders++; err != nil || folders > maxFolders {
			return
		}
		// Links to folders are not followed, so the walk ends.
		for _, e := range entries {
			name, path := e.Name(), filepath.Join(dir, e.Name())
			switch entry, isMarkdown := strings.CutSuffix(name, ".md"); {
			case e.IsDir():
				walk(path, prefix+name+"/")
			case isMarkdown && len(out) == maxMarkdown:
				l.addWarning(document.Position{File: path}, WarnIgnored, "", "is not read: the folder has too many files")
				return
			case isMarkdown && entry != "" && l.staysInProject(s.layer, path):
				out = append(out, source{path: path, layer: s.layer, part: s.part, entry: prefix + entry})
			}
		}
	}
	walk(s.path, "")
	slices.SortStableFunc(out, func(a, b source) int { return strings.Compare(a.entry, b.entry) })
	return out
}

// staysInProject reports whether a document may be read: a project's file must not be a link to a file outside of it.
func (l *loader) staysInProject(sc document.Layer, path string) bool {
	if sc != document.LayerProject {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if _, inside := l.inProject(real); err == nil && inside {
		return true
	}
	l.addWarning(document.Position{File: path}, WarnIgnored, "", "is not read: it leads out of the project")
	return false
}
