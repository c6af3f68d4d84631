package installation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/spf13/cobra"
)

// serviceCommands are `cairn service`.
type serviceCommands struct{ inv *cli.Invocation }

func (g serviceCommands) serviceCommand() *cobra.Command {
	return cli.GroupCommand(&cobra.Command{
		Use: "service", Short: "Run cairn serve as a service of yours",
		Long: "A service of your user runs cairn serve from login on, and again after a failure: with systemd on Linux,\n" +
			"with launchd on macOS. The server owns the sessions, and other commands become its clients.",
	}, g.installCommand(), g.statusCommand(), g.removeCommand())
}

// manager returns the manager of this system.
func (g serviceCommands) manager() (*manager, error) {
	m, err := newManager(runtime.GOOS, g.inv.Env)
	if err != nil && !supportsService() {
		return nil, cli.NewExitError(cli.ExitFailure, err,
			"cairn serve --background serves in a process of its own, until it is idle")
	}
	return m, err
}

func (g serviceCommands) installCommand() *cobra.Command {
	var isPrinted bool
	cmd := &cobra.Command{
		Use: "install", Short: "Install and start the service, or replace it", Args: cobra.NoArgs,
		Long: "Install and start the service, or replace one of an earlier installation. It starts the program that runs\n" +
			"this command, with the PATH and the directories of cairn that are set here. It does not have other\n" +
			"variables of this shell, such as API keys: store those with cairn auth login, or as lines NAME=VALUE in\n" +
			"the file that the unit names.",
		Example: "  cairn service install\n  cairn service install --print",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			m, err := g.manager()
			if err != nil {
				return err
			}
			program, err := findProgram()
			if err != nil {
				return err
			}
			s, err := newSettings(program, g.inv.Env)
			if err != nil {
				return err
			}
			if isPrinted {
				return g.printPlan(m, s)
			}
			if isTemporary(program) {
				return fmt.Errorf("%s is a temporary copy of cairn, which will be removed; install cairn first", program)
			}
			if err := m.install(ctx, s); err != nil {
				return cli.NewExitError(cli.ExitFailure, err, withoutManager)
			}
			g.inv.ReportChange(cli.Change{File: m.file}, g.describeInstalled(m, program))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&isPrinted, "print", false, "print the file and the commands, and change nothing")
	return g.inv.AddJSONFlag(cmd)
}

// withoutManager is the advice where no service manager runs.
const withoutManager = "cairn serve --background serves without a service manager"

// printPlan prints what install would write and run.
func (g serviceCommands) printPlan(m *manager, s settings) error {
	var commands []string
	for _, argv := range m.start {
		commands = append(commands, strings.Join(argv, " "))
	}
	if g.inv.JSON {
		return g.inv.PrintJSON(struct {
			File     string   `json:"file"`
			Text     string   `json:"text"`
			Commands []string `json:"commands"`
		}{m.file, m.format(s), commands})
	}
	g.inv.Err.Printf("%s would be:\n", m.file)
	g.inv.Out.Printf("%s", m.format(s))
	g.inv.Err.Printf("then:\n  %s\n", strings.Join(commands, "\n  "))
	return g.inv.Out.Err
}

// describeInstalled says what was done and what is left for the user.
func (g serviceCommands) describeInstalled(m *manager, program string) string {
	text := fmt.Sprintf("installed %s: %s serve runs, and starts when you log in\n", m.file, program)
	if m.name == "systemd" {
		text += "to let it run while you are logged out, too: loginctl enable-linger\n"
	}
	return text + "its state: cairn service status; its log: " + m.log
}

func (g serviceCommands) statusCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "status", Short: "Show whether the service is installed and runs", Args: cobra.NoArgs,
		Example: "  cairn service status\n  cairn service status --json",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			m, err := g.manager()
			if err != nil {
				return err
			}
			s, err := m.readState(ctx)
			if err != nil {
				return cli.NewExitError(cli.ExitFailure, err, withoutManager)
			}
			return cli.PrintResult(g.inv, s, func(s serviceState) { g.inv.Out.Printf("%s\n", describeState(s, m)) })
		}),
	})
}

// describeState says a state in sentences.
func describeState(s serviceState, m *manager) string {
	if !s.Installed {
		return "no service is installed; to install one: cairn service install"
	}
	var b strings.Builder
	switch {
	case s.Running && s.PID > 0:
		fmt.Fprintf(&b, "the service runs as process %d", s.PID)
	case s.Running:
		b.WriteString("the service runs")
	default:
		fmt.Fprintf(&b, "the service does not run (%s)", s.State)
	}
	if s.Enabled {
		b.WriteString(", and starts when you log in")
	} else {
		b.WriteString(", and does not start by itself")
	}
	if s.File != "" {
		fmt.Fprintf(&b, "\nfile: %s", s.File)
	}
	fmt.Fprintf(&b, "\nlog: %s\nrestart: %s", m.log, m.restart)
	return b.String()
}

func (g serviceCommands) removeCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "remove", Short: "Stop and remove the service; sessions stay", Args: cobra.NoArgs,
		Example: "  cairn service remove",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			m, err := g.manager()
			if err != nil {
				return err
			}
			err = m.remove(ctx)
			if errors.Is(err, fs.ErrNotExist) {
				return cli.NewExitError(cli.ExitFailure, err, "cairn service status shows the service of a package")
			}
			return g.inv.FinishChange(err, cli.Change{File: m.file},
				"stopped the service and removed "+m.file+"; sessions and configuration stay")
		}),
	})
}
