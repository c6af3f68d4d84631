package host

import (
	"context"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/location/hook"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// Chain implements scope.Scopes.
func (l *locationCache) Chain(ctx context.Context, at session.Location) *extension.Chain {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil
	}
	return p.scope.Chain
}

// newChain returns the extensions of a location: the hooks of its configuration, and then its plugins. It is nil without
// any.
func (l *locationCache) newChain(p *locationSetup) *extension.Chain {
	hooks := hook.New(hook.Options{
		Hooks: p.config.ListHooks(), Directory: p.project.Directory, Worktree: p.project.Worktree,
		Environment: process.Environment{Deny: p.models.SecretVariables()}, Supervisor: process.SupervisorCommand(),
		Logger: l.logger, ServerTool: p.servers.FindTool, Show: l.showNote,
	})
	extensions := hooks.Extensions()
	if p.plugins.set != nil {
		extensions = append(extensions, p.plugins.set.Extensions(p.plugins.State)...)
	}
	if len(p.plugins.problems) > 0 {
		extensions = append(extensions, l.newPluginNote(p))
	}
	return extension.NewChain(extension.Config{
		Extensions: extensions, Budget: p.config.Extensions.Timeout.Duration(), Logger: l.logger,
	})
}
