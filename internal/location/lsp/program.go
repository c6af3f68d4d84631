package lsp

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/tool/process"
)

// launch is what a server is started with.
type launch struct {
	argv           []string // [0] is the path of the program
	dir            string
	env            []string
	initialization jsontext.Value // may be nil
}

// missingError reports a server that cannot be started here.
type missingError struct {
	text   string
	silent bool // it is not worth a warning
}

func (e *missingError) Error() string { return e.text }

// findProgram returns how the server is started in root. Programs inside of the worktree and servers that execute code
// of the project are used in trusted projects only. Its errors are *missingError.
func (m *Manager) findProgram(s Server, root string) (launch, error) {
	if s.RunsProject && !m.options.Trusted {
		return launch{}, &missingError{
			text: fmt.Sprintf("language server %s runs code of the project, which is not trusted", s.ID), silent: s.Optional,
		}
	}
	environment := m.options.Environment
	environment.Pass = append(slices.Clip(environment.Pass), s.Pass...)
	environment.Set = append(slices.Clip(environment.Set), s.Env...)
	l := launch{dir: root, env: environment.List(), initialization: s.Initialization}
	for _, p := range s.Programs {
		if p.Requires != "" && findUp(root, m.options.Worktree, []string{p.Requires}) == "" {
			continue
		}
		path := m.lookUp(p.Argv[0], root, l.env)
		if path == "" {
			continue
		}
		l.argv = append([]string{path}, p.Argv[1:]...)
		if m.options.Trusted {
			l.initialization = p.fillSettings(l.initialization, root, m.options.Worktree)
		}
		return l, nil
	}
	text := fmt.Sprintf("language server %s is not installed", s.ID)
	if len(s.Programs) == 1 {
		text += fmt.Sprintf(" (program %s)", s.Programs[0].Argv[0])
	}
	if s.Install != "" {
		text += ": " + s.Install
	}
	return launch{}, &missingError{text, s.Optional}
}

// lookUp returns the path of a program: of one with a slash relative to the location, else the project's, then that of
// PATH; "" if no program may run.
func (m *Manager) lookUp(name, root string, env []string) string {
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(m.options.Directory, name)
		}
		return m.checkProgram(name)
	}
	for dir := range ascend(root, m.options.Worktree) {
		if path := m.checkProgram(filepath.Join(dir, "node_modules", ".bin", name)); path != "" {
			return path
		}
	}
	for _, kv := range env {
		value, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(value) {
			if !filepath.IsAbs(dir) {
				continue
			}
			if path := m.checkProgram(filepath.Join(dir, name)); path != "" {
				return path
			}
		}
	}
	return ""
}

// checkProgram returns the path if it is a program that may run, with an extension that the system demands, else "".
func (m *Manager) checkProgram(path string) string {
	suffixes := []string{""}
	if runtime.GOOS == "windows" {
		suffixes = []string{".exe", ".cmd", ".bat"}
	}
	for _, suffix := range suffixes {
		info, err := os.Stat(path + suffix)
		if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
			continue
		}
		real, err := filepath.EvalSymlinks(path + suffix)
		if err == nil && (m.options.Trusted || !m.isOfProject(path) && !m.isOfProject(real)) {
			return path + suffix
		}
	}
	return ""
}

func (m *Manager) isOfProject(path string) bool {
	return contains(m.options.Worktree, path) || contains(m.options.Directory, path)
}

// fillSettings returns initialization with the settings whose files exist.
func (p Program) fillSettings(initialization jsontext.Value, root, worktree string) jsontext.Value {
	values := map[string]any{}
	if len(initialization) > 0 && json.Unmarshal(initialization, &values) != nil {
		return initialization
	}
	changed := false
	for _, s := range p.Settings {
		if file := findUp(root, worktree, s.Files); file != "" {
			changed = setMember(values, strings.Split(s.Key, "."), file) || changed
		}
	}
	if !changed {
		return initialization
	}
	out, err := json.Marshal(values, json.Deterministic(true))
	if err != nil {
		return initialization
	}
	return out
}

// setMember sets a member of nested objects unless it has a value.
func setMember(values map[string]any, key []string, value string) bool {
	for ; len(key) > 1; key = key[1:] {
		inner, ok := values[key[0]].(map[string]any)
		if !ok {
			if values[key[0]] != nil {
				return false
			}
			inner = map[string]any{}
			values[key[0]] = inner
		}
		values = inner
	}
	if values[key[0]] != nil {
		return false
	}
	values[key[0]] = value
	return true
}

// startProgram starts a server as a child process.
func (m *Manager) startProgram(l launch) (*endpoint, error) {
	child, err := process.StartChild(process.Spec{
		Argv: l.argv, Dir: l.dir, Env: l.env, Supervisor: m.options.Supervisor, Processes: process.MaxProcesses,
	})
	if err != nil {
		return nil, err
	}
	return &endpoint{
		in: child.In, out: child.Out, done: child.Done(), readErrors: child.ReadErrors, close: func() { _ = child.Close() },
	}, nil
}
