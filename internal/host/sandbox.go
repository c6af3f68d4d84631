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

// sandboxable fails if the command line asks for a sandbox that this system cannot provide.
func sandboxable(o cli.Options) error {
	if !o.Sandbox {
		return nil
	}
	if err := sandbox.Check(); err != nil {
		return session.Errorf(session.CodeInvalid, "there is no sandbox on this system: %v", err).At("sandbox")
	}
	return nil
}

// private are the places in a home directory that usually hold secrets.
var private = []string{".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".netrc", ".git-credentials", ".npmrc", ".pypirc"}

// policy is what commands at the location may do in the sandbox, nil if they are not to run in one. Our own folders are hidden,
// which hold keys and what was said elsewhere; but the output of tools is there to be read, and so are skills.
func (l *locations) policy(cfg *config.Config, pr project.Project) (*sandbox.Policy, error) {
	if !l.sandboxed && !cfg.Sandbox.Enabled {
		return nil, nil
	}
	if err := os.MkdirAll(filepath.Join(l.scratch(), "cache"), 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for temporary files: %w", err)
	}
	p := &sandbox.Policy{Write: []string{pr.Directory}, Network: cfg.Sandbox.Network, Show: []string{l.outputs.Dir, filepath.Join(l.dirs.Config, "skills")}}
	if pr.Worktree != "" && pr.Worktree != pr.Directory {
		p.Write = append(p.Write, pr.Worktree)
	}
	p.Write = append(p.Write, l.scratch())
	for _, w := range cfg.Sandbox.Write {
		p.Write = append(p.Write, w.In(l.dirs.Home))
	}
	for _, dir := range []string{l.dirs.Data, l.dirs.Config, l.dirs.State, l.dirs.Runtime, l.dirs.Foreign} {
		if dir != "" {
			p.Hide = append(p.Hide, dir)
		}
	}
	if l.dirs.Home != "" {
		for _, name := range private {
			p.Hide = append(p.Hide, filepath.Join(l.dirs.Home, name))
		}
	}
	return p, nil
}

// scratch is where commands in the sandbox put temporary files: a folder of their own, because the system's is full of
// other programs' files and sockets. It lives as long as the owner of the data.
func (l *locations) scratch() string { return filepath.Join(l.dirs.Data, "tmp") }

// scratchEnv sends programs there with what they would keep below the home directory.
func (l *locations) scratchEnv(p *sandbox.Policy) []string {
	if p == nil {
		return nil
	}
	return []string{"TMPDIR=" + l.scratch(), "XDG_CACHE_HOME=" + filepath.Join(l.scratch(), "cache")}
}

// forgetScratch removes what an earlier owner, or this one, left there.
func (w *owner) forgetScratch() {
	if w.lease == nil || w.places == nil {
		return
	}
	if err := os.RemoveAll(w.places.scratch()); err != nil {
		w.logger.Warn("remove temporary files of commands", "error", err)
	}
}
