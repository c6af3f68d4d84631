package host

import (
	"context"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/cairn-dev/cairn/internal/client/discovery"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/location/cell"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/formatter"
	"github.com/cairn-dev/cairn/internal/location/lsp"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/location/skill"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/dialog"
	"github.com/cairn-dev/cairn/internal/tool/exec"
	"github.com/cairn-dev/cairn/internal/tool/file"
	"github.com/cairn-dev/cairn/internal/tool/plan"
	"github.com/cairn-dev/cairn/internal/tool/process"
	"github.com/cairn-dev/cairn/internal/tool/search"
	"github.com/cairn-dev/cairn/internal/tool/sessionsearch"
	"github.com/cairn-dev/cairn/internal/tool/task"
	"github.com/cairn-dev/cairn/internal/tool/web"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// toolConfig configures the tools of a location that touch its files or run commands.
type toolConfig struct {
	file   file.Config
	search search.Config
	exec   exec.Config
	// browser resolves the paths of clients that read files.
	browser    workpath.Resolver
	formatters *formatter.Set
}

// newToolConfig returns the configuration of a location's tools. readable are directories outside of it that agents may
// read without asking.
func (l *locationCache) newToolConfig(
	cfg *config.Config, pr project.Project, set *models.Set, readable []string,
) toolConfig {
	paths := workpath.Resolver{Directory: pr.Directory, Worktree: pr.Worktree, OutputDir: l.outputs.Dir}
	filePaths, browserPaths := paths, paths
	cells := cell.New(cell.Config{Dirs: l.dirs, Outputs: l.outputs, Config: cfg, Project: pr, Readable: readable})
	filePaths.Private, browserPaths.Private = l.privateToTools(), l.privateToClients()
	formatters := l.newFormatters(cfg, pr, set)
	return toolConfig{
		formatters: formatters,
		file: file.Config{
			Paths: filePaths, Tracker: l.files, InstructionFiles: l.instructionOptions(cfg, pr).FileNames(),
			Images: imageLimits(cfg.Attachment.Image), Format: formatWith(formatters), Unsaved: l.editors.ReadUnsaved,
		},
		search: search.Config{Paths: filePaths, Log: l.logger}, browser: browserPaths,
		exec: exec.Config{
			Paths: paths, Shell: cell.KeepShell(l.dirs, cfg, l.logger), Deny: set.SecretVariables(),
			Supervisor: process.SupervisorCommand(), Sandbox: cells.Open, Repository: cells.Repository,
			Outside: cfg.Sandbox.Outside, NoProject: cells.NoProject,
			Timeout: commandTimeout(l.getenv), Processes: int(cfg.Limits.Processes), Outputs: l.outputs, Log: l.logger,
			Limits: tool.Limits{Lines: int(cfg.ToolOutput.MaxLines), Bytes: int(cfg.ToolOutput.MaxBytes)},
		},
	}
}

// privateToTools are the directories that no file tool opens. Keys are there, also those of the server, which answers
// its user only. Plans, managed output and temporary files of commands are for tools.
func (l *locationCache) privateToTools() workpath.Private {
	return workpath.Private{
		Dirs:   listNamed(l.dirs.Data, l.dirs.State, l.dirs.Runtime),
		Except: []string{l.outputs.Dir, filepath.Join(l.dirs.Data, "plans"), cell.ScratchDir(l.dirs)},
	}
}

// privateToClients are the directories of which clients read no file over HTTP: they have the operations for sessions
// and settings, which show no key.
func (l *locationCache) privateToClients() workpath.Private {
	return workpath.Private{Dirs: listNamed(l.dirs.Data, l.dirs.State, l.dirs.Runtime, l.dirs.Config, l.dirs.Cache)}
}

// listNamed returns the names that are not empty.
func listNamed(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// checkLocation refuses a directory in cairn's own data.
func (l *locationCache) checkLocation(dir string) error {
	private := workpath.Private{Dirs: listNamed(l.dirs.Data, l.dirs.State, l.dirs.Runtime)}
	if real, err := workpath.ResolveLinks(dir); err == nil && private.Contains(real) {
		return session.Errorf(session.CodeInvalid, "%s belongs to cairn's own data; choose a directory of a project", dir).
			At("location.directory")
	}
	return nil
}

// newRegistry returns the tools of a setup.
func (l *locationCache) newRegistry(p *locationSetup) (*tool.Registry, error) {
	r := tool.NewRegistry(tool.Config{Outputs: l.outputs, Limits: p.tools.exec.Limits, Log: l.logger})
	webTools := web.New(web.Config{
		Allow: p.config.Webfetch.AllowedNetworks(), OwnPorts: l.listServerPorts, Search: web.NewSearcher(l.getenv),
	})
	_, err := r.Register(slices.Concat(file.New(p.tools.file), search.New(p.tools.search), exec.New(p.tools.exec),
		dialog.New(), webTools, []tool.Tool{skill.NewTool(p.skills)},
		task.New(p.agents.List()), plan.New(p.agents.List()))...)
	if err == nil && l.search != nil {
		_, err = r.Register(sessionsearch.New(l.search.searchProject))
	}
	if err == nil && p.config.LSP != nil {
		_, err = r.Register(lsp.NewTool(p.languages, p.tools.file.Paths))
	}
	if err == nil {
		_, err = r.Register(l.program.Tools...)
	}
	if err != nil || p.plugins.set == nil {
		return r, err
	}
	// A tool of a plugin takes the place of a built-in one of its name, as in OpenCode.
	tools, leftOut := p.plugins.set.Tools(p.plugins.State, r.Action)
	maps.Copy(p.plugins.problems, leftOut)
	for _, one := range tools {
		if _, err := r.Register(one); err != nil {
			p.plugins.problems[one.Definition().Name] = err
		}
	}
	return r, nil
}

// listServerPorts returns the ports at which this process and the announced server of its data directory listen.
func (l *locationCache) listServerPorts() []int {
	ports := []int{int(l.port.Load())}
	if d, err := discovery.Read(l.dirs.Data); err == nil {
		if u, err := url.Parse(d.URL); err == nil {
			n, _ := strconv.Atoi(u.Port()) // 0 without one
			ports = append(ports, n)
		}
	}
	return ports
}

// permissionRequests returns the permission requests of a call before it runs.
func (c toolConfig) permissionRequests(action, resource string) []tool.Request {
	if action == permission.Shell {
		return exec.Requests(c.exec, resource)
	}
	return file.Requests(c.file.Paths, action, resource)
}

func imageLimits(c config.ImageLimits) file.ImageLimits {
	return file.ImageLimits{
		Width: int(c.MaxWidth), Height: int(c.MaxHeight), Base64: int(c.MaxBase64Bytes),
		Refuse: c.AutoResize != nil && !*c.AutoResize,
	}
}

// newFormatters returns the formatters of a location.
func (l *locationCache) newFormatters(cfg *config.Config, pr project.Project, set *models.Set) *formatter.Set {
	return formatter.New(formatter.Options{
		Configured: cfg.Formatter, Directory: pr.Directory, Worktree: pr.Worktree, Trusted: cfg.Trusted,
		Environment: process.Environment{Deny: set.SecretVariables()}, Supervisor: process.SupervisorCommand(),
	})
}

// formatWith returns what formats files after edits.
func formatWith(set *formatter.Set) func(ctx context.Context, path string) []file.FormatterRun {
	return func(ctx context.Context, path string) (out []file.FormatterRun) {
		for _, r := range set.Format(ctx, path) {
			out = append(out, file.FormatterRun(r))
		}
		return out
	}
}
