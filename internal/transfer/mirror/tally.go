package mirror

import (
	"hash/maphash"
	"path"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/jsontree"
)

// tally counts what a repair did, and remembers which files belong to sessions. Nil counts nothing.
type tally struct {
	sessions, written, removed int
	damaged                    []session.ID
	goesOn                     bool            // sessions before these were written by an earlier call
	projects                   map[string]bool // files of projects whose sessions were written
	files                      map[uint64]bool // digests of the paths of the first maxFiles other files
	seed                       maphash.Seed
}

// maxFiles bounds what a tally remembers: 30 MB. Of further files the repair finds out to whom they belong.
const maxFiles = 1 << 20

func newTally() *tally {
	return &tally{projects: map[string]bool{}, files: map[uint64]bool{}, seed: maphash.MakeSeed()}
}

func (t *tally) hash(name string) uint64 { return maphash.String(t.seed, name) }

// pathOf returns the path of a value's file.
func pathOf(k jsontree.Key) string { return path.Join(storageDir, path.Join(k...)) + ".json" }

// noteProject notes that a session of the project was written.
func (t *tally) noteProject(k jsontree.Key) {
	if t != nil {
		t.projects[pathOf(k)] = true
	}
}

// noteFile notes that a file is as it should be.
func (t *tally) noteFile(k jsontree.Key, changed bool) {
	if t == nil {
		return
	}
	if len(t.files) < maxFiles {
		t.files[t.hash(pathOf(k))] = true
	}
	if changed {
		t.written++
	}
}

// has reports whether the file is known to be as it should be.
func (t *tally) has(name string) bool { return t.projects[name] || t.files[t.hash(name)] }

// isFirstOf reports whether no session of the project was written during the repair. The sessions come in the order of
// their creation. What a repair that goes on has written already is not known.
func (t *tally) isFirstOf(project jsontree.Key) bool {
	return t != nil && !t.goesOn && !t.projects[pathOf(project)]
}

func (t *tally) noteRemoval(removed bool) {
	if t != nil && removed {
		t.removed++
	}
}
