package exec

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/sandbox"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// protectedGuard finds changes of protected paths that the kernel did not prevent: of names that did not exist when the
// command started, of nested ones that were replaced, and of all on systems that forbid namespaces. It compares the
// protected paths only, so its cost does not depend on the size of the project.
type protectedGuard struct {
	held     string
	writable []string // directories that the command may write to
	nested   []string // paths that may be moved with a directory above
	log      *slog.Logger

	writableBefore map[string]string // before, of the paths whose content the kernel does not keep, and of nested ones

	mu       sync.Mutex // guards before and readOnly
	before   map[string]string
	readOnly bool // the kernel keeps the content of existing paths
}

// newProtectedGuard returns the guard of protected paths for a command that starts now, nil without paths. held is
// the folder for new files.
func newProtectedGuard(p sandbox.Policy, held string, log *slog.Logger) *protectedGuard {
	if held == "" || len(p.ReadOnly)+len(p.Nested) == 0 {
		return nil
	}
	g := &protectedGuard{
		held: held, writable: p.Write, nested: p.Nested, log: log,
		before: map[string]string{}, writableBefore: map[string]string{},
	}
	for _, path := range p.ReadOnly {
		g.before[path] = describeState(path)
		if _, err := os.Stat(path); err != nil || g.before[path] == "" {
			g.writableBefore[path] = g.before[path]
		}
	}
	for _, path := range p.Nested {
		g.before[path], g.writableBefore[path] = describeState(path), describeIdentity(path)
	}
	return g
}

// skipExisting stops comparing the paths that existed before the command started, because the kernel keeps them
// read-only. Dangling links are still compared, because a command can write through them, and of nested paths that they
// are the same files. It does not look at the paths: the command may have changed them already.
func (g *protectedGuard) skipExisting() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.before, g.readOnly = g.writableBefore, true
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
		now := g.describe(path)
		if now == before || now == "" && slices.Contains(g.nested, path) {
			continue
		}
		g.before[path] = now
		note := path + " was changed"
		if before == "" {
			moved, err := workpath.HoldPath(path, g.writable, g.held)
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

// describe returns describeState, or describeIdentity if the content cannot change.
func (g *protectedGuard) describe(path string) string {
	if !g.readOnly || !slices.Contains(g.nested, path) {
		return describeState(path)
	}
	return describeIdentity(path)
}

// describeIdentity returns a text that no other file has at the same time, "" if the path does not exist.
func describeIdentity(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	return identifyFile(info)
}

// watchInterval is the time for which a new file with a protected name may exist while work goes on in the background.
const watchInterval = time.Second

// watch checks again and again until stop is closed. report gets the notes.
func (g *protectedGuard) watch(stop <-chan struct{}, report func(note string)) {
	if g == nil {
		return
	}
	ticks := time.NewTicker(watchInterval)
	defer ticks.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticks.C:
			report(g.check())
		}
	}
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
		_, _ = fmt.Fprintln(hash, name, info.Mode(), size, ChangeTime(info))
		return nil
	})
	return string(hash.Sum(nil))
}
