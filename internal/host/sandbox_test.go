package host

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	templates "github.com/cairn-dev/cairn/internal/location/command"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/sandboxtest"
)

func TestPatience(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"": 0, "1500": 1500 * time.Millisecond, "0": 0, "-1": 0, "2m": 0,
		"9000000000": longestTimeout,
	} {
		getenv := func(name string) string {
			if name == "OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS" {
				return value
			}
			return ""
		}
		if got := commandTimeout(getenv); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}

// A server whose sessions must be confined never relays to an owner that begins others.
func TestSandboxIsNeverSilentlyMissing(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	home, _ := newHome(t)
	bound := optionsOf(home)
	bound.Sandbox = session.SandboxStrict
	owner := open(t, optionsOf(home))
	_, err := Host{}.Open(t.Context(), bound)
	if !errors.Is(err, &session.Error{Code: session.CodeConflict}) ||
		!strings.Contains(err.Error(), "without the sandbox") {
		t.Error(err)
	}
	closeIt(t, owner)
	owner = open(t, bound)
	closeIt(t, open(t, bound))
	closeIt(t, owner)
}

// Where no namespace can be made, the mode strict is refused with the reason, and writes is not; doctor and the
// server's log say what is missing and what follows.
func TestStrictNeedsNamespace(t *testing.T) {
	if !sandboxtest.RunWithoutNamespaces(t) {
		return
	}
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	home, _ := newHome(t)
	o := optionsOf(home)
	const reason = "permits no mount namespace"
	o.Sandbox = session.SandboxStrict
	if _, err := (Host{}).Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("strict: %v", err)
	}
	o.Sandbox = session.SandboxWrites
	c := open(t, o)
	for _, mode := range []session.SandboxMode{session.SandboxWrites, session.SandboxStrict} {
		isRefused := mode == session.SandboxStrict
		_, err := c.API.Create(t.Context(), api.CreateSession{
			Location: &session.Location{Directory: o.Dir}, Sandbox: mode,
		})
		if (err != nil) != isRefused || isRefused && !strings.Contains(err.Error(), reason) {
			t.Errorf("a session in the mode %s: %v", mode, err)
		}
	}
	closeIt(t, c)
	var log strings.Builder
	logSandbox(slog.New(slog.NewTextHandler(&log, nil)))
	found := sandbox.Examine()
	for _, text := range []string{log.String(), found[len(found)-1].Detail} {
		if !strings.Contains(text, reason) || !strings.Contains(text, "no commands run in the mode strict") {
			t.Error(text)
		}
	}
}

