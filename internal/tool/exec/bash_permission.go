package exec

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/shell"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// askCommand asks for what the command would do: for directories outside, for files that it prints or that the shell
// writes, and for each command in it. What "always" will allow are the words that name each of them.
func (t *bashTool) askCommand(
	ctx context.Context, call tool.Call, program string, dir workpath.Path, in bashInput,
) error {
	return workpath.AskAll(ctx, call, t.commandRequests(program, dir, in))
}

// commandRequests are for the places that the command touches, then for what it runs.
func (t *bashTool) commandRequests(program string, dir workpath.Path, in bashInput) []tool.Request {
	script := shell.ParseFor(program, in.Command)
	touched := t.resolveTouched(dir, script)
	touched.seen.Script = in.Command
	out := touched.permissionRequests(in.Command)
	var resources, save []string
	forever := true
	for _, c := range script.Commands {
		resources = append(resources, c.Source)
		forever = forever && !c.Anywhere
		for _, p := range c.Parts {
			forever = forever && p.Save != ""
			save = appendNew(save, p.Save)
		}
	}
	if len(resources) == 0 { // it changes directories or opens files, which is asked for
		return out
	}
	if !forever {
		save = nil
	}
	meta := map[string]string{"command": in.Command}
	if in.Workdir != "" {
		meta["workdir"] = dir.Real
	}
	if in.Description != "" {
		meta["description"] = in.Description
	}
	return append(
		out,
		tool.Request{
			Action: permission.Shell, Resources: resources, Save: save, Metadata: tool.Object(meta), Seen: touched.seen,
		},
	)
}

// touchedPaths are the places that a command reaches, besides running programs.
type touchedPaths struct {
	outside []string // directories
	read    []string // resources of files, as rules see them
	write   []string
	seen    permission.Seen
}

// maxStarts bounds the directories that relative paths are tried from.
const maxStarts = 16

// resolveTouched resolves what the script names. Where a command changes directories, a relative path is tried from
// each of them: which one it will be is not followed.
func (t *bashTool) resolveTouched(dir workpath.Path, script shell.Script) touchedPaths {
	var out touchedPaths
	starts := []string{dir.Real}
	t.addOutside(&out, dir)
	for _, to := range script.Directories {
		if strings.Contains(to, shell.Hole) {
			out.seen.From = appendNew(out.seen.From, shell.Hole)
			continue
		}
		for _, from := range slices.Clone(starts) {
			p, err := t.config.Paths.Resolve(resolveFrom(from, to))
			if err != nil {
				continue
			}
			t.addOutside(&out, p)
			if len(starts) < maxStarts {
				starts = appendNew(starts, p.Real)
			}
		}
	}
	if len(script.Directories) > 0 || dir.Rel != "." { // else it stands in the place itself
		out.seen.From = append(out.seen.From, t.resourcesOf(starts)...)
	}
	t.expandGlobs(&out, script, starts)
	for _, named := range script.Paths {
		for _, from := range starts {
			p, err := t.config.Paths.Resolve(resolveFrom(from, named.Name))
			if err == nil && !isDevice(p.Real) {
				t.addTouched(&out, p, named)
			}
		}
	}
	return out
}

// resourcesOf are what rules see of the directories.
func (t *bashTool) resourcesOf(dirs []string) (out []string) {
	for _, dir := range dirs {
		if p, err := t.config.Paths.Resolve(dir); err == nil {
			out = appendNew(out, p.Resource())
		}
	}
	return out
}

// maxGlobbed files of a pattern are looked at one by one.
const maxGlobbed = 1000

// expandGlobs looks for the files that patterns in the script stand for. Those that are there are held to the rules for
// read by their names; a pattern without any may yet become something, and is left as what is not known.
func (t *bashTool) expandGlobs(out *touchedPaths, script shell.Script, starts []string) {
	if slices.Contains(out.seen.From, shell.Hole) {
		return
	}
	for _, text := range unknownReads(script) {
		pattern := script.Globs[text]
		var files []string
		for _, from := range starts {
			if pattern != "" {
				found, _ := filepath.Glob(resolveFrom(escapeGlob(from), pattern))
				files = append(files, found...)
			}
		}
		if len(files) == 0 || len(files) > maxGlobbed {
			continue
		}
		out.seen.Known = appendNew(out.seen.Known, text)
		for _, file := range files {
			if p, err := t.config.Paths.Resolve(file); err == nil && !isDevice(p.Real) {
				t.addTouched(out, p, shell.Path{Use: shell.Read, Whole: true})
			}
		}
	}
}

