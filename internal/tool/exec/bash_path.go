package exec

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/shell"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// pathUse says what a command does with a path among its words.
type pathUse struct {
	opened  bool // by a redirection, so that it is a path whether it exists or not
	changes bool // it may be changed
	edits   bool // it is changed: a redirection writes it, or the program is one that changes what it names
	names   bool // its content is not read
}

// The programs whose words are not paths, and those that do not read the content of the paths that they name.
const (
	wordPrograms   = " echo printf basename dirname test [ which type command "
	namingPrograms = " cd ls stat pwd df du realpath readlink rm rmdir mkdir touch chmod chown find "
)

// useOf says what the command does with its words; its redirections have uses of their own.
func useOf(c shell.Command) pathUse {
	c.Redirections = nil
	reads, edits := permission.OnlyReads(c), permission.EditsArguments(c)
	return pathUse{changes: !reads, edits: edits, names: isListed(namingPrograms, c)}
}

func isListed(list string, c shell.Command) bool {
	return strings.Contains(list, " "+filepath.Base(c.Words[0].Text)+" ")
}

// maxPathLookups bounds the paths of a command line that are looked up.
const maxPathLookups = 5000

// linePaths collects the paths that the literal words of a plain line name.
type linePaths struct {
	tools     *bashTool
	dirs      []string // absolute and real: those in which the next command may run
	before    []string // dirs without the last cd, until it is known to have succeeded
	lookups   int
	noProject bool // see Config.NoProject

	outside []string // directories outside of the Location
	read    []string // permission resources
	write   []string
	opened  []string // of write, those of redirections
	changed []string // real paths outside of the Location that the line may change
}

// addCommand adds the paths of one command, and follows cd and git -C.
func (p *linePaths) addCommand(c shell.Command) {
	defer p.leaveFailedDir(c.Operator)
	for _, r := range c.Redirections {
		writes := !strings.HasPrefix(r.Operator, "<")
		p.addPath(r.Target.Text, pathUse{opened: true, changes: writes, edits: writes, names: writes})
	}
	switch g, isGit := readGitCall(c); {
	case c.Words[0].Text == "cd":
		p.changeDir(c)
	case isListed(wordPrograms, c):
	case isGit:
		p.addGitCall(c, g)
	default:
		if installsHooks(c) {
			hooks := filepath.Join(p.tools.config.Paths.Directory, ".git", "hooks")
			p.write = appendNew(p.write, nameResource(p.tools.config.Paths, p.tools.config.Repository, hooks))
		}
		p.addWords(c.Words[1:], useOf(c))
	}
}

// addWords adds the paths among the words of a command.
func (p *linePaths) addWords(words []shell.Word, use pathUse) {
	for _, w := range words {
		for _, name := range listPathNames(w) {
			p.addPath(name, use)
		}
	}
}

// addGitCall adds the paths of a command of git, which are relative to the directory of -C, and the settings that it
// changes.
func (p *linePaths) addGitCall(c shell.Command, g gitCall) {
	at := &linePaths{tools: p.tools, noProject: p.noProject}
	for _, dir := range p.dirs {
		p.addGitSettings(g, dir)
		at.dirs = append(at.dirs, joinPath(dir, g.dir))
	}
	p.addPath(g.dir, pathUse{names: true})
	at.addWords(c.Words[len(c.Words)-len(g.args):], useOf(c))
	p.merge(at)
}

// merge adds what another collector found.
func (p *linePaths) merge(other *linePaths) {
	for _, lists := range [][2]*[]string{
		{&p.outside, &other.outside}, {&p.read, &other.read}, {&p.write, &other.write}, {&p.changed, &other.changed},
		{&p.opened, &other.opened},
	} {
		for _, s := range *lists[1] {
			*lists[0] = appendNew(*lists[0], s)
		}
	}
}

// changeDir follows cd. The directories of before stay possible while the cd may have failed: its directory does not
// exist yet, and no && lets the next command depend on it. In a pipeline it has no effect.
func (p *linePaths) changeDir(c shell.Command) {
	name, _ := os.UserHomeDir()
	if len(c.Words) > 1 {
		name = c.Words[len(c.Words)-1].Text
	}
	p.addPath(name, pathUse{names: true})
	if c.Operator == "|" {
		return
	}
	from := p.dirs
	p.dirs = nil
	for _, dir := range from {
		to := joinPath(dir, name)
		if found, err := p.tools.config.Paths.Resolve(to); err == nil {
			to = found.Real
			if !found.IsDir() {
				p.before = append(p.before, dir)
			}
		}
		p.dirs = appendNew(p.dirs, to)
	}
}

// leaveFailedDir adds the directories of before, unless the next command runs only after success.
func (p *linePaths) leaveFailedDir(operator string) {
	if operator == "&&" || operator == "|" {
		return
	}
	for _, dir := range p.before {
		p.dirs = appendNew(p.dirs, dir)
	}
	p.before = nil
}

func joinPath(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// listPathNames returns what a word may name: itself, and what stands behind = in it. Of a pattern it is the directory
// before the first * or ?. Options name something only behind =.
func listPathNames(w shell.Word) (names []string) {
	text := w.Text
	if !w.Literal {
		known, _, _ := strings.Cut(text, shell.Hole)
		text = known[:strings.LastIndexByte(known, '/')+1]
	}
	if !strings.HasPrefix(text, "-") {
		names = append(names, text)
	}
	if _, value, ok := strings.Cut(text, "="); ok {
		names = append(names, value)
	}
	return names
}

// addPath adds one path, from each directory in which the command may run.
func (p *linePaths) addPath(name string, use pathUse) {
	if name == "" || isDevice(name) {
		return
	}
	for _, dir := range p.dirs {
		if p.lookups++; p.lookups > maxPathLookups {
			return
		}
		if found, err := p.tools.config.Paths.Resolve(joinPath(dir, name)); err == nil {
			p.addResolved(found, use)
		}
	}
}

// addResolved adds a path whose links are resolved. A word counts if it names a file that exists, or one in a directory
// that does.
func (p *linePaths) addResolved(found workpath.Path, use pathUse) {
	exists := found.Info != nil
	if !exists && !use.opened && !isInKnownDir(found.Real) {
		return
	}
	s := p.tools
	if !s.isWithin(found, p.noProject && use.changes) {
		p.outside = appendNew(p.outside, found.Dir())
		if use.changes {
			p.changed = appendNew(p.changed, found.Real)
		}
	}
	if use.edits {
		p.write = appendNew(p.write, found.Resource())
		if use.opened {
			p.opened = appendNew(p.opened, found.Resource())
		}
	}
	if exists && !found.IsDir() && !use.names {
		p.read = appendNew(p.read, found.Resource())
	}
}

// isWithin reports whether a command may use the path as one of the Location; with noProject, as one of its own folders.
func (s *execTools) isWithin(found workpath.Path, noProject bool) bool {
	return found.IsInside() && !noProject || s.config.Paths.IsManagedOutput(found)
}

// isInKnownDir reports whether one of the directories above the path exists, except the root: every misread slash would
// lead there.
func isInKnownDir(path string) bool {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil {
			return info.IsDir()
		}
	}
	return false
}

// isDevice reports whether the path is a device that contains no data, or stands for standard input.
func isDevice(path string) bool {
	return slices.Contains([]string{
		"-", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/stdin",
		"/dev/stdout", "/dev/stderr",
	}, path)
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
