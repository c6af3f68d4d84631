package exec

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/access/shell"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/linepath"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// commandPlan holds the permissions that a command line needs, and how it runs once they are given.
type commandPlan struct {
	requests    []tool.Request
	changed     []string // paths outside of the Location that it may change once the requests are allowed
	unsandboxed bool     // the configuration says that it runs outside of the sandbox
	exposed     []string // protected files for which the requests ask because an earlier command changed them
}

// commandPlace says where a command runs, and how without a person's approval.
type commandPlace struct {
	program string // the shell
	dir     workpath.Path
	session session.ID
	as      tool.Confinement
}

// planCommand returns the requests of a command line: for directories outside of the Location, for files that its
// literal words name, and for its commands. A line that is not plain counts as one command and has no known paths: the
// sandbox keeps it to the project. Files come before commands, so that a denied file needs no approval of the command.
func (t *bashTool) planCommand(in bashInput, at commandPlace) (p commandPlan) {
	// Find the paths that the words name.
	line, reason := parseFor(at.program, in.Command)
	as, dir := at.as, at.dir
	place := t.newPlace()
	place.NoProject = place.NoProject && as.Mode.IsConfined()
	paths := linepath.Find(place, line, dir.Real)
	if !dir.IsInside() {
		paths.Outside = append([]string{dir.Dir()}, paths.Outside...)
	}

	// Request the paths. Inside of the sandbox, changing the project needs no further permission.
	available := t.checkSandbox(as.Mode) == nil
	confined := as.Mode.IsConfined() && available
	p.requests, p.changed = listPathRequests(paths, in.Command, confined), paths.Changed
	// Protected files that the last command left changed need a person before anything else runs.
	if files := t.refused.listExposed(at.session); len(files) > 0 {
		meta := tool.EncodeObject(map[string]string{
			"command": in.Command, "reason": "these files were changed by the last command and could not be put back",
		})
		p.requests = append(p.requests, tool.Request{Action: permission.Edit, Resources: files, Metadata: meta, Person: true})
		p.exposed = files
	}

	// Request the commands: those of a plain line one by one, another line as a whole.
	p.unsandboxed = reason == "" && t.runsUnsandboxed(line, at)
	resources := permission.CommandsOf(line)
	if reason != "" {
		resources = []string{in.Command}
	}
	if len(resources) == 0 { // it only changes directories, which has its own requests
		return p
	}
	request := tool.Request{
		Action: permission.Shell, Resources: resources, Outside: p.unsandboxed,
		Command: permission.CommandContext{Line: in.Command, Unconfined: as.IfPossible && !available},
	}
	switch {
	case !shell.IsSupported(at.program):
		request.Command.NotPlain = reason
	case request.Command.Unconfined:
		request.Command.NotPlain = t.explainProjectProgram(line)
	}

	// Offer the patterns that "always" saves; after a refusal by the sandbox only a person decides, and nothing is saved.
	for _, r := range resources {
		if pattern := permission.SavePattern(r); !slices.Contains(request.Save, pattern) {
			request.Save = append(request.Save, pattern)
		}
	}
	meta := in.describe(dir, reason)
	if as.Attended && t.refused.contains(at.session, in.Command) {
		request.Person, request.Save = true, nil
		meta["reason"] = "was refused something by the sandbox before; once approved, it runs outside of the sandbox, once"
	}
	request.Metadata = tool.EncodeObject(meta)
	p.requests = append(p.requests, request)
	return p
}

// describe returns what an ask for the command shows.
func (in bashInput) describe(dir workpath.Path, reason string) map[string]string {
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
	return meta
}

// parseFor parses the command line for a shell. reason says why the line is not plain, "" if it is.
func parseFor(program, text string) (line shell.Line, reason string) {
	if program == "" {
		return line, "is for a shell that was not found"
	}
	if !shell.IsSupported(program) {
		return line, "is for the shell " + filepath.Base(program) + ", whose commands cairn does not read"
	}
	line, err := shell.Parse(text)
	if err != nil {
		return line, err.Error()
	}
	return line, ""
}

