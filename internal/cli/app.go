package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// app is one command being run.
type app struct {
	Process
	host  Host
	out   *stream
	err   *stream
	marks marks
	asked <-chan struct{} // closed by the first signal
	ran   bool            // the command line was understood and the command itself began
}

func newApp(h Host, p Process) *app {
	return &app{
		Process: p, host: h, out: newStream(p.Stdout, p.Env), err: newStream(p.Stderr, p.Env), marks: marksFor(p.Env),
	}
}

const rootHelp = `cairn runs coding-agent sessions that last: what you ask, what the model says and what its tools
do is kept as it happens, so that a session survives crashes, restarts and Ctrl-C and goes on.

  cairn run "What does this project do?"     ask about this directory; the answer streams
  cairn run -c "Now explain the tests"       go on with the newest session here
  cairn run "replace foo with bar in a.txt"  changes are shown first and need your yes

  cairn session list                         what was asked here
  cairn session show last                    read it again
  cairn models                               what can answer
  cairn auth login openai                    keep a provider's key
  cairn serve                                serve the HTTP API (OpenCode's V2, and more)

Without a key a built-in guide answers: not a language model, but honest about it, and it really looks.
Everything has --help. cairn help exit-codes lists the exit codes, cairn help environment the variables.
`

// root builds the tree of commands. It touches nothing.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "cairn",
		Short:         "Durable coding-agent sessions",
		Long:          rootHelp,
		Version:       version().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          a.noSuchCommand,
		RunE: a.does(func(context.Context, []string) error {
			a.out.printf("%s", rootHelp)
			return a.out.err
		}),
	}
	root.SetOut(pages{a.out})
	root.SetErr(a.err)
	root.SetIn(a.Stdin)
	root.SetVersionTemplate("cairn {{.Version}}\n")
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(usageTemplate)
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddGroup(&cobra.Group{ID: groupWork, Title: "Work:"}, &cobra.Group{ID: groupLook, Title: "Look:"}, &cobra.Group{ID: groupCare, Title: "Care:"})
	root.SetHelpCommandGroupID(groupCare)
	root.SetCompletionCommandGroupID(groupCare)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupWork, a.runCommand(), a.sessionCommand(), a.inboxCommand(), a.permissionCommand(), a.questionCommand(), a.jobsCommand(), a.serveCommand())
	add(groupLook, a.eventsCommand(), a.modelsCommand(), a.agentCommand(), a.skillCommand(), a.commandCommand(), a.statsCommand())
	add(groupCare, a.authCommand(), a.configCommand(), a.trustCommand(), a.doctorCommand(), a.fsckCommand(), a.backupCommand(), a.salvageCommand(), a.versionCommand())
	root.InitDefaultCompletionCmd()
	shells(root)
	completions(root)
	root.AddCommand(topic("exit-codes", "The exit codes", exitCodesHelp()), topic("environment", "The environment variables", environmentHelp))
	return root
}

// pages is what cobra writes help to. What it cannot write is kept in the stream, and told in our own way, or not at
// all.
type pages struct{ to *stream }

func (p pages) Write(b []byte) (int, error) {
	_, _ = p.to.Write(b) // kept in p.to.err
	return len(b), nil
}

// shells makes cobra's completion command refuse a shell that it does not know.
func shells(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		parent(c)
		for _, shell := range c.Commands() {
			shell.Example = "  cairn completion " + shell.Name()
		}
	}
}

// completions keeps shells from offering files where none are meant.
func completions(c *cobra.Command) {
	switch {
	case c.Name() == "salvage" || c.Name() == "trust":
		c.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case c.Name() != "backup" && c.ValidArgsFunction == nil:
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	for name, values := range map[string][]string{"format": {"text", "json"}, "ask": {"deny", "allow", "fail", "wait:5m"}} {
		if c.Flags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
		}
	}
	for _, sub := range c.Commands() {
		completions(sub)
	}
}

const (
	groupWork = "work"
	groupLook = "look"
	groupCare = "care"
)

// noSuchCommand says what may have been meant by a command that there is not.
func (a *app) noSuchCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	if near := nearest(args[0], names); len(near) > 0 {
		return fmt.Errorf("there is no command %q; did you mean %s?", line(args[0], 40), strings.Join(near, " or "))
	}
	return fmt.Errorf("there is no command %q; to ask something: cairn run %[1]q", line(args[0], 40))
}

