package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/session"
)

// runFlags are what can be said on the command line of run.
type runFlags struct {
	session, agent, model, format, asks, title, dir, record, replay, trust, command, schema string

	budgetUSD             string
	budgetTokens          int64
	budgetTurns           int
	budgetTime, timeout   time.Duration
	files                 []string
	last, queue, thinking bool
	steer, sandbox        bool

	attach                         attachFlags
	variant                        string
	auto, fork, share, interactive bool
	port                           int

	given func(name string) bool // whether the flag stands on the command line
}

const runExamples = `  cairn run "What does this project do?"
  cairn run -c "And how is it tested?"             go on with the newest session of this directory
  cairn run -m openai/gpt-5.2 -f design.md "Review this"
  git diff | cairn run --format json --ask=deny -  the prompt comes from standard input`

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] PROMPT… | -",
		Short: "Ask, and watch the work until it is done",
		Long: "Run puts a prompt to a session, shows the work as it goes on, and ends when the session is idle.\n" +
			"The answer goes to standard output, everything else to standard error. When something needs a\n" +
			"permission, run asks on the terminal; without one it denies, unless --ask says otherwise.",
		Example: runExamples,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ran, f.given = true, cmd.Flags().Changed
			if f.format == "default" { // OpenCode's name for it
				f.format = "text"
			}
			if f.attach.url != "" || a.asOpenCode() {
				return a.runAttached(cmd.Context(), &f, args)
			}
			return a.run(cmd.Context(), &f, args)
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&f.session, "session", "s", "", "go on with the session `ID`")
	fs.BoolVarP(&f.last, "continue", "c", false, "go on with the newest session of this directory")
	fs.StringVar(&f.agent, "agent", "", "the agent that works, see cairn help")
	fs.StringVarP(&f.model, "model", "m", "", "the model, as `PROVIDER/MODEL[#VARIANT]`; see cairn models")
	fs.StringVar(&f.command, "command", "", "give the prompt with this `NAME`, see cairn command list; PROMPT is what goes into it")
	fs.StringArrayVarP(&f.files, "file", "f", nil, "attach a `FILE`; can be repeated")
	fs.StringVar(&f.format, "format", "text", "`text` or json: one object per line, the last one the result")
	fs.StringVar(&f.schema, "format-schema", "", "have the answer be a JSON value that fits the JSON schema in `FILE`")
	fs.StringVar(&f.asks, "ask", "", "answer to everything that needs a permission: deny, allow, fail (deny and stop),\nor wait:`DURATION` for an answer from elsewhere")
	fs.DurationVar(&f.timeout, "timeout", 0, "interrupt the session after this `DURATION` and exit with 4")
	fs.BoolVar(&f.queue, "queue", false, "when the session is at work: wait until it is done")
	fs.BoolVar(&f.steer, "steer", false, "when the session is at work: have it heed this at its next step (default)")
	fs.StringVar(&f.title, "title", "", "the session's title")
	fs.StringVar(&f.budgetUSD, "budget-usd", "", "stop the session when it has cost this many `DOLLARS`")
	fs.Int64Var(&f.budgetTokens, "budget-tokens", 0, "stop the session when it has used this many tokens")
	fs.IntVar(&f.budgetTurns, "budget-turns", 0, "stop after this many model turns for one prompt")
	fs.DurationVar(&f.budgetTime, "budget-time", 0, "stop after this `DURATION` of work for one prompt")
	fs.StringVar(&f.dir, "dir", "", "work in this `DIRECTORY` instead of the current one")
	fs.BoolVar(&f.thinking, "thinking", false, "show the model's reasoning")
	fs.BoolVar(&f.sandbox, "sandbox", false, "run commands in a sandbox: no network, no writing outside of the directory")
	fs.StringVar(&f.record, "record", "", "keep the provider's traffic, without secrets, in `FILE`")
	fs.StringVar(&f.replay, "replay", "", "answer from the traffic recorded in `FILE`; no network")
	f.ofOpenCode(cmd)
	trustFlag(cmd, &f.trust)
	cmd.MarkFlagsMutuallyExclusive("session", "continue")
	cmd.MarkFlagsMutuallyExclusive("ask", "auto")
	cmd.MarkFlagsMutuallyExclusive("queue", "steer")
	cmd.MarkFlagsMutuallyExclusive("record", "replay")
	cmd.MarkFlagsMutuallyExclusive("command", "format-schema")
	return cmd
}

