// Package instruction observes what people wrote down for agents at a location: AGENTS.md and its older relatives, and
// the files that the configuration names; and the few facts about the location that every agent is told. Each is a
// source of the system context, looked at anew at every boundary (spec/v2 §11.4, R31, R51, R52).
//
// A project's files are anybody's: links that lead out of the project are not followed, what is no regular file is
// not opened, and all texts of a source together are cut at MaxBytes. A file that is there but cannot be read makes
// its source unavailable, so that what was said before stays in force; when no file is left, the source is absent.
package instruction

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// The keys of the sources.
const (
	KeyInstructions = "core/instructions"
	KeyConfigured   = "core/instructions-configured"
)

// MaxBytes bounds the texts of one source (spec/guarantees S18).
const MaxBytes = 64 << 10

// Options say where to look. All paths are absolute; "" is nowhere.
type Options struct {
	Config    string // our configuration directory
	Foreign   string // OpenCode's
	Home      string
	Directory string // the Location, symlinks resolved
	Worktree  string // the top of its checkout, symlinks resolved

	DisableProject bool     // CAIRN_DISABLE_PROJECT_CONFIG: only what is the user's
	DisableClaude  bool     // no CLAUDE.md anywhere
	Configured     []string // the configuration's instructions: paths, the last part may be a glob, and addresses
	Pages          *Pages   // what addresses say; nil fetches nothing
}

// Register registers the sources of a location under their keys. Calling remove takes them out again.
func Register(r *systemcontext.Registry, o Options) (remove func(), err error) {
	first, err := r.Register(KeyInstructions, o.producer(KeyInstructions, o.discovered))
	if err != nil {
		return nil, err
	}
	second, err := r.Register(KeyConfigured, o.producer(KeyConfigured, o.configured))
	if err != nil {
		first()
		return nil, err
	}
	return func() { first(); second() }, nil
}

func (o Options) producer(key string, candidates func() [][]candidate) systemcontext.Producer {
	return func(ctx context.Context) systemcontext.Context {
		files, ok := o.read(ctx, candidates())
		if ok && len(files) == 0 {
			return nil
		}
		return systemcontext.Context{source(key, files, ok)}
	}
}

// candidate is a file that may be there. Within root links are followed, beyond it they are not; "" is no bound.
// A page has an address instead of a path.
type candidate struct {
	path, root string
	page       bool
}

// discovered lists groups of candidates in the order in which they are told; of a group the first that exists counts.
func (o Options) discovered() [][]candidate {
	var global []candidate
	for _, dir := range []string{o.Config, o.Foreign} {
		if dir != "" {
			global = append(global, candidate{path: filepath.Join(dir, "AGENTS.md")})
		}
	}
	if o.Home != "" && !o.DisableClaude {
		global = append(global, candidate{path: filepath.Join(o.Home, ".claude", "CLAUDE.md")})
	}
	groups := [][]candidate{global}
	names := o.Names()
	for _, dir := range o.chain() {
		var group []candidate
		for _, name := range names {
			group = append(group, candidate{path: filepath.Join(dir, name), root: o.root()})
		}
		groups = append(groups, group)
	}
	return groups
}

// Names are the names of a project's files, of one directory the first that exists counts; none when a project's
// files are not heeded.
func (o Options) Names() []string {
	switch {
	case o.DisableProject:
		return nil
	case o.DisableClaude:
		return []string{"AGENTS.md", "CONTEXT.md"}
	}
	return []string{"AGENTS.md", "CLAUDE.md", "CONTEXT.md"}
}

// configured lists the files that the configuration names. Relative ones are looked for from the Location upwards and
// lie in the project; others are the user's own, or named by a project that is trusted, and so are addresses.
func (o Options) configured() [][]candidate {
	var groups [][]candidate
	add := func(pattern, root string) {
		matches, _ := filepath.Glob(pattern) // sorted; fails for a malformed pattern only, which matches nothing
		for _, m := range matches[:min(len(matches), maxMatches)] {
			groups = append(groups, []candidate{{path: m, root: root}})
		}
	}
	for _, pattern := range o.Configured {
		rest, atHome := strings.CutPrefix(pattern, "~/")
		switch {
		case strings.HasPrefix(pattern, "https://"), strings.HasPrefix(pattern, "http://"):
			groups = append(groups, []candidate{{path: pattern, page: true}})
		case strings.Contains(pattern, "://"):
		case atHome && o.Home != "":
			add(filepath.Join(escape(o.Home), rest), "")
		case filepath.IsAbs(pattern):
			add(pattern, "")
		case filepath.IsLocal(pattern):
			for _, dir := range o.chain() {
				add(filepath.Join(escape(dir), pattern), o.root())
			}
		}
	}
	return groups
}

const (
	maxMatches   = 100
	maxAncestors = 64
)

// root is what a project's files may not lead out of.
func (o Options) root() string {
	if o.Worktree != "" {
		return o.Worktree
	}
	return o.Directory
}

// chain lists the directories of the project from the Location up to the top, nearest first.
func (o Options) chain() []string {
	if o.DisableProject || o.Directory == "" {
		return nil
	}
	rel, err := filepath.Rel(o.root(), o.Directory)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	var dirs []string
	for dir := o.Directory; len(dirs) < maxAncestors; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == o.root() {
			break
		}
	}
	return dirs
}

// escape makes a path that a glob takes literally.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