// unknownReads are the words of the script that stand for files that it reads, as shell.Part.Reads has them.
func unknownReads(script shell.Script) (words []string) {
	for _, c := range script.Commands {
		for _, p := range c.Parts {
			for _, word := range p.Reads {
				words = appendNew(words, word)
			}
		}
	}
	return words
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// addTouched adds one place. An argument that only looks like a path counts when something is there; what does not
// exist cannot be read. What is known to change counts where it is protected: else the rules for commands are enough.
func (t *bashTool) addTouched(out *touchedPaths, p workpath.Path, named shell.Path) {
	guarded := permission.Guarded(writtenResource(p, named)) != ""
	mention := named.Use == shell.Named || named.Use == shell.Given || named.Use == shell.Handed && !guarded
	if mention && p.Info == nil && !isKnownDir(filepath.Dir(p.Real)) {
		return
	}
	t.addOutside(out, p)
	switch named.Use {
	case shell.Write:
		if named.Whole || guarded {
			out.write = appendNew(out.write, writtenResource(p, named))
		}
	case shell.Change:
		if guarded {
			out.write = appendNew(out.write, writtenResource(p, named))
		}
	case shell.Read, shell.Given, shell.Handed:
		if named.Use == shell.Handed && guarded {
			out.write = appendNew(out.write, writtenResource(p, named))
		}
		if named.Deep && p.IsDir() {
			out.seen.Below = append(out.seen.Below, t.readTree(p, named))
		}
		switch {
		case !named.Whole || p.Info == nil:
		case !p.IsDir():
			out.read = appendNew(out.read, p.Resource())
		case named.Use == shell.Read && p.Rel != ".":
			out.read = appendNew(out.read, p.Resource()+"/*")
		}
	}
}

// writtenResource is the resource of what is written. A * stands for what is not known of it.
func writtenResource(p workpath.Path, named shell.Path) string {
	if named.Whole {
		return p.Resource()
	}
	rest := strings.ReplaceAll(strings.TrimPrefix(named.Shape, named.Name), shell.Hole, "*")
	if p.Rel == "." {
		return rest
	}
	return p.Resource() + "/" + rest
}

func (t *bashTool) addOutside(out *touchedPaths, p workpath.Path) {
	if !p.IsInside() && !t.config.Paths.IsManagedOutput(p) {
		out.outside = appendNew(out.outside, p.Dir())
	}
}

// isKnownDir reports that the directory is there and is not the root, in which every misread slash would end.
func isKnownDir(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && dir != filepath.Dir(dir)
}

// isDevice reports files that hold nothing of anybody's.
func isDevice(path string) bool {
	switch path {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/stdin", "/dev/stdout",
		"/dev/stderr":
		return true
	}
	return strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/dev/pts/")
}

// resolveFrom is the path as the shell sees it from a directory.
func resolveFrom(dir, name string) string {
	if rest, ok := strings.CutPrefix(name, "~"); ok {
		who, below, _ := strings.Cut(rest, "/")
		if who == "+" || who == "-" { // where the shell is, or was
			return filepath.Join(dir, below)
		}
		name = filepath.Join(homeDir(who), below)
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// homeDir is the home of a user, "" for one's own. Nobody's is where homes usually are.
func homeDir(name string) string {
	if name == "" {
		return os.Getenv("HOME")
	}
	if u, err := user.Lookup(name); err == nil {
		return u.HomeDir
	}
	return "/home/" + name
}

// permissionRequests are for directories outside first, then for reading, then for writing.
func (t touchedPaths) permissionRequests(command string) (out []tool.Request) {
	for _, r := range []struct {
		action    string
		resources []string
		below     string
	}{{"external_directory", t.outside, "/*"}, {"read", t.read, ""}, {"edit", t.write, ""}} {
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
		request.Metadata = tool.Object(meta)
		out = append(out, request)
	}
	return out
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
