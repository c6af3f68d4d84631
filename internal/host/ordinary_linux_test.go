package host

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/location/cell"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/process"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

//go:embed testdata/ordinary.txt
var ordinaryText string

// ordinaryCommand is a section of testdata/ordinary.txt.
type ordinaryCommand struct {
	name, script    string
	programs, flags []string
}

func (c ordinaryCommand) has(flag string) bool { return slices.Contains(c.flags, flag) }

func readOrdinaryCommands(t *testing.T) []ordinaryCommand {
	t.Helper()
	var all []ordinaryCommand
	for _, section := range strings.Split(ordinaryText, "\n## ")[1:] {
		head, script, _ := strings.Cut(section, "\n")
		fields := strings.Split(head+" | ", " | ")
		all = append(all, ordinaryCommand{fields[0], script, strings.Fields(fields[1]), strings.Fields(fields[2])})
	}
	if len(all) < 60 {
		t.Fatalf("%d commands", len(all))
	}
	return all
}

// skipReason returns why the command cannot run here, "" if it can.
func (c ordinaryCommand) skipReason() string {
	for _, program := range c.programs {
		if _, err := osexec.LookPath(program); err != nil {
			return "there is no " + program
		}
	}
	switch {
	case (c.has("online") || c.has("slow")) && os.Getenv("CAIRN_SOAK") == "":
		return "CAIRN_SOAK runs it"
	case c.has("root") && os.Getuid() != 0:
		return "it needs an account"
	}
	return ""
}

// newOrdinaryBench returns a project with the tools and the sandboxes of a user whose home directory is new. The
// project is a linked worktree of a repository beside it.
func newOrdinaryBench(t *testing.T) *tooltest.Bench {
	t.Helper()
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	home := t.TempDir()
	t.Cleanup(func() { _ = osexec.Command("chmod", "-R", "u+w", home).Run() }) // go makes its cache read-only
	t.Setenv("RUSTUP_HOME", cmp.Or(os.Getenv("RUSTUP_HOME"), filepath.Join(os.Getenv("HOME"), ".rustup")))
	t.Setenv("HOME", home)
	write(t, filepath.Join(home, ".gitconfig"), "[user]\nname = A\nemail = a@example.org\n")
	l := &locationCache{
		dirs: config.Directories{
			Home: home, Data: filepath.Join(home, "data"), Cache: filepath.Join(home, "cache"),
			Config: filepath.Join(home, "config"),
		},
		outputs: &tool.Outputs{Dir: filepath.Join(home, "data", "tool-output")},
	}
	b := tooltest.New(t, func(c *tooltest.Config) {
		dir := c.Exec.Paths.Directory
		runGit(
			t,
			filepath.Dir(dir),
			"git init -q -b main main; cd main; git commit -q --allow-empty -m a; git worktree add -q "+dir,
		)
		cells := cell.New(cell.Config{
			Dirs: l.dirs, Outputs: l.outputs, Config: &config.Config{},
			Project: project.Project{Directory: dir, Worktree: dir},
		})
		c.Exec.Outputs, c.Exec.Supervisor, c.Exec.Pass = l.outputs, process.SupervisorCommand(), []string{"RUSTUP_HOME"}
		c.SetPaths(workpath.Resolver{Directory: dir, Worktree: dir, OutputDir: l.outputs.Dir})
		c.Exec.Sandbox, c.Exec.Repository = cells.Open, cells.Repository
	})
	return b
}

// Ordinary work succeeds in the sandbox of unasked commands, and what does not says so. CAIRN_SOAK runs those that need
// registries or compile much as well.
func TestOrdinaryCommands(t *testing.T) {
	b := newOrdinaryBench(t)
	for i, c := range readOrdinaryCommands(t) {
		t.Run(c.name, func(t *testing.T) {
			if reason := c.skipReason(); reason != "" {
				t.Skip(reason)
			}
			if c.has("ssh") {
				startSSHServer(t, b)
			}
			dir := b.Path(fmt.Sprint("c", i))
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			s := runOrdinaryCommand(t, b, dir, "set -eo pipefail\n"+c.script)
			text := tooltest.TextOf(s)
			if s.Error != nil || tooltest.Member(t, s.Output.Structured, "sandbox") != `"writes"` {
				t.Fatal(text)
			}
			failed := tooltest.Member(t, s.Output.Structured, "exit") != "0"
			if failed != c.has("refused") || strings.Contains(text, "It ran in the sandbox") != failed {
				t.Errorf("failed: %v\n%s", failed, text)
			}
		})
	}
}

// runOrdinaryCommand runs a script with the bash tool. All asks are answered with yes.
func runOrdinaryCommand(t *testing.T, b *tooltest.Bench, dir, script string) tool.Settlement {
	t.Helper()
	input, err := json.Marshal(tooltest.Input{"command": script, "workdir": dir, "timeout": 300_000})
	if err != nil {
		t.Fatal(err)
	}
	return b.Set.Settle(t.Context(), tool.Call{
		Name: "bash", Input: input, SessionID: "ses_01J00000000000000000000000",
		Ask: func(context.Context, tool.Request) error { return nil },
		Confine: func(context.Context) (tool.Confinement, error) {
			return tool.Confinement{Mode: session.SandboxWrites}, nil
		},
	})
}

// startSSHServer starts a server that the commands of the bench reach as host "test".
func startSSHServer(t *testing.T, b *tooltest.Bench) {
	t.Helper()
	dir := b.OutsidePath("ssh")
	key := filepath.Join(dir, "key")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	write(t, filepath.Join(dir, "config"), fmt.Sprintf(
		"Host test\nHostName 127.0.0.1\nPort %d\nUser root\nIdentityFile %s\nStrictHostKeyChecking accept-new\n"+
			"UserKnownHostsFile %s/known\n", port, key, dir,
	))
	for _, cmd := range [][]string{
		{"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key},
		{"mkdir", "-p", "/run/sshd"},
		{"git", "config", "--global", "core.sshCommand", "ssh -F " + filepath.Join(dir, "config")},
	} {
		if out, err := osexec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", cmd, err, out)
		}
	}
	sshd, _ := osexec.LookPath("sshd") // it starts itself by its absolute path
	server := osexec.Command(sshd, "-D", "-e", "-f", "/dev/null", "-p", fmt.Sprint(port), "-h", key,
		"-o", "ListenAddress=127.0.0.1", "-o", "AuthorizedKeysFile="+key+".pub", "-o", "StrictModes=no",
		"-o", "UsePAM=no", "-o", "PidFile=none", "-o", "PermitRootLogin=yes", "-o", "SetEnv=HOME="+dir)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	for t.Context().Err() == nil {
		c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			_ = c.Close()
			return
		}
	}
}

// TestOrdinaryCommandsAsUser runs TestOrdinaryCommands as a user without privileges.
func TestOrdinaryCommandsAsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("TestOrdinaryCommands ran without privileges")
	}
	const user = 12345
	dir, err := os.MkdirTemp("/tmp", "ordinary")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "host.test")
	if err := os.WriteFile(self, bin, 0o755); err != nil { //nolint:gosec // another user runs it
		t.Fatal(err)
	}
	if err := os.Chown(dir, user, user); err != nil {
		t.Fatal(err)
	}
	cmd := osexec.CommandContext(t.Context(), self, "-test.run=^TestOrdinaryCommands$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{
		"TMPDIR=" + dir, "HOME=" + dir, "PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin",
		"CAIRN_SOAK=" + os.Getenv("CAIRN_SOAK"),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "    --- PASS") < 20 {
		t.Errorf("%v\n%s", err, out)
	}
}
