package config

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/fileuri"
	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// Plugin is one plugin, or one file of tools, of a location.
type Plugin struct {
	ID      string            // such as plugin/opencode-dcp or tool/greet
	Name    string            // of a package, with @version if the configuration has one; "" for a file
	File    string            // absolute; "" for a package
	Options jsontext.Value    // an object, or nil
	IsTool  bool              // the file exports tools instead of plugins
	Project bool              // the project's files name or contain it
	Outside bool              // the project names a file that is not in it: trust does not cover it, and it must not run
	Source  document.Position // of the name
	Trusted *trust.Claim      // what a file of a project may load; nil for others
}

// packageName matches the names of npm packages, with a version or a tag behind "@". By npm's rules no name begins with
// "." or "_"; one that begins with "-" would be an option of npm.
var packageName = regexp.MustCompile(`^(@[a-z0-9_~-][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*(@[\w.^~<>=*+-]+)?$`)

// IsPackageName reports whether a text names an npm package, with or without a version.
func IsPackageName(text string) bool {
	name, _ := SplitPackageName(text)
	return len(text) <= 214 && packageName.MatchString(text) && name != "node_modules"
}

// SplitPackageName returns the name and the version of a text that IsPackageName accepts; "" without one.
func SplitPackageName(text string) (name, version string) {
	if i := strings.LastIndexByte(text, '@'); i > 0 {
		return text[:i], text[i+1:]
	}
	return text, ""
}

// ListPlugins returns the plugins of all layers in their order: those that files name, then those in the folders of the
// user and of the project, with an id each. Of two packages with one name the later counts. Those that need trust and lack
// it are not among them. The variable OPENCODE_PURE, or CAIRN_PURE, leaves out all.
func (c *Config) ListPlugins() (out []Plugin) {
	if c.root == nil || c.pure {
		return nil
	}
	if list := c.root.Get("plugin"); list != nil {
		for _, item := range list.Items {
			if one, ok := c.readPlugin(item); ok && (!one.Project || c.runsPlugins) {
				out = slices.DeleteFunc(out, func(old Plugin) bool {
					return old.Name != "" && one.Name != "" && old.ID == one.ID // the id of a package is its name
				})
				out = append(out, one)
			}
		}
	}
	out = append(out, c.pluginFiles...)
	distinguishIDs(out)
	programs := c.Claim.ListPrograms()
	for i := range out {
		if out[i].Project && out[i].File != "" {
			out[i].Trusted = programs
		}
	}
	return out
}

// MayAllow reports whether the user lets the plugin allow what a person would be asked: the ids are those of the key
// extensions.allow. A plugin that a project names or contains never may.
func (p *Plugin) MayAllow(ids []string) bool { return !p.Project && slices.Contains(ids, p.ID) }

// distinguishIDs puts a number behind each id that another plugin has. The user's plugins are first: a project cannot
// take an id of theirs.
func distinguishIDs(plugins []Plugin) {
	taken := map[string]bool{}
	for _, isProject := range []bool{false, true} {
		for i := range plugins {
			one := &plugins[i]
			if one.Project != isProject {
				continue
			}
			id := one.ID
			for n := 2; taken[one.ID]; n++ {
				one.ID = id + "-" + strconv.Itoa(n)
			}
			taken[one.ID] = true
		}
	}
}

// readPlugin returns the plugin that an item of the key plugin names: a package, a path or a file URL, alone or in a
// list with its options.
func (c *Config) readPlugin(item *document.Node) (one Plugin, ok bool) {
	name := pluginName(item)
	if item.Kind == '[' && len(item.Items) > 1 && item.Items[1].Kind == '{' {
		one.Options = item.Items[1].AppendJSON(nil, document.Substituted)
	}
	text := name.TextValue()
	one.Source, one.Project = name.FindPosition(), name.Doc.IsProject()
	l := &loader{dirs: c.Dirs}
	if one.Project {
		l.opts.Directory = c.Claim.Root
	}
	one.File = l.findPluginPath(name)
	_, inside := l.inProject(one.File)
	one.Outside = one.Project && one.File != "" && one.File != l.root() && !inside
	switch {
	case one.File != "":
		one.ID = "plugin/" + fileTitle(one.File)
	case IsPackageName(text):
		one.Name = text
		own, _ := SplitPackageName(text)
		one.ID = "plugin/" + own
	default:
		return one, false
	}
	return one, true
}

// pluginName returns the name in an item of the key plugin.
func pluginName(item *document.Node) *document.Node {
	if item.Kind == '[' && len(item.Items) > 0 {
		return item.Items[0]
	}
	return item
}

