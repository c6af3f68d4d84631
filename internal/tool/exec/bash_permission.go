package exec

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/shell"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// commandRequests returns the permission requests of a command: for directories outside of the Location, for files that
// it reads or writes, and for each command in it. The answer "always" allows the words that name each command.
func (t *bashTool) commandRequests(program string, dir workpath.Path, in bashInput) []tool.Request {
	reached := &reachedPaths{tools: t, dirs: []string{dir.Real}}
	reached.addOutside(dir)
	line, reason := parseFor(program, in.Command)
	if reason != "" {
		reached.addUnreadable(in.Command)
	}
	piped := false
	for _, c := range line.Commands {
		reached.addCommand(c, piped)
		piped = c.Operator == "|"
	}
	out := reached.permissionRequests(in.Command)
	resources := permission.CommandsOf(line)
	if reason != "" {
		resources = []string{in.Command}
	}
	if len(resources) == 0 { // it only changes directories, which has its own requests
		return out
	}
	var save []string
	for _, r := range resources {
		save = appendNew(save, permission.SavePattern(r))
	}
	meta := map[string]string{"command": in.Command}
	if in.Workdir != "" {
		meta["workdir"] = dir.Real
	}
	if in.Description != "" {
		meta["description"] = in.Description
	}
	if reason != "" {
		meta["reason"] = reason
	}
	seen := permission.CommandContext{Trees: reached.below, UnknownAccesses: reached.unknown}
	if !shell.IsSupported(program) {
		seen.Unreadable = reason
	}
	return append(out, tool.Request{
		Action: permission.Shell, Resources: resources, Save: save, Metadata: tool.EncodeObject(meta), Command: seen,
	})
}

// parseFor reads the command line for a shell, or says why it is not read.
func parseFor(program, text string) (line shell.Line, reason string) {
	if !shell.IsSupported(program) {
		return line, "is for the shell " + filepath.Base(program) + ", whose commands cairn does not read"
	}
	line, err := shell.Parse(text)
	if err != nil {
		return line, err.Error()
	}
	return line, ""
}

// reachedPaths collects the paths that commands reach.
type reachedPaths struct {
	tools      *bashTool
	dirs       []string // absolute and real: those in which a command may run
	lost       bool     // a command may run in a directory that is not known
	links      bool     // an earlier command may have made links
	movedLinks bool     // an earlier command moved or copied links, which lead elsewhere from another directory
	checked    int      // paths

	outside []string // directories
	read    []string // permission resources of files
	write   []string
	below   []permission.Tree
	unknown []permission.Access
}

// Bounds of the paths of one command line.
const (
	maxDirs    = 16
	maxChecked = 5000
	maxGlobbed = 1000 // files of one pattern
)

// addCommand adds the paths of one command, and follows cd and git -C. piped: its input is the output of another.
func (p *reachedPaths) addCommand(c shell.Command, piped bool) {
	written := c
	c, dirs := permission.SplitGitOptions(c)
	for _, w := range dirs {
		p.addWord(w, pathUse{keeps: true, harmless: true})
		p.changeDir(shell.Command{Words: []shell.Word{{Text: "cd", Literal: true}, w}})
	}
	use := useOf(c)
	for _, r := range c.Redirections {
		kind := redirectionUse
		if strings.HasPrefix(r.Operator, "<") {
			kind, piped = inputUse, true
		}
		p.addPath(expandHome(r.Target), kind)
	}
	scripts := p.findScripts(c)
	for i, w := range c.Words[1:] {
		if scripts[i+1] {
			continue
		}
		if listsFiles(c, w) || use.script && hidesPaths(w) {
			p.addUnknown("external_directory", "read")
		}
		p.addWord(w, use)
	}
	switch c.Words[0].Text {
	case "cd", "pushd":
		p.changeDir(c)
	default:
		p.lost = p.lost || !c.Words[0].Literal // which may be cd
	}
	if use.input {
		p.addUnknown("external_directory", "read")
	}
	if filepath.Base(c.Words[0].Text) == "git" {
		p.addGitSettings(written)
		if namesDirectoryAsRemote(p.dirs, c) {
			p.outside = appendNew(p.outside, ".") // where its hooks may do anything
			p.addUnknown("read", permission.Edit)
		}
	}
	if use.search && !(piped && use.filters) && !namesFiles(c) {
		p.addWorkingTrees(use.follows)
	}
	p.links = p.links || mayMakeLinks(c)
	p.movedLinks = p.movedLinks || movesLinks(p.dirs, c)
}

