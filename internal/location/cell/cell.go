// Package cell decides what commands of a location may do in the sandbox: which files they read and write, where their
// temporary files and caches are, and which shell of a project runs.
package cell

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/protected"
)

// CheckMode returns why this system cannot enforce a confined mode, nil if it can. The mode writes does without
// namespaces: protected files are restored after a command then.
func CheckMode(m session.SandboxMode) error {
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

// Cells makes the sandboxes of a location's sessions.
type Cells struct {
	sandbox.Policy          // of the mode writes, without the folder of the session
	strict         bool     // the network is closed in the mode strict
	clients        []string // hidden in the mode strict
	scratch, cache string   // folders for temporary files of all sessions, and for caches of the project
	held           string   // the folder for new files with protected names
	Repository     string   // of the worktree, if it lies elsewhere and can be granted; else ""
	outputs        *tool.Outputs
	NoProject      bool // commands may not write to the directory: it has files of every program

	readable []string // see Config
	programs []string // trusted programs of the project, which commands do not change

	dirs   []string // the directory and the worktree; empty if they cannot be granted
	git    []string // the directories of their repositories
	home   string
	filled sync.Once // the project's cache has what the user's has for it
	nested protected.NestedNames
}

// Config of the Cells of a location.
type Config struct {
	Dirs     config.Directories
	Outputs  *tool.Outputs
	Config   *config.Config
	Project  project.Project
	Readable []string // further directories that agents may read without asking
}

// New returns the sandboxes of a location. The folders of cairn are hidden, since they hold keys and other sessions,
// except for the user's skills and a session's own output of tools.
func New(from Config) *Cells {
	dirs, cfg, pr := from.Dirs, from.Config, from.Project
	top := cmp.Or(pr.Worktree, pr.Directory)
	name := sha256.Sum256([]byte(top))
	c := &Cells{
		readable: from.Readable,
		scratch:  ScratchDir(dirs), outputs: from.Outputs, strict: !cfg.Sandbox.Network, home: dirs.Home,
		held:  filepath.Join(dirs.Data, "held"),
		cache: filepath.Join(cachesDir(dirs), hex.EncodeToString(name[:8])),
	}

	// Commands may write to the project and to configured directories.
	c.Network, c.NoLocalSockets = true, cfg.Sandbox.Sockets != nil && !*cfg.Sandbox.Sockets
	if c.NoProject = isAboveHome(top, dirs.Home) || isAboveHome(pr.Directory, dirs.Home); !c.NoProject {
		c.Write = slices.Compact([]string{pr.Directory, top})
	}
	c.dirs = slices.Clone(c.Write)
	for _, w := range cfg.Sandbox.Write {
		c.Write = append(c.Write, w.In(dirs.Home))
	}

	// They cannot read cairn's folders and secrets.
	c.Show = []string{filepath.Join(dirs.Config, "skills"), shellsDir(dirs)}
	for _, dir := range []string{dirs.Data, dirs.Config, dirs.State, dirs.Cache, dirs.Runtime, dirs.Foreign} {
		if dir != "" {
			c.Hide = append(c.Hide, dir)
		}
	}
	if dirs.Home != "" {
		for _, name := range secretPaths {
			c.Hide = append(c.Hide, filepath.Join(dirs.Home, name))
		}
		for _, name := range clientPaths {
			c.clients = append(c.clients, filepath.Join(dirs.Home, name))
		}
	}
	if !c.NoProject {
		c.addRepository(top)
	}
	// A trusted program that a command changes is not run any more: a guard would end with it.
	if cfg.Trusted && cfg.Claim != nil {
		for _, f := range cfg.Claim.Files {
			if permission.ProtectedName(f.Path) == "" {
				c.programs = append(c.programs, filepath.Join(cfg.Claim.Root, filepath.FromSlash(f.Path)))
			}
		}
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
func (c *Cells) addRepository(top string) {
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
		c.Repository = repository
		c.Write = append(c.Write, repository)
	}
}

// Open returns what commands of a session may do in a mode. Each session has a folder for temporary files, which is
// removed with the owner of the data; each project has one for caches, so that no command changes what the programs
// of another project run.
func (c *Cells) Open(r tool.CellRequest) (tool.Cell, error) {
	// Make the folders.
	mode, id := r.Mode, r.Session
	if id != "" {
		if err := session.CheckID("session", session.PrefixSession, string(id)); err != nil {
			return tool.Cell{}, err
		}
	}
	scratch := filepath.Join(c.scratch, cmp.Or(string(id), "commands"))
	for _, dir := range []string{scratch, c.cache} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return tool.Cell{}, fmt.Errorf("the folder for temporary files cannot be made: %w", err)
		}
	}
	now := time.Now()
	_ = os.Chtimes(c.cache, now, now) // it was used; see RemoveUnusedCaches

	// Grant the project, the folders and the permitted paths outside, except for protected files.
	p := c.Policy
	own := []string{scratch, c.cache}
	limits := grantLimits{c.home, slices.Concat(c.Hide, c.clients), slices.Concat(c.Show, c.readable)}
	granted := limits.listGranted(r.Granted)
	p.Write = slices.Concat(c.Write, own, granted)
	tops := slices.Concat(c.dirs, granted)
	held := filepath.Join(c.held, cmp.Or(string(id), "commands"))
	p.Show = slices.Concat(c.Show, c.outputs.List(id), []string{held})
	p.ReadOnly = slices.Concat(protected.ListPaths(tops, p.Write, c.home), c.programs)
	p.Nested = slices.DeleteFunc(c.nested.ListPaths(tops, p.Write), func(path string) bool {
		return slices.Contains(p.ReadOnly, path)
	})
	cell := tool.Cell{
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

// cachesDir returns the folder for the caches of commands, which has one for each project.
func cachesDir(dirs config.Directories) string {
	return filepath.Join(cmp.Or(dirs.Cache, dirs.Data), "commands")
}

// ScratchDir returns the folder for temporary files of commands in the sandbox. The system's has files and sockets of
// other programs. Its content lives as long as the owner of the data.
func ScratchDir(dirs config.Directories) string { return filepath.Join(dirs.Data, "tmp") }