// findPluginPath returns the script or directory that the name of a plugin means; "" if it is not a path. What needs trust
// (claimPlugins) and what is loaded are both found by it. References in the names of a project are not expanded: the
// decision about trust is made before they are.
func (l *loader) findPluginPath(name *document.Node) string {
	text := name.TextValue()
	if name.Doc.IsProject() {
		written, err := jsontext.AppendUnquote(nil, name.Raw)
		if err != nil { // not a string
			return ""
		}
		text = string(written)
	}
	if path, ok := strings.CutPrefix(text, "file://"); ok && !strings.HasPrefix(path, ".") {
		path, _ = fileuri.Parse(text) // "" if it is invalid
		return path
	} else if ok { // of OpenCode: relative to the file
		text, _ = url.PathUnescape(path)
	}
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "~") || filepath.IsAbs(text) {
		return l.expandPath(text, name.Doc.Dir)
	}
	return ""
}

// fileTitle returns the name of a file without its extension; of an index file, that of its directory.
func fileTitle(path string) string {
	title := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if title == "index" {
		title = filepath.Base(filepath.Dir(path))
	}
	return title
}

// findPluginFiles collects the files in the folders of plugins and tools: the user's, and those of a trusted project.
func (l *loader) findPluginFiles() {
	l.config.pure = IsSwitchOn(l.getenv, "PURE")
	dirs := []string{l.dirs.Foreign, l.dirs.Config}
	if l.dirs.Foreign != "" && l.dirs.Home != "" {
		dirs = append(dirs, filepath.Join(l.dirs.Home, ".opencode"))
	}
	for _, dir := range append(dirs, l.namedDirectory()) {
		l.addPluginFolders(dir, false)
	}
	l.stampNamedPlugins()
	if !l.readsProject() || !l.config.runsPlugins {
		return
	}
	for _, dir := range listAncestors(l.opts.Directory, l.opts.Worktree) {
		for _, parent := range []string{".opencode", ".cairn"} {
			if parent == ".opencode" && dir == l.dirs.Home {
				continue // the user's
			}
			if _, inside := l.inProject(filepath.Join(dir, parent, "plugin")); inside {
				l.addPluginFolders(filepath.Join(dir, parent), true)
			}
		}
	}
}

// maxNamedStamps bounds the files of one directory that stampNamedPlugins looks at.
const maxNamedStamps = 2000

// stampNamedPlugins stamps the scripts and directories that the key plugin names, so that a change of them is noticed. A
// name that can be none of a plugin is a warning.
func (l *loader) stampNamedPlugins() {
	list := l.config.root.Get("plugin")
	if list == nil {
		return
	}
	for _, item := range list.Items {
		name := pluginName(item)
		full := l.findPluginPath(name)
		if full == "" {
			if !IsPackageName(name.TextValue()) {
				l.addWarning(name.FindPosition(), WarnUnrun, "plugin", fmt.Sprintf(
					"%.100q is not the name of an npm package, a path or a file URL, so it is ignored", name.TextValue(),
				))
			}
			continue
		}
		n := 0
		_ = filepath.WalkDir(full, func(path string, e fs.DirEntry, err error) error { // what cannot be read is left out
			l.addStamp(path)
			switch n++; {
			case n >= maxNamedStamps:
				return fs.SkipAll
			case err != nil:
				return nil //nolint:nilerr // missing: stamped as such
			case path != full && isInstalled(e) && e.IsDir():
				return fs.SkipDir
			}
			return nil
		})
	}
}

// maxPluginFiles bounds the files of all folders.
const maxPluginFiles = 100

// addPluginFolders adds the scripts of a directory's folders of plugins and tools.
func (l *loader) addPluginFolders(dir string, isProject bool) {
	if dir == "" {
		return
	}
	for _, folder := range []string{"plugin", "plugins", "tool", "tools"} {
		kind := strings.TrimSuffix(folder, "s")
		l.addStamp(filepath.Join(dir, folder))
		entries, _ := os.ReadDir(filepath.Join(dir, folder)) // missing: none
		for _, e := range entries {
			path := filepath.Join(dir, folder, e.Name())
			if !trust.IsScript(e.Name()) || e.IsDir() || len(l.config.pluginFiles) >= maxPluginFiles {
				continue
			}
			l.addStamp(path)
			l.config.pluginFiles = append(l.config.pluginFiles, Plugin{
				ID: kind + "/" + fileTitle(path), File: path, IsTool: kind == "tool", Project: isProject,
				Source: document.Position{File: path},
			})
		}
	}
}

// ListFilePlugins returns the items of the key plugin of one file, as they are written there.
func (c *Config) ListFilePlugins(file string) (out []jsontext.Value) {
	if list := c.root.Get("plugin"); list != nil {
		for _, item := range list.Items {
			if item.Doc.Name == file {
				out = append(out, item.AppendJSON(nil, document.AsWritten))
			}
		}
	}
	return out
}

// NamesPackage reports whether an item of the key plugin, as it is written, names the package, in any version.
func NamesPackage(item jsontext.Value, name string) bool {
	var words []jsontext.Value
	text := ""
	if item.Kind() == '[' && json.Unmarshal(item, &words) == nil && len(words) > 0 {
		item = words[0]
	}
	if json.Unmarshal(item, &text) != nil || !IsPackageName(text) {
		return false
	}
	own, _ := SplitPackageName(text)
	return own == name
}
