package protected

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// FileGuard finds changes of protected paths since it was made. It is not safe for concurrent use. A nil FileGuard
// guards nothing.
type FileGuard struct {
	Config
	KeptByKernel bool                 // the kernel keeps the content of paths that existed
	Before       map[string][]byte    // the state of each path: describeState, or describeIdentity
	Saved        map[string]SavedTree // copies, by path

	identities map[string][]byte // for TrustKernel: the Before of its guard
}

// GuardReport lists changes that a FileGuard found.
type GuardReport struct {
	Note string `json:"note,omitzero"` // for the model; "" if there is nothing to report
	// Exposed are protected files that a command made or changed and that are still in their places.
	Exposed []string `json:"exposed,omitzero"`
}

// New returns the guard of a command that starts now; nil if there is nothing to guard.
func New(c Config) *FileGuard {
	if c.Held == "" || len(c.Paths)+len(c.Nested)+len(c.Folders) == 0 {
		return nil
	}
	g := &FileGuard{Config: c, Before: map[string][]byte{}, identities: map[string][]byte{}}
	for _, path := range c.Paths {
		g.Before[path] = describeState(path)
		if _, err := os.Stat(path); err != nil || g.Before[path] == nil {
			g.identities[path] = g.Before[path]
		}
	}
	for _, path := range c.Nested {
		g.Before[path], g.identities[path] = describeState(path), describeIdentity(path)
	}
	return g
}

// TrustKernel returns a guard for a system whose kernel keeps paths that existed when g was made read-only: it ignores
// their content. Dangling links are still compared, because a command can write through them, and of nested paths that
// they are the same files.
func (g *FileGuard) TrustKernel() *FileGuard {
	if g == nil {
		return nil
	}
	return &FileGuard{Config: g.Config, Before: g.identities, KeptByKernel: true}
}

// SaveContent copies the content of the paths, so that Check restores it. It is for systems whose kernel does not keep
// it.
func (g *FileGuard) SaveContent() {
	if g == nil {
		return
	}
	g.Saved = map[string]SavedTree{}
	files, size := 0, 0
	for path, state := range g.Before {
		if state == nil {
			continue
		}
		tree, bytes, err := saveTree(path)
		if err != nil || files+len(tree.Files) > maxAllFiles || size+bytes > maxAllBytes {
			continue
		}
		files, size = files+len(tree.Files), size+bytes
		g.Saved[path] = tree
	}
}

// Check moves new files with protected names to the folder of held files, restores those that changed, and reports
// both. It reports a change once.
func (g *FileGuard) Check() GuardReport {
	var r GuardReport
	if g == nil {
		return r
	}

	// Move away new files that lead git to settings elsewhere.
	links := gitLinks{g.Config, func(path string) bool { return len(g.Before[path]) > 0 }}
	var notes []string
	add := func(path, note string, isSafe bool) {
		notes = append(notes, path+" "+note+".")
		if !isSafe {
			r.Exposed = append(r.Exposed, path)
		}
	}
	for _, path := range links.findForged() {
		if note, isSafe := g.moveAway(path, "was created"); note != "" {
			add(path, note, isSafe)
		}
	}

	// Undo the changes of protected paths.
	for _, path := range slices.Sorted(maps.Keys(g.Before)) {
		before, now := g.Before[path], g.describe(path)
		if bytes.Equal(now, before) || now == nil && slices.Contains(g.Nested, path) {
			continue
		}
		if note, isSafe := g.undoChange(path, before, now); note != "" {
			add(path, note, isSafe)
		}
		g.Before[path] = g.describe(path)
	}
	if len(notes) > 0 {
		r.Note = "cairn: " + strings.Join(notes, " ") + " What is written there may run later, so it needs permission: " +
			"use the edit tool, or a command line that names the file. Tell the user."
	}
	return r
}

// undoChange undoes a change of a path and describes it, "" if there is nothing to report. isSafe is false if the
// change is still there.
func (g *FileGuard) undoChange(path string, before, now []byte) (note string, isSafe bool) {
	saved, isSaved := g.Saved[path]
	switch {
	case len(before) == 0:
		return g.moveAway(path, "was created")
	case isSaved:
		return g.restore(path, saved)
	case g.KeptByKernel && slices.Contains(g.Nested, path): // another file has the name
		return g.moveAway(path, "was changed")
	case g.KeptByKernel: // a link that led to nothing
		target, err := filepath.EvalSymlinks(path)
		if err != nil || now == nil {
			return "was changed", true
		}
		note, isSafe = g.moveAway(target, "was changed")
		return note, isSafe
	default:
		return "was changed, and is not restored because it is larger than what is copied (" + savedLimits + ")", false
	}
}

// moveAway moves a path to the folder of held files. change says what happened to it.
func (g *FileGuard) moveAway(path, change string) (note string, isSafe bool) {
	moved, err := HoldPath(path, g.Writable, g.Held)
	switch {
	case isMissing(err):
		return "", true
	case err != nil:
		return fmt.Sprintf("%s, and could not be moved away: %v", change, err), false
	}
	return change + ", and moved to " + moved, true
}

// restore moves a changed path to the folder of held files and writes its copy in its place.
func (g *FileGuard) restore(path string, saved SavedTree) (note string, isSafe bool) {
	if saved.isAt(path) { // only its times changed
		return "", true
	}
	at := path
	if link, err := os.Readlink(path); err == nil && link == saved.Link {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			at, saved.Link = real, ""
		}
	}
	note, isSafe = g.moveAway(at, "was changed")
	if !isSafe {
		return note, false
	}
	if note == "" {
		note = "was removed"
	}
	if err := saved.write(at, g.Writable); err != nil {
		return fmt.Sprintf("%s, and could not be restored: %v", note, err), false
	}
	if saved.Link != "" && !saved.isAt(path) { // what the link leads to was changed as well
		return g.restore(path, saved)
	}
	return note + "; it is as before", true
}

// describe returns the state of a path: describeState, or describeIdentity if the content cannot change.
func (g *FileGuard) describe(path string) []byte {
	if !g.KeptByKernel || !slices.Contains(g.Nested, path) {
		return describeState(path)
	}
	return describeIdentity(path)
}

// watchInterval is the time for which a new file with a protected name may exist while work goes on in the background.
const watchInterval = time.Second

// Watch checks again and again until stop is closed. report gets what was found.
func (g *FileGuard) Watch(stop <-chan struct{}, report func(GuardReport)) {
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
			if r := g.Check(); r.Note != "" {
				report(r)
			}
		}
	}
}
