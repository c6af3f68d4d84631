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

// newChain returns the extensions of a location: the hooks of its configuration, its plugins, what tells people, and what
// measures. It is nil without any.
func (l *locationCache) newChain(p *locationSetup) *extension.Chain {
	environment := process.Environment{Deny: p.models.SecretVariables()}
	hooks := hook.New(hook.Options{
		Hooks: p.config.ListHooks(), Directory: p.project.Directory, Worktree: p.project.Worktree,
		Environment: environment, Supervisor: process.SupervisorCommand(),
		Logger: l.logger, ServerTool: p.servers.FindTool, Show: l.showNote,
	})
	extensions := append(hooks.Extensions(), l.program.Extensions...)
	if p.plugins.set != nil {
		extensions = append(extensions, p.plugins.set.Extensions(p.plugins.State)...)
	}
	if len(p.plugins.problems) > 0 {
		extensions = append(extensions, l.newPluginNote(p))
	}
	extensions = append(extensions, l.sender.Extensions(p.config.Notify, p.project.Directory, environment)...)
	if l.measures != nil {
		extensions = append(extensions, l.measures.chainExtension())
	}
	return extension.NewChain(extension.Config{
		Extensions: extensions, Budget: p.config.Extensions.Timeout.Duration(), Logger: l.logger,
	})
}
