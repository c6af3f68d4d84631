package host

import (
	"context"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/lsp"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/file"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// languages holds the language servers of the locations of a process. Safe for concurrent use.
type languages struct {
	onChange func(directory string) // states have changed
	warn     func(directory, text string)
	limits   lsp.Limits

	mu     sync.Mutex // guards the rest
	opened map[string]openLanguages
	closed bool
	ending sync.WaitGroup // managers that are being closed
}

type openLanguages struct {
	manager *lsp.Manager
	options lsp.Options // without functions
}

// open returns the language servers of a location: those that it had if their options are the same. It fails after
// close.
func (l *languages) open(cfg *config.Config, pr project.Project, env process.Environment) (*lsp.Manager, error) {
	servers, problems := lsp.Select(cfg.LSP)
	for _, p := range problems {
		l.warn(pr.Directory, p)
	}
	o := lsp.Options{
		Directory: pr.Directory, Worktree: pr.Worktree, Servers: servers, Trusted: cfg.Trusted, Environment: env,
		Supervisor: process.SupervisorCommand(), Limits: &l.limits,
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errEnding
	}
	before, ok := l.opened[pr.Directory]
	if ok && reflect.DeepEqual(before.options, o) {
		return before.manager, nil
	}
	l.end(pr.Directory)
	withCall := o
	withCall.OnChange = func() { l.onChange(pr.Directory) }
	manager := lsp.New(withCall)
	l.opened[pr.Directory] = openLanguages{manager, o}
	return manager, nil
}

// find returns the language servers of a location as they were opened last, nil if they were not.
func (l *languages) find(directory string) *lsp.Manager {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened[directory].manager
}

// drop ends the servers of a location that is not used any more, in the background. open returns others at once. The
// returned function waits for their end.
func (l *languages) drop(directory string) (wait func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end(directory)
}

// end closes the manager of a location, if there is one, in the background, and returns a function that waits for it. The
// caller holds mu.
func (l *languages) end(directory string) (wait func()) {
	one, ok := l.opened[directory]
	if !ok {
		return func() {}
	}
	delete(l.opened, directory)
	ended := make(chan struct{})
	l.ending.Go(func() {
		defer close(ended)
		one.manager.Close()
	})
	return func() { <-ended }
}

// close ends all servers and returns when they have ended.
func (l *languages) close() {
	l.mu.Lock()
	l.closed = true
	for directory := range l.opened {
		l.end(directory)
	}
	l.mu.Unlock()
	l.ending.Wait()
}

// watchedWorktree passes the names of the files that commands and reverts change to language servers, which do not watch
// files themselves.
type watchedWorktree struct {
	scope.Worktree
	noteChanged func(paths []string)
}

// Compare implements scope.Worktree: the engine compares the files before and after each command.
func (w *watchedWorktree) Compare(
	ctx context.Context, from, to string, limit int,
) (found []session.FileChange, omitted []session.FilePath, err error) {
	found, omitted, err = w.Worktree.Compare(ctx, from, to, limit)
	w.note(found)
	return found, omitted, err
}

// Restore implements scope.Worktree.
func (w *watchedWorktree) Restore(ctx context.Context, changes []session.FileChange) []error {
	errs := w.Worktree.Restore(ctx, changes)
	w.note(changes)
	return errs
}

func (w *watchedWorktree) note(changes []session.FileChange) {
	var paths []string
	for _, c := range changes {
		paths = append(paths, filepath.Join(w.Root(), filepath.FromSlash(string(c.Path))))
	}
	if len(paths) > 0 {
		w.noteChanged(paths)
	}
}

// diagnoseWith returns what reports errors after a change to tools, nil without language servers.
func diagnoseWith(cfg *config.Config, m *lsp.Manager) func(context.Context, file.ChangedPaths) file.Diagnosis {
	if cfg.LSP == nil {
		return nil
	}
	return func(ctx context.Context, changed file.ChangedPaths) file.Diagnosis {
		report := m.Diagnose(ctx, changed.Paths, lsp.DefaultBound)
		out := file.Diagnosis{
			Text: report.Format(changed.Name), Notes: report.ListNotes(), Files: map[string]jsontext.Value{},
		}
		for path, list := range report.Files {
			if text, err := json.Marshal(list, jsontext.AllowInvalidUTF8(true)); err == nil {
				out.Files[path] = text
			}
		}
		return out
	}
}
