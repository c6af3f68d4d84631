// Package skill finds what agents can be taught when they need it: folders with a SKILL.md, whose frontmatter says what
// it is for and whose text says how it is done. An agent is told names and descriptions only (a source of the system
// context), and loads the one that fits with the tool of this package.
//
// A skill of a project is anybody's words, like its AGENTS.md. Links that lead out of the project are not followed, and
// the files beside its SKILL.md are not named to the model until the project is trusted. Nothing here runs anything.
// What cannot be read is left out and reported, never an error.
package skill

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Options say where to look. All paths are absolute; "" is nowhere.
type Options struct {
	Config    string // our configuration directory
	Foreign   string // OpenCode's
	Home      string
	Directory string // the Location, links resolved
	Worktree  string // the top of its checkout, links resolved; "" outside of one

	Paths           []string // further folders, as the configuration names them
	DisableProject  bool     // only what is the user's
	DisableClaude   bool     // nothing of .claude
	DisableExternal bool     // nor of .agents
	Trusted         bool     // the project's files may be used for more than their words
}

// Skill is one that was found.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	Location    string `json:"location"` // its SKILL.md
	Content     string `json:"content"`

	untrusted bool // of a project that is not trusted
}

// Dir is the folder that its relative paths start from.
func (s *Skill) Dir() string { return filepath.Dir(s.Location) }

// Problem says why a skill is not there, or not as somebody may think.
type Problem struct{ Path, Message string }

// Set is what is there: one skill for each name, by name.
type Set struct {
	Skills   []Skill
	Problems []Problem
}

// Get returns the skill of the name.
func (f Set) Get(name string) (Skill, bool) {
	i := slices.IndexFunc(f.Skills, func(s Skill) bool { return s.Name == name })
	if i < 0 {
		return Skill{}, false
	}
	return f.Skills[i], true
}

// Names lists the skills.
func (f Set) Names() []string {
	names := make([]string, len(f.Skills))
	for i, s := range f.Skills {
		names[i] = s.Name
	}
	return names
}

// Find looks for skills anew: the user's, then the project's from its top down to the Location, then those that the
// configuration names. Of two with one name the later is taken, and the other reported.
func (o Options) Find() Set {
	f, _ := o.findWithStates()
	return f
}

// findWithStates is Find, with how everything looked that it depends on.
func (o Options) findWithStates() (Set, fileStates) {
	var all []Skill
	var f Set
	seen := fileStates{}
	for _, p := range o.searchFolders() {
		skills, problems := p.findSkills(&seen)
		all = append(all, skills...)
		f.Problems = append(f.Problems, problems...)
	}
	taken := map[string]int{}
	for _, s := range all {
		at, twice := taken[s.Name]
		switch {
		case !twice:
			taken[s.Name] = len(f.Skills)
			f.Skills = append(f.Skills, s)
		case f.Skills[at].Location != s.Location:
			f.Problems = append(
				f.Problems, Problem{f.Skills[at].Location, "is not used: " + s.Location + " has the same name " + s.Name},
			)
			f.Skills[at] = s
		}
	}
	slices.SortFunc(f.Skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return f, seen
}

// UserFolders are those of the user's own that exist, links resolved: their files may be read like the Location's.
func (o Options) UserFolders() []string {
	var out []string
	for _, p := range o.searchFolders() {
		if real, err := filepath.EvalSymlinks(p.dir()); err == nil && p.root == "" {
			out = append(out, real)
		}
	}
	return out
}

// folder is a folder with skills below it. Within root it may hold links, but not out of it; "" is no bound.
type folder struct {
	root    string
	rel     string // below root; the whole path without one
	foreign bool
}

func (p folder) dir() string { return filepath.Join(p.root, p.rel) }

// openFiles returns the files below the folder, and how to close them.
func (p folder) openFiles() (fs.FS, func(), error) {
	if p.root == "" {
		return unboundFS(p.rel), func() {}, nil
	}
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return nil, nil, err
	}
	return boundFS{root, p.rel}, func() { _ = root.Close() }, nil
}

// unboundFS is the files below a directory. Opening one never waits, whatever it is.
type unboundFS string

func (dir unboundFS) path(name string) string {
	return filepath.Join(string(dir), filepath.FromSlash(name))
}

func (dir unboundFS) Open(name string) (fs.File, error) {
	return os.OpenFile(dir.path(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (dir unboundFS) Stat(name string) (fs.FileInfo, error) { return os.Stat(dir.path(name)) }

// boundFS is the files below a directory of a root, which no link leads out of. Opening one never waits, whatever it is.
type boundFS struct {
	root *os.Root
	dir  string
}

func (w boundFS) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w boundFS) Open(name string) (fs.File, error) {
	return w.root.OpenFile(w.path(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (w boundFS) Stat(name string) (fs.FileInfo, error) { return w.root.Stat(w.path(name)) }

// searchFolders lists the folders, those that win last.
func (o Options) searchFolders() []folder {
	var out []folder
	user := func(parts ...string) {
		if parts[0] != "" {
			out = append(out, folder{rel: filepath.Join(parts...)})
		}
	}
	if !o.DisableClaude {
		user(o.Home, ".claude", "skills")
	}
	if !o.DisableExternal {
		user(o.Home, ".agents", "skills")
	}
	for _, dir := range []string{o.Foreign, o.Config} {
		user(dir, "skill")
		user(dir, "skills")
	}
	root := o.projectRoot()
	for _, dir := range o.projectDirectories() {
		for _, name := range o.projectFolders() {
			if rel, err := filepath.Rel(root, filepath.Join(dir, name)); err == nil {
				out = append(out, folder{root, rel, !o.Trusted})
			}
		}
	}
	return append(out, o.configuredFolders()...)
}

func (o Options) projectFolders() []string {
	names := []string{".opencode/skill", ".opencode/skills", ".cairn/skill", ".cairn/skills"}
	if !o.DisableExternal {
		names = append([]string{".agents/skills"}, names...)
	}
	if !o.DisableClaude {
		names = append([]string{".claude/skills"}, names...)
	}
	return names
}

// configuredFolders are the folders that the configuration names. One below the project is the project's.
func (o Options) configuredFolders() []folder {
	var out []folder
	for _, path := range o.Paths {
		if rest, atHome := strings.CutPrefix(path, "~/"); atHome && o.Home != "" {
			path = filepath.Join(o.Home, rest)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(o.Directory, path)
		}
		rel, err := filepath.Rel(o.projectRoot(), path)
		if o.projectRoot() != "" && err == nil && filepath.IsLocal(rel) {
			out = append(out, folder{o.projectRoot(), rel, !o.Trusted})
			continue
		}
		out = append(out, folder{rel: path})
	}
	return out
}

func (o Options) projectRoot() string {
	if o.Worktree != "" {
		return o.Worktree
	}
	return o.Directory
}

const maxAncestors = 64

// projectDirectories lists the directories of the project from its top down to the Location.
func (o Options) projectDirectories() []string {
	rel, err := filepath.Rel(o.projectRoot(), o.Directory)
	if o.DisableProject || o.Directory == "" || err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	var dirs []string
	for dir := o.Directory; len(dirs) < maxAncestors; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == o.projectRoot() {
			break
		}
	}
	slices.Reverse(dirs)
	return dirs
}
