package root

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/spf13/cobra"
)

func TestCommands(t *testing.T) {
	sh := &shell{world: newWorld(t, hello)}
	if o := sh.run("run", "--title", "One", "hi"); o.code != 0 {
		t.Fatal(o.stderr.String())
	}
	for _, tt := range []struct {
		args string
		code cli.ExitCode
		want string // of both outputs
	}{
		{"session list", cli.ExitOK, `(?m)^ID .* MODEL +COST +TITLE\nses_\w+ +just now +idle +default +\$0.0001 +One$`},
		{"session list --json", cli.ExitOK, `(?m)^\[\n  \{\n    "id": "ses_`},
		{
			"session list --format json --max-count 1", cli.ExitOK,
			`(?m)^\[\n  \{\n    "id": "ses_\w+",\n    "title": "One",\n    "updated": \d+,\n    "created": \d+,\n    "projectId": "\w+",\n    "directory": ".+"\n  \}\n\]$`,
		},
		{"session list --format xml", cli.ExitUsage, `--format must be table or json, got "xml"`},
		{"session list --search nothing", cli.ExitOK, `^No session in .*/work has "nothing" in its title\.\n$`},
		{"session show last --thinking --full", cli.ExitOK, `Hello\.`},
		{"session show --json", cli.ExitOK, `(?s)"info": \{.*"messages": \[`},
		{"session show ses_", cli.ExitUsage, `session "ses_" not found`},
		{"session show nonsense", cli.ExitUsage, `must start with "ses"`},
		{"session", cli.ExitUsage, `the command is missing`},
		{"session show a b", cli.ExitUsage, `wrong number of arguments; use cairn session show`},
		{"events", cli.ExitOK, `(?m)^     0  .*session\.created  /work$`},
		{"events last --json --after 3", cli.ExitOK, `^\{"id":"evt_`},
		{"events last --all", cli.ExitUsage, `--all`},
		{"events last --after -5", cli.ExitUsage, `--after`},
		{"completion tcl", cli.ExitUsage, `unknown command "tcl"; the commands are bash, fish`},
		{"completion bash", cli.ExitOK, `bash completion`},
		{"models", cli.ExitOK, `mock/main     128k    0\.25        2  tools image`},
		{"models mock --json", cli.ExitOK, `"providerID": "mock"`},
		{"models mcok", cli.ExitUsage, `did you mean mock`},
		{"stats", cli.ExitOK, `1 session, 1 turn, 105 tokens, \$0.0001`},
		{"stats --json", cli.ExitOK, `"turns": 1`},
		{"stats --days -1", cli.ExitUsage, `--days`},
		{"inbox list", cli.ExitOK, `pending`},
		{"inbox list --json", cli.ExitOK, `^\[\]`},
		{"inbox withdraw last 1", cli.ExitUsage, `pending prompt 1 not found`},
		{"permission list", cli.ExitOK, `pending`},
		{"permission list --json", cli.ExitOK, `^\[\]`},
		{"permission approvals", cli.ExitOK, `No permissions`},
		{"permission reply per_x once", cli.ExitUsage, `permission request "per_x" not found`},
		{"permission reply per_x once because", cli.ExitUsage, `reject only`},
		{"config explain", cli.ExitOK, `is not set`},
		{"config explain --json", cli.ExitOK, `"values": \[\]`},
		{"doctor", cli.ExitOK, `(?s)✓ store: fine\n! git\n    install it`},
		{"doctor --json", cli.ExitOK, `"level": "ok"`},
		{"doctor provider openai", cli.ExitFailure, `(?s)✓ address: openai\n✗ key\n    log in`},
		{"doctor provider a b", cli.ExitUsage, ""},
		{
			"auth login github-copilot --browser", cli.ExitOK,
			`(?s)Open https://github.com/login/device\nand type the code AB-12\n.*Logged in at github-copilot`,
		},
		{"auth login openai --browser", cli.ExitUsage, `not with a browser`},
		{"fsck", cli.ExitFailure, `✗ session ses_1: has a gap after 3`},
		{"salvage new", cli.ExitFailure, `✗ ses_1 one: 3 events kept\n    lost: from event 3 on: an event is missing\nCopied 3 events of 1 sessions to /work/new\.`},
		{"salvage new --json", cli.ExitFailure, `"sessionID": "ses_1"`},
		{"backup x.db", cli.ExitOK, `Copied the store to /work/x\.db`},
		{"backup x.db --json", cli.ExitOK, `^\{"ok":true,"file":"/work/x\.db"\}\n$`},
		{"run --agent nope hi", cli.ExitUsage, `agent "nope" not found; similar names: build, plan`},
		{"serve --port 99999", cli.ExitUsage, `--port`},
		{"serve", cli.ExitFailure, `not here`},
		{"serve --mdns --mdns-domain=box.local", cli.ExitFailure, `not here`},
		{"serve --log-level=loud", cli.ExitUsage, `--log-level must be`},
		{
			"serve --print-logs --log-level=INFO --hostname=127.0.0.1 --port=4096 --cors=http://localhost:3000", cli.ExitFailure,
			`not here`,
		},
		{"session rename last Two words", cli.ExitOK, `^$`},
		{"session list", cli.ExitOK, `Two words`},
		{"session rename last Three --json", cli.ExitOK, `^\{"ok":true,"sessionID":"ses_\w+"\}\n$`},
		{"session delete last", cli.ExitUsage, `to delete ses_\w+ Three .*needs confirmation.*\nUse --yes`},
		{"session delete last --json", cli.ExitUsage, `needs confirmation`},
		{"session archive last", cli.ExitOK, `^$`},
		{"session delete ses_nope", cli.ExitUsage, `session "ses_nope" not found`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			if sh.dir = ""; strings.HasPrefix(tt.args, "auth login") { // which the audit log has
				sh.dir = t.TempDir()
			}
			o := sh.run(strings.Fields(tt.args)...)
			got := o.stdout.String() + o.stderr.String()
			if o.code != int(tt.code) || !regexp.MustCompile(tt.want).MatchString(got) {
				t.Errorf("exit %d, want %d:\n%s", o.code, tt.code, got)
			}
		})
	}
}

