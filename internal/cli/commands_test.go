package cli

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestCommands(t *testing.T) {
	sh := &shell{world: newWorld(t, hello)}
	if o := sh.run("run", "--title", "One", "hi"); o.code != 0 {
		t.Fatal(o.stderr.String())
	}
	for _, tt := range []struct {
		args string
		code exitCode
		want string // of both outputs
	}{
		{"session list", exitOK, `(?m)^ID +UPDATED +COST +TITLE\nses_\w+ +just now +\$0.0001 +One$`},
		{"session list --json", exitOK, `(?m)^\[\n  \{\n    "id": "ses_`},
		{"session list --format json --max-count 1", exitOK, `(?m)^\[\n  \{\n    "id": "ses_\w+",\n    "title": "One",\n    "updated": \d+,\n    "created": \d+,\n    "projectId": "\w+",\n    "directory": ".+"\n  \}\n\]$`},
		{"session list --format xml", exitUsage, `--format must be table or json, got "xml"`},
		{"session list --search nothing", exitOK, `There are no sessions`},
		{"session show last --thinking --full", exitOK, `Hello\.`},
		{"session show --json", exitOK, `(?s)"info": \{.*"messages": \[`},
		{"session show ses_", exitUsage, `there is no session "ses_"`},
		{"session show nonsense", exitUsage, `must start with "ses"`},
		{"session", exitUsage, `which one\?`},
		{"session show a b", exitUsage, `accepts at most 1 arg`},
		{"events", exitOK, `(?m)^     0  .*session\.created  /work$`},
		{"events last --json --after 3", exitOK, `^\{"id":"evt_`},
		{"events last --all", exitUsage, `--all`},
		{"events last --after -5", exitUsage, `--after`},
		{"completion tcl", exitUsage, `there is no command "tcl"; there are bash, fish`},
		{"completion bash", exitOK, `bash completion`},
		{"models", exitOK, `mock/main  128k     0.25    2        tools image`},
		{"models mock --json", exitOK, `"providerID": "mock"`},
		{"models mcok", exitUsage, `did you mean mock`},
		{"stats", exitOK, `1 sessions, 1 turns, 105 tokens, \$0.0001`},
		{"stats --json", exitOK, `"turns": 1`},
		{"stats --days -1", exitUsage, `--days`},
		{"inbox list", exitOK, `Nothing waits`},
		{"inbox list --json", exitOK, `^\[\]`},
		{"inbox withdraw last 1", exitUsage, `there is no waiting prompt`},
		{"permission list", exitOK, `Nothing waits`},
		{"permission list --json", exitOK, `^\[\]`},
		{"permission approvals", exitOK, `No permissions`},
		{"permission reply per_x once", exitUsage, `there is no waiting permission`},
		{"permission reply per_x once because", exitUsage, `goes with reject`},
		{"config explain", exitOK, `Nobody sets`},
		{"config explain --json", exitOK, `"values": \[\]`},
		{"doctor", exitOK, `(?s)✓ store: fine\n! git\n    install it`},
		{"doctor --json", exitOK, `"level": "ok"`},
		{"doctor provider openai", exitError, `(?s)✓ address: openai\n✗ key\n    log in`},
		{"doctor provider a b", exitUsage, ""},
		{"auth login github-copilot --browser", exitOK, `(?s)Open https://github.com/login/device\nand type the code AB-12\n.*You are logged in at github-copilot`},
		{"auth login openai --browser", exitUsage, `not with a browser`},
		{"fsck", exitError, `✗ session ses_1: has a gap after 3`},
		{"salvage new", exitError, `✗ ses_1 one: 3 events kept\n    lost: from event 3 on: an event is missing\n3 events of 1 sessions are in /work/new\.`},
		{"salvage new --json", exitError, `"sessionID": "ses_1"`},
		{"backup x.db", exitOK, `copied to /work/x\.db`},
		{"backup x.db --json", exitOK, `^\{"ok":true,"file":"/work/x\.db"\}\n$`},
		{"run --agent nope hi", exitUsage, `there is no agent "nope"; the nearest are build, plan`},
		{"serve --port 99999", exitUsage, `--port`},
		{"serve", exitError, `not here`},
		{"serve --mdns --mdns-domain=box.local", exitError, `not here`},
		{"serve --log-level=loud", exitUsage, `--log-level must be`},
		{"serve --print-logs --log-level=INFO --hostname=127.0.0.1 --port=4096 --cors=http://localhost:3000", exitError, `not here`},
		{"session rename last Two words", exitOK, `^$`},
		{"session list", exitOK, `Two words`},
		{"session rename last Three --json", exitOK, `^\{"ok":true,"sessionID":"ses_\w+"\}\n$`},
		{"session delete last", exitUsage, `to delete ses_\w+ Three .*needs a yes.*\nSay --yes`},
		{"session delete last --json", exitUsage, `needs a yes`},
		{"session archive last", exitOK, `^$`},
		{"session delete ses_nope", exitUsage, `there is no session`},
	} {
		t.Run(tt.args, func(t *testing.T) {
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
	if o := sh.run("session", "show", id[:len(id)-1]+"!"); o.code != 2 || !strings.Contains(o.stderr.String(), "did you mean "+id) {
		t.Error(o.stderr.String())
	}
}

// TestEveryCommandSaysHow: each command has a short text, an example, and --json.
func TestEveryCommandSaysHow(t *testing.T) {
	a, _ := paper()
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
		if c.Name() != "run" && c.Parent().Name() != "completion" && c.Flags().Lookup("json") == nil { // run has --format
			t.Errorf("%s has no --json", c.CommandPath())
		}
	}
	walk(a.root())
}

// TestDocumented: docs/cli.md speaks of every command and every flag of run, and lists the exit codes as they are.
func TestDocumented(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	a, _ := paper()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Runnable() && !strings.Contains(doc, c.CommandPath()) {
			t.Errorf("docs/cli.md does not mention %s", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(a.root())
	for _, name := range regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)`).FindAllStringSubmatch(a.runCommand().Flags().FlagUsages(), -1) {
		if !strings.Contains(doc, "--"+name[1]) {
			t.Errorf("docs/cli.md does not mention run --%s", name[1])
		}
	}
	for _, e := range exits {
		if !strings.Contains(doc, e.text) {
			t.Errorf("docs/cli.md does not say of exit code %d: %s", e.code, e.text)
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
		p := Process{
			Args: []string{"run", "--format=json", "hi"}, Stdin: strings.NewReader(""), Stdout: &out.stdout, Stderr: &out.stderr,
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
		if r := out.result(t); r.ExitCode != exitInterrupted {
			t.Errorf("%+v", r)
		}
	})
}

// TestSecondSignal: the second Ctrl-C does not wait for the interrupt to be recorded, and the result is still said.
func TestSecondSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := &shell{world: newWorld(t, `{"turns":[{"steps":[{"text":"Let me think."},{"delay":"1h"}]}]}`), signals: make(chan os.Signal, 4)}
		deaf := &deafHost{world: sh.world}
		var out typed
		done := make(chan int)
		p := Process{
			Args: []string{"run", "--format=json", "hi"}, Stdin: strings.NewReader(""), Stdout: &out.stdout, Stderr: &out.stderr,
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
		if r := out.result(t); r.ExitCode != exitInterrupted || time.Since(start) != 0 {
			t.Errorf("after %s: %+v", time.Since(start), r)
		}
	})
}

// deafHost does not answer to interrupts.
type deafHost struct{ *world }

func (h *deafHost) Open(ctx context.Context, o Options) (*Connection, error) {
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

func (h *hangingHost) Open(ctx context.Context, _ Options) (*Connection, error) {
	<-h.stuck
	return nil, context.Cause(ctx)
}

// TestStandardOutputGone: when nobody reads the answer the session is interrupted, and the run fails.
func TestStandardOutputGone(t *testing.T) {
	w := newWorld(t, `{"turns":[{"steps":[{"text":"One."},{"gate":"g"},{"text":"Two."}]}]}`)
	var stderr strings.Builder
	code := Run(t.Context(), w, Process{
		Args: []string{"run", "hi"}, Stdout: closedPipe{}, Stderr: &stderr, Env: func(string) string { return "" }, Dir: "/work",
	})
	if code != int(exitError) || !strings.Contains(stderr.String(), "standard output cannot be written: broken pipe") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
}

// closedPipe is an output that nobody reads any more.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestUnblock: a session that waits for an old ask does not hang a run that cannot answer it.
func TestUnblock(t *testing.T) {
	tests := map[string]struct {
		args []string
		code exitCode
		says string
	}{
		"nobody to ask": {nil, exitDenied, "the session waits for a permission: edit a.txt"},
		"allow":         {[]string{"--ask=allow"}, exitOK, "✓ edit a.txt"},
		"deny":          {[]string{"--ask=deny"}, exitOK, "mock/main"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sh := &shell{world: newWorld(t, `{"turns":[{"steps":[{"call":{"id":"c","name":"edit","arguments":{"filePath":"a.txt"}}}]},{"repeat":true,"steps":[{"text":"Done."}]}]}`)}
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
			if o.code != int(tt.code) || !strings.Contains(o.stderr.String(), tt.says) && tt.code != exitOK {
				t.Errorf("exit %d: %s", o.code, o.stderr.String())
			}
			if tt.code == exitDenied {
				for _, ask := range askedIn(t, sh) {
					if err := sh.engine.Asks.Reply(t.Context(), ask.SessionID, ask.ID, session.ReplyOnce, ""); err != nil {
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
	if o.code != int(exitUsage) || !strings.Contains(o.stderr.String(), "the limit is 5242880") {
		t.Errorf("exit %d: %s", o.code, o.stderr.String())
	}
	if o := sh.run("session", "list", "--all"); !strings.Contains(o.stderr.String(), "There are no sessions") {
		t.Errorf("there is %s", o.stdout.String())
	}
}

// What is not named by its whole id is deleted once somebody at the terminal says yes.
func TestDeletingIsConfirmed(t *testing.T) {
	for keys, want := range map[string]exitCode{"y\n": exitOK, "yes\n": exitOK, "n\n": exitError, "\n": exitError, "": exitError} {
		sh := &shell{world: newWorld(t, hello)}
		if o := sh.run("run", "--title", "One", "hi"); o.code != 0 {
			t.Fatal(o.stderr.String())
		}
		tty := &fakeTerminal{Reader: strings.NewReader(keys)}
		sh.terminal = tty
		o := sh.run("session", "delete", "last")
		if o.code != int(want) || !regexp.MustCompile(`delete ses_\w+ One for good\? y/N > $`).MatchString(tty.shown.String()) {
			t.Errorf("%q: exit %d, %s, shown %q", keys, o.code, o.stderr.String(), tty.shown.String())
		}
		sh.terminal = nil
		if list := sh.run("session", "list"); strings.Contains(list.stdout.String(), "ses_") != (want != exitOK) {
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

// Who stops reading knows that: nothing is said of it, also not of help.
func TestAClosedPipeIsNoNews(t *testing.T) {
	for _, args := range []string{"--help", "run --help", "help exit-codes", "", "--version", "completion bash", "session list"} {
		var stderr bytes.Buffer
		code := Run(t.Context(), newWorld(t, hello), Process{
			Args: strings.Fields(args), Stdout: closedPipe{}, Stderr: &stderr, Dir: "/work", Env: func(string) string { return "" },
		})
		said := strings.Contains(stderr.String(), "pipe")
		if said || code != int(exitError) && args != "session list" {
			t.Errorf("%q: exit %d: %s", args, code, stderr.String())
		}
	}
}
