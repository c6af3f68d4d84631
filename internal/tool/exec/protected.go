package exec

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// protectedGuard finds changes of protected paths that the kernel did not prevent: of names that did not exist when the
// command started, and of all on systems that forbid namespaces. It compares the protected paths only, so its cost does
// not depend on the size of the project.
type protectedGuard struct {
	held string
	log  *slog.Logger

	mu     sync.Mutex // guards before
	before map[string]string
}

// newProtectedGuard returns the guard of protected paths for a command that starts now, nil without paths. held is
// the folder for new files.
func newProtectedGuard(paths []string, held string, log *slog.Logger) *protectedGuard {
	if held == "" || len(paths) == 0 {
		return nil
	}
	g := &protectedGuard{held: held, log: log, before: map[string]string{}}
	for _, path := range paths {
		g.before[path] = describeState(path)
	}
	return g
}

// skipExisting stops comparing the paths that existed when the command started, because the kernel keeps them
// read-only. Dangling links are still compared, because a command can write through them.
func (g *protectedGuard) skipExisting() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.before, func(path, state string) bool {
		_, err := os.Stat(path)
		return state != "" && err == nil
	})
}

// check moves new files with protected names to the folder of held files and returns a note about these and about files
// that changed, "" if there is nothing to report. It reports a change once.
func (g *protectedGuard) check() string {
	if g == nil {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var notes []string
	for path, before := range g.before {
		now := describeState(path)
		if now == before {
			continue
		}
		g.before[path] = now
		note := path + " was changed"
		if before == "" {
			moved, err := moveToFolder(path, g.held)
			if note = path + " was created, and moved to " + moved; err != nil {
				note = fmt.Sprintf("%s was created, and could not be moved away: %v", path, err)
			} else {
				g.before[path] = ""
			}
		}
		g.log.Warn("a command changed a protected file", "change", note)
		notes = append(notes, note+".")
	}
	if len(notes) == 0 {
		return ""
	}
	slices.Sort(notes)
	return "cairn: " + strings.Join(notes, " ") + " What is written there may run later, so it needs permission: " +
		"use the edit tool, or a command line that names the file. Tell the user."
}

// maxCompared bounds the files of a protected directory that are compared.
const maxCompared = 500

// describeState returns a text that changes whenever the file, or one of the first files below the directory, does; ""
// if there is nothing.
func describeState(path string) string {
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	hash, left := sha256.New(), maxCompared
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path
	}
	link, _ := os.Readlink(path)
	_, _ = fmt.Fprintln(hash, link)
	_ = filepath.WalkDir(target, func(name string, _ fs.DirEntry, err error) error {
		if left--; left < 0 {
			return fs.SkipAll
		}
		info, statErr := os.Lstat(name)
		if err != nil || statErr != nil {
			_, _ = fmt.Fprintln(hash, name, "unreadable")
			return nil
		}
		size := info.Size()
		if info.IsDir() {
			size = 0
		}
		_, _ = fmt.Fprintln(hash, name, info.Mode(), size, changeTime(info))
		return nil
	})
	return string(hash.Sum(nil))
}

// moveToFolder moves a file or directory to a new folder in dir and returns its path there. Across file systems it
// makes a copy first.
func moveToFolder(path, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(dir, "")
	if err != nil {
		return "", err
	}
	name := filepath.Base(path)
	to := filepath.Join(dir, name)
	if os.Rename(path, to) == nil {
		return to, nil
	}
	parent, err := os.OpenRoot(filepath.Dir(path)) // a link that replaces the file now leads nowhere else
	if err != nil {
		return "", err
	}
	defer func() { _ = parent.Close() }()
	if err := copyPath(parent, name, to); err != nil {
		return "", err
	}
	return to, parent.RemoveAll(name)
}

// copyPath copies a file, a link or a directory of root to a new path.
func copyPath(root *os.Root, name, to string) error {
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		dir, err := root.OpenRoot(name)
		if err != nil {
			return err
		}
		defer func() { _ = dir.Close() }()
		return os.CopyFS(to, dir.FS())
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		return cmp.Or(err, os.Symlink(target, to))
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", name)
	}
	from, err := root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return cmp.Or(err, out.Close())
}