// TestPermissionReply: an answer is confirmed.
func TestPermissionReply(t *testing.T) {
	for flag, want := range map[string]string{
		"":       "answered once: edit a.txt\n",
		"--json": `{"ok":true,"sessionID":"<ses>","askID":"<per>","reply":"once"}` + "\n",
	} {
		sh := &shell{world: newWorld(t, editing)}
		run := make(chan *typed, 1)
		go func() { run <- (&shell{world: sh.world}).run("run", "--ask=wait:1h", "change") }()
		for len(askedIn(t, sh)) == 0 { // the run comes to it
		}
		args := []string{"permission", "reply", string(askedIn(t, sh)[0].ID), "once"}
		if list := sh.run("session", "list"); !strings.Contains(list.stdout.String(), "needs an answer") {
			t.Error(list.stdout.String())
		}
		o := sh.run(append(args, strings.Fields(flag)...)...)
		if got := unnamed(o.stdout.String() + o.stderr.String()); o.code != 0 || got != want {
			t.Errorf("exit %d: %s", o.code, got)
		}
		if o := <-run; o.code != 0 {
			t.Error(o.stderr.String())
		}
	}
}

// TestFindByBeginning: the beginning of an id will do, if it is long enough and there is one.
func TestFindByBeginning(t *testing.T) {
	sh := &shell{world: newWorld(t, hello)}
	id := string(sh.run("run", "--format=json", "hi").result(t).SessionID)
	if o := sh.run("session", "show", id[:20]); o.code != 0 || !strings.Contains(o.stdout.String(), id) {
		t.Error(o.stderr.String())
	}
	if o := sh.run("session", "show", id[:len(id)-1]+"!"); o.code != 2 ||
		!strings.Contains(o.stderr.String(), "did you mean "+id) {
		t.Error(o.stderr.String())
	}
	ran, err := sh.engine.Commands.RunShell(t.Context(), admit.ShellRequest{SessionID: session.ID(id), Command: "true"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []session.MessageID{ran.AnswerID, ran.AnswerID[:len(ran.AnswerID)-1], ran.ID} {
		if o := sh.run("revert", string(name), "--preview"); !strings.Contains(o.stdout.String(), "taken back: !true") {
			t.Errorf("%s: %s%s", name, o.stdout.String(), o.stderr.String())
		}
	}
}

// TestEveryCommandSaysHow: each command has a short text, an example, and --json.
func TestEveryCommandSaysHow(t *testing.T) {
	a := cli.NewInvocation(nil, cli.Process{Env: func(string) string { return "" }})
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		subs := c.Commands()
		for _, sub := range subs {
			walk(sub)
		}
		if len(subs) > 0 || !c.Runnable() || c.Name() == "help" {
			return
		}
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s has no short text or no example", c.CommandPath())
		}
		// What prints for man or a shell, and what talks to another program.
		isProgram := c.Name() == "man" || c.Parent().Name() == "completion" ||
			c.CommandPath() == "cairn mcp serve" || c.CommandPath() == "cairn acp"
		if c.Name() != "run" && !isProgram && c.Flags().Lookup("json") == nil { // run has --format
			t.Errorf("%s has no --json", c.CommandPath())
		}
	}
	walk(program{a}.newRoot())
}

