package config

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// executableFolders are the folders of a project, below .cairn and .opencode, whose files are programs or come with
// some.
var executableFolders = map[string]string{
	"plugin": trust.WhyPlugin, "plugins": trust.WhyPlugin, "tool": trust.WhyTool, "tools": trust.WhyTool,
	"hook": trust.WhyHook, "hooks": trust.WhyHook,
	"skill": "a file of a skill", "skills": "a file of a skill",
}

// decideTrust collects the content of the project's documents and folders that needs trust and returns whether it is
// trusted. The decision is about the same bytes that are used afterwards.
func (l *loader) decideTrust(docs []*document.Document) bool {
	// Collect what the project's documents and folders contain.
	l.own = ownCommands(l.config.root, docs)
	c := &trust.Claim{Root: l.root(), Project: l.opts.Project}
	l.config.Claim = c
	for _, d := range docs {
		if d.Layer == document.LayerProject {
			l.addClaim(c, d)
		}
	}
	if l.readsProject() {
		for _, dir := range listAncestors(l.opts.Directory, l.opts.Worktree) {
			l.claimFolders(c, dir)
		}
		l.claimImports(c)
	}
	// Decide, and watch the file of decisions for changes.
	loaded := l.opts.Plugins != nil && l.opts.Plugins.Loaded
	l.config.Unrun = c.ListUnrun(loaded)
	if l.opts.Trust != nil && !c.IsEmpty() {
		l.addStamp(l.opts.Trust.Path())
		l.config.Trusted = l.opts.Trust.IsTrusted(c)
		l.config.runsPlugins = l.config.Trusted && l.opts.Trust.RunsPlugins(c)
		if l.config.Trusted && l.opts.Trust.MayAllow(c, loaded) {
			l.config.Unrun = nil
		}
	}
	// Warn about the programs that are not run.
	for _, name := range l.config.Unrun {
		if strings.HasPrefix(filepath.Ext(name), ".json") || trust.IsScript(name) && l.opts.Plugins != nil {
			continue // a plugin that is loaded, waits for trust, or has a warning of its own
		}
		l.addWarning(document.Position{File: filepath.Join(c.Root, name)}, WarnUnrun, "", unrunReason)
	}
	return l.config.Trusted
}

const unrunReason = "is not run: plugins and tools are scripts (.ts, .js), and hooks run if the key hooks names them"

// warnUnrun reports the folders of the user's plugins, tools and hooks that hold programs.
func (l *loader) warnUnrun() {
	own := []string{l.dirs.Config, l.namedDirectory()}
	dirs := slices.Clone(own)
	if l.dirs.Foreign != "" {
		dirs = append(dirs, l.dirs.Foreign, filepath.Join(l.dirs.Home, ".opencode"))
	}
	for _, dir := range dirs {
		for _, name := range slices.Sorted(maps.Keys(executableFolders)) {
			entries, _ := os.ReadDir(filepath.Join(dir, name)) // missing, or not a folder: nothing to run
			runs := slices.ContainsFunc(entries, func(e os.DirEntry) bool {
				return trust.IsProgram(e.Name()) && (!trust.IsScript(e.Name()) || strings.HasPrefix(name, "hook"))
			})
			if strings.HasPrefix(name, "hook") && slices.Contains(own, dir) {
				continue // programs that the key hooks may name
			}
			if dir != "" && runs && !strings.HasPrefix(name, "skill") {
				l.addWarning(document.Position{File: filepath.Join(dir, name)}, WarnUnrun, "", unrunReason)
			}
		}
	}
}

// probeUntrusted reads a copy of the document as untrusted and returns what is withheld from it and why.
func (l *loader) probeUntrusted(d *document.Document) (why []string, withheld []document.Member, err error) {
	probe := &loader{
		opts:   l.opts,
		dirs:   l.dirs,
		getenv: l.getenv,
		own:    l.own,
		config: &Config{agentRules: map[string][]RuleList{}},
	}
	probe.opts.All = false
	copied := *d
	if err = probe.addDocument(&copied); err != nil {
		why = append(why, "it cannot be read")
	}
	for _, w := range probe.config.Warnings {
		if w.Kind == WarnUntrusted {
			why = append(why, w.Key)
		}
	}
	return why, probe.withheld, err
}

// addClaim adds the withheld content of a project's document to the claim.
func (l *loader) addClaim(c *trust.Claim, d *document.Document) {
	why, withheld, _ := l.probeUntrusted(d) // addDocument reports the document's errors
	path, inside := l.inProject(d.Name)
	if len(why) == 0 || !inside {
		return
	}
	c.Add(path, d.Text, why...)
	for _, m := range reference.FindAllSubmatch(d.Text, -1) { // its words may be a command's
		if rel, inside := l.inProject(l.expandPath(string(m[2]), d.Dir)); inside && string(m[1]) == "file" {
			full := filepath.Join(l.root(), rel)
			if _, err := os.Stat(full); err == nil && c.AddFile(rel, trust.WhyNamed+filepath.Base(d.Name)) {
				l.addStamp(full)
			}
		}
	}
	for _, m := range withheld {
		l.claimNamed(c, d, m.Value)
		switch m.Key {
		case "skills":
			l.claimSkills(c, m.Value.Get("paths"))
		case "plugin":
			l.claimPlugins(c, d, m.Value)
		}
	}
}