// ofOpenCode are flags of OpenCode's run that ours has not by another name.
func (f *runFlags) ofOpenCode(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.attach.url, "attach", "", "put the prompt to the server at `URL`, cairn's or OpenCode's")
	fs.StringVarP(&f.attach.password, "password", "p", "", "its password; else OPENCODE_SERVER_PASSWORD")
	fs.StringVarP(&f.attach.user, "username", "u", "", "the user's name there; else OPENCODE_SERVER_USERNAME, or opencode")
	fs.StringVar(&f.variant, "variant", "", "the `VARIANT` of the model, as behind # in --model")
	fs.BoolVar(&f.auto, "auto", false, "allow what would be asked about; what a rule denies stays denied")
	fs.BoolVar(&f.auto, "dangerously-skip-permissions", false, "")
	fs.BoolVar(&f.fork, "fork", false, "go on with a copy of the session")
	fs.BoolVar(&f.share, "share", false, "")
	fs.BoolVarP(&f.interactive, "interactive", "i", false, "")
	fs.IntVar(&f.port, "port", 0, "")
	hide(fs, "dangerously-skip-permissions", "share", "interactive", "port") // the last: there is no port to be had here
}

// plan is what a run is to do, all of it checked as far as that can be done without a server.
type plan struct {
	options  Options
	id       session.ID // to make or to go on with; "" with last
	existing bool
	last     bool
	message  session.MessageID
	command  string // whose prompt it will be, with the prompt's text as arguments; "" none, or that is done
	prompt   session.Prompt
	delivery session.Delivery
	asks     session.AskPolicy
	agent    string
	model    *session.ModelRef
	title    string
	budget   *session.Budget
	timeout  time.Duration
	withheld string // why a model may be missing: the project's providers have no effect
}

// heed names the configured model where the project's own providers have no effect, so that a session which could not
// answer is refused, and not made.
func (p *plan) heed(cfg *config.Config) {
	p.withheld = withheldProviders(cfg)
	if p.withheld != "" && !p.existing && p.model == nil && p.agent == "" {
		p.model = cfg.Model.Ref()
	}
}

// run is the command. Whatever goes wrong, with --format json the last line is a result.
func (a *app) run(ctx context.Context, f *runFlags, args []string) error {
	if f.format != "text" && f.format != "json" {
		return usagef("--format must be text or json, got %q", line(f.format, 40))
	}
	start := time.Now()
	r := &runner{app: a, started: start}
	r.view = newTextView(a, f.thinking)
	if f.format == "json" {
		r.view = newLineView(a, f.thinking)
	}
	var err error
	if r.plan, err = a.plan(f, args); err == nil {
		var cfg *config.Config
		if cfg, err = a.heedConfig(ctx, r.plan.options); cfg != nil {
			r.plan.heed(cfg)
		}
	}
	tell := func(string) {}
	if err == nil {
		if r.plan.asks == "" {
			r.openTerminal(f.format)
			defer func() { r.questions.close() }()
		}
		tell = a.heedStandIns(ctx)
		err = r.work(ctx)
	}
	out := r.result(err)
	tell(providerOf(out.Model))
	if out.Finish == "length" {
		r.view.note("the answer is cut off: the model reached its limit of output; go on with \"continue\"")
	}
	r.view.result(out)
	if out.ExitCode == exitOK {
		return a.out.err
	}
	return &exit{code: out.ExitCode}
}

