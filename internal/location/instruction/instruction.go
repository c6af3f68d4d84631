// Package instruction provides the sources of system context that a location has: AGENTS.md and its relatives, the
// files and pages that the configuration names, the environment and the date. All are observed anew at every boundary.
//
// A project's files are untrusted: links that lead out of the project are not followed, only regular files are opened,
// and the texts of one source are limited to MaxBytes. A file that exists but cannot be read, and a folder or pipe of
// its name, makes its source unavailable, so that the previous text stays in force; without any file the source is
// absent. A page that was never fetched is left out with a note, and a required one is unavailable; a page that was
// fetched once keeps its last text.
package instruction

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/location/webcache"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// Keys of the sources.
const (
	KeyInstructions = "core/instructions"
	KeyConfigured   = "core/instructions-configured"
	KeyNested       = "core/instructions-nested"
)

// MaxBytes limits the texts of one source.
const MaxBytes = 64 << 10

// Options are the places to search. All paths are absolute; "" means none.
type Options struct {
	Config    string // cairn's configuration directory
	Foreign   string // OpenCode's configuration directory
	Home      string
	Directory string // the Location, symlinks resolved
	Worktree  string // the top of its checkout, symlinks resolved

	DisableProject bool            // CAIRN_DISABLE_PROJECT_CONFIG: only what is the user's
	DisableClaude  bool            // do not read CLAUDE.md
	Configured     []string        // the configuration's instructions: paths, whose last part may be a glob, and URLs
	Pages          *webcache.Pages // reader of URLs; nil fetches nothing
}

// Register registers the sources of a location under their keys.
func Register(r *systemcontext.Registry, o Options) error {
	if _, err := r.Register(KeyInstructions, o.newProducer(KeyInstructions, o.discoveredFiles)); err != nil {
		return err
	}
	_, err := r.Register(KeyConfigured, o.newProducer(KeyConfigured, o.configuredFiles))
	return err
}

func (o Options) newProducer(key string, candidates func() [][]candidate) systemcontext.Producer {
	read := &reader{Options: o, candidates: candidates}
	read.at.Store(&o.Directory)
	return func(ctx context.Context) systemcontext.Context {
		files, err := read.read(ctx)
		if err == nil && len(files) == 0 {
			return nil
		}
		return systemcontext.Context{newSource(key, files, err)}
	}
}

// candidate is a file that may exist. Links are followed within root only; "" means everywhere. A page has a URL
// instead of a path. A configured one that is a folder or a pipe counts as missing, because patterns match these.
type candidate struct {
	path, root       string
	page, configured bool
	required         bool // a page without which no turn begins
}

// requiredMark is the end of the address of a required page. Browsers and OpenCode send no such fragment.
const requiredMark = "#required"

// discoveredFiles returns groups of candidates in the order in which they are rendered. The first existing file of a
// group is used.
func (o Options) discoveredFiles() [][]candidate {
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
	names := o.FileNames()
	for _, dir := range o.directoryChain() {
		var group []candidate
		for _, name := range names {
			group = append(group, candidate{path: filepath.Join(dir, name), root: o.projectRoot()})
		}
		groups = append(groups, group)
	}
	return groups
}

// FileNames returns the names of a project's instruction files; the first existing one of a directory is used. It
// returns nil if project files are disabled.
func (o Options) FileNames() []string {
	switch {
	case o.DisableProject:
		return nil
	case o.DisableClaude:
		return []string{"AGENTS.md", "CONTEXT.md"}
	}
	return []string{"AGENTS.md", "CLAUDE.md", "CONTEXT.md"}
}

// configuredFiles returns the files that the configuration names. Relative paths are searched from the location upwards
// and stay in the project; absolute paths and URLs are the user's or a trusted project's.
func (o Options) configuredFiles() [][]candidate {
	var groups [][]candidate
	// Each file is a group of its own, because all of them are used.
	add := func(dir, pattern, root string) {
		matches, _ := filepath.Glob(filepath.Join(escape(dir), pattern)) // sorted; a malformed pattern matches nothing
		if len(matches) == 0 {
			literal := strings.NewReplacer("[", `\[`, "]", `\]`).Replace(pattern) // a name may have brackets
			matches, _ = filepath.Glob(filepath.Join(escape(dir), literal))
		}
		for _, m := range matches[:min(len(matches), maxMatches)] {
			groups = append(groups, []candidate{{path: m, root: root, configured: true}})
		}
	}
	// Pages, then paths below the home, absolute paths, and relative ones. Other schemes are ignored.
	for _, pattern := range o.Configured {
		rest, atHome := strings.CutPrefix(pattern, "~/")
		switch {
		case strings.HasPrefix(pattern, "https://"), strings.HasPrefix(pattern, "http://"):
			address, required := strings.CutSuffix(pattern, requiredMark)
			groups = append(groups, []candidate{{path: address, page: true, configured: true, required: required}})
		case strings.Contains(pattern, "://"):
		case atHome && o.Home != "":
			add(o.Home, rest, "")
		case filepath.IsAbs(pattern):
			add("", pattern, "")
		case filepath.IsLocal(pattern):
			for _, dir := range o.directoryChain() {
				add(dir, pattern, o.projectRoot())
			}
		}
	}
	return groups
}

const (
	maxMatches   = 100
	maxAncestors = 64
)

// projectRoot returns the directory that a project's files must not leave.
func (o Options) projectRoot() string {
	if o.Worktree != "" {
		return o.Worktree
	}
	return o.Directory
}

// directoryChain returns the directories from the location up to the root of the project, nearest first.
func (o Options) directoryChain() []string {
	if o.DisableProject || o.Directory == "" {
		return nil
	}
	rel, err := filepath.Rel(o.projectRoot(), o.Directory)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	var dirs []string
	for dir := o.Directory; len(dirs) < maxAncestors; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == o.projectRoot() {
			break
		}
	}
	return dirs
}

// escape quotes a path for use in a glob pattern.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