// TestExitCodesDocumented: docs/manual.md lists the exit codes as they are.
func TestExitCodesDocumented(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "manual.md"))
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(cli.ExitCodesHelp()) {
		row := regexp.MustCompile(`^ +(\d+)  (\w+) +(.*)\n$`).FindStringSubmatch(l)
		if row != nil && !strings.Contains(string(b), "| "+row[1]+" | "+row[2]+" | "+row[3]+" |") {
			t.Errorf("docs/manual.md does not list exit code %s as %q", row[1], row[3])
		}
	}
}

// TestSignalWhileConnecting: Ctrl-C is heard before there is a session, and the result is still said.
func TestSignalWhileConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := &shell{world: newWorld(t, hello), signals: make(chan os.Signal, 4)}
		hanging := &hangingHost{world: sh.world, stuck: make(chan struct{})}
		var out typed
		done := make(chan int)
		p := cli.Process{
			Args: []string{
				"run",
				"--format=json",
				"hi",
			}, Stdin: strings.NewReader(""), Stdout: &out.stdout, Stderr: &out.stderr,
			Env: func(string) string { return "" }, Dir: "/work", Signals: sh.signals,
		}
		go func() { done <- Run(t.Context(), hanging, p) }()
		synctest.Wait()
		sh.signals <- os.Interrupt
		synctest.Wait()
		select {
		case code := <-done:
			t.Fatalf("the first signal ended it with %d, although the host does not listen", code)
		default:
		}
		close(hanging.stuck)
		out.code = <-done
		if r := out.result(t); r.ExitCode != cli.ExitInterrupted {
			t.Errorf("%+v", r)
		}
	})
}

// TestSecondSignal: the second Ctrl-C does not wait for the interrupt to be recorded, and the result is still said.
func TestSecondSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := &shell{
			world:   newWorld(t, `{"turns":[{"steps":[{"text":"Let me think."},{"delay":"1h"}]}]}`),
			signals: make(chan os.Signal, 4),
		}
		deaf := &deafHost{world: sh.world}
		var out typed
		done := make(chan int)
		p := cli.Process{
			Args: []string{
				"run",
				"--format=json",
				"hi",
			}, Stdin: strings.NewReader(""), Stdout: &out.stdout, Stderr: &out.stderr,
			Env: func(string) string { return "" }, Dir: "/work", Signals: sh.signals,
		}
		go func() { done <- Run(t.Context(), deaf, p) }()
		synctest.Wait()
		sh.signals <- os.Interrupt
		synctest.Wait()
		select {
		case code := <-done:
			t.Fatalf("the first signal ended it with %d, although the interrupt is not recorded", code)
		default:
		}
		start := time.Now()
		sh.signals <- os.Interrupt
		out.code = <-done
		if r := out.result(t); r.ExitCode != cli.ExitInterrupted || time.Since(start) != 0 {
			t.Errorf("after %s: %+v", time.Since(start), r)
		}
	})
}

// deafHost does not answer to interrupts.
type deafHost struct{ *world }

func (h *deafHost) Open(ctx context.Context, o client.Options) (*client.Connection, error) {
	conn, err := h.world.Open(ctx, o)
	conn.API.HTTP.Transport = deaf{conn.API.HTTP.Transport}
	return conn, err
}

type deaf struct{ next http.RoundTripper }

func (d deaf) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/interrupt") {
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	}
	return d.next.RoundTrip(r)
}

// hangingHost is stuck in Open, whatever its context says.
type hangingHost struct {
	*world
	stuck chan struct{}
}

func (h *hangingHost) Open(ctx context.Context, _ client.Options) (*client.Connection, error) {
	<-h.stuck
	return nil, context.Cause(ctx)
}

