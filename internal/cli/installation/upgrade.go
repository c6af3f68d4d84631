package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/spf13/cobra"
)

// upgradeCommand is `cairn upgrade`.
type upgradeCommand struct{ inv *cli.Invocation }

// versionArgument is what install.sh accepts as a version.
var versionArgument = regexp.MustCompile(`^v?\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)

func (g upgradeCommand) upgradeCommand() *cobra.Command {
	var isCheck bool
	var version string
	cmd := &cobra.Command{
		Use: "upgrade", Short: "Upgrade cairn, or name the command that does", Args: cobra.NoArgs,
		Long: "Say how this cairn came to this machine, and upgrade it if install.sh installed it: download the new\n" +
			"version, verify it, run it once, and replace the program by it. If a step fails, nothing is changed. What\n" +
			"a package manager installed is upgraded by that one; the command is named. A process that runs goes on\n" +
			"with its version until it ends, and is named, too.",
		Example: "  cairn upgrade\n  cairn upgrade --check\n  cairn upgrade --version 1.2.3",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			if version != "" && !versionArgument.MatchString(version) {
				return cli.UsageErrorf("--version must be like 1.2.3, got %q", version)
			}
			program, err := resolveProgram()
			if err != nil {
				return err
			}
			o := findOrigin(ctx, evidence{program, cli.ReadBuildInfo(), runProgram})
			switch {
			case isCheck:
				return g.check(ctx, o, version)
			case o.Kind != kindScript:
				return cli.NewExitError(cli.ExitFailure,
					fmt.Errorf("%s, which cairn upgrade does not replace", describeOrigin(o)), describeCommand(o))
			}
			return g.upgrade(ctx, o, version)
		}),
	}
	cmd.Flags().BoolVar(&isCheck, "check", false, "say what would be done, and change nothing")
	cmd.Flags().StringVar(&version, "version", "", "install this `VERSION`, which may be an older one (install.sh)")
	return g.inv.AddJSONFlag(cmd)
}

// upgradeReport is what --check --json prints.
type upgradeReport struct {
	origin
	Newest string            `json:"newest,omitzero"` // the version that the installer would install
	Owner  client.StoreOwner `json:"owner"`
}

// check says how cairn came here and what would upgrade it, also if the newest version cannot be found. It changes
// nothing.
func (g upgradeCommand) check(ctx context.Context, o origin, version string) error {
	r := upgradeReport{origin: o}
	var err error
	if r.Owner, err = g.findOwner(ctx); err != nil {
		g.inv.Note(err.Error())
	}
	var failure error // of the installer
	if o.Kind == kindScript {
		var out strings.Builder
		failure = g.runInstaller(ctx, o, installerCall{action: "--check", version: version, out: &out})
		_, text, _ := strings.Cut(out.String(), "the version to install is ")
		r.Newest, _, _ = strings.Cut(text, ";")
	}
	err = cli.PrintResult(g.inv, r, func(r upgradeReport) {
		g.inv.Out.Printf("%s\n%s\n", describeOrigin(o), describeCommand(o))
		if r.Newest != "" {
			g.inv.Out.Printf("the version to install is %s\n", r.Newest)
		}
		if r.Owner.PID != 0 {
			g.inv.Out.Printf("process %d owns the sessions and runs cairn %s\n", r.Owner.PID, r.Owner.Version)
		}
	})
	return cmp.Or(failure, err)
}

// upgrade runs the installer that the installation has, and says what happens to a process that runs.
func (g upgradeCommand) upgrade(ctx context.Context, o origin, version string) error {
	call := installerCall{action: "--upgrade", version: version, out: g.inv.Out}
	if g.inv.JSON {
		call.out = g.inv.Err
	}
	if err := g.runInstaller(ctx, o, call); err != nil {
		return err
	}
	g.inv.ReportChange(cli.Change{File: o.Program}, "")
	owner, err := g.findOwner(ctx)
	if err != nil {
		g.inv.Note(err.Error())
		return nil
	}
	// The marker has the version that is installed now.
	if now := (origin{Program: o.Program}); owner.PID == 0 || now.readMarker() && owner.Version == now.marked {
		return nil
	}
	g.inv.Err.Printf("%s\n", describeOwner(owner, g.findRestart(ctx, owner)))
	return nil
}

func (g upgradeCommand) findOwner(ctx context.Context) (client.StoreOwner, error) {
	options, err := g.inv.HostOptions("")
	if err != nil {
		return client.StoreOwner{}, err
	}
	return g.inv.Host.FindOwner(ctx, options)
}

// installerCall is one run of install.sh.
type installerCall struct {
	action  string
	version string // "" is the newest
	out     io.Writer
}

// upgradeTimeout limits the installer, most of which is a download of 17 MB.
const upgradeTimeout = 30 * time.Minute

// runInstaller runs the copy of install.sh that came with the installation, which was verified with it.
func (g upgradeCommand) runInstaller(ctx context.Context, o origin, call installerCall) error {
	script, err := o.script()
	if err != nil {
		return err
	}
	args := []string{script, "--prefix", o.prefix, call.action}
	if call.version != "" {
		args = append(args, "--version", call.version)
	}
	ctx, cancel := context.WithTimeout(ctx, upgradeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", args...)
	cmd.Stdout, cmd.Stderr = call.out, g.inv.Err
	// The new version comes from where the installed one came from, unless the environment says another place.
	if o.url != "" && g.inv.Env("CAIRN_INSTALL_URL") == "" {
		cmd.Env = append(os.Environ(), "CAIRN_INSTALL_URL="+o.url)
	}
	// It removes what it has begun when it is asked to end.
	endWithGroup(cmd)
	cmd.WaitDelay = 10 * time.Second
	err = cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return cli.NewExitError(cli.ExitFailure, nil, "") // it has said why
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// findRestart returns the command that ends the owner so that the new version takes over.
func (g upgradeCommand) findRestart(ctx context.Context, owner client.StoreOwner) string {
	m, err := newManager(runtime.GOOS, g.inv.Env)
	if err == nil {
		if s, err := m.readState(ctx); err == nil && s.PID == owner.PID {
			return m.restart
		}
	}
	return fmt.Sprintf("kill %d", owner.PID)
}

// describeOrigin says how the program came here.
func describeOrigin(o origin) string {
	by := map[string]string{
		kindScript: "was installed by install.sh", kindContainer: "is part of a container image",
		kindHomebrew: "was installed by Homebrew", kindNPM: "was installed by npm",
		kindDeb: "belongs to a package of dpkg", kindRPM: "belongs to a package of rpm", kindAPK: "belongs to a package of apk",
		kindModule: "was built by go install", kindCheckout: "was built in a clone",
		kindUnknown: "was put there by nothing that cairn knows",
	}[o.Kind]
	return fmt.Sprintf("%s (cairn %s) %s", o.Program, o.Version, by)
}

// describeCommand says what upgrades it.
func describeCommand(o origin) string {
	switch {
	case o.Command == "":
		return "to upgrade: " + o.Note
	case o.Note == "":
		return "to upgrade: " + o.Command
	default:
		return "to upgrade: " + o.Command + " (" + o.Note + ")"
	}
}

// describeOwner says what an upgrade means for the process that runs.
func describeOwner(owner client.StoreOwner, restart string) string {
	return fmt.Sprintf("process %d still runs cairn %s and does the work of all commands until it ends. To hand over now: %s\n"+
		"Its sessions at work can be continued then. If the new version stores data in another form, its first process\n"+
		"that owns the data copies it to backup before it changes them, and an older cairn refuses the data after that",
		owner.PID, owner.Version, restart)
}
