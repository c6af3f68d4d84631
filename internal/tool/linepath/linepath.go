// Package linepath finds the files and directories that the literal words of a plain command line name, for permission
// rules about files. It knows what a few programs do with their words, reads no file contents but git's settings, and
// runs nothing. Expansions, scripts and directories that a program reads as a whole are not seen: it is a help, and the
// sandbox is the boundary.
package linepath

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/access/shell"
	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// pathUse says what a command does with a path among its words.
type pathUse struct {
	opened  bool // by a redirection, so that it is a path whether it exists or not
	changes bool // it may be changed
	edits   bool // it is changed: a redirection writes it, or the program is one that changes what it names
	names   bool // the command uses only its name, and does not read its content
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

// NamedPaths are the paths that a line names.
type NamedPaths struct {
	Outside []string // directories outside of the Location
	Read    []string // permission resources of files that it may read
	Write   []string // permission resources of files that a redirection opens, and of protected ones that it changes
	Changed []string // real paths outside of the Location that it may change
}

// Find returns the paths that the line names when it runs in the directory, which is absolute and real.
func Find(at Place, line shell.Line, dir string) NamedPaths {
	c := &collector{Place: at, dirs: []string{dir}}
	for _, command := range line.Commands {
		c.addCommand(command)
	}
	return c.NamedPaths
}

// collector collects the paths of a line, command by command.
type collector struct {
	Place
	NamedPaths
	dirs    []string // absolute and real: those in which the next command may run
	before  []string // dirs without the last cd, until it is known to have succeeded
	lookups int
}

// addCommand adds the paths of one command, and follows cd and git -C.
func (p *collector) addCommand(c shell.Command) {
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
			hooks := filepath.Join(p.Paths.Directory, ".git", "hooks")
			p.Write = appendNew(p.Write, p.NameResource(hooks))
		}
		p.addWords(c.Words[1:], useOf(c))
	}
}

// addWords adds the paths among the words of a command, and the directory in which it runs.
func (p *collector) addWords(words []shell.Word, use pathUse) {
	for _, dir := range p.dirs { // a program may change files in the directory in which it runs
		if found, err := p.Paths.Resolve(dir); err == nil && use.changes && !found.IsInside() {
			p.Changed = appendNew(p.Changed, found.Real)
		}
	}
	for _, w := range words {
		for _, name := range listPathNames(w) {
			p.addPath(name, use)
		}
	}
}

// addGitCall adds the paths of a command of git, which are relative to the directory of -C, and the settings that it
// changes.
func (p *collector) addGitCall(c shell.Command, g gitCall) {
	at := &collector{Place: p.Place}
	for _, dir := range p.dirs {
		p.addGitSettings(g, dir)
		at.dirs = append(at.dirs, joinPath(dir, g.dir))
	}
	p.addPath(g.dir, pathUse{names: true})
	at.addWords(c.Words[len(c.Words)-len(g.args):], useOf(c))
	p.merge(at)
}

// addGitSettings adds the settings that a command of git changes without naming them, of the repository around the
// directory in which it runs.
func (p *collector) addGitSettings(g gitCall, dir string) {
	dir = joinPath(dir, g.dir)
	git, settings := filepath.Join(dir, ".git"), ""
	if found, ok := checkout.Find(dir); ok {
		git, settings = found.Common, found.ReadSettings()
	}
	name := ""
	switch {
	case g.writesSettings(settings):
		name = "config"
	case g.name == "lfs" && slices.Contains(g.args, "install"):
		name = "hooks"
	case g.name == "worktree" && slices.Contains([]string{"remove", "move", "prune", "repair"}, append(g.args, "")[0]):
		name = "worktrees"
	default:
		return
	}
	p.Write = appendNew(p.Write, p.NameResource(filepath.Join(git, name)))
}

// merge adds what another collector found.
func (p *collector) merge(other *collector) {
	for _, lists := range [][2]*[]string{
		{&p.Outside, &other.Outside}, {&p.Read, &other.Read}, {&p.Write, &other.Write}, {&p.Changed, &other.Changed},
	} {
		for _, s := range *lists[1] {
			*lists[0] = appendNew(*lists[0], s)
		}
	}
}

// changeDir follows cd. The directories of before stay possible while the cd may have failed: its directory does not
// exist yet, and no && lets the next command depend on it. In a pipeline it has no effect.
func (p *collector) changeDir(c shell.Command) {
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
		if found, err := p.Paths.Resolve(to); err == nil {
			to = found.Real
			if !found.IsDir() {
				p.before = append(p.before, dir)
			}
		}
		p.dirs = appendNew(p.dirs, to)
	}
}

// leaveFailedDir adds the directories of before, unless the next command runs only after success.
func (p *collector) leaveFailedDir(operator string) {
	if operator == "&&" || operator == "|" {
		return
	}
	for _, dir := range p.before {
		p.dirs = appendNew(p.dirs, dir)
	}
	p.before = nil
}

// listPathNames returns the paths that a word may name: the word itself unless it is an option, and the text behind a =
// in it. For a pattern it is the directory before the first * or ?.
func listPathNames(w shell.Word) (names []string) {
	text := w.Text
	if !w.Literal {
		literal, _, _ := strings.Cut(text, shell.Placeholder)
		text = literal[:strings.LastIndexByte(literal, '/')+1]
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
func (p *collector) addPath(name string, use pathUse) {
	if name == "" || isDevice(name) {
		return
	}
	for _, dir := range p.dirs {
		if p.lookups++; p.lookups > maxPathLookups {
			return
		}
		if found, err := p.Paths.Resolve(joinPath(dir, name)); err == nil {
			p.addResolved(found, use)
		}
	}
}

// addResolved adds a path whose links are resolved. A word counts if it names a file that exists, or one in a directory
// that does.
func (p *collector) addResolved(found workpath.Path, use pathUse) {
	exists := found.Info != nil
	if !exists && !use.opened && !isInKnownDir(found.Real) {
		return
	}
	isChangeAtHome := p.NoProject && use.changes && (use.edits || exists)
	isWithin := found.IsInside() && !isChangeAtHome || p.Paths.IsManagedOutput(found)
	if !isWithin {
		p.Outside = appendNew(p.Outside, found.Dir())
		if use.changes {
			p.Changed = appendNew(p.Changed, found.Real)
		}
	}
	if use.edits && (use.opened || permission.ProtectedName(found.Resource()) != "") {
		p.Write = appendNew(p.Write, found.Resource())
	}
	if exists && !found.IsDir() && !use.names {
		p.Read = appendNew(p.Read, found.Resource())
	}
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
