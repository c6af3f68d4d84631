// Package sandbox binds a command to what it may touch, by means of the kernel: it writes below a few directories
// only, does not read what is hidden from it, and reaches no network. Whatever it starts is bound in the same way, and
// nothing unbinds it.
//
// A program binds itself and becomes the command (Enter), so that there is no moment at which a command runs unbound.
// Where the kernel cannot do all of it, Check says why, and Enter runs nothing: there is no half a sandbox.
//
// What it does not do: modes, owners and times of files outside can be changed by whoever owns them, and what lies in a
// directory that may be written can be changed whatever it is, e.g. the hooks of a repository.
package sandbox

import (
	"path/filepath"

	"github.com/go-json-experiment/json"
)

// Word is the argument of the program after which a Policy and a command for Enter follow.
const Word = "__confine"

// Policy is what a command may do. Paths are absolute.
type Policy struct {
	Write []string `json:"write"` // below these it may do everything
	// these it may not read, nor what is below them, but for what is in Write and Show
	Hide    []string `json:"hide,omitzero"`
	Show    []string `json:"show,omitzero"`    // directories below a hidden one that it may read all the same
	Network bool     `json:"network,omitzero"` // it may open connections
}

// WrapCommand returns the command line that runs argv under the policy: self is this program.
func (p Policy) WrapCommand(self string, argv []string) ([]string, error) {
	text, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return append([]string{self, Word, string(text)}, argv...), nil
}

// FindExposed returns a hidden path that the policy cannot hide, because a directory in which everything is allowed holds
// it; "" if there is none.
func (p Policy) FindExposed() string {
	for _, w := range p.Write {
		for _, h := range p.Hide {
			if isWithin(resolveLinks(w), resolveLinks(h)) {
				return h
			}
		}
	}
	return ""
}

// isWithin reports whether path is dir or below it.
func isWithin(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// resolveLinks is the path without links, as far as it exists.
func resolveLinks(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real
	}
	up := filepath.Dir(path)
	if up == path {
		return path
	}
	return filepath.Join(resolveLinks(up), filepath.Base(path))
}