// topic is a page of help that is no command.
func topic(name, short, text string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Long: text}
}

// The templates are cobra's, without its empty lines and with examples before flags.
const (
	helpTemplate = `{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}
{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`

	usageTemplate = `{{if not .HasAvailableSubCommands}}
Usage: {{.UseLine}}{{else}}
Usage: {{.CommandPath}} COMMAND{{end}}
{{if .HasExample}}
Examples:
{{.Example}}
{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{if eq (len .Groups) 0}}
Commands:{{range $cmds}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{else}}{{range $group := .Groups}}
{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) .IsAvailableCommand)}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}`
)

const environmentHelp = `The environment variables of cairn. OPENCODE_ instead of CAIRN_ works too.

  CAIRN_HOME            keep everything below this one directory
  CAIRN_CONFIG          one more configuration file
  CAIRN_CONFIG_CONTENT  configuration itself, as JSON
  CAIRN_CONFIG_DIR      one more directory of configuration, with agents and commands
  CAIRN_PERMISSION      permission rules, as JSON
  CAIRN_DISABLE_PROJECT_CONFIG, CAIRN_DISABLE_AUTOCOMPACT, CAIRN_DISABLE_PRUNE
                        1 leaves out a project's files, or that part of compaction
  CAIRN_DISABLE_CLAUDE_CODE, CAIRN_DISABLE_CLAUDE_CODE_PROMPT, CAIRN_DISABLE_CLAUDE_CODE_SKILLS
                        1 leaves out all that is Claude's, CLAUDE.md, or the skills in .claude
  CAIRN_DISABLE_EXTERNAL_SKILLS
                        1 leaves out the skills in .claude and .agents
  CAIRN_EXPERIMENTAL_OUTPUT_TOKEN_MAX
                        how many tokens a model may say in one turn, 32000 without it
  CAIRN_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS
                        how long a command may take that does not say, 120000 without it
  CAIRN_WEBSEARCH_PROVIDER
                        exa or parallel, where both keys are set
  CAIRN_SERVER_PASSWORD, CAIRN_SERVER_USERNAME
                        what requests to cairn serve must carry
  CAIRN_MODELS_PATH, CAIRN_MODELS_URL
                        a file of facts about models, or where to fetch them from; in the shape of models.dev
  CAIRN_DISABLE_MODELS_FETCH
                        1 fetches none: what is known stays in use
  CAIRN_DISABLE_DISCOVERY
                        1 does not ask servers on this machine (Ollama, LM Studio, vLLM, llama.cpp) for their models
  CAIRN_SCRIPT          a script file; the model cairn/script plays it, for tests and demos
  CAIRN_LOG             what is logged to standard error: debug, info, warn, error (default)
  XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_CACHE_HOME
                        where files live without CAIRN_HOME; each with /cairn
  NO_COLOR              no colour, also on a terminal
  OPENAI_API_KEY, …     a provider's key; cairn auth list shows which ones are found
`

// does wraps what a command does: from here on an error is no longer one of usage, and the first signal ends it.
func (a *app) does(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.ran = true
		ctx, stop := a.orderly(cmd.Context())
		defer stop()
		if err := f(ctx, args); err != nil {
			return err
		}
		return a.out.err
	}
}

// explain tells an error, once, and returns the exit code.
func (a *app) explain(cmd *cobra.Command, err error) exitCode {
	if err == nil {
		return exitOK
	}
	code := codeOf(err)
	if !a.ran { // cobra's own: the command line was not understood
		code = exitUsage
		path := "cairn"
		if cmd != nil {
			path = cmd.CommandPath()
		}
		err = &exit{exitUsage, err, "See " + path + " --help."}
		if cmd != nil && cmd.Name() == "run" && wantsJSON(a.Args) {
			newLineView(a, false).result(result{
				IsError: true, Denials: []denial{}, ExitCode: code, Time: time.Now().UnixMilli(),
				Error: &resultError{Name: code.String(), Message: err.Error()},
			})
		}
	}
	if e, ok := errors.AsType[*exit](err); ok && e.err == nil {
		return code // everything is said
	}
	if errors.Is(err, errSignal) || errors.Is(err, syscall.EPIPE) { // those who did it know
		return code
	}
	a.err.freshLine()
	a.err.printf("%s %s\n", a.err.paint(red, "cairn:"), strings.TrimRight(harmless(err.Error()), "\n"))
	if hint := hintOf(err); hint != "" {
		a.err.printf("%s\n", hint)
	}
	return code
}

