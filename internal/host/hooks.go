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

// newChain returns the extensions of a location: the hooks of its configuration, what tells people, and what measures.
// It is nil without any.
func (l *locationCache) newChain(p *locationSetup) *extension.Chain {
	environment := process.Environment{Deny: p.models.SecretVariables()}
	hooks := hook.New(hook.Options{
		Hooks: p.config.ListHooks(), Directory: p.project.Directory, Worktree: p.project.Worktree,
		Environment: environment, Supervisor: process.SupervisorCommand(),
		Logger: l.logger, ServerTool: p.servers.FindTool, Show: l.showNote,
	})
	all := append(hooks.Extensions(), l.sender.Extensions(p.config.Notify, p.project.Directory, environment)...)
	if l.measures != nil {
		all = append(all, l.measures.chainExtension())
	}
	return extension.NewChain(extension.Config{Extensions: all, Logger: l.logger})
}
