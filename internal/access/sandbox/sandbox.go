// Package sandbox confines a command by means of the kernel: it writes only below some directories, cannot read hidden
// paths, and has no network. Everything that the command starts is confined as well, and nothing lifts the
// restrictions.
//
// A process confines itself and then executes the command (Enter), so that a command never runs unconfined. If the
// kernel cannot enforce a policy completely, Check returns the reason, and Enter runs nothing.
//
// Limits: without Policy.Freeze, a file's owner can change its mode, owner and times also outside of the writable
// directories; and what is in a writable directory can be changed unless Policy.ReadOnly or Nested names it.
package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
)

// Word is the argument of the program that a Policy and a command for Enter follow.
const Word = "__confine"

// Policy says what a command may do. Paths are absolute.
type Policy struct {
	Write []string `json:"write"` // everything is allowed below these
	// paths below those in Write that can be read only; the kernel enforces it for existing ones in a process that was
	// started as IsolateCommand says
	ReadOnly []string `json:"readOnly,omitzero"`
	// as those in ReadOnly; the directories between them and the writable one can be renamed
	Nested []string `json:"nested,omitzero"`
	// unreadable, with everything below them except the paths in Write and Show
	Hide    []string `json:"hide,omitzero"`
	Show    []string `json:"show,omitzero"`    // readable directories below a hidden one
	Network bool     `json:"network,omitzero"` // connections are allowed
	// with Network: local (AF_UNIX) sockets are refused, as all are without it
	NoLocalSockets bool `json:"noLocalSockets,omitzero"`

	// no command runs without the namespaces that protect the paths in ReadOnly and Nested
	Isolated bool `json:"isolated,omitzero"`
	// nothing but what is below Write changes, also no modes, owners, times and extended attributes; no command runs
	// without the namespace that enforces it
	Freeze bool `json:"freeze,omitzero"`

	Namespace *Namespace `json:"namespace,omitzero"` // the process has it; nil for none
	// the descriptor of a file that ReadRulesets.Open returned, in the process that restricts itself; 0 for none
	ReadRuleset int `json:"readRuleset,omitzero"`
}

// WrapCommand returns the command line that runs argv under the policy. self is the path of this program.
func (p Policy) WrapCommand(self string, argv []string) ([]string, error) {
	text, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return append([]string{self, Word, string(text)}, argv...), nil
}

// unwrapCommand returns the policy and the command of a command line that WrapCommand returned; nil for another one.
func unwrapCommand(argv []string) (p *Policy, rest []string, err error) {
	if len(argv) < 2 || argv[1] != Word {
		return nil, argv, nil
	}
	if len(argv) < 4 {
		return nil, nil, errors.New("it needs a policy and a command")
	}
	p = &Policy{}
	if err := json.Unmarshal([]byte(argv[2]), p, json.RejectUnknownMembers(true)); err != nil {
		return nil, nil, fmt.Errorf("the policy cannot be read: %w", err)
	}
	return p, argv[3:], nil
}

// FindExposed returns a hidden path that lies below a writable directory and so cannot be hidden; "" if there is no
// such path.
func (p Policy) FindExposed() string {
	tops := p.resolveWritable()
	for _, h := range p.Hide {
		hidden := resolveLinks(h)
		if slices.ContainsFunc(tops, func(top string) bool { return isWithin(top, hidden) }) {
			return h
		}
	}
	return ""
}

// resolveWritable returns the directories in Write without symbolic links.
func (p Policy) resolveWritable() []string {
	tops := make([]string, len(p.Write))
	for i, w := range p.Write {
		tops[i] = resolveLinks(w)
	}
	return tops
}

// isWithin reports whether path is dir or below it.
func isWithin(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// resolveLinks returns the path without symbolic links, as far as it exists.
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
