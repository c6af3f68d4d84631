package host

import (
	"context"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/lsp"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/tool/file"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// languages holds the language servers of the locations of a process. Safe for concurrent use.
type languages struct {
	onChange func(directory string) // states have changed
	warn     func(directory, text string)

	mu     sync.Mutex // guards the rest
	opened map[string]openLanguages
	closed bool
}

type openLanguages struct {
	manager *lsp.Manager
	options lsp.Options // without functions
}

// open returns the language servers of a location: those that it had if their options are the same.
func (l *languages) open(cfg *config.Config, pr project.Project, env process.Environment) *lsp.Manager {
	servers, problems := lsp.Select(cfg.LSP)
	for _, p := range problems {
		l.warn(pr.Directory, p)
	}
	o := lsp.Options{
		Directory: pr.Directory, Worktree: pr.Worktree, Servers: servers, Trusted: cfg.Trusted, Environment: env,
		Supervisor: process.SupervisorCommand(),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before, ok := l.opened[pr.Directory]
	if ok && reflect.DeepEqual(before.options, o) {
		return before.manager
	}
	if ok {
		go before.manager.Close()
	}
	withCalls := o
	withCalls.OnChange = func() { l.onChange(pr.Directory) }
	withCalls.Warn = func(text string) { l.warn(pr.Directory, text) }
	manager := lsp.New(withCalls)
	if !l.closed {
		l.opened[pr.Directory] = openLanguages{manager, o}
	}
	return manager
}

// drop ends the servers of a location that is not used any more.
func (l *languages) drop(directory string) {
	l.mu.Lock()
	one, ok := l.opened[directory]
	delete(l.opened, directory)
	l.mu.Unlock()
	if ok {
		one.manager.Close()
	}
}

// close ends all servers.
func (l *languages) close() {
	l.mu.Lock()
	all := l.opened
	l.opened, l.closed = map[string]openLanguages{}, true
	l.mu.Unlock()
	var wait sync.WaitGroup
	for _, one := range all {
		wait.Go(one.manager.Close)
	}
	wait.Wait()
}

// diagnoseWith returns what tells tools of errors after a change, nil without language servers.
func diagnoseWith(cfg *config.Config, m *lsp.Manager) func(context.Context, file.ChangedPaths) file.Diagnosis {
	if cfg.LSP == nil {
		return nil
	}
	return func(ctx context.Context, changed file.ChangedPaths) file.Diagnosis {
		report := m.Diagnose(ctx, changed.Paths, lsp.DefaultBound)
		out := file.Diagnosis{Text: report.Format(changed.Name), Files: map[string]jsontext.Value{}}
		for path, list := range report.Files {
			if text, err := json.Marshal(list, jsontext.AllowInvalidUTF8(true)); err == nil {
				out.Files[path] = text
			}
		}
		return out
	}
}
