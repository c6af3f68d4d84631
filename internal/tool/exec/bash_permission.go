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

// askCommand asks for what the command would do: for directories outside of the Location, for files that it reads or
// writes, and for each command in it. The answer "always" allows the words that name each command.
func (t *bashTool) askCommand(
	ctx context.Context, call tool.Call, program string, dir workpath.Path, in bashInput,
) error {
	return workpath.AskAll(ctx, call, t.commandRequests(program, dir, in))
}

// commandRequests returns the permission requests for the paths that the command touches, then for what it runs.
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
	if len(resources) == 0 { // it only changes directories or opens files, which has its own requests
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
			Action: permission.Shell, Resources: resources, Save: save, Metadata: tool.EncodeObject(meta), Command: touched.seen,
		},
	)
}

// touchedPaths are the paths that a command reaches, besides running programs.
type touchedPaths struct {
	outside []string // directories
	read    []string // permission resources of files
	write   []string
	seen    permission.CommandContext
}

// maxStarts bounds the directories from which relative paths are resolved.
const maxStarts = 16

// resolveTouched resolves the paths in the script. If the script changes directories, each relative path is resolved
// from each of them.
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
	if len(script.Directories) > 0 || dir.Rel != "." { // else the command runs in the root itself
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

// resourcesOf returns the permission resources of the directories.
func (t *bashTool) resourcesOf(dirs []string) (out []string) {
	for _, dir := range dirs {
		if p, err := t.config.Paths.Resolve(dir); err == nil {
			out = appendNew(out, p.Resource())
		}
	}
	return out
}

// maxGlobbed bounds the files of one pattern that are resolved one by one.
const maxGlobbed = 1000

// expandGlobs resolves the files that glob patterns in the script match, so that rules for read apply to their names. A
// pattern that matches no file is left unknown, because the script may create one.
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

// unknownReads returns the words of the script that stand for files that it reads (shell.Part.Reads).
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

// addTouched adds one path. An argument that may be a path counts only if the file exists. A path that is known to
// change counts only if it is protected: otherwise the rules for commands suffice.
func (t *bashTool) addTouched(out *touchedPaths, p workpath.Path, named shell.Path) {
	guarded := permission.ProtectedName(writtenResource(p, named)) != ""
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

// writtenResource returns the resource of a written path. A * stands for its unknown parts.
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

// isKnownDir reports whether the directory exists. The root does not count, because every misread slash would lead
// there.
func isKnownDir(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && dir != filepath.Dir(dir)
}

// isDevice reports whether the path is a device that contains no data.
func isDevice(path string) bool {
	switch path {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/stdin", "/dev/stdout",
		"/dev/stderr":
		return true
	}
	return strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/dev/pts/")
}

// resolveFrom resolves ~ and a relative path as the shell does in dir.
func resolveFrom(dir, name string) string {
	if rest, ok := strings.CutPrefix(name, "~"); ok {
		who, below, _ := strings.Cut(rest, "/")
		if who == "+" || who == "-" { // + and ~- are directories of the shell
			return filepath.Join(dir, below)
		}
		name = filepath.Join(homeDir(who), below)
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// homeDir returns the home of a user, of the current one for "". An unknown user gets a directory in /home.
func homeDir(name string) string {
	if name == "" {
		return os.Getenv("HOME")
	}
	if u, err := user.Lookup(name); err == nil {
		return u.HomeDir
	}
	return "/home/" + name
}

// permissionRequests returns the requests for directories outside of the Location, then for reading, then for writing.
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
		request.Metadata = tool.EncodeObject(meta)
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
