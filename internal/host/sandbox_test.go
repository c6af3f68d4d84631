package host

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/sandboxtest"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/exec"
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
		if got := [2]session.SandboxMode{configuredSandbox(cfg, "build"), configuredSandbox(cfg, "plan")}; got != want {
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
			if got := configuredSandbox(cfg, agent); got != want || len(cfg.Sandbox.Write) > 0 {
				t.Errorf("%s under %s: %s has %q, want %q", c.project, c.user, agent, got, want)
			}
		}
	}
}

func TestCells(t *testing.T) {
	home := t.TempDir()
	l := &locationCache{
		dirs: config.Directories{
			Home:   home,
			Data:   filepath.Join(home, "data"),
			Config: filepath.Join(home, "config"),
		},
		outputs: &tool.Outputs{Dir: filepath.Join(home, "data", "tool-output")},
	}
	cfg := &config.Config{}
	cfg.Sandbox = config.Sandbox{Write: []config.Path{"~/.cargo"}}
	const own, other = "ses_01J00000000000000000000000", "ses_01J00000000000000000000001"
	for _, id := range []string{own, other} {
		write(t, filepath.Join(l.outputs.Dir, "tool_1-"+id), "output")
	}
	cells := l.newCells(cfg, project.Project{Directory: "/work/sub", Worktree: "/work"})
	writes, err := cells.open(exec.CellRequest{Mode: session.SandboxWrites, Session: own})
	if err != nil {
		t.Fatal(err)
	}
	scratch := filepath.Join(home, "data", "tmp", own)
	want := []string{"/work/sub", "/work", filepath.Join(home, ".cargo"), scratch}
	if got := writes.Policy.Write[:4]; !slices.Equal(got, want) {
		t.Errorf("it writes to %q", got)
	}
	if !writes.Policy.Network || !slices.Contains(writes.Env, "TMPDIR="+scratch) {
		t.Errorf("%+v", writes)
	}
	if !slices.Contains(writes.Policy.Show, filepath.Join(l.outputs.Dir, "tool_1-"+own)) ||
		slices.Contains(writes.Policy.Show, filepath.Join(l.outputs.Dir, "tool_1-"+other)) {
		t.Errorf("it shows %q", writes.Policy.Show)
	}
	strict, err := cells.open(exec.CellRequest{Mode: session.SandboxStrict, Session: own})
	if err != nil || strict.Policy.Network {
		t.Errorf("%+v %v", strict, err)
	}
	for name, isHidden := range map[string][2]bool{"data": {true, true}, ".aws": {true, true}, ".ssh": {false, true}} {
		path := filepath.Join(home, name)
		got := [2]bool{slices.Contains(writes.Policy.Hide, path), slices.Contains(strict.Policy.Hide, path)}
		if got != isHidden {
			t.Errorf("%s hidden: %v", name, got)
		}
	}
	if _, err := os.Stat(scratch); err != nil || strict.Policy.FindExposed() != "" {
		t.Error(err, strict.Policy.FindExposed())
	}
	if _, err := cells.open(exec.CellRequest{Mode: session.SandboxWrites, Session: "ses_../../x"}); err == nil {
		t.Error("a session whose name leads out of the folder")
	}
}

// In the home directory, in a directory that contains it, and in the root directory, commands write to their own
// folders and to those that the user configured, and everything that is hidden stays so.
func TestCellsInHome(t *testing.T) {
	home := t.TempDir()
	l := &locationCache{
		dirs:    config.Directories{Home: home, Data: filepath.Join(home, "data"), Config: filepath.Join(home, "config")},
		outputs: &tool.Outputs{Dir: filepath.Join(home, "data", "tool-output")},
	}
	closed := false
	cfg := &config.Config{}
	cfg.Sandbox = config.Sandbox{Write: []config.Path{"~/.cargo"}, Sockets: &closed}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal("link the home directory:", err)
	}
	for dir, want := range map[string]bool{
		home: true, filepath.Dir(home): true, "/": true, link: true, filepath.Join(home, "project"): false,
	} {
		cells := l.newCells(cfg, project.Project{Directory: dir})
		cell, err := cells.open(exec.CellRequest{Mode: session.SandboxWrites})
		if err != nil {
			t.Fatal("open the cell:", err)
		}
		isWritable := slices.Contains(cell.Policy.Write, dir)
		if cells.noProject != want || isWritable == want || cell.Policy.FindExposed() != "" ||
			!slices.Contains(cell.Policy.Write, filepath.Join(home, ".cargo")) || !cell.Policy.NoLocalSockets {
			t.Errorf("%s: %t %q, exposed %q", dir, cells.noProject, cell.Policy.Write, cell.Policy.FindExposed())
		}
		for _, own := range cell.Own {
			if !slices.Contains(cell.Policy.Write, own) {
				t.Errorf("%s: it cannot write to %s", dir, own)
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
	ctx := caller.NewContext(t.Context(), caller.Caller{Scope: caller.Approve})
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
	order, err := v1Catalog{w.locations, p, o.Dir}.Terminal(t.Context())
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

// Caches of commands are removed when no command has used them for a while, read-only files in them too.
func TestRemoveUnusedCaches(t *testing.T) {
	home := t.TempDir()
	l := &locationCache{
		dirs: config.Directories{Data: filepath.Join(home, "data"), Cache: filepath.Join(home, "cache")},
	}
	w := &owner{lease: &sqlite.Lease{}, locations: l, logger: slog.New(slog.DiscardHandler)}
	now := time.Now()
	w.removeUnusedCaches(now) // there is no folder yet
	for name, age := range map[string]time.Duration{"old": cacheAge + time.Hour, "new": cacheAge - time.Hour} {
		dir := filepath.Join(l.commandCaches(), name)
		write(t, filepath.Join(dir, "go-mod", "file"), "x")
		if err := errors.Join(
			os.Chmod(filepath.Join(dir, "go-mod"), 0o555), os.Chtimes(dir, now, now.Add(-age)),
		); err != nil {
			t.Fatal(err)
		}
	}
	w.removeUnusedCaches(now)
	left, err := os.ReadDir(l.commandCaches())
	if err != nil || len(left) != 1 || left[0].Name() != "new" {
		t.Errorf("%v %v", left, err)
	}
	_ = os.Chmod(filepath.Join(l.commandCaches(), "new", "go-mod"), 0o700) //nolint:gosec // so that it can be removed
}