// addGitSettings adds the settings that a command of git changes without naming them, of the repository around each
// directory in which it may run.
func (p *reachedPaths) addGitSettings(c shell.Command) {
	g, ok := readGitCall(c)
	if !ok && !slices.ContainsFunc(c.Words, func(w shell.Word) bool { return w.Text == "config" }) {
		return
	}
	for _, dir := range p.dirs {
		dir, known := resolveAsKernel(dir, g.dir)
		git, settings := filepath.Join(dir, ".git"), ""
		if found, ok := checkout.Find(dir); ok {
			git, settings = found.Common, found.ReadSettings()
		}
		name := ""
		switch {
		case !ok || g.writesSettings(settings):
			name = "config"
		case g.name == "worktree" && strings.Contains(" remove move prune repair ", " "+append(g.args, "")[0]+" "):
			name = "worktrees"
		default:
			continue
		}
		written := nameResource(p.tools.config.Paths, p.tools.config.Repository, filepath.Join(git, name))
		p.write = appendNew(p.write, written)
		if p.lost || !known {
			p.addUnknown(permission.Edit)
		}
	}
}

// findScripts returns the words that are scripts without effects, and no names of files.
func (p *reachedPaths) findScripts(c shell.Command) map[int]bool {
	scripts := permission.FindFilterScripts(c)
	maps.DeleteFunc(scripts, func(i int, _ bool) bool {
		return slices.ContainsFunc(p.dirs, func(dir string) bool {
			real, _ := resolveAsKernel(dir, c.Words[i].Text)
			_, err := os.Lstat(real)
			return err == nil
		})
	})
	return scripts
}

// changeDir adds the directories in which later commands run. An earlier one stays possible, because the cd may fail or
// be run by a subshell.
func (p *reachedPaths) changeDir(c shell.Command) {
	w, unclear := shell.Word{Text: "~", Tilde: true}, false
	for _, w = range c.Words[1:] { // behind options
		unclear = unclear || w.Text == "-" || strings.HasPrefix(w.Text, "+") || strings.Contains(w.Text, shell.Hole)
	}
	for _, from := range slices.Clone(p.dirs) {
		if real, known := resolveAsKernel(from, expandHome(w)); known && !unclear {
			p.addDir(real)
		} else {
			p.lost = true
		}
	}
}

// addDir adds a directory in which commands may run.
func (p *reachedPaths) addDir(dir string) {
	if len(p.dirs) == maxDirs {
		p.lost = true
		return
	}
	p.dirs = appendNew(p.dirs, dir)
}

// addWord adds the paths that a word of a command may name.
func (p *reachedPaths) addWord(w shell.Word, use pathUse) {
	switch {
	case w.Literal || w.Tilde && !strings.Contains(w.Text, shell.Hole):
		if isFileURL(w.Text) {
			p.addUnknown("read", permission.Edit)
		}
		names := pathCandidates(expandHome(w), use.script)
		if use.joined {
			names = append(names, listSuffixes(names)...)
		}
		for i, name := range names {
			use.part = i > 0
			p.addPath(name, use)
		}
	case w.Pattern != "" && !w.Tilde && !p.lost && p.addGlob(w, use):
	default:
		p.addPartlyKnown(expandHome(w), use)
		if w.Pattern == "" && !use.prints && leadsAnywhere(w.Text) {
			p.unknown = append(p.unknown, permission.Access{
				Action: "external_directory", Resource: shell.Hole, Outside: true,
			})
		}
	}
}

