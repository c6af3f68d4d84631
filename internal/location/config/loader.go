package config

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

const maxErrors = 100 // of one configuration

// loader builds a Config, document by document.
type loader struct {
	opts     Options
	dirs     Directories
	getenv   func(string) string
	seen     map[string]bool // real paths of the files that were read
	stamps   []stamp
	own      map[string]bool   // names of the user's own commands
	literal  bool              // do not expand {env:NAME} and {file:path}
	withheld []document.Member // members of project documents that need trust
	config   *Config
}

func (l *loader) addWarning(at document.Position, kind WarningKind, key, message string) {
	l.config.Warnings = append(l.config.Warnings, Warning{at, kind, key, message})
}

// keepError stores an *Error and returns nil if Options.All is set; otherwise it returns err.
func (l *loader) keepError(err error) error {
	e, ok := errors.AsType[*document.Error](err)
	if !ok || !l.opts.All {
		return err
	}
	if len(l.config.Errors) < maxErrors {
		l.config.Errors = append(l.config.Errors, e)
	}
	return nil
}

// root is the top of the project's files.
func (l *loader) root() string {
	if l.opts.Worktree != "" {
		return l.opts.Worktree
	}
	return l.opts.Directory
}

// inProject returns the path below the project's root, with slashes; false when it is not there.
func (l *loader) inProject(path string) (string, bool) {
	rel, err := filepath.Rel(l.root(), path)
	if l.root() == "" || err != nil || !filepath.IsLocal(rel) || rel == "." {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// addStamp records the state of a file without reading it.
func (l *loader) addStamp(path string) {
	info, _ := os.Stat(path) // nil: missing
	l.stamps = append(l.stamps, stamp{path, info})
}
