// Package upgrade reads configuration files of earlier versions. A file has the member "version", a whole number; a file
// without one has version 1. Steps between neighbours change the document in memory, before its keys are looked up, so
// that all other code knows only the current version. Files are never rewritten.
//
// A key whose name or meaning changes needs a step and a new Current. A key that is added needs neither. Other spellings
// of a key that stay valid, such as those of OpenCode, are not versions: document.NormalizeSpellings reads them in files
// of every version. Markdown files of agents and commands cannot say a version and have version 1.
package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// Current is the newest version, which new files get.
const Current = 2

// A step turns a document of the version before to into one of the version to.
type step struct {
	to       int
	replaced []replacement
	// apply changes the document in place. Nodes that it makes have the position of those that they replace.
	apply func(d *document.Document) ([]Note, error)
}

// A replacement is a key that documents of the step's version no longer have.
type replacement struct {
	key string // dotted
	use string // what is written instead, as the end of a sentence
}

// Note says how a value of an earlier version was read.
type Note struct {
	At      document.Position
	Key     string
	Message string
}

// steps lead from version 1 to the current one without a gap.
var steps = []step{sandboxMode}

// Apply turns the document into one of the current version and returns notes on what changed. A document of a later
// version, or one that uses a key of an earlier version than its own, is an error: what it says could be misread.
// The files of OpenCode have version 1, whatever their member "version" means.
func Apply(d *document.Document) ([]Note, error) { return apply(d, steps) }

func apply(d *document.Document, steps []step) (notes []Note, err error) {
	// Find the version.
	newest := steps[len(steps)-1].to
	version, at, err := d.TakeVersion()
	switch {
	case d.Current && at == nil:
		version = newest
	case d.Foreign && at != nil:
		version = 1
		notes = append(notes, Note{at.FindPosition(), document.VersionKey, "has no effect in a file of OpenCode"})
	case err != nil:
		return nil, err
	case version > newest:
		return nil, d.NewError(at.Offset, document.VersionKey,
			"the file was written for a newer cairn: version %d, this one knows up to %d; update cairn", version, newest)
	}
	// Go up from there; keys that a later version replaced must not be used in it.
	for _, s := range steps {
		if version >= s.to {
			if err := s.refuseReplaced(d); err != nil {
				return nil, err
			}
			continue
		}
		more, err := s.apply(d)
		if err != nil {
			return nil, err
		}
		notes = append(notes, more...)
	}
	return notes, nil
}

// refuseReplaced returns an error if the document has a key that documents of this version no longer have. It would
// otherwise be an unknown key, and what it forbids would be allowed.
func (s step) refuseReplaced(d *document.Document) error {
	for _, r := range s.replaced {
		n := d.Root
		for name := range strings.SplitSeq(r.key, ".") {
			n = n.Get(name)
		}
		if n != nil {
			return d.NewError(n.Offset, r.key, "is a key of version %d: in version %d %s", s.to-1, s.to, r.use)
		}
	}
	return nil
}

// DescribeReplaced says what is written instead of a key of an earlier version; "" for other keys.
func DescribeReplaced(key string) string {
	for _, s := range steps {
		if i := slices.IndexFunc(s.replaced, func(r replacement) bool { return r.key == key }); i >= 0 {
			return fmt.Sprintf("is a key of version %d: since version %d %s", s.to-1, s.to, s.replaced[i].use)
		}
	}
	return ""
}
