package host

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/project"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/dialog"
	"github.com/cairn-dev/cairn/internal/tool/exec"
	"github.com/cairn-dev/cairn/internal/tool/file"
	"github.com/cairn-dev/cairn/internal/tool/search"
	"github.com/cairn-dev/cairn/internal/tool/web"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// toolConfig configures the tools of a location that touch its files or run commands.
type toolConfig struct {
	file   file.Config
	search search.Config
	exec   exec.Config
}

// tools returns the configuration of a location's tools.
func (l *locations) tools(cfg *config.Config, pr project.Project, set *models.Set) (toolConfig, error) {
	policy, err := l.policy(cfg, pr)
	paths := workpath.Resolver{Directory: pr.Directory, Worktree: pr.Worktree, OutputDir: l.outputs.Dir}
	return toolConfig{
		file: file.Config{
			Paths: paths, Tracker: l.files, InstructionFiles: l.instructions(cfg, pr).Names(), Images: imageLimits(cfg.Attachment.Image),
		},
		search: search.Config{Paths: paths, Log: l.logger},
		exec: exec.Config{
			Paths: paths, Shell: cfg.Shell, Env: l.scratchEnv(policy), Deny: set.SecretVariables(), Supervisor: supervisor(), Sandbox: policy,
			Timeout: patience(l.getenv), Processes: int(cfg.Limits.Processes), Outputs: l.outputs, Log: l.logger,
			Limits: tool.Limits{Lines: int(cfg.ToolOutput.MaxLines), Bytes: int(cfg.ToolOutput.MaxBytes)},
		},
	}, err
}

// registry returns the tools of a location.
func (l *locations) registry(cfg *config.Config, c toolConfig) (*tool.Registry, error) {
	r := tool.NewRegistry(tool.Config{Outputs: l.outputs, Limits: c.exec.Limits, Log: l.logger})
	webTools := web.New(web.Config{Allow: cfg.Webfetch.AllowedNetworks(), Search: web.SearcherOf(l.getenv)})
	_, err := r.Register(slices.Concat(file.New(c.file), search.New(c.search), exec.New(c.exec), dialog.New(), webTools)...)
	return r, err
}

// requests returns the permission requests of a call before it runs.
func (c toolConfig) requests(action, resource string) []tool.Request {
	if action == permission.Shell {
		return exec.Requests(c.exec, resource)
	}
	return file.Requests(c.file.Paths, action, resource)
}

func imageLimits(c config.ImageLimits) file.ImageLimits {
	return file.ImageLimits{
		Width: int(c.MaxWidth), Height: int(c.MaxHeight), Base64: int(c.MaxBase64Bytes), Refuse: c.AutoResize != nil && !*c.AutoResize,
	}
}
