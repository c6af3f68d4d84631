package cli

import (
	"context"
	"errors"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/peer"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui"
)

// talkFlags are what can be said of a talk: those of OpenCode's attach, and of its command without a name.
type talkFlags struct {
	attach                             attachFlags
	dir, session, prompt, agent, model string
	last, fork, auto, noReplay, asJSON bool
	history                            int
	given                              func(name string) bool
	hostname, domain                   string // of a server, which is another command here
	port                               int
	cors                               []string
	mdns, mini                         bool
}

func (a *app) attachCommand() *cobra.Command {
	var f talkFlags
	cmd := &cobra.Command{
		Use: "attach [URL]", Short: "Work with a session of a server, line by line", Args: cobra.MaximumNArgs(1),
		Long: "Attach shows a session of the server at URL, cairn's or OpenCode's, as it goes on, and sends it what you type: a\n" +
			"line is a prompt, the number of an answer to what is asked, or a word such as /sessions; /help lists them. Without\n" +
			"URL it is the cairn here. Ctrl-C stops the work, twice leaves; what the session is at goes on without you.\n" +
			"When standard input is no terminal, its lines are prompts, one after another, and asks are refused.",
		Example: "  cairn attach http://localhost:4096\n  cairn attach -c http://localhost:4096\n  printf 'one\\ntwo\\n' | cairn attach",
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ran, f.given = true, cmd.Flags().Changed
			f.attach.url = first(args, "")
			return a.talk(cmd.Context(), &f)
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&f.attach.password, "password", "p", "", "the server's password; else OPENCODE_SERVER_PASSWORD")
	fs.StringVarP(&f.attach.user, "username", "u", "", "the user's name there; else OPENCODE_SERVER_USERNAME, or opencode")
	fs.StringVar(&f.dir, "dir", "", "work in this `DIRECTORY`, on the server's machine")
	f.ofSessions(cmd)
	jsonFlag(cmd, &f.asJSON)
	hide(fs, "json")
	return cmd
}

// ofSessions are the flags that say which session it is, and how much of it is shown.
func (f *talkFlags) ofSessions(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&f.session, "session", "s", "", "go on with the session `ID`")
	fs.BoolVarP(&f.last, "continue", "c", false, "go on with the newest session of the directory")
	fs.BoolVar(&f.fork, "fork", false, "go on with a copy of the session")
	fs.IntVar(&f.history, "replay-limit", -1, "show the newest `N` messages of the session; else the last prompt and its answer")
	fs.BoolVar(&f.noReplay, "no-replay", false, "show none of them")
	fs.BoolVar(&f.mini, "mini", false, "")
	hide(fs, "mini") // this is what it is
	cmd.MarkFlagsMutuallyExclusive("session", "continue")
}

// ofInterface are the flags of OpenCode's command without a name.
func (f *talkFlags) ofInterface(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&f.model, "model", "m", "", "")
	fs.StringVar(&f.prompt, "prompt", "", "")
	fs.StringVar(&f.agent, "agent", "", "")
	fs.BoolVar(&f.auto, "auto", false, "")
	fs.IntVar(&f.port, "port", 0, "")
	fs.StringVar(&f.hostname, "hostname", "", "")
	fs.StringVar(&f.domain, "mdns-domain", "", "")
	fs.StringSliceVar(&f.cors, "cors", nil, "")
	fs.BoolVar(&f.mdns, "mdns", false, "")
	hide(fs, "model", "prompt", "agent", "auto", "port", "hostname", "mdns-domain", "cors", "mdns")
	f.ofSessions(cmd)
}

// refuse says what cannot be.
func (f *talkFlags) refuse() error {
	for _, name := range []string{"port", "hostname", "mdns", "mdns-domain", "cors"} {
		if f.given(name) {
			return usagef("--%s: opencode serve --%[1]s listens, and opencode attach URL shows it", name)
		}
	}
	switch {
	case f.asJSON:
		return usagef("--json: for programs there is run --attach URL --format json")
	case f.fork && f.session == "" && !f.last:
		return usagef("--fork needs --continue or --session: it goes on with a copy of what was said there")
	case f.given("replay-limit") && f.history < 0:
		return usagef("--replay-limit must be 0 or more, got %d", f.history)
	case f.session != "":
		return session.CheckID("--session", session.PrefixSession, f.session)
	}
	return nil
}

