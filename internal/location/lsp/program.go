package lsp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/location/program"
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
	// Trust.
	if s.RunsProject && !m.options.Trusted {
		text := fmt.Sprintf("language server %s runs code of the project, which is not trusted (see cairn trust)", s.ID)
		return launch{}, &missingError{text, s.Optional}
	}
	// The first program that is found.
	environment := m.options.Environment
	environment.Pass = append(slices.Clip(environment.Pass), s.Pass...)
	environment.Set = append(slices.Clip(environment.Set), s.Env...)
	l := launch{dir: root, env: environment.List(), initialization: s.Initialization}
	for _, p := range s.Programs {
		if p.Requires != "" && m.programs.FindUp(root, p.Requires) == "" {
			continue
		}
		path := m.programs.Find(p.Argv[0], root, l.env)
		if path == "" {
			continue
		}
		l.argv = append([]string{path}, p.Argv[1:]...)
		if m.options.Trusted {
			l.initialization = p.fillSettings(l.initialization, root, m.programs)
		}
		return l, nil
	}
	// Say what is missing.
	text := fmt.Sprintf("language server %s is not installed", s.ID)
	if len(s.Programs) == 1 {
		text += fmt.Sprintf(" (program %s)", s.Programs[0].Argv[0])
	}
	if s.Install != "" {
		text += ": " + s.Install
	}
	return launch{}, &missingError{text, s.Optional}
}

// fillSettings returns initialization with the settings whose files exist.
func (p Program) fillSettings(initialization jsontext.Value, root string, in program.Finder) jsontext.Value {
	values := map[string]any{}
	if len(initialization) > 0 && json.Unmarshal(initialization, &values) != nil {
		return initialization
	}
	changed := false
	for _, s := range p.Settings {
		if file := in.FindUp(root, s.Files...); file != "" {
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

// findRoot returns the root of the server for a file. ok is false if the server is not used for it.
func (m *Manager) findRoot(s Server, path string) (root string, ok bool) {
	dir := filepath.Dir(path)
	if m.programs.FindUp(dir, s.Excludes...) != "" {
		return "", false
	}
	for _, group := range s.Roots {
		if found := m.programs.FindUp(dir, group...); found != "" {
			return filepath.Dir(found), true
		}
	}
	return m.options.Directory, !s.Strict
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
		in: child.In, out: child.Out, done: child.Done(), readErrors: child.ReadErrors, memory: child.Memory,
		close: func() { _ = child.Close() },
	}, nil
}
