package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// LogFlags are flags that every OpenCode command has. Logs go to standard error anyway, at the level of CAIRN_LOG, and
// there are no plugins to disable.
type LogFlags struct {
	print, pure bool
	level       string
}

func (l *LogFlags) AddTo(root *cobra.Command) {
	f := root.PersistentFlags()
	f.BoolVar(&l.print, "print-logs", false, "")
	f.BoolVar(&l.pure, "pure", false, "")
	f.StringVar(&l.level, "log-level", "", "")
	HideFlags(f, "print-logs", "pure", "log-level")
}

// applyLevel returns the environment with the log level of --log-level; without the flag, getenv itself.
func (l *LogFlags) applyLevel(getenv func(string) string) (func(string) string, error) {
	if l.level == "" {
		return getenv, nil
	}
	level := strings.ToLower(l.level)
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, level) {
		return nil, UsageErrorf("--log-level must be DEBUG, INFO, WARN or ERROR, got %q", terminal.FirstLine(l.level, 40))
	}
	return config.Setenv(getenv, "LOG", level), nil
}

// HideFlags hides flags from the help, such as those that exist for users of OpenCode.
func HideFlags(f interface{ MarkHidden(string) error }, names ...string) {
	for _, name := range names {
		_ = f.MarkHidden(name) // the flag exists
	}
}