// plan checks the flags and reads what they name.
func (a *app) plan(f *runFlags, args []string) (p plan, err error) {
	ids := &session.IDs{}
	p = plan{
		id: session.ID(f.session), existing: f.session != "" || f.last, last: f.last, delivery: session.Steer,
		message: session.MessageID(ids.New(session.PrefixMessage)), agent: f.agent, title: f.title, timeout: f.timeout,
		asks: session.AskPolicy(f.asks), command: f.command,
	}
	if !p.existing {
		p.id = session.ID(ids.New(session.PrefixSession))
	} else if f.session != "" {
		if err := session.CheckID("--session", session.PrefixSession, f.session); err != nil {
			return p, err
		}
	}
	if f.queue {
		p.delivery = session.Queue
	}
	if p.options, err = a.options(f.dir); err != nil {
		return p, err
	}
	if err := f.refuse(); err != nil {
		return p, err
	}
	if f.auto {
		p.asks = "allow"
	}
	p.options.Trust = f.trust
	p.options.Sandbox = f.sandbox
	if p.options.Record, err = a.absolute(f.record); err != nil {
		return p, err
	}
	if p.options.Replay, err = a.absolute(f.replay); err != nil {
		return p, err
	}
	if f.model == "" && f.given("model") {
		return p, usagef("--model is empty; leave it away for the default, or see cairn models")
	}
	if p.model, err = parseModel(f.model); err != nil {
		return p, err
	}
	if err := f.addVariant(p.model); err != nil {
		return p, err
	}
	if p.budget, err = f.budget(); err != nil {
		return p, err
	}
	if err := checkAsks(f.asks); err != nil {
		return p, err
	}
	if f.timeout < 0 {
		return p, usagef("--timeout must not be negative, got %s", f.timeout)
	}
	if p.prompt.Text, err = a.promptText(args); err != nil {
		return p, err
	}
	if p.prompt.Files, err = a.attachments(f.files); err != nil {
		return p, err
	}
	if p.prompt.Format, err = a.form(f.schema); err != nil {
		return p, err
	}
	if f.command == "" && f.given("command") {
		return p, usagef("--command is empty; see cairn command list")
	}
	if strings.TrimSpace(p.prompt.Text) == "" && p.command == "" && len(p.prompt.Files) == 0 {
		return p, &exit{exitUsage, errors.New("the prompt is empty"), `say what you want: cairn run "…", or - to read it from standard input`}
	}
	return p, checkRecord(p.options.Record)
}

// refuse says what of OpenCode's there is not.
func (f *runFlags) refuse() error {
	switch {
	case f.interactive:
		return usagef("--interactive needs OpenCode's own terminal interface: cairn serve, and opencode attach URL")
	case f.fork:
		return usagef("--fork: cairn cannot fork sessions yet; OpenCode's server at --attach URL can")
	case f.share:
		return usagef("--share: cairn publishes nothing; cairn export writes a session to a file")
	case f.attach.password != "" || f.attach.user != "":
		return usagef("--password and --username are for the server at --attach")
	default:
		return nil
	}
}