// runsUnsandboxed reports whether Config.Outside matches all commands of a plain line, which open no files and run in
// the session's directory.
func (t *bashTool) runsUnsandboxed(line shell.Line, at commandPlace) bool {
	commands := permission.CommandsOf(line)
	isElsewhere := at.dir.Real != at.dir.Root || slices.ContainsFunc(line.Commands, func(c shell.Command) bool {
		return c.Words[0].Text == "cd" || len(c.Redirections) > 0 || reachesOtherRepository(c, at.dir.Real)
	})
	if len(commands) == 0 || isElsewhere || t.explainProjectProgram(line) != "" {
		return false
	}
	return !slices.ContainsFunc(commands, func(c string) bool {
		return !slices.ContainsFunc(t.config.Outside, func(pattern string) bool { return permission.Match(pattern, c) })
	})
}

// gitHelperOptions make git run a program, or use another repository. git accepts their beginnings.
var gitHelperOptions = []string{
	"-c", "-C", "--git-dir", "--work-tree", "--exec-path", "--exec", "--receive-pack", "--upload-pack", "--config-env",
	"--repo",
}

// reachesOtherRepository reports whether a command of git runs a program that its words name, or uses a repository in a
// directory, whose hooks and settings commands may have written.
func reachesOtherRepository(c shell.Command, dir string) bool {
	return filepath.Base(c.Words[0].Text) == "git" && slices.ContainsFunc(c.Words[1:], func(w shell.Word) bool {
		name, _, _ := strings.Cut(w.Text, "=")
		if strings.HasPrefix(name, "-") {
			return slices.ContainsFunc(gitHelperOptions, func(o string) bool {
				return strings.HasPrefix(name, o) || len(name) > 3 && strings.HasPrefix(o, name)
			})
		}
		path := w.Text
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		_, err := os.Stat(path)
		isLocal := err == nil || strings.HasPrefix(strings.ToLower(w.Text), "file:")
		return isLocal || strings.Contains(w.Text, "::") // a transport's helper
	})
}

// explainProjectProgram returns why no pattern applies to a line if one of its programs is a file of the project: such
// a file can do something else than its name says. If no program is such a file, it returns "".
func (t *bashTool) explainProjectProgram(line shell.Line) string {
	for _, c := range line.Commands {
		path, err := exec.LookPath(c.Words[0].Text)
		if err != nil && !errors.Is(err, exec.ErrDot) {
			continue
		}
		if !filepath.IsAbs(path) { // PATH has a relative directory
			return "runs " + path + ", which depends on the directory"
		}
		if found, err := t.config.Paths.Resolve(path); err == nil && found.IsInside() {
			return "runs " + path + ", which is a file of the project"
		}
	}
	return ""
}

// listPathRequests returns the requests for directories outside of the Location, then for reading, then for writing.
func listPathRequests(p linepath.NamedPaths, command string, confined bool) (out []tool.Request) {
	for _, r := range []struct {
		action    string
		resources []string
		below     string
	}{{permission.Outside, trimRoots(p.Outside), "/*"}, {"read", p.Read, ""}, {permission.Edit, p.Write, ""}} {
		if len(r.resources) == 0 {
			continue
		}
		// A saved permission is a pattern, so characters of the path that patterns use are escaped.
		request := tool.Request{Action: r.action}
		for _, path := range r.resources {
			request.Resources = append(request.Resources, path+r.below)
			request.Save = append(request.Save, permission.Escape(path)+r.below)
		}
		// What the request is about, for people and clients.
		meta := map[string]any{"command": command}
		switch r.action {
		case permission.Outside:
			meta["directories"], meta["patterns"] = r.resources, request.Resources
		case permission.Edit:
			request.Command.Confined = confined
		}
		request.Metadata = tool.EncodeObject(meta)
		out = append(out, request)
	}
	return out
}

// trimRoots returns the directories without the slash of the root, so that patterns below it have one slash.
func trimRoots(dirs []string) []string {
	for i, dir := range dirs {
		dirs[i] = strings.TrimSuffix(dir, "/")
	}
	return dirs
}
