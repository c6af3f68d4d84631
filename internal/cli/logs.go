package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/config"
)

// logFlags are flags that every command of OpenCode's has. Logs go to standard error anyway, and CAIRN_LOG says from which
// level on; there are no plugins to leave out.
type logFlags struct {
	print, pure bool
	level       string
}

func (l *logFlags) flags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.BoolVar(&l.print, "print-logs", false, "")
	f.BoolVar(&l.pure, "pure", false, "")
	f.StringVar(&l.level, "log-level", "", "")
	hide(f, "print-logs", "pure", "log-level")
}

// env is the environment with the level that was asked for.
func (l *logFlags) env(getenv func(string) string) (func(string) string, error) {
	if l.level == "" {
		return getenv, nil
	}
	level := strings.ToLower(l.level)
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, level) {
		return nil, usagef("--log-level must be DEBUG, INFO, WARN or ERROR, got %q", line(l.level, 40))
	}
	return config.Setenv(getenv, "LOG", level), nil
}

// hide leaves flags out of the help: they are taken for those who know them from OpenCode.
func hide(f interface{ MarkHidden(string) error }, names ...string) {
	for _, name := range names {
		_ = f.MarkHidden(name) // the flag exists
	}
}
