package host

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/location/cell"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/exec"
)

// A shell of a trusted project runs from the bytes that were trusted, also a script, in and outside of the sandbox.
func TestProjectShell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no scripts with an interpreter line here")
	}
	home, _ := newHome(t)
	o := optionsOf(home)
	program := filepath.Join(o.Dir, "tools", "bash")
	writeProgram := func(text string) {
		t.Helper()
		write(t, program, "#!/bin/sh\n"+text+"\nexec /bin/sh \"$@\"\n")
		if err := os.Chmod(program, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w := openOwnerOf(t, o)
	load := func(shell string) *locationSetup {
		t.Helper()
		write(t, filepath.Join(o.Dir, "cairn.json"), `{"shell":"`+shell+`"}`)
		cfg, err := Host{}.Config(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.locations.trust.Store.Trust(t.Context(), cfg.Claim); err != nil {
			t.Fatal(err)
		}
		p, err := w.locations.load(t.Context(), o.Dir)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	writeProgram("echo trusted")
	p := load("./tools/bash")
	writeProgram("echo replaced")
	modes := []session.SandboxMode{session.SandboxOff}
	if sandbox.Check() == nil {
		modes = append(modes, session.SandboxWrites, session.SandboxStrict)
	}
	for _, mode := range modes {
		out, err := exec.RunTemplate(t.Context(), p.tools.exec, exec.TemplateCommands{
			Lines: []string{"echo $0 ran"}, Confine: tool.Confinement{Mode: mode},
		})
		if err != nil || !strings.HasPrefix(strings.Join(out, ""), "trusted\n") || !strings.Contains(out[0], " ran") {
			t.Errorf("%s: %q %v", mode, out, err)
		}
	}
	order, err := w.locations.newTerminal(p, o.Dir)
	if err != nil || order.Command != p.tools.exec.Shell || filepath.Base(order.Command) != "bash" {
		t.Errorf("terminal %+v %v", order, err)
	}
	again := cell.KeepShell(w.dirs, p.config, w.logger) // between the hash and the copy
	for name, path := range map[string]string{
		"replaced": again, "missing": load("./later").tools.exec.Shell,
		"another way": load(o.Dir + "/../project/later").tools.exec.Shell,
	} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: %s would run", name, path)
		}
	}
	if runtime.GOOS == "linux" {
		t.Chdir(o.Dir)
		if got := load("/proc/self/cwd/tools/bash").tools.exec.Shell; !strings.Contains(got, "unverified") {
			t.Errorf("by /proc: %s", got)
		}
	}
	if got := load("/bin/sh").tools.exec.Shell; got != "/bin/sh" {
		t.Errorf("of the system: %s", got)
	}
}
