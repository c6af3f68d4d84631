// Package formatter formats files after edits with the programs that their project uses: OpenCode's table of
// formatters, and those that the configuration names.
//
// A formatter that is the project's own, such as prettier in node_modules, or whose configuration is code, runs only in
// a trusted project.
package formatter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/program"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// Options describe a location.
type Options struct {
	Configured  config.Formatters // nil runs none
	Directory   string
	Worktree    string // "" without one
	Trusted     bool   // the project may run its own programs
	Environment process.Environment
	Supervisor  []string // process.Spec.Supervisor
	// Timeout bounds one run of a formatter; 0 is ten seconds. The caller bounds all of them.
	Timeout time.Duration
}

// Set is the formatters of a location. It reads the project's files at each use: a formatter that was just installed
// takes part. Safe for concurrent use.
type Set struct {
	options  Options
	programs program.Finder
	rows     []row

	mu     sync.Mutex           // guards paused
	paused map[string]time.Time // until when a formatter that was late is not run, by name
}

const (
	defaultTimeout = 10 * time.Second
	latePause      = 10 * time.Minute // after a run that did not end in time
)

// New returns the formatters of a location.
func New(o Options) *Set {
	s := &Set{options: o, programs: program.NewFinder(o.Directory, o.Worktree, o.Trusted), paused: map[string]time.Time{}}
	if o.Configured == nil {
		return s
	}
	// The built-in formatters, as the configuration changes them, and then its own in the order of their names.
	own := maps.Clone(o.Configured)
	for _, r := range rows {
		c, configured := own[r.name]
		delete(own, r.name)
		switch {
		case c.Disabled:
			continue
		case configured:
			r = r.configure(c)
		}
		s.rows = append(s.rows, r)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if c := own[name]; !c.Disabled && len(c.Command) > 0 {
			s.rows = append(s.rows, row{name: name}.configure(c))
		}
	}
	return s
}

// configure returns the row with what a configuration sets.
func (r row) configure(c config.Formatter) row {
	if len(c.Command) > 0 {
		r.command, r.needs, r.runsProject, r.unless = c.Command, need{}, false, ""
	}
	if len(c.Extensions) > 0 {
		r.extensions = strings.Join(c.Extensions, " ")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Environment)) {
		r.environment = append(r.environment, name+"="+c.Environment[name])
	}
	return r
}

// Status is a formatter of a location, in OpenCode's shape.
type Status struct {
	Name       string   `json:"name"`
	Extensions []string `json:"extensions"`
	Enabled    bool     `json:"enabled"` // its program and what it needs of the project are there
}

// List returns the formatters of the location in the order in which they run.
func (s *Set) List() []Status {
	out := []Status{}
	for _, r := range s.rows {
		_, ok := s.findProgram(r)
		out = append(out, Status{Name: r.name, Extensions: strings.Fields(r.extensions), Enabled: ok})
	}
	return out
}

// Run is one run of a formatter.
type Run struct {
	Name string
	Err  error // why it failed; nil if it did not
	Late bool  // it failed because its time was over
}

var errLate = fmt.Errorf("it did not end in time, so it is not run for %d minutes", latePause/time.Minute)

// isPaused reports whether a formatter was late a short time ago.
func (s *Set) isPaused(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.paused[name])
}

func (s *Set) pause(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused[name] = time.Now().Add(latePause)
}

// Format runs the formatters for the file, one after the other, and returns the runs. They change the file in place. It
// stops at the first that fails. One that did not end in time is left out for latePause, so that it does not delay each
// edit.
func (s *Set) Format(ctx context.Context, path string) (runs []Run) {
	for _, r := range s.rows {
		if !r.accepts(path) || s.isPaused(r.name) {
			continue
		}
		program, ok := s.findProgram(r)
		if !ok {
			continue
		}
		err := s.run(ctx, r, program, path)
		if errors.Is(err, errLate) {
			s.pause(r.name)
		}
		isLate := errors.Is(err, errLate) || errors.Is(err, context.DeadlineExceeded)
		if runs = append(runs, Run{r.name, err, isLate}); err != nil {
			break
		}
	}
	return runs
}

// accepts reports whether the formatter is for files of the path's extension, which may have two parts (.html.erb).
func (r row) accepts(path string) bool {
	name := filepath.Base(path)
	return slices.ContainsFunc(strings.Fields(r.extensions), func(ext string) bool {
		return strings.HasSuffix(name, ext) && len(name) > len(ext)
	})
}

// findProgram returns the path of the formatter's program. It reports false if the program, or what the formatter needs
// of the project, is missing, or if it runs code of a project that is not trusted.
func (s *Set) findProgram(r row) (path string, ok bool) {
	// Trust, and what it needs of the project.
	dirs := slices.Collect(s.programs.Ascend(s.options.Directory))
	if r.runsProject && !s.options.Trusted || !r.needs.isMet(dirs) {
		return "", false
	}
	// Another one that takes its files.
	if r.unless != "" {
		i := slices.IndexFunc(s.rows, func(other row) bool { return other.name == r.unless })
		if i >= 0 {
			if _, found := s.findProgram(s.rows[i]); found {
				return "", false
			}
		}
	}
	path = s.programs.Find(r.command[0], s.options.Directory, s.options.Environment.List())
	return path, path != ""
}

// run runs a formatter on a file and ends it with all that it started when its time is over.
func (s *Set) run(ctx context.Context, r row, program, path string) error {
	// Start it. It has no input; the end of its output is kept for the message about a failure.
	argv := []string{program}
	for _, word := range r.command[1:] {
		argv = append(argv, strings.ReplaceAll(word, "$FILE", path))
	}
	env := s.options.Environment
	env.Set = slices.Concat(env.Set, r.environment)
	child, err := process.StartChild(process.Spec{
		Argv: argv, Dir: s.options.Directory, Env: env.List(), Supervisor: s.options.Supervisor,
		Processes: process.MaxProcesses,
	})
	if err != nil {
		return fmt.Errorf("it could not be started: %w", err)
	}
	defer func() { _ = child.Close() }()
	_ = child.In.Close()
	output := child.CollectOutput()
	// Wait for its end.
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(s.options.Timeout, defaultTimeout), errLate)
	defer cancel()
	select {
	case <-child.Done():
	case <-ctx.Done():
		child.Stop(0)
		if cause := context.Cause(ctx); errors.Is(cause, errLate) || errors.Is(cause, context.DeadlineExceeded) {
			return cause // its own time, or that of the caller, was over
		}
		return errors.New("it was interrupted")
	}
	if code, _ := child.ExitStatus(); code != 0 {
		text := strings.TrimSpace(cmp.Or(child.ReadErrors(), output()))
		return fmt.Errorf("exit code %d: %s", code, session.ClipText(text, maxText))
	}
	return nil
}

// maxText bounds the output of a formatter in a message.
const maxText = 500
