package instruction

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// Keys of the built-in sources.
const (
	KeyEnvironment = "core/environment"
	KeyDate        = "core/date"
)

// Environment is the description of the location that every agent receives.
type Environment struct {
	Directory string
	Worktree  string // "" outside of a checkout
	Platform  string // "": the current one
}

// RegisterEnvironment registers the source of the environment, which is constant.
func RegisterEnvironment(r *systemcontext.Registry, e Environment) error {
	environment := environmentSource(e)
	_, err := r.Register(KeyEnvironment, func(context.Context) systemcontext.Context {
		return systemcontext.Context{environment}
	})
	return err
}

// DateContext returns the source of the date, in the time zone of now.
func DateContext(now time.Time) systemcontext.Context { return systemcontext.Context{dateSource(now)} }

func environmentSource(e Environment) systemcontext.Source {
	block := e.render()
	return systemcontext.Make(systemcontext.Spec[string]{
		Key:      KeyEnvironment,
		Value:    block,
		Baseline: func(b string) string { return "You work here:\n" + b },
		Update:   func(_, b string) string { return "You now work here:\n" + b },
	})
}

func (e Environment) render() string {
	root, git := e.Worktree, "yes"
	if root == "" {
		root, git = e.Directory, "no"
	}
	platform := e.Platform
	if platform == "" {
		platform = runtime.GOOS + "/" + runtime.GOARCH
	}
	return fmt.Sprintf(
		"- working directory: %s\n- project root: %s\n- git repository: %s\n- platform: %s",
		e.Directory,
		root,
		git,
		platform,
	)
}

func dateSource(now time.Time) systemcontext.Source {
	return systemcontext.Make(systemcontext.Spec[string]{
		Key:      KeyDate,
		Value:    now.Format("Mon Jan 2 2006"),
		Baseline: func(d string) string { return "Today is " + d + "." },
		Update:   func(_, d string) string { return "The date is now " + d + "." },
	})
}