// talk has a talk with a session of the server at the URL, or of the cairn here.
func (a *app) talk(ctx context.Context, f *talkFlags) error {
	if err := f.refuse(); err != nil {
		return err
	}
	model, err := parseModel(f.model)
	if err != nil {
		return err
	}
	if f.noReplay {
		f.history = 0
	}
	screen := &talkScreen{app: a}
	c := tui.Config{
		Screen: screen, Input: a.Stdin, Person: a.err.terminal && isTerminal(a.Stdin), Prompt: f.prompt, Agent: f.agent, Auto: f.auto,
		Begin: tui.Begin{Session: f.session, Last: f.last, Fork: f.fork, History: f.history},
	}
	if model != nil {
		c.Model = &peer.Model{ProviderID: model.ProviderID, ModelID: model.ID}
	}
	if !c.Person {
		c.Begin.Rules = headlessRules
		c.Begin.History = max(c.Begin.History, 0) // what is printed are the answers
	}
	if f.attach.url != "" {
		if c.Client, err = f.attach.peer(a); err != nil {
			return err
		}
		c.Client.Directory = f.dir // on the server's machine
		return a.converse(ctx, c, c.Client.Base)
	}
	o, err := a.options(f.dir)
	if err != nil {
		return err
	}
	here := *a
	here.Dir = o.Dir
	return here.connected(ctx, func(ctx context.Context, own *api.Client) error {
		c.Client = peerOf(own)
		return a.converse(ctx, c, o.Dir)
	})
}

// converse runs the talk, with Ctrl-C its own. The person is told where it is.
func (a *app) converse(ctx context.Context, c tui.Config, where string) error {
	interrupts := make(chan struct{}, 4) // more than a person types before the first is read
	press := func() {
		select {
		case interrupts <- struct{}{}:
		default:
		}
	}
	a.onInterrupt.Store(&press)
	defer a.onInterrupt.Store(nil)
	c.Interrupts = interrupts
	ctx, stop := a.orderly(ctx)
	defer stop()
	if c.Person {
		a.err.printf("%s; /help lists the words\n", line(where, 200))
	}
	out, err := tui.Run(ctx, c)
	a.out.freshLine()
	a.err.freshLine()
	if out.Working {
		a.note("the session is at work and goes on: " + a.program() + " attach -s " + out.Session + " shows it again")
	}
	e, refused := errors.AsType[*peer.Error](err)
	switch {
	case refused && e.Status == http.StatusNotFound && c.Begin.Session != "" && out.Session == "":
		return sessionNotFound()
	case errors.Is(err, tui.ErrNoSession):
		return noSession()
	case errors.Is(err, tui.ErrLeft):
		return errSignal
	case err != nil:
		return peerError(c.Client, err)
	case c.Person:
		return a.out.err
	case out.Failure != "": // it was shown
		return &exit{code: exitProvider}
	case out.Denied > 0:
		return &exit{code: exitDenied}
	}
	return a.out.err
}

// sessionNotFound is in the words of OpenCode, for which scripts look.
func sessionNotFound() error {
	//lint:ignore ST1005 these are the words of OpenCode, for which scripts look
	return &exit{exitUsage, errors.New("Session not found"), ""}
}

func noSession() error {
	return &exit{exitUsage, errors.New("there is no session to continue"), "leave --continue away to begin one"}
}

// program is what it was called as.
func (a *app) program() string {
	if a.asOpenCode() {
		return openCode
	}
	return "cairn"
}

// ownInterface makes OpenCode's command without a name a talk with the cairn here, in the directory that it names.
func (a *app) ownInterface(root *cobra.Command) {
	var f talkFlags
	f.ofInterface(root)
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return a.noSuchCommand(root, args)
		}
		path, err := a.absolute(args[0])
		if err != nil {
			return err
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return a.noSuchCommand(root, args)
		}
		f.dir = path
		return nil
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		a.ran, f.given = true, cmd.Flags().Changed
		return a.talk(cmd.Context(), &f)
	}
}