// leadsAnywhere reports whether the value of a variable may begin a path in the word, as in $HOME/x and --file=$HOME/x,
// or leads back up.
func leadsAnywhere(word string) bool {
	before, rest, _ := strings.Cut(word, shell.Hole)
	return before == "" || strings.HasPrefix(before, "-") || strings.ContainsAny(before[len(before)-1:], "=:@,") ||
		strings.Contains(rest, "..")
}

// addPartlyKnown adds a path with holes: the directory that it begins with, its protected name, and anything else.
func (p *reachedPaths) addPartlyKnown(text string, use pathUse) {
	known, rest, _ := strings.Cut(text, shell.Hole)
	if i := strings.LastIndexByte(known, '/'); i >= 0 {
		p.addPath(known[:i+1], use)
	}
	if use.harmless {
		return
	}
	name := strings.ReplaceAll(text, shell.Hole, "*")
	if strings.HasPrefix(name, "*") && permission.ProtectedName(name) == "" { // $HOME/.profile
		name = "/" + name
	}
	if !use.keeps && permission.ProtectedName(name) != "" {
		p.write = appendNew(p.write, name)
	}
	p.unknown = append(p.unknown, permission.Access{Action: "external_directory", Resource: shell.Hole},
		permission.Access{Action: "read", Resource: shell.Hole + rest})
}

// addUnreadable adds what a line that is not read may reach: anything, and the paths that stand in it.
func (p *reachedPaths) addUnreadable(text string) {
	p.addUnknown(permission.Edit, "external_directory", "read")
	home := os.Getenv("HOME")
	text = strings.NewReplacer("${HOME}", home, "$HOME", home, "~/", home+"/", "$PWD", p.dirs[0], "\\", "").
		Replace(text)
	for _, name := range pathCandidates(text, true)[1:] {
		p.addPath(name, pathUse{reads: true, part: true, script: true})
	}
}

