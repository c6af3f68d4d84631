package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/exec"
	"github.com/cairn-dev/cairn/internal/tool/protected"
)

// checkSandbox fails if the command line asks for a sandbox that this system cannot provide.
func checkSandbox(o client.Options) error {
	if err := o.Sandbox.Check("--sandbox"); err != nil || !o.Sandbox.IsConfined() {
		return err
	}
	if err := findMissingPart(o.Sandbox); err != nil {
		return session.Errorf(session.CodeInvalid, "this system has no sandbox of the mode %s: %v", o.Sandbox, err).
			At("sandbox")
	}
	return nil
}

// findMissingPart returns why this system cannot enforce a confined mode, nil if it can. The mode writes does without
// namespaces: protected files are restored after a command then.
func findMissingPart(m session.SandboxMode) error {
	err := sandbox.Check()
	if err == nil && m == session.SandboxStrict {
		err = sandbox.CheckNamespace()
	}
	return err
}

// secretPaths usually hold secrets. They are relative to the home directory.
var secretPaths = []string{".gnupg", ".aws", ".azure", ".config/gcloud", ".kube", ".netrc", ".pypirc"}

// clientPaths hold secrets, too, but git, npm and docker do not work without them. The mode strict hides them.
var clientPaths = []string{".ssh", ".docker", ".git-credentials", ".npmrc"}

// configuredSandbox returns the sandbox that the user configured for an agent, or a stricter one that the project
// demands; "" if none.
func configuredSandbox(cfg *config.Config, agent string) session.SandboxMode {
	return session.SandboxMode(cmp.Or(cfg.Agent[agent].Sandbox, cfg.Sandbox.Mode)).ChooseStricter(cfg.ProjectSandbox)
}

// cells makes the sandboxes of a location's sessions.
type cells struct {
	sandbox.Policy          // of the mode writes, without the folder of the session
	strict         bool     // the network is closed in the mode strict
	clients        []string // hidden in the mode strict
	scratch, cache string   // folders for temporary files of all sessions, and for caches of the project
	held           string   // the folder for new files with protected names
	repository     string   // of the worktree, if it lies elsewhere and can be granted; else ""
	outputs        *tool.Outputs
	noProject      bool // see exec.Config

	readable []string // further directories that agents may read without asking

	dirs   []string // the directory and the worktree; empty if they cannot be granted
	git    []string // the directories of their repositories
	home   string
	filled sync.Once // the project's cache has what the user's has for it
	nested protected.NestedNames
}

// newCells returns the sandboxes of a location. The folders of cairn are hidden, since they hold keys and other
// sessions, except for the user's skills and a session's own output of tools.
func (l *locationCache) newCells(cfg *config.Config, pr project.Project) *cells {
	top := cmp.Or(pr.Worktree, pr.Directory)
	name := sha256.Sum256([]byte(top))
	c := &cells{
		scratch: l.scratchDir(), outputs: l.outputs, strict: !cfg.Sandbox.Network, home: l.dirs.Home,
		held:  filepath.Join(l.dirs.Data, "held"),
		cache: filepath.Join(l.commandCaches(), hex.EncodeToString(name[:8])),
	}

	// Commands may write to the project and to configured directories.
	c.Network, c.NoLocalSockets = true, cfg.Sandbox.Sockets != nil && !*cfg.Sandbox.Sockets
	if c.noProject = isAboveHome(top, l.dirs.Home) || isAboveHome(pr.Directory, l.dirs.Home); !c.noProject {
		c.Write = slices.Compact([]string{pr.Directory, top})
	}
	c.dirs = slices.Clone(c.Write)
	for _, w := range cfg.Sandbox.Write {
		c.Write = append(c.Write, w.In(l.dirs.Home))
	}

	// They cannot read cairn's folders and secrets.
	c.Show = []string{filepath.Join(l.dirs.Config, "skills"), shellsDir(l.dirs)}
	d := l.dirs
	for _, dir := range []string{d.Data, d.Config, d.State, d.Cache, d.Runtime, d.Foreign} {
		if dir != "" {
			c.Hide = append(c.Hide, dir)
		}
	}
	if l.dirs.Home != "" {
		for _, name := range secretPaths {
			c.Hide = append(c.Hide, filepath.Join(l.dirs.Home, name))
		}
		for _, name := range clientPaths {
			c.clients = append(c.clients, filepath.Join(l.dirs.Home, name))
		}
	}
	if !c.noProject {
		c.addRepository(top)
	}
	return c
}

// isAboveHome reports whether a directory is the user's home or contains it, as the root directory does. It has files
// of every program, so commands are not allowed to write there.
func isAboveHome(dir, home string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = dir
	}
	if resolved, err := filepath.EvalSymlinks(home); err == nil {
		home = resolved
	}
	rel, err := filepath.Rel(real, home)
	return real == "/" || home != "" && err == nil && filepath.IsLocal(rel)
}