// TestStandardOutputGone: a closed standard output interrupts the session and fails the run.
func TestStandardOutputGone(t *testing.T) {
	w := newWorld(t, `{"turns":[
		{"steps":[{"text":"One."},{"call":{"name":"read","arguments":{"filePath":"a.txt"}}}]},
		{"steps":[{"gate":"g"},{"text":"Two."}]}]}`)
	var stderr strings.Builder
	code := Run(t.Context(), w, cli.Process{
		Args: []string{
			"run",
			"hi",
		}, Stdout: closedPipe{}, Stderr: &stderr, Env: func(string) string { return "" }, Dir: "/work",
	})
	if code != int(cli.ExitFailure) ||
		!strings.Contains(stderr.String(), "cannot write to standard output: broken pipe") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
}

// closedPipe is an output whose reader is closed.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestUnblock: a session that waits for an old ask does not hang a run that cannot answer it.
func TestUnblock(t *testing.T) {
	tests := map[string]struct {
		args []string
		code cli.ExitCode
		says string
	}{
		"without a terminal": {nil, cli.ExitDenied, "the session waits for a permission: edit a.txt"},
		"allow":              {[]string{"--ask=allow"}, cli.ExitOK, "✓ edit a.txt"},
		"deny":               {[]string{"--ask=deny"}, cli.ExitOK, "mock/main"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sh := &shell{
				world: newWorld(
					t,
					`{"turns":[{"steps":[{"call":{"id":"c","name":"edit","arguments":{"filePath":"a.txt"}}}]},{"repeat":true,"steps":[{"text":"Done."}]}]}`,
				),
			}
			asked := make(chan struct{})
			first := make(chan *typed, 1)
			go func() { // an earlier run, whose person went away; it ends when the ask is answered
				sh2 := &shell{world: sh.world, onOut: func(s string) {
					if strings.Contains(s, "step_start") && !strings.Contains(s, "tool_use") {
						select {
						case <-asked:
						default:
							close(asked)
						}
					}
				}}
				first <- sh2.run("run", "--format=json", "--ask=wait:1h", "change")
			}()
			<-asked
			for len(askedIn(t, sh)) == 0 { // the ask follows the step at once
			}
			o := sh.run(append([]string{"run", "-c", "go on"}, tt.args...)...)
			if o.code != int(tt.code) || !strings.Contains(o.stderr.String(), tt.says) && tt.code != cli.ExitOK {
				t.Errorf("exit %d: %s", o.code, o.stderr.String())
			}
			if tt.code == cli.ExitDenied {
				for _, asked := range askedIn(t, sh) {
					once := ask.UserReply{Reply: session.ReplyOnce}
					if err := sh.engine.Asks.Reply(t.Context(), asked.SessionID, asked.ID, once); err != nil {
						t.Error(err)
					}
				}
			}
			<-first
		})
	}
}

func askedIn(t *testing.T, sh *shell) []session.PendingAsk {
	t.Helper()
	rows, err := sh.engine.Asks.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var asks []session.PendingAsk
	for _, r := range rows {
		asks = append(asks, r.PendingAsk)
	}
	return asks
}