// addGlob adds the files that a glob pattern matches. False: they are not known.
func (p *reachedPaths) addGlob(w shell.Word, use pathUse) bool {
	parts := strings.Split(w.Pattern, "/")
	first := slices.IndexFunc(parts, func(part string) bool { return strings.ContainsAny(part, `*?\`) })
	for _, part := range parts[first:] {
		if above, err := filepath.Match(part, ".."); above || err != nil {
			return false
		}
	}
	prefix := strings.Join(parts[:first], "/")
	if strings.HasPrefix(w.Pattern, "/") {
		prefix = "/" + prefix
	}
	var files []string
	for _, dir := range p.dirs {
		real, known := resolveAsKernel(dir, prefix)
		if !known || strings.HasPrefix(real, "/proc") {
			return false
		}
		found, err := filepath.Glob(escapeGlob(strings.TrimSuffix(real, "/")) + "/" + strings.Join(parts[first:], "/"))
		if err != nil {
			return false
		}
		files = append(files, found...)
	}
	if len(files) == 0 || len(files) > maxGlobbed {
		return false
	}
	for _, file := range files {
		p.addPath(file, use)
	}
	return true
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// addPath adds one path, from each directory in which the command may run.
func (p *reachedPaths) addPath(name string, use pathUse) {
	if isDevice(name) || name == "" || name == "-" {
		return
	}
	if p.lost && !filepath.IsAbs(name) && !use.part && !use.harmless {
		p.addUnknown("external_directory", "read")
		if use.write {
			p.addUnknown(permission.Edit)
		}
	}
	for _, dir := range p.dirs {
		if p.checked++; p.checked > maxChecked {
			p.addUnknown("external_directory", "read", permission.Edit)
			return
		}
		real, known := resolveAsKernel(dir, name)
		if !known || strings.HasPrefix(real, "/proc/") { // which leads anywhere
			outside := "."
			if known {
				outside = filepath.ToSlash(filepath.Dir(real))
			}
			p.outside = appendNew(p.outside, outside)
			p.addUnknown("read", permission.Edit)
			p.addUnresolved(real, use)
			continue
		}
		if p.links && mayBecomeLink(real, use) || p.movedLinks && isMissing(real) {
			p.outside = appendNew(p.outside, filepath.ToSlash(filepath.Dir(real)))
			p.addUnknown(permission.Edit)
		}
		if found, err := p.tools.config.Paths.Resolve(real); err == nil {
			p.addResolved(found, use)
		}
	}
}

// addUnresolved adds a path that may lead to any file as a change of a protected one. Of the files in /proc, only the
// links to directories and open files do.
func (p *reachedPaths) addUnresolved(real string, use pathUse) {
	leads := func(link string) bool { return strings.Contains(real, link) }
	if !use.keeps && permission.ProtectedName(real) != "" && (!strings.HasPrefix(real, "/proc/") ||
		slices.ContainsFunc([]string{"/cwd", "/root", "/fd", "/map_files"}, leads)) {
		p.write = appendNew(p.write, real)
	}
}

// addResolved adds a path whose links are resolved. A word counts only if it names a file that exists, or one in a
// directory that does; a part of a word only in the first case.
func (p *reachedPaths) addResolved(found workpath.Path, use pathUse) {
	exists := found.Info != nil
	inKnownDir := exists || isKnownDir(filepath.Dir(found.Real))
	if use.redirection || exists || !use.harmless && isBelowKnownDir(found.Real) {
		p.addOutside(found)
	}
	if use.script && exists && found.IsDir() && isKnownDir(found.Real) {
		p.addDir(found.Real) // to which the program may change
	}
	guarded := !use.keeps && (inKnownDir || !use.part || use.script) && permission.ProtectedName(found.Resource()) != ""
	if use.write || guarded || use.redirection && found.IsDir() { // /dev/stdin/x would be a file of it
		p.write = appendNew(p.write, found.Resource())
	}
	switch {
	case exists && use.reads && !found.IsDir():
		p.read = appendNew(p.read, found.Resource())
	case use.tree && found.IsDir():
		p.below = append(p.below, p.tools.readTree(found, use.follows)...)
	}
}

// addWorkingTrees adds the directories in which the command may run, for a command that reads everything below them.
func (p *reachedPaths) addWorkingTrees(follows bool) {
	for _, dir := range p.dirs {
		if found, err := p.tools.config.Paths.Resolve(dir); err == nil {
			p.below = append(p.below, p.tools.readTree(found, follows)...)
		}
	}
}

func (p *reachedPaths) addUnknown(actions ...string) {
	for _, action := range actions {
		p.unknown = append(p.unknown, permission.Access{Action: action, Resource: shell.Hole})
	}
}

func (p *reachedPaths) addOutside(found workpath.Path) {
	if !found.IsInside() && !p.tools.config.Paths.IsManagedOutput(found) {
		p.outside = appendNew(p.outside, found.Dir())
	}
}

// permissionRequests returns the requests for directories outside of the Location, then for reading, then for writing.
func (p *reachedPaths) permissionRequests(command string) (out []tool.Request) {
	for _, r := range []struct {
		action    string
		resources []string
		below     string
	}{{"external_directory", trimRoots(p.outside), "/*"}, {"read", p.read, ""}, {permission.Edit, p.write, ""}} {
		if len(r.resources) == 0 {
			continue
		}
		request := tool.Request{Action: r.action}
		for _, path := range r.resources {
			request.Resources = append(request.Resources, path+r.below)
			request.Save = append(request.Save, permission.Escape(path)+r.below)
		}
		meta := map[string]any{"command": command}
		if r.action == "external_directory" {
			meta["directories"], meta["patterns"] = r.resources, request.Resources
		}
		request.Metadata = tool.EncodeObject(meta)
		out = append(out, request)
	}
	return out
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// trimRoots returns the directories without the slash of the root, so that patterns below it have one slash.
func trimRoots(dirs []string) []string {
	for i, dir := range dirs {
		dirs[i] = strings.TrimSuffix(dir, "/")
	}
	return dirs
}