// addVariant adds the variant that stands apart from the model.
func (f *runFlags) addVariant(m *session.ModelRef) error {
	switch {
	case f.variant == "":
		return nil
	case m == nil:
		return usagef("--variant needs --model: it is one of that model's")
	case m.Variant != "" && m.Variant != f.variant:
		return usagef("--model names the variant %q already", line(m.Variant, 40))
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
		return usagef("--record: %s is not a regular file", file)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".cassette-*")
	if err != nil {
		return usagef("--record: %s cannot be written: %v", file, errors.Unwrap(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// maxStdin bounds what "-" reads. The engine's own limit is the same.
const maxStdin = 16 << 20

// promptText joins the arguments; "-" stands for standard input, which is read for nothing else.
func (a *app) promptText(args []string) (string, error) {
	words := make([]string, 0, len(args))
	read := false
	for _, arg := range args {
		if arg != "-" || read {
			words = append(words, arg)
			continue
		}
		read = true
		b, err := io.ReadAll(io.LimitReader(a.Stdin, maxStdin+1))
		if err != nil {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		if len(b) > maxStdin {
			return "", usagef("standard input has more than %d bytes, which is the limit of a prompt", maxStdin)
		}
		words = append(words, strings.TrimRight(string(b), "\n"))
	}
	return strings.Join(words, " "), nil
}

// parseModel reads PROVIDER/MODEL[#VARIANT], as the configuration has it, or with an at sign. Models may have slashes and
// at signs of their own; the last at sign is the variant's unless a slash follows it, or a version: Google's Vertex names
// the versions of models so (https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude).
func parseModel(s string) (*session.ModelRef, error) {
	if s == "" {
		return nil, nil
	}
	ref := config.ModelName(s).Ref()
	if ref == nil || ref.ProviderID == "" || ref.ID == "" {
		return nil, usagef("--model must be PROVIDER/MODEL or PROVIDER/MODEL#VARIANT, got %q; cairn models lists them", s)
	}
	if ref.Variant == "" && !strings.HasPrefix(ref.ProviderID, "google-vertex") && !versioned().MatchString(ref.ID) {
		ref.ID, ref.Variant = cutVariant(ref.ID, "@")
	}
	return ref, nil
}

// versioned is a model's name that ends with the day of its version.
var versioned = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`@\d{8}$`) })

// cutVariant takes the variant from the end of a model's name, behind one of the signs; "" if there is none.
func cutVariant(name, signs string) (model, variant string) {
	at := strings.LastIndexAny(name, signs)
	if at <= 0 || at == len(name)-1 || strings.Contains(name[at:], "/") {
		return name, ""
	}
	return name[:at], name[at+1:]
}

func (f *runFlags) budget() (*session.Budget, error) {
	var b session.Budget
	if f.budgetUSD != "" {
		v, err := session.ParseUSD(strings.TrimPrefix(f.budgetUSD, "$"))
		if err != nil || v <= 0 {
			return nil, usagef("--budget-usd must be an amount of dollars above 0 like 0.50, got %q", f.budgetUSD)
		}
		b.USD = v
	}
	for _, l := range []struct {
		name  string
		value int64
	}{{"budget-tokens", f.budgetTokens}, {"budget-turns", int64(f.budgetTurns)}, {"budget-time", f.budgetTime.Milliseconds()}} {
		if l.value < 0 || l.value == 0 && f.given(l.name) {
			return nil, usagef("--%s must be more than 0; without it there is no such limit", l.name)
		}
	}
	b.Tokens, b.Turns, b.Wall = f.budgetTokens, f.budgetTurns, f.budgetTime.Milliseconds()
	if b == (session.Budget{}) {
		return nil, nil
	}
	return &b, nil
}

// checkAsks tells a wrong policy before anything is started. The engine checks again.
func checkAsks(s string) error {
	switch s {
	case "", "deny", "allow", "fail":
		return nil
	}
	if d, ok := strings.CutPrefix(s, "wait:"); ok {
		if v, err := time.ParseDuration(d); err == nil && v > 0 {
			return nil
		}
		if n, err := strconv.Atoi(d); err == nil && n > 0 {
			return nil
		}
	}
	return usagef("--ask must be deny, allow, fail or wait:DURATION (like wait:30s), got %q", s)
}

// openTerminal prepares for asking. Without a terminal, and for programs, asks are denied, in the engine.
func (r *runner) openTerminal(format string) {
	if format == "text" && r.app.Terminal != nil && r.app.err.terminal {
		if tty, err := r.app.Terminal(); err == nil {
			r.questions = newQuestioner(r.app, tty)
			return
		}
	}
	r.plan.asks, r.headless = "deny", true
}

// options are those of a command that works in dir, or in the working directory.
func (a *app) options(dir string) (Options, error) {
	env, err := a.logs.env(a.Env)
	o := Options{Dir: a.Dir, Env: env, Version: a.version(), Note: a.note}
	if dir == "" || err != nil {
		return o, err
	}
	abs, err := a.absolute(dir)
	if err != nil {
		return o, err
	}
	info, err := os.Stat(abs)
	switch {
	case err != nil:
		return o, usagef("--dir: there is no directory %s", abs)
	case !info.IsDir():
		return o, usagef("--dir: %s is not a directory", abs)
	}
	o.Dir = abs
	return o, nil
}