// A prompt that is refused leaves no session behind.
func TestARefusedPromptLeavesNothing(t *testing.T) {
	sh := &shell{world: newWorld(t, hello), dir: t.TempDir()}
	image := filepath.Join(sh.dir, "large.png")
	if err := os.WriteFile(image, []byte("\x89PNG\r\n\x1a\n"+strings.Repeat("x", 4<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	o := sh.run("run", "-f", image, "look")
	if o.code != int(cli.ExitUsage) || !strings.Contains(o.stderr.String(), "the limit is 5242880") {
		t.Errorf("exit %d: %s", o.code, o.stderr.String())
	}
	if o := sh.run("session", "list", "--all"); !strings.Contains(o.stderr.String(), "No sessions") {
		t.Errorf("there is %s", o.stdout.String())
	}
}

// A session that is not named by its full id is deleted only after a confirmation on the terminal.
func TestDeletingIsConfirmed(t *testing.T) {
	for keys, want := range map[string]cli.ExitCode{
		"y\n": cli.ExitOK, "yes\n": cli.ExitOK, "n\n": cli.ExitFailure,
		"\n": cli.ExitFailure, "": cli.ExitFailure,
	} {
		sh := &shell{world: newWorld(t, hello)}
		if o := sh.run("run", "--title", "One", "hi"); o.code != 0 {
			t.Fatal(o.stderr.String())
		}
		tty := &typedTerminal{Reader: strings.NewReader(keys)}
		sh.terminal = tty
		o := sh.run("session", "delete", "last")
		if o.code != int(want) ||
			!regexp.MustCompile(`delete ses_\w+ One permanently\? y/N > $`).MatchString(tty.shown.String()) {
			t.Errorf("%q: exit %d, %s, shown %q", keys, o.code, o.stderr.String(), tty.shown.String())
		}
		sh.terminal = nil
		if list := sh.run("session", "list"); strings.Contains(list.stdout.String(), "ses_") != (want != cli.ExitOK) {
			t.Errorf("%q: there is %q", keys, list.stdout.String())
		}
	}
	sh := &shell{world: newWorld(t, hello)}
	sh.run("run", "hi")
	id := regexp.MustCompile(`ses_\w+`).FindString(sh.run("session", "list").stdout.String())
	if o := sh.run("session", "delete", id); o.code != 0 {
		t.Errorf("by its id: %s", o.stderr.String())
	}
}

// TestLoginAsksForProvider: without a provider, auth login lists some on the terminal and takes a number, an id or a
// part of a name.
func TestLoginAsksForProvider(t *testing.T) {
	for keys, want := range map[string]string{
		"2\nsk-1\n":           "Stored the key of openai in ",
		"groq\nsk-1\n":        "Stored the key of groq in ",
		"nothing\nmistr\nk\n": "Stored the key of mistral in ",
		"open\n2\nb\n":        "not with a browser",
		"open\n2\nk\nsk-1\n":  "Stored the key of openrouter in ",
		"copilot\n":           "Logged in at github-copilot",
		"\n":                  "no provider was chosen; nothing was done",
		"":                    "no provider was chosen; nothing was done",
	} {
		sh := &shell{world: newWorld(t, hello), dir: t.TempDir()}
		tty := &typedTerminal{Reader: iotest.OneByteReader(strings.NewReader(keys))}
		sh.terminal = tty
		o := sh.run("auth", "login")
		if said := o.stdout.String() + o.stderr.String(); !strings.Contains(said, want) {
			t.Errorf("%q: exit %d, %s, shown %s; want %q", keys, o.code, said, tty.shown.String(), want)
		}
		if shown := tty.shown.String(); strings.Contains(shown, "sk-1") || !strings.Contains(shown, "   2  openai") {
			t.Errorf("%q: shown %s", keys, shown)
		}
	}
	sh := &shell{world: newWorld(t, hello)}
	if o := sh.run("auth", "login"); o.code != int(cli.ExitUsage) ||
		!strings.Contains(o.stderr.String(), "run cairn auth login PROVIDER") {
		t.Errorf("without a terminal: exit %d, %s", o.code, o.stderr.String())
	}
}

// Who stops reading knows that: nothing is said of it, also not of help.
func TestAClosedPipeIsNoNews(t *testing.T) {
	for _, args := range []string{
		"--help", "run --help", "help exit-codes", "", "--version", "completion bash",
		"session list",
	} {
		var stderr bytes.Buffer
		code := Run(t.Context(), newWorld(t, hello), cli.Process{
			Args: strings.Fields(
				args,
			), Stdout: closedPipe{}, Stderr: &stderr, Dir: "/work", Env: func(string) string { return "" },
		})
		said := strings.Contains(stderr.String(), "pipe")
		if said || code != int(cli.ExitFailure) && args != "session list" {
			t.Errorf("%q: exit %d: %s", args, code, stderr.String())
		}
	}
}

// typedTerminal is a terminal on which these lines are typed.
type typedTerminal struct {
	io.Reader
	shown bytes.Buffer
}

func (f *typedTerminal) Write(p []byte) (int, error) { return f.shown.Write(p) }
func (f *typedTerminal) Close() error                { return nil }

// Every command of personCommands exists, and no command hides the check by a hook of its own.
func TestPersonCommandsExist(t *testing.T) {
	found := map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		found[path] = true
		if c.HasParent() && (c.PersistentPreRun != nil || c.PersistentPreRunE != nil) {
			t.Errorf("%s replaces the check of the root", path)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(program{cli.NewInvocation(nil, cli.Process{Env: func(string) string { return "" }})}.newRoot())
	for _, path := range personCommands {
		if !found[path] {
			t.Errorf("there is no command %q", path)
		}
	}
}
