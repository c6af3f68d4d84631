package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// plan describes a run, checked as far as that can be done without a server.
type plan struct {
	options  client.Options
	id       session.ID // to make or to go on with; "" with last
	existing bool
	last     bool
	here     bool // with last: of exactly the directory
	message  session.MessageID
	command  string // whose prompt it will be, with the prompt's text as arguments; "" none, or that is done
	prompt   session.Prompt
	delivery session.Delivery
	asks     session.AskPolicy
	agent    string
	model    *session.ModelRef
	effort   string // of the model, unless model has it
	title    string
	budget   *session.Budget
	sandbox  session.SandboxMode
	timeout  time.Duration
	server   *serverFlags // nil: the cairn of this machine
	// ephemeral is set if the session is deleted at the end.
	ephemeral bool
	openCode  bool   // behave as OpenCode's run: see opencode.go
	typed     bool   // one of several lines of attach: notes about the run are left out
	share     bool   // share the session before it is prompted
	withheld  string // why a model may be missing: the project's providers have no effect
}

// pinModel names the configured model where the project's own providers have no effect, so that a session which could
// not answer is refused, and not made.
func (p *plan) pinModel(cfg *config.Config) {
	p.withheld = cli.WithheldProviders(cfg)
	if p.withheld != "" && !p.existing && p.model == nil && p.agent == "" {
		p.model = cfg.Model.Ref()
	}
}

// newPlan checks the flags and reads what they name.
func (g runCommand) newPlan(ctx context.Context, f *runFlags, args []string) (p plan, err error) {
	ids := &session.IDs{}
	p = plan{
		id: session.ID(f.session), existing: f.session != "" || f.last,
		last: f.last || f.session == "last", here: f.here, delivery: session.Steer,
		message: session.MessageID(
			ids.New(session.PrefixMessage),
		), agent: f.agent, title: f.title, timeout: f.timeout, sandbox: f.sandbox,
		asks: session.AskPolicy(f.asks), command: f.command, openCode: g.inv.IsOpenCode(), share: f.share,
		ephemeral: f.ephemeral,
	}
	if f.server.url != "" {
		f.server.directory, p.server = f.dir, &f.server
	}
	if !p.existing {
		p.id = session.ID(ids.New(session.PrefixSession))
	}
	if f.queue {
		p.delivery = session.Queue
	}
	if f.auto {
		p.asks = "allow"
	}
	// Check the flags by themselves, then read what they name; files and standard input last.
	if err := f.check(); err != nil {
		return p, err
	}
	p.effort = f.effort
	if p.model, err = g.modelRef(ctx, f); err != nil {
		return p, err
	}
	if p.budget, err = f.parseBudget(); err != nil {
		return p, err
	}
	if p.options, err = g.runOptions(f); err != nil {
		return p, err
	}
	if p.prompt, err = g.readRunPrompt(f, args); err != nil {
		return p, err
	}
	if !p.openCode && p.command == "" && !slices.Contains(args, "-") {
		if p.command, p.prompt.Text = cutCommand(p.prompt.Text); p.command != "" && f.schema != "" {
			return p, cli.UsageErrorf("--format-schema has no effect on the command /%s; omit it", p.command)
		}
	}
	return p, checkRecord(p.options.Record)
}

// check finds what is wrong by itself.
func (f *runFlags) check() error {
	if f.session != "" {
		if err := cli.CheckSessionName("--session", f.session); err != nil {
			return err
		}
	}
	if err := f.checkUnsupported(); err != nil {
		return err
	}
	switch {
	case f.model == "" && f.given("model"):
		return cli.UsageErrorf("--model is empty; omit it for the default, or choose one from cairn models")
	case f.command == "" && f.given("command"):
		return cli.UsageErrorf("--command is empty; choose one from cairn command list")
	case f.timeout < 0:
		return cli.UsageErrorf("--timeout must not be negative, got %s", f.timeout)
	}
	return cli.CheckAskPolicy(f.asks, "deny", "allow", "fail")
}

// modelRef is the model with the variant that may stand apart from it; nil: none is named.
func (g runCommand) modelRef(ctx context.Context, f *runFlags) (*session.ModelRef, error) {
	m, err := cli.ParseModel(f.model)
	if err != nil && f.server.url == "" {
		m, err = g.inv.ParseModelFlag(ctx, f.model)
	}
	if err != nil {
		return nil, err
	}
	return m, f.addVariant(m)
}

// cutCommand splits a prompt of the form /NAME ARGUMENTS; other prompts have no name. A first word with another slash,
// or that is a file of the root directory such as /tmp, is a path; a blank before the slash makes it text, too.
func cutCommand(text string) (name, rest string) {
	word, arguments, _ := strings.Cut(text, " ")
	name, ok := strings.CutPrefix(word, "/")
	if !ok || name == "" || strings.ContainsAny(name, "/\n") {
		return "", text
	}
	if _, err := os.Stat(word); err == nil {
		return "", text
	}
	return name, strings.TrimSpace(arguments)
}

// localFlags are the flags of run that configure a cairn of this machine. A server elsewhere has its own.
var localFlags = []string{"record", "replay", "trust"}

// runOptions are those of the command, with the files of its traffic by their whole names.
func (g runCommand) runOptions(f *runFlags) (o client.Options, err error) {
	if f.server.url != "" {
		for _, name := range localFlags {
			if f.given(name) {
				return o, cli.UsageErrorf(
					"--%s configures a cairn of this machine and has no effect on the server at --attach; omit one of them",
					name,
				)
			}
		}
		return client.Options{Dir: f.dir, Env: g.inv.Env, Version: g.inv.ServerVersion(), Note: g.inv.Note}, nil
	}
	if o, err = g.inv.HostOptions(f.dir); err != nil {
		return o, err
	}
	o.Trust = f.trust
	if o.Record, err = g.inv.ResolvePath(f.record); err != nil {
		return o, err
	}
	o.Replay, err = g.inv.ResolvePath(f.replay)
	return o, err
}

