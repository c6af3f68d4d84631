package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/access"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/transfer/sources"
	"github.com/cairn-dev/cairn/internal/tui"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/modelfile"
	"github.com/spf13/cobra"
)

const fullScreenHelp = `Work in the full-screen interface: prompts, what the model does, permission requests, sessions,
undo. URL is a cairn server, as http://HOST:PORT or HOST:PORT; without it, use the cairn of this machine, in DIRECTORY or
here. Press ? for the keys. cairn without a command does the same: cairn -c, cairn DIRECTORY, cairn "the first prompt".`

// NewFullScreenCommand returns `cairn tui`.
func NewFullScreenCommand(inv *cli.Invocation) *cobra.Command {
	g := attachCommand{inv}
	var f attachFlags
	cmd := &cobra.Command{
		Use: "tui [URL|DIRECTORY]", Short: "Work in the full-screen interface", Long: fullScreenHelp,
		Args: cobra.MaximumNArgs(1),
		Example: "  cairn tui\n  cairn tui -c\n  cairn tui ../other --prompt \"What does this do?\"\n" +
			"  cairn tui http://localhost:4096",
		RunE: func(cmd *cobra.Command, args []string) error {
			g.inv.Started, f.given = true, cmd.Flags().Changed
			if err := f.setPlace(inv, cli.FirstArg(args, "")); err != nil {
				return err
			}
			return g.runInterface(cmd.Context(), &f)
		},
	}
	addInterfaceFlags(cmd, &f)
	g.addServerFlags(cmd, &f)
	cmd.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	return cmd
}

// IsFullScreen reports whether the process has a terminal that the full-screen interface can use.
func IsFullScreen(inv *cli.Invocation) bool {
	return inv.Out.Terminal && terminal.IsTerminal(inv.Stdin) && inv.Env("TERM") != "dumb"
}

// runFullScreen shows the interface until it is left. What the process has to say meanwhile is shown in it.
func (g attachCommand) runFullScreen(ctx context.Context, f *attachFlags) error {
	if err := f.resolveDirectory(ctx, g.inv); err != nil {
		return err
	}
	notes := cli.NewNoteWriter(g.inv.Err)
	here := *g.inv
	if f.server.url == "" && f.server.directory != "" {
		here.Dir = f.server.directory
	}
	here.Err = terminal.NewStream(notes, g.inv.Env)
	f.server.detach = true
	return attachCommand{&here}.withServer(ctx, &f.server, func(ctx context.Context, c *api.Client) error {
		defer notes.Close()
		s, err := findAttached(ctx, c, f, here.Note)
		if err == nil && s != nil {
			err = checkSandbox(s, f.sandbox)
		}
		if err = cmp.Or(err, checkAgent(ctx, c, f.agent)); err != nil {
			return err
		}
		options, err := g.interfaceOptions(ctx, f, &here, c)
		if err != nil {
			return err
		}
		options.Session, options.Notes = s, notes.Lines
		ctx, stop := g.inv.UntilSignal(ctx)
		defer stop()
		defer options.Store.Release()
		r, err := tui.Run(ctx, options)
		// The screen is given back: say what goes on without it.
		notes.Close()
		var jobs []session.Job
		if r.SessionID != "" {
			jobs, _ = c.Jobs().List(ctx, r.SessionID) // a server that is gone runs none
		}
		dirs, _ := config.FindDirectories(g.inv.Env) // found before
		g.describeLeaving(f, r, jobs, dirs.BackgroundLog())
		return err
	})
}

// interfaceOptions returns the options of the interface from the flags and the user's settings. here is the invocation
// whose notes are shown in the interface.
func (g attachCommand) interfaceOptions(
	ctx context.Context, f *attachFlags, here *cli.Invocation, c *api.Client,
) (o tui.Options, err error) {
	// The settings of the interface are the user's own: a project cannot change them.
	dirs, err := config.FindDirectories(g.inv.Env)
	if err != nil {
		return o, err
	}
	user, err := config.Load(ctx, config.Options{Dirs: dirs, Env: g.inv.Env, All: true})
	if err != nil {
		return o, err
	}
	model, _ := cli.ParseModel(f.model) // checked
	o = tui.Options{
		Client: c, Model: model, Sandbox: f.sandbox, Where: c.Directory, Remote: f.server.url != "",
		Agent: f.agent, Effort: f.effort, Prompt: f.prompt,
		Store:  draftStore(dirs, &f.server, c),
		Models: modelfile.New(filepath.Join(dirs.State, "tui", "models.json")),
		Env:    g.inv.Env, In: g.inv.Stdin, Out: g.inv.Stdout, List: here.ListSessions,
		Theme: user.Terminal.Theme, Keys: user.Terminal.Keys, Quiet: user.Terminal.Quiet,
		StoreSetting: g.inv.StoreSetting, Secrets: here.CollectSecrets,
		Vi:    user.Terminal.Vi,
		Mouse: user.Terminal.Mouse == nil || *user.Terminal.Mouse,
	}
	if o.Remote {
		o.Where = f.server.publicURL()
		return o, nil
	}
	// A project's files are on this machine: name settings without effect, and let the person trust the files.
	if cfg, err := here.LoadConfig(ctx); err == nil {
		if text := cli.WithoutEffectNote(cfg); text != "" {
			here.Note(text)
		}
	}
	o.FindForeign = func() []string { return sources.FindPrograms(here.Env) }
	o.ReadTrust = func(ctx context.Context) (tui.Trust, error) { return access.ReadTrust(ctx, here) }
	return o, nil
}

// describeLeaving says what goes on, and how to go on. log is that of servers in the background.
func (g attachCommand) describeLeaving(f *attachFlags, r tui.Result, jobs []session.Job, log string) {
	if r.SessionID == "" {
		return
	}
	state := ""
	switch {
	case r.Leave == tui.LeaveBackground && r.PID != 0:
		state = fmt.Sprintf("the session works on in the background; stop it with: kill %d; its log: %s; ", r.PID, log)
	case r.Leave == tui.LeaveBackground:
		state = "the session is still working; "
	case r.Leave == tui.LeaveStopped:
		state = "the work was stopped; "
	}
	g.inv.Err.Printf("%s%scontinue with: %s\n", state, describeJobs(jobs), attachTo(&f.server, r.SessionID))
}

// describeJobs says which jobs of a session go on without its screen, "" if none does.
func describeJobs(jobs []session.Job) string {
	running := 0
	for _, j := range jobs {
		if j.Status == session.JobRunning {
			running++
		}
	}
	if running == 0 {
		return ""
	}
	return terminal.FormatPlural(running, "job") + " still running, see cairn jobs list; "
}

// draftStore returns where the typed text of the directory, or of the server, is kept.
func draftStore(dirs config.Directories, server *serverFlags, c *api.Client) composer.DraftFile {
	place := sha256.Sum256([]byte(server.publicURL() + "\n" + c.Directory))
	return composer.ClaimDraftFile(filepath.Join(dirs.State, "tui", hex.EncodeToString(place[:12])+".json"))
}
