// Package skill finds skills: folders with a SKILL.md whose frontmatter describes the skill and whose text contains
// instructions. The system context lists names and descriptions; an agent loads the text with the tool of this package.
//
// A project's skill is untrusted text, like its AGENTS.md. Links out of the project are not followed, and the model is
// not given the names of the files beside a SKILL.md until the project is trusted. This package runs nothing. An
// unreadable skill is left out and reported as a Problem, never as an error.
package skill

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cairn-dev/cairn/internal/location/webcache"
)

// Options say where to search. All paths are absolute; "" is skipped.
type Options struct {
	Config    string // cairn's configuration directory
	Foreign   string // OpenCode's configuration directory
	Home      string
	Directory string // the Location, links resolved
	Worktree  string // the top of its worktree, links resolved; "" outside of a worktree

	Paths           []string        // further folders from the configuration
	URLs            []string        // further collections from the configuration
	Pages           *webcache.Pages // reader of URLs; nil fetches nothing
	Downloads       string          // folder for the files of skills from URLs
	DisableProject  bool            // only the user's skills
	DisableClaude   bool            // skip .claude
	DisableExternal bool            // skip .claude and .agents
	Trusted         bool            // the project is trusted
}

// Skill is a skill.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	Location    string `json:"location"` // of its SKILL.md; a URL is shown without what may be a secret
	Content     string `json:"content"`

	untrusted bool     // from a project that is not trusted
	repeated  []string // keys that its frontmatter defines twice

	address string   // of the folder if the skill is from a URL, "" otherwise; may contain a secret
	folder  string   // of its downloaded files
	listed  []string // the files beside its SKILL.md that the index lists
}

// Dir returns the folder that relative paths in the skill start from.
func (s *Skill) Dir() string {
	if s.address != "" {
		return s.folder
	}
	return filepath.Dir(s.Location)
}

// Problem reports a skill that is missing or not the expected one.
type Problem struct{ Path, Message string }

// Set is the skills of a Location, one for each name, sorted by name.
type Set struct {
	Skills   []Skill
	Problems []Problem
}

// Get returns the skill with a name.
func (f Set) Get(name string) (Skill, bool) {
	i := slices.IndexFunc(f.Skills, func(s Skill) bool { return s.Name == name })
	if i < 0 {
		return Skill{}, false
	}
	return f.Skills[i], true
}

// Names lists the names.
func (f Set) Names() []string {
	names := make([]string, len(f.Skills))
	for i, s := range f.Skills {
		names[i] = s.Name
	}
	return names
}

// Find searches for skills: the user's, then the project's from its top down to the Location, then those in configured
// folders. Of two with the same name it takes the later one and reports the other.
func (o Options) Find() Set {
	f, _ := o.findWithStates()
	return f
}

// findWithStates is Find, and returns the state of all files that the result depends on.
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

// UserFolders returns the existing folders of the user, links resolved, and the folder for downloads if there are URLs;
// their files may be read like those of the Location.
func (o Options) UserFolders() []string {
	var out []string
	if len(o.URLs) > 0 && o.Downloads != "" {
		out = append(out, o.Downloads)
	}
	for _, p := range o.searchFolders() {
		if real, err := filepath.EvalSymlinks(p.dir()); err == nil && p.root == "" {
			out = append(out, real)
		}
	}
	return out
}

// folder is a folder with skills. It may contain links, but not out of root; "" sets no bound.
type folder struct {
	root    string
	rel     string // relative to root, or the whole path if root is ""
	foreign bool
}

func (p folder) dir() string { return filepath.Join(p.root, p.rel) }

// openFiles returns the files below the folder, and a function that closes them.
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

// unboundFS is the files below a directory. Open does not block on pipes and devices.
type unboundFS string

func (dir unboundFS) joinName(name string) string {
	return filepath.Join(string(dir), filepath.FromSlash(name))
}

func (dir unboundFS) Open(name string) (fs.File, error) {
	return os.OpenFile(dir.joinName(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (dir unboundFS) Stat(name string) (fs.FileInfo, error) { return os.Stat(dir.joinName(name)) }

// boundFS is the files below a directory of a root, out of which no link leads. Open does not block on pipes and
// devices.
type boundFS struct {
	root *os.Root
	dir  string
}

func (w boundFS) joinName(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w boundFS) Open(name string) (fs.File, error) {
	return w.root.OpenFile(w.joinName(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (w boundFS) Stat(name string) (fs.FileInfo, error) { return w.root.Stat(w.joinName(name)) }

// searchFolders lists the folders; later ones take precedence.
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

// configuredFolders returns the folders from the configuration. One below the project counts as the project's.
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