// claimSkills adds the programs in the project's further folders of skills.
func (l *loader) claimSkills(c *trust.Claim, paths *document.Node) {
	if paths == nil {
		return
	}
	for _, item := range paths.Items {
		if path, inside := l.inProject(l.expandPath(item.Text, l.opts.Directory)); inside {
			l.stampAll(c.AddTree(path, executableFolders["skills"], isText))
		}
	}
}

// claimPlugins adds the scripts and directories of the project that the key plugin names. The packages that a directory
// has in node_modules, and its Git directory, are left out.
func (l *loader) claimPlugins(c *trust.Claim, d *document.Document, list *document.Node) {
	why := trust.WhyNamed + filepath.Base(d.Name)
	for _, item := range list.Items {
		full := l.findPluginPath(pluginName(item))
		path, inside := l.inProject(full)
		if full == l.root() {
			path, inside = ".", true
		}
		if full == "" || !inside {
			continue
		}
		l.addStamp(full) // also if it is missing: the claim is another one when it appears
		info, err := os.Stat(full)
		switch {
		case err != nil:
		case info.IsDir():
			l.stampAll(c.AddTree(path, why, isInstalled))
		default:
			c.AddFile(path, why)
		}
	}
}

// isInstalled reports whether an entry of a directory does not belong to its own files.
func isInstalled(e fs.DirEntry) bool { return e.Name() == "node_modules" || e.Name() == ".git" }

// ReadProjectShell returns the program that the project's files name as the shell, with the bytes that were trusted.
// own is false if those files name no shell, or if the shell is found in PATH or lies outside of the project.
func (c *Config) ReadProjectShell() (program []byte, own bool, err error) {
	n := c.root.Get("shell")
	if n == nil || n.Doc == nil || !n.Doc.IsProject() || n.Doc.Remote != nil || !filepath.IsAbs(c.Shell) {
		return nil, false, nil
	}
	l := &loader{opts: Options{Directory: c.Claim.Root}}
	if path, inside := l.inProject(c.Shell); inside {
		program, err = c.Claim.Read(path)
		return program, true, err
	}
	real, err := filepath.EvalSymlinks(c.Shell)
	top, terr := filepath.EvalSymlinks(c.Claim.Root)
	l.opts.Directory = top
	if _, inside := l.inProject(real); err != nil || terr != nil || inside {
		return nil, true, fmt.Errorf("%s cannot be verified; name it relative to the file that sets it", c.Shell)
	}
	return nil, false, nil
}

// isText reports whether a file is Markdown, which runs nothing.
func isText(e fs.DirEntry) bool {
	return !e.IsDir() && strings.EqualFold(filepath.Ext(e.Name()), ".md")
}

func (l *loader) stampAll(paths []string) {
	for _, path := range paths {
		l.addStamp(path)
	}
}

// claimNamed adds the files of the project that a value names: the scripts that a command would run.
func (l *loader) claimNamed(c *trust.Claim, d *document.Document, n *document.Node) {
	for _, m := range n.Members {
		l.claimNamed(c, d, m.Value)
	}
	for _, item := range n.Items {
		l.claimNamed(c, d, item)
	}
	named := "named by " + filepath.Base(d.Name)
	words := strings.Fields(n.Text)
	if strings.Contains(n.Text, "PROJECT_DIR") { // as commands of hooks name the project
		words = append(words, strings.Fields(projectVariables.Replace(n.Text))...)
	}
	for _, word := range words {
		for _, base := range []string{l.opts.Directory, l.root(), d.Dir} {
			full := l.expandPath(strings.Trim(word, `"'`), base)
			path, inside := l.inProject(full)
			if info, err := os.Stat(full); !inside || err != nil || !info.Mode().IsRegular() {
				continue
			}
			if c.AddFile(path, named) {
				l.addStamp(full)
			}
		}
	}
}

// projectVariables makes paths below the project relative to it. Quotes would stand within the path.
var projectVariables = strings.NewReplacer(
	"${CLAUDE_PROJECT_DIR}", ".", "$CLAUDE_PROJECT_DIR", ".", "${CAIRN_PROJECT_DIR}", ".", "$CAIRN_PROJECT_DIR", ".",
	`"`, "", "'", "",
)

// claimFolders adds the programs in the folders of a directory. Those in the user's home are the user's.
func (l *loader) claimFolders(c *trust.Claim, dir string) {
	// In the home directory .opencode, .claude and .agents are the user's own, and only .cairn may be a project's.
	parents := []string{".cairn", ".opencode", ".claude", ".agents"}
	if dir == l.dirs.Home {
		parents = parents[:1]
	}
	// Only folders inside of the project are claimed. Markdown of a skill is text and needs no trust.
	tree := func(parent, name, why string) {
		path, inside := l.inProject(filepath.Join(dir, parent, name))
		if !inside {
			return
		}
		var skip func(fs.DirEntry) bool
		if strings.HasPrefix(name, "skill") {
			skip = isText
		}
		l.stampAll(c.AddTree(path, why, skip))
	}
	// Stamp every parent, also a missing one: if it appears later, the claim must be made again.
	for _, parent := range parents {
		l.addStamp(filepath.Join(dir, parent))
		if _, err := os.Lstat(filepath.Join(dir, parent)); err != nil {
			continue
		}
		// The folders of other tools have skills only; cairn's and OpenCode's have all kinds of programs.
		if parent == ".claude" || parent == ".agents" {
			tree(parent, "skills", executableFolders["skills"])
			continue
		}
		for name, why := range executableFolders {
			tree(parent, name, why)
		}
	}
}