// addRepository lets commands write to the repository of a linked worktree or a submodule, which lies outside of it:
// git keeps objects, references and the index there. One that contains hidden paths is not granted, because they could
// not be hidden then.
func (c *cells) addRepository(top string) {
	found, ok := checkout.Find(top)
	if !ok {
		return
	}
	c.git = append(c.git, found.Common)
	repository := found.FindLinkedRepository()
	if repository == "" {
		return
	}
	granted := sandbox.Policy{Write: []string{repository}, Hide: slices.Concat(c.Hide, c.clients)}
	if granted.FindExposed() == "" {
		c.repository = repository
		c.Write = append(c.Write, repository)
	}
}

// open returns what commands of a session may do in a mode. Each session has a folder for temporary files, which is
// removed with the owner of the data; each project has one for caches, so that no command changes what the programs
// of another project run.
func (c *cells) open(r exec.CellRequest) (exec.Cell, error) {
	// Make the folders.
	mode, id := r.Mode, r.Session
	if id != "" {
		if err := session.CheckID("session", session.PrefixSession, string(id)); err != nil {
			return exec.Cell{}, err
		}
	}
	scratch := filepath.Join(c.scratch, cmp.Or(string(id), "commands"))
	for _, dir := range []string{scratch, c.cache} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return exec.Cell{}, fmt.Errorf("the folder for temporary files cannot be made: %w", err)
		}
	}
	now := time.Now()
	_ = os.Chtimes(c.cache, now, now) // it was used; see removeUnusedCaches

	// Grant the project, the folders and the permitted paths outside, except for protected files.
	p := c.Policy
	own := []string{scratch, c.cache}
	limits := grantLimits{c.home, slices.Concat(c.Hide, c.clients), slices.Concat(c.Show, c.readable)}
	granted := limits.listGranted(r.Granted)
	p.Write = slices.Concat(c.Write, own, granted)
	tops := slices.Concat(c.dirs, granted)
	held := filepath.Join(c.held, cmp.Or(string(id), "commands"))
	p.Show = slices.Concat(c.Show, c.outputs.List(id), []string{held})
	p.ReadOnly = protected.ListPaths(tops, p.Write, c.home)
	p.Nested = slices.DeleteFunc(c.nested.ListPaths(tops, p.Write), func(path string) bool {
		return slices.Contains(p.ReadOnly, path)
	})
	cell := exec.Cell{
		Own: own, Held: held, Repositories: c.git, Folders: c.nested.ListUnlinked(),
	}

	// Add what the mode decides: namespaces and network, or caches of package managers.
	env := []string{"TMPDIR=" + scratch, "XDG_CACHE_HOME=" + c.cache}
	if mode != session.SandboxWrites {
		p.Isolated = true
		p.Hide = slices.Concat(c.Hide, c.clients)
		p.Network = !c.strict
		cell.Policy, cell.Env = p, env
		return cell, nil
	}
	c.filled.Do(func() { fillCache(c.cache, c.home, c.dirs) })
	cell.Policy, cell.Env = p, append(env, listCacheVariables(c.cache, c.home, scratch)...)
	return cell, nil
}

// commandCaches returns the folder for the caches of commands, which has one for each project.
func (l *locationCache) commandCaches() string {
	return filepath.Join(cmp.Or(l.dirs.Cache, l.dirs.Data), "commands")
}

// cacheAge is the retention of the caches of a project's commands after their last use.
const cacheAge = 30 * 24 * time.Hour

// removeUnusedCaches removes the caches of projects without a command since cacheAge. Programs make some directories of
// caches read-only.
func (w *owner) removeUnusedCaches(now time.Time) {
	if w.lease == nil || w.locations == nil {
		return
	}
	dir := w.locations.commandCaches()
	entries, _ := os.ReadDir(dir) // missing before the first command
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || now.Sub(info.ModTime()) < cacheAge {
			continue
		}
		path := filepath.Join(dir, e.Name())
		_ = filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				_ = os.Chmod(name, 0o700) //nolint:gosec // else its files cannot be removed
			}
			return nil
		})
		if err := os.RemoveAll(path); err != nil {
			w.logger.Warn("caches of commands could not be removed", "error", err)
		}
	}
}

// scratchDir returns the folder for temporary files of commands in the sandbox. The system's has files and sockets of
// other programs. Its content lives as long as the owner of the data.
func (l *locationCache) scratchDir() string { return filepath.Join(l.dirs.Data, "tmp") }

// removeScratch removes the temporary files of commands of this owner and of earlier ones.
func (w *owner) removeScratch() {
	if w.lease.Check() != nil || w.locations == nil {
		return
	}
	if err := os.RemoveAll(w.locations.scratchDir()); err != nil {
		w.logger.Warn("temporary files of commands could not be removed", "error", err)
	}
}
