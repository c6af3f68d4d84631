package host

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/project"
	"github.com/cairn-dev/cairn/internal/sandbox"
	"github.com/cairn-dev/cairn/internal/session"
)

// checkSandbox fails if the command line asks for a sandbox that this system cannot provide.
func checkSandbox(o cli.Options) error {
	if !o.Sandbox {
		return nil
	}
	if err := sandbox.Check(); err != nil {
		return session.Errorf(session.CodeInvalid, "this system has no sandbox: %v", err).At("sandbox")
	}
	return nil
}

// secretPaths usually hold secrets. They are relative to the home directory.
var secretPaths = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".netrc",
	".git-credentials", ".npmrc", ".pypirc",
}

// sandboxPolicy returns what commands of a location may do in the sandbox; nil if they run without one. The folders of
// cairn are hidden, since they hold keys and other sessions, except for the output of tools and the user's skills.
func (l *locationCache) sandboxPolicy(cfg *config.Config, pr project.Project) (*sandbox.Policy, error) {
	if !l.sandboxed && !cfg.Sandbox.Enabled {
		return nil, nil
	}
	if err := os.MkdirAll(filepath.Join(l.scratchDir(), "cache"), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for temporary files: %w", err)
	}
	p := &sandbox.Policy{
		Write: []string{pr.Directory}, Network: cfg.Sandbox.Network,
		Show: []string{l.outputs.Dir, filepath.Join(l.dirs.Config, "skills")},
	}
	if pr.Worktree != "" && pr.Worktree != pr.Directory {
		p.Write = append(p.Write, pr.Worktree)
	}
	p.Write = append(p.Write, l.scratchDir())
	for _, w := range cfg.Sandbox.Write {
		p.Write = append(p.Write, w.In(l.dirs.Home))
	}
	for _, dir := range []string{l.dirs.Data, l.dirs.Config, l.dirs.State, l.dirs.Runtime, l.dirs.Foreign} {
		if dir != "" {
			p.Hide = append(p.Hide, dir)
		}
	}
	if l.dirs.Home != "" {
		for _, name := range secretPaths {
			p.Hide = append(p.Hide, filepath.Join(l.dirs.Home, name))
		}
	}
	return p, nil
}

// scratchDir returns the folder for temporary files of commands in the sandbox. The system's has files and sockets of
// other programs. Its content lives as long as the owner of the data.
func (l *locationCache) scratchDir() string { return filepath.Join(l.dirs.Data, "tmp") }

// scratchEnv returns the environment variables that make programs put temporary files and caches into scratchDir.
func (l *locationCache) scratchEnv(p *sandbox.Policy) []string {
	if p == nil {
		return nil
	}
	return []string{"TMPDIR=" + l.scratchDir(), "XDG_CACHE_HOME=" + filepath.Join(l.scratchDir(), "cache")}
}

// removeScratch removes the temporary files of commands of this owner and of earlier ones.
func (w *owner) removeScratch() {
	if w.lease == nil || w.locations == nil {
		return
	}
	if err := os.RemoveAll(w.locations.scratchDir()); err != nil {
		w.logger.Warn("temporary files of commands could not be removed", "error", err)
	}
}