// readRunPrompt reads what is asked: the text, the files and the form of the answer.
func (g runCommand) readRunPrompt(f *runFlags, args []string) (p session.Prompt, err error) {
	read := g.inv.ReadPrompt
	if g.inv.IsOpenCode() {
		read = g.readPromptWithInput
	}
	if p.Text, err = read(args); err != nil {
		return p, err
	}
	if p.Files, err = g.inv.ReadAttachments(f.files); err != nil {
		return p, err
	}
	// What is piped in is attached, unless "-" has read it as the prompt.
	if !g.inv.IsOpenCode() && !slices.Contains(args, "-") && (p.Text != "" || f.command != "") {
		piped, err := g.inv.ReadPipedAttachment()
		if err != nil {
			return p, err
		}
		p.Files = append(p.Files, piped...)
	}
	if p.Format, err = g.inv.ReadAnswerSchema(f.schema); err != nil {
		return p, err
	}
	if strings.TrimSpace(p.Text) == "" && f.command == "" && len(p.Files) == 0 {
		return p, cli.NewExitError(
			cli.ExitUsage,
			errors.New("the prompt is empty"),
			`Give it as an argument, or - to read it from standard input: cairn run "…"`,
		)
	}
	return p, nil
}

// checkUnsupported rejects the flags of OpenCode's run that cairn does not support.
func (f *runFlags) checkUnsupported() error {
	switch {
	case f.interactive:
		return cli.UsageErrorf("--interactive is not supported; for a prompt at a time, run cairn attach")
	case f.fork && f.session == "" && !f.last:
		return cli.UsageErrorf("--fork needs --continue or --session")
	case f.fork:
		return cli.UsageErrorf(
			"--fork is not supported; fork the session with cairn session fork, and continue the copy with -s",
		)
	case f.server.url == "" && (f.server.password != "" || f.server.user != ""):
		return cli.UsageErrorf("--password (-p) and --username (-u) need --attach URL, the server that they are for; to print an " +
			"answer, omit -p: cairn run prints it")
	default:
		return nil
	}
}

// addVariant adds the variant that stands apart from the model.
func (f *runFlags) addVariant(m *session.ModelRef) error {
	switch {
	case f.variant != "" && f.effort != "" && f.variant != f.effort:
		return cli.UsageErrorf("--variant and --effort differ; omit one of them")
	case f.effort != "" && m != nil && m.Variant != "" && m.Variant != f.effort:
		return cli.UsageErrorf("--model names the effort %q already; omit --effort", terminal.FirstLine(m.Variant, 40))
	case f.effort != "" && m != nil:
		m.Variant = f.effort
		return nil
	case f.effort == "" && f.given("effort"):
		return cli.UsageErrorf("--effort is empty; omit it for the model's own")
	case f.variant == "":
		return nil
	case m == nil:
		return cli.UsageErrorf("--variant needs --model, the model that it is a variant of")
	case m.Variant != "" && m.Variant != f.variant:
		return cli.UsageErrorf("--model names the variant %q already; omit --variant", terminal.FirstLine(m.Variant, 40))
	}
	m.Variant = f.variant
	return nil
}

// checkRecord tells before anything is paid for that the recording could not be kept.
func checkRecord(file string) error {
	if file == "" {
		return nil
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return cli.UsageErrorf("--record: %s is not a regular file", file)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".cassette-*")
	if err != nil {
		return cli.UsageErrorf("--record: cannot write %s: %v", file, errors.Unwrap(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// readPromptWithInput is ReadPrompt as OpenCode has it: what is piped in is the prompt, or follows it.
func (g runCommand) readPromptWithInput(args []string) (string, error) {
	if isCharacterDevice(g.inv.Stdin) {
		return g.inv.ReadPrompt(args)
	}
	piped, err := g.inv.ReadPrompt([]string{"-"})
	if err != nil || strings.TrimSpace(piped) == "" {
		return strings.Join(args, " "), err
	}
	return strings.TrimPrefix(strings.Join(args, " ")+"\n"+piped, "\n"), nil
}

// isCharacterDevice reports whether the input is a terminal or another device, whose end may never come.
func isCharacterDevice(in any) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0
}

func (f *runFlags) parseBudget() (*session.Budget, error) {
	var b session.Budget
	if f.budgetUSD != "" {
		v, err := session.ParseUSD(strings.TrimPrefix(f.budgetUSD, "$"))
		if err != nil || v <= 0 {
			return nil, cli.UsageErrorf("--budget-usd must be an amount of dollars above 0 like 0.50, got %q", f.budgetUSD)
		}
		b.USD = v
	}
	for _, l := range []struct {
		name  string
		value int64
	}{
		{"budget-tokens", f.budgetTokens},
		{"budget-turns", int64(f.budgetTurns)},
		{"budget-time", f.budgetTime.Milliseconds()},
	} {
		if l.value < 0 || l.value == 0 && f.given(l.name) {
			return nil, cli.UsageErrorf("--%s must be more than 0; omit it for no limit", l.name)
		}
	}
	b.Tokens, b.Turns, b.Wall = f.budgetTokens, f.budgetTurns, f.budgetTime.Milliseconds()
	if b == (session.Budget{}) {
		return nil, nil
	}
	return &b, nil
}