// A session stays in the sandbox that it began in, whatever process runs it and whatever the configuration says then.
func TestSandboxBelongsToTheSession(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	home, _ := newHome(t)
	dir := t.TempDir()
	file := filepath.Join(home, "config", "cairn.json")
	at := &session.Location{Directory: dir}
	create := func(c *client.Connection, r api.CreateSession) session.SandboxMode {
		t.Helper()
		r.Location = at
		s, err := c.API.Create(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return s.Sandbox
	}
	write(t, file, `{"sandbox":"strict"}`)
	c := open(t, optionsOf(home))
	const id = "ses_01J00000000000000000000000"
	if got := create(c, api.CreateSession{ID: id}); got != session.SandboxStrict {
		t.Errorf("configured: %q", got)
	}
	closeIt(t, c)
	write(t, file, `{"sandbox":"off"}`)
	c = open(t, optionsOf(home))
	if s, err := c.API.Session(t.Context(), id); err != nil || s.Sandbox != session.SandboxStrict {
		t.Errorf("%+v %v", s, err)
	}
	if got := create(c, api.CreateSession{}); got != "" {
		t.Errorf("off: %q", got)
	}
	if got := create(c, api.CreateSession{ParentID: id}); got != session.SandboxStrict {
		t.Errorf("child session: %q", got)
	}
	if got := create(c, api.CreateSession{Sandbox: session.SandboxWrites}); got != session.SandboxWrites {
		t.Errorf("requested: %q", got)
	}
	_, err := c.API.Create(t.Context(), api.CreateSession{ID: id, Location: at, Sandbox: "some"})
	if !errors.Is(err, &session.Error{Code: session.CodeInvalid}) &&
		!errors.Is(err, &session.Error{Code: session.CodeConflict}) {
		t.Errorf("unknown mode: %v", err)
	}
	closeIt(t, c)
}

func TestConfiguredSandbox(t *testing.T) {
	home, _ := newHome(t)
	dir := t.TempDir()
	for text, want := range map[string][2]session.SandboxMode{
		`{}`:                            {"", ""},
		`{"sandbox":"writes"}`:          {session.SandboxWrites, session.SandboxWrites},
		`{"sandbox":{"enabled":true}}`:  {session.SandboxStrict, session.SandboxStrict},
		`{"sandbox":{"enabled":false}}`: {session.SandboxOff, session.SandboxOff},
		`{"sandbox":{"mode":"writes"}}`: {session.SandboxWrites, session.SandboxWrites},
		`{"sandbox":{"network":true}}`:  {"", ""},
		`{"sandbox":"strict","agent":{"plan":{"sandbox":"off"}}}`: {session.SandboxStrict, session.SandboxOff},
	} {
		write(t, filepath.Join(home, "config", "cairn.json"), text)
		o := optionsOf(home)
		o.Dir = dir
		cfg, err := Host{}.Config(t.Context(), o)
		if err != nil {
			t.Fatal(text, err)
		}
		if got := [2]session.SandboxMode{cfg.SandboxOf("build"), cfg.SandboxOf("plan")}; got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// A project's configuration makes the user's sandbox stricter, and never looser.
func TestProjectSandbox(t *testing.T) {
	home, _ := newHome(t)
	o := optionsOf(home)
	user := `{"sandbox":"writes","agent":{"plan":{"sandbox":"strict"},"loose":{"sandbox":"off"}}}`
	for _, c := range []struct {
		user, project      string
		build, plan, loose session.SandboxMode
	}{
		{`{}`, `{"sandbox":"strict"}`, session.SandboxStrict, session.SandboxStrict, session.SandboxStrict},
		{`{}`, `{"sandbox":"off"}`, "", "", ""},
		{user, `{"sandbox":"off"}`, session.SandboxWrites, session.SandboxStrict, session.SandboxOff},
		{
			user, `{"sandbox":{"mode":"writes","write":["/"]}}`,
			session.SandboxWrites, session.SandboxStrict, session.SandboxWrites,
		},
		{user, `{"sandbox":{"enabled":true}}`, session.SandboxStrict, session.SandboxStrict, session.SandboxStrict},
		{
			user, `{"agent":{"build":{"sandbox":"off"},"plan":{"sandbox":"writes"}}}`,
			session.SandboxWrites, session.SandboxStrict, session.SandboxOff,
		},
	} {
		write(t, filepath.Join(home, "config", "cairn.json"), c.user)
		write(t, filepath.Join(o.Dir, "cairn.json"), c.project)
		cfg, err := Host{}.Config(t.Context(), o)
		if err != nil || len(cfg.Errors) > 0 {
			t.Fatal(err, cfg.Errors)
		}
		for agent, want := range map[string]session.SandboxMode{"build": c.build, "plan": c.plan, "loose": c.loose} {
			if got := cfg.SandboxOf(agent); got != want || len(cfg.Sandbox.Write) > 0 {
				t.Errorf("%s under %s: %s has %q, want %q", c.project, c.user, agent, got, want)
			}
		}
	}
}

// What the user types runs in the mode of the session: without one unconfined, also where the model's commands are
// confined.
func TestTypedCommands(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	home, _ := newHome(t)
	o := optionsOf(home)
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := openOwner(t.Context(), lease, dirs, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	script := "echo x > ../outside; echo x > inside; ls " + dirs.Data + "/tool-output/* ; cat ../config/cairn.json; " +
		"echo tmp > $TMPDIR/x && cat $TMPDIR/x"
	ctx := caller.NewContext(t.Context(), caller.Caller{Role: caller.Approve})
	for _, confined := range []bool{true, false} {
		mode := map[bool]session.SandboxMode{true: session.SandboxWrites}[confined]
		s, err := w.engine.Commands.CreateSession(ctx, admit.CreateRequest{
			Location: session.Location{Directory: o.Dir}, Open: true, Sandbox: mode,
		})
		if err != nil {
			t.Fatal(err)
		}
		sh, err := w.engine.Commands.RunShell(ctx, admit.ShellRequest{SessionID: s.ID, Command: script})
		if err != nil {
			t.Fatal(err)
		}
		_, err = os.Stat(filepath.Join(home, "outside"))
		if _, inside := os.Stat(filepath.Join(o.Dir, "inside")); inside != nil || (err != nil) != confined {
			t.Errorf("confined %v: inside %v, outside %v: %s", confined, inside, err, sh.Output)
		}
		if confined && (strings.Contains(sh.Output, "openai-compatible") || !strings.Contains(sh.Output, "tmp\n")) {
			t.Errorf("output: %s", sh.Output)
		}
	}
}

// Templates of custom commands and terminals of a configured mode run in the sandbox as well.
func TestTemplatesAndTerminalsInSandbox(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	home, _ := newHome(t)
	o := optionsOf(home)
	write(t, filepath.Join(home, "config", "cairn.json"), `{"sandbox":"writes","command":{
		"print":{"template":"!`+"`echo x > ../by-template; echo x > by-template; echo printed`"+`"}}}`)
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := openOwner(t.Context(), lease, dirs, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	at := session.Location{Directory: o.Dir}
	out, err := w.locations.Expand(t.Context(), at, api.ExpandRequest{Command: "print"},
		func(context.Context, templates.Needs) (bool, error) { return false, nil })
	if err != nil || !strings.Contains(out.Prompt.Text, "printed") {
		t.Errorf("%+v %v", out, err)
	}
	p, err := w.locations.load(t.Context(), o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	order, err := w.locations.newTerminal(p, o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	terminals := pty.New(&session.IDs{}, func(c pty.Change) {
		if c.Kind == pty.HasExited {
			close(ended)
		}
	})
	defer terminals.Close()
	write(t, filepath.Join(o.Dir, ".envrc"), "old")
	order.Command, order.Args = "/bin/sh", []string{
		"-c", "echo x > ../by-terminal; echo x > by-terminal; echo new > .envrc; exit 0",
	}
	if _, err := terminals.Open(order); err != nil {
		t.Fatal(err)
	}
	<-ended
	for _, by := range []string{"template", "terminal"} {
		if _, err := os.Stat(filepath.Join(o.Dir, "by-"+by)); err != nil {
			t.Errorf("the %s did not write inside: %v", by, err)
		}
		if _, err := os.Stat(filepath.Join(home, "by-"+by)); err == nil {
			t.Errorf("the %s wrote outside", by)
		}
	}
	text, _ := os.ReadFile(filepath.Join(o.Dir, ".envrc"))
	if sandbox.CheckNamespace() == nil && string(text) != "old" {
		t.Errorf("the terminal wrote %q to a protected file", text)
	}
}