// wantsJSON reports whether a command line that cannot be understood asks for --format json.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		if arg == "--format=json" || arg == "--format" && i+1 < len(args) && args[i+1] == "json" {
			return true
		}
	}
	return false
}

func hintOf(err error) string {
	if e, ok := errors.AsType[*exit](err); ok {
		return e.hint
	}
	return ""
}

// connected runs f with a client that starts no work of its own, and that finds the next owner when one leaves.
func (a *app) connected(ctx context.Context, f func(context.Context, *api.Client) error) (err error) {
	o, err := a.options("")
	if err != nil {
		return err
	}
	o.Passive = true
	t := &reopening{host: a.host, options: o}
	conn, err := t.current(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if conn := t.take(); conn != nil {
			err = firstOf(err, a.giveUp(context.WithoutCancel(ctx), conn, a.note))
		}
	}()
	c := *conn.API
	c.HTTP = &http.Client{Transport: t}
	return f(ctx, &c)
}

// giveUp closes the connection. When that takes its time, because others' work goes on in this process, it says so
// once; a signal leaves that work to the next owner.
func (a *app) giveUp(ctx context.Context, conn *Connection, note func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- conn.Close(ctx) }() // awaited below
	slow, asked := time.After(time.Second), a.asked
	var leave <-chan time.Time
	for {
		select {
		case err := <-done:
			return err
		case <-slow:
			if leave == nil {
				note("another terminal's work goes on in this process; Ctrl-C leaves it to that terminal")
			}
		case <-asked:
			asked, leave = nil, time.After(leaveTime)
		case <-leave:
			cancel()
		}
	}
}

// note tells something that the user should know.
func (a *app) note(text string) {
	a.out.freshLine()
	a.err.freshLine()
	a.err.printf("%s %s\n", a.err.paint(yellow, "!"), line(text, 600))
}

// printJSON writes one document.
func (a *app) printJSON(v any) error {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.Multiline(true), jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	_, err = a.out.Write(append(b, '\n'))
	return err
}

// versionInfo is what this binary was built from.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitzero"`
	Modified bool   `json:"modified,omitzero"`
	Go       string `json:"go"`
}

func (v versionInfo) String() string {
	s := v.Version
	if len(v.Revision) >= 12 && !strings.Contains(s, v.Revision[:12]) {
		s += " (" + v.Revision[:12] + ")"
	}
	return s
}

func version() versionInfo {
	v := versionInfo{Version: "devel"}
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Go = b.GoVersion
	if b.Main.Version != "" && b.Main.Version != "(devel)" {
		v.Version = strings.TrimPrefix(b.Main.Version, "v")
	}
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Show the version", Args: cobra.NoArgs, Example: "  cairn version --json",
		RunE: a.does(func(context.Context, []string) error {
			if asJSON {
				return a.printJSON(version())
			}
			a.out.printf("cairn %s\n", version())
			return nil
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func jsonFlag(cmd *cobra.Command, v *bool) {
	cmd.Flags().BoolVar(v, "json", false, "print JSON")
}

// withNearestSessions adds to an unknown session's error the ids that may have been meant.
func withNearestSessions(ctx context.Context, c *api.Client, err error) error {
	e, ok := errors.AsType[*session.Error](err)
	if !ok || e.Code != session.CodeNotFound || e.Kind != "session" || len(e.Nearest) > 0 {
		return err
	}
	page, lerr := c.Sessions(ctx, api.SessionQuery{Limit: 50, Archived: true})
	if lerr != nil {
		return err
	}
	ids := make([]string, len(page.Data))
	for i, s := range page.Data {
		ids[i] = string(s.ID)
	}
	better := *e
	better.Nearest = nearest(e.ID, ids)
	hint := "cairn session list shows what there is"
	return &exit{exitUsage, &better, hint}
}
