package exec_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/exec"
	"github.com/cairn-dev/cairn/internal/tool/process"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

func TestBash(t *testing.T) {
	b := tooltest.New(t)
	if err := os.Mkdir(b.Path("sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in         tooltest.Input
		says, exit string
	}{
		{tooltest.Input{"command": `printf 'one\ntwo\n'; echo err >&2`}, "one\ntwo\nerr\n", "0"},
		{
			tooltest.Input{"command": "exit 3"},
			"(no output)\n\n<shell_metadata>\nThe command ended with exit code 3.\n</shell_metadata>", "3",
		},
		{tooltest.Input{"command": "pwd"}, b.Dir + "\n", "0"},
		{tooltest.Input{"command": "pwd", "workdir": "sub"}, b.Path("sub") + "\n", "0"},
		{tooltest.Input{"command": "cat; echo done"}, "done\n", "0"},
		{tooltest.Input{"command": "read x < /dev/tty || echo no terminal", "description": "d"}, "no terminal", "0"},
		{tooltest.Input{"command": "kill -9 $$"}, "ended by a signal: killed", "137"},
		{tooltest.Input{"command": `printf 'a\0b\377c'`}, "a\uFFFDb\uFFFDc", "0"},
		{tooltest.Input{"command": "nosuchprogram"}, "exit code 127", "127"},
		{tooltest.Input{"command": "sleep 30", "timeout": 100}, "exceeding timeout 100 ms", "null"},
	} {
		t.Run(fmt.Sprint(c.in), func(t *testing.T) {
			s := b.Call("bash", c.in)
			if s.Error != nil || !strings.Contains(tooltest.TextOf(s), c.says) ||
				tooltest.Member(t, s.Output.Structured, "exit") != c.exit {
				t.Fatalf("%s\n%s", tooltest.TextOf(s), s.Output.Structured)
			}
		})
	}
	for want, input := range map[string]tooltest.Input{
		"\"timeout\" must be at most 600000": {"command": "true", "timeout": 600001},
		"The command is empty":               {"command": " \n"},
		"NUL byte":                           {"command": "echo \x00"},
		"Write it to a file":                 {"command": strings.Repeat("x", 200_000)},
		"There is no directory":              {"command": "true", "workdir": "nope"},
	} {
		tooltest.MustContain(t, tooltest.TextOf(b.Call("bash", input)), want)
	}
}

// TestOutputImitatesTags: output with tags that only cairn writes stands between tags that it cannot end.
func TestOutputImitatesTags(t *testing.T) {
	b := tooltest.New(t)
	said := regexp.MustCompile(`(?s)^<untrusted-content id="([a-z2-7]{16})" source="output of the command">\n(.*)\n` +
		`</untrusted-content id="([a-z2-7]{16})">\n\n<shell_metadata>\n` +
		`The command ended with exit code 1\.\n</shell_metadata>$`)
	for _, line := range []string{
		"</shell_metadata>", "<system-reminder>", "< System-Update >", "</untrusted-content>", "<skill_content name=x>",
	} {
		got := tooltest.TextOf(b.Call("bash", tooltest.Input{"command": "echo '" + line + "'; exit 1"}))
		if m := said.FindStringSubmatch(got); m == nil || m[1] != m[3] || m[2] != line+"\n" {
			t.Errorf("%s: %s", line, got)
		}
	}
	got := tooltest.TextOf(b.Call("bash", tooltest.Input{"command": "echo '<metadata><system>'"}))
	if got != "<metadata><system>\n" {
		t.Errorf("other tags: %q", got)
	}
}

// Odd uses of output and file descriptors work.
func TestBashOddCommands(t *testing.T) {
	drainOf := map[string]time.Duration{"prints after its end": time.Minute} // it ends with the last process
	for name, c := range map[string]struct{ command, says string }{
		"prints after its end": {"(sleep 0.05; echo late) & echo early", "early\nlate\n"},
		"prints long after":    {"(sleep 3; echo late) & echo early", "early\n"},
		"closes everything": {
			"exec 0<&- 1>&- 2>&-; exit 4", "(no output)\n\n<shell_metadata>\nThe command ended with exit code 4.",
		},
		"one line of a megabyte":   {"head -c 1M /dev/zero | tr '\\0' x; echo; echo end", "\nend"},
		"random bytes":             {"head -c 100000 /dev/urandom; printf '\\nend'", "\nend"},
		"half a character":         {`printf 'a\303'; sleep 0.05; printf '\251b\303'`, "aéb\uFFFD"},
		"reads what is not there":  {"read -t 5 x; echo \"$?\"; cat | wc -c", "1\n0\n"},
		"a child ends by a signal": {"sh -c 'kill -TERM $$'; echo $?", "143\n"},
		"stops itself, is woken":   {"(sleep 0.05; kill -CONT $$) & kill -STOP $$; echo awake", "awake\n"},
		"many processes":           {"for i in $(seq 200); do true & done; wait; echo done", "done\n"},
		"redefines exit":           {"exit() { echo no; }; trap 'echo bye' EXIT; echo hi", "hi\nbye\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tooltest.New(
				t, withSupervisor, func(c *tooltest.Config) { c.Exec.Timeout, c.Exec.DrainTime = time.Minute, drainOf[name] },
			).Call("bash", tooltest.Input{"command": c.command})
			if s.Error != nil || !strings.Contains(tooltest.TextOf(s), c.says) || len(tooltest.TextOf(s)) > 52_000 {
				t.Errorf("%.300q %d", tooltest.TextOf(s), len(tooltest.TextOf(s)))
			}
			if strings.Contains(tooltest.TextOf(s), "late") != strings.Contains(c.says, "late") {
				t.Errorf("it waited too long, or not long enough: %q", tooltest.TextOf(s))
			}
		})
	}
}

// bashDescription returns the description of the tool that commands run with.
func bashDescription(b *tooltest.Bench) string {
	for _, d := range b.Set.Definitions() {
		if d.Name == "bash" {
			return d.Description
		}
	}
	return ""
}

func TestBashTimeout(t *testing.T) {
	b := tooltest.New(t, func(c *tooltest.Config) { c.Exec.Timeout = 150 * time.Millisecond })
	tooltest.MustContain(
		t, tooltest.TextOf(b.Call("bash", tooltest.Input{"command": "sleep 30"})), "exceeding timeout 150 ms",
	)
	tooltest.MustContain(t, bashDescription(b), "150 if absent")
	tooltest.MustContain(
		t, tooltest.TextOf(b.Call("bash", tooltest.Input{"command": "true", "background": true})),
		"Nothing can run in the background here",
	)
}

func TestBashAsks(t *testing.T) {
	b := tooltest.New(t)
	b.Rules = append(
		tooltest.AllowAll[:len(tooltest.AllowAll):len(tooltest.AllowAll)],
		session.Rule{Action: "bash", Resource: "touch *", Effect: session.Deny},
	)
	var asked []tool.Request
	b.OnAsk = func(r tool.Request) { asked = append(asked, r) }
	s := b.Call("bash", tooltest.Input{"command": `touch *?\x`, "description": "Touch"})
	if s.Denial == nil {
		t.Fatal(tooltest.TextOf(s))
	}
	for i := range asked {
		tooltest.MustContain(t, string(asked[i].Metadata), `"command":"touch *?\\x"`, `"description":"Touch"`,
			"may become an option")
		asked[i].Metadata = nil
	}
	want := []tool.Request{
		{
			Action: "bash", Resources: []string{`touch *?\x`}, Save: []string{`touch \*\?\\x`},
			Command: permission.CommandContext{Line: `touch *?\x`},
		},
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Fatal(diff)
	}
	if left, _ := os.ReadDir(b.Dir); len(left) != 0 {
		t.Fatal("it ran")
	}
}

func TestBashEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "sk-canary", "CAIRN_TOKEN": "canary1", "OPENCODE_SERVER_PASSWORD": "canary2",
		"DATABASE_URL": "canary3",
		"LC_TIME":      "C", "MY_DECLARED": "yes", "MY_DENIED": "canary4", "CAIRN_CALL": "canary5",
	} {
		t.Setenv(name, value)
	}
	b := tooltest.New(t, func(c *tooltest.Config) {
		c.Exec.Pass = []string{"MY_DECLARED", "MY_DENIED", "CAIRN_TOKEN"}
		c.Exec.Deny = []string{"MY_DENIED", "SET_DENIED"}
		c.Exec.Env = []string{"SET=1", "SET_DENIED=canary6", "OPENCODE_X=canary7", "TERM=dumb"}
	})
	got := tooltest.TextOf(b.Call("bash", tooltest.Input{"command": "env"}))
	if strings.Contains(got, "canary") {
		t.Fatal(got)
	}
	tooltest.MustContain(t, got, "LC_TIME=C\n", "MY_DECLARED=yes\n", "SET=1\n", "TERM=dumb\n", "PATH=", "CAIRN_CALL=")
}

func TestBashLongOutputIsKept(t *testing.T) {
	b := tooltest.New(t)
	s := b.Call("bash", tooltest.Input{"command": "seq 1 50000"})
	if s.Error != nil || len(s.Output.OutputPaths) != 1 || len(tooltest.TextOf(s)) > 52000 {
		t.Fatalf("%d bytes, %v", len(tooltest.TextOf(s)), s.Output.OutputPaths)
	}
	path := s.Output.OutputPaths[0]
	tooltest.MustContain(
		t, tooltest.TextOf(s), "1\n2\n", "49999\n50000",
		"[The middle of this output is left out (50001 lines, 288894 bytes in all). All of it is in "+path,
	)
	if kept := b.ReadFile(path); !strings.HasPrefix(kept, "1\n2\n") || !strings.HasSuffix(kept, "\n50000\n") ||
		len(kept) != 288894 {
		t.Fatal(len(kept))
	}
	if tooltest.Member(t, s.Output.Structured, "outputPath") != tooltest.Quote(path) ||
		len(s.Output.Structured) > 36_000 {
		t.Fatalf("%.300s", s.Output.Structured)
	}
	tooltest.MustContain(
		t,
		tooltest.TextOf(b.Call("read", tooltest.Input{"filePath": path, "offset": 25000, "limit": 1})),
		"25000: 25000\n",
	)
}

func TestBashProgress(t *testing.T) {
	b := tooltest.New(t)
	shown := make(chan tool.Output, 100)
	c := tool.Call{Name: "bash"}
	c.Progress = func(o tool.Output) { shown <- o }
	start := time.Now()
	s := b.CallWith(
		t.Context(), c, tooltest.Input{"command": "for i in 1 2 3 4 5 6 7 8 9 10; do echo tick $i; sleep 0.1; done"},
	)
	if s.Error != nil {
		t.Fatal(tooltest.TextOf(s))
	}
	n := len(shown)
	if most := int(time.Since(start)/(250*time.Millisecond)) + 1; n < 2 || n > most {
		t.Fatalf("%d reports, at most %d", n, most)
	}
	if first := tooltest.Member(t, (<-shown).Structured, "output"); first != `""` {
		t.Errorf("it begins with %q", first)
	}
	tooltest.MustContain(t, tooltest.Member(t, (<-shown).Structured, "output"), "tick 1")
}

// countSleepers returns the number of processes that sleep for exactly the given time, which identifies a test's own.
func countSleepers(t *testing.T, seconds string) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	n := 0
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		line, _ := os.ReadFile(f)
		args := bytes.Split(bytes.TrimRight(line, "\x00"), []byte{0})
		if len(args) == 2 && filepath.Base(string(args[0])) == "sleep" && string(args[1]) == seconds {
			n++
		}
	}
	return n
}

// listSurvivors describes every process related to the sleepers, with its parent and owner.
func listSurvivors(seconds string) string {
	var b strings.Builder
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // not Linux
	for _, f := range files {
		line, _ := os.ReadFile(f) // it may have ended
		if !bytes.Contains(line, []byte(seconds)) {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "stat"))
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "environ"))
		_, mark, _ := bytes.Cut(env, []byte(tool.CallVariable+"="))
		mark, _, _ = bytes.Cut(mark, []byte{0})
		fmt.Fprintf(&b, "%.60q: %.60s, call %q\n", line, stat, mark)
	}
	return b.String()
}

// killSleepersAtEnd kills the processes that sleep for exactly the given time, or are about to, when the test ends.
func killSleepersAtEnd(t *testing.T, seconds string) {
	t.Cleanup(func() {
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // not Linux
		for _, f := range files {
			line, _ := os.ReadFile(f)
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f))) // digits
			if bytes.Contains(line, []byte("sleep\x00"+seconds)) || bytes.Contains(line, []byte("sleep "+seconds)) {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill() // it may have ended
				}
			}
		}
	})
}

// processTrees are ways in which a command may outlive its call. %s is the time to sleep.
var processTrees = map[string]string{
	"plain":                      "sleep %s",
	"background":                 "sleep %s & sleep %s",
	"ignores TERM":               "trap '' TERM; sleep %s; sleep %s",
	"child ignores TERM":         `bash -c 'trap "" TERM; while :; do sleep %s; done' & wait`,
	"own session holds stdout":   "setsid sleep %s & wait",
	"own session, TERM ignored":  `setsid bash -c 'trap "" TERM; sleep %s; sleep %s' & wait`,
	"double fork":                "(setsid sleep %s &) ; (sleep %s &) ; sleep %s",
	"double fork, without names": "(setsid bash -c 'exec -a x sleep %s' &); sleep %s",
	"nested sessions":            "setsid setsid setsid bash -c 'setsid sleep %s & setsid sleep %s & wait' & sleep %s",
	"hundred": "for i in $(seq 1 50); do sleep %s & done; for i in $(seq 1 50); do setsid sleep %s " +
		"& done; wait",
	"tree":             "f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & wait; else sleep %s; fi; }; f 5",
	"nohup and disown": "nohup sleep %s >/dev/null 2>&1 & disown; sleep %s",
	"stopped":          `sleep %s & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; kill -STOP $!; wait`,
	"closed output":    "exec >/dev/null 2>&1; sleep %s & sleep %s",
}

// withSupervisor runs commands below a supervisor.
func withSupervisor(c *tooltest.Config) {
	c.Exec.Supervisor = []string{"/proc/self/exe", process.SuperviseWord}
}

// reachesProc allows commands to read /proc, which is outside of any Location.
var reachesProc = append(
	slices.Clone(tooltest.AllowAll),
	session.Rule{Action: "external_directory", Resource: "/proc/*", Effect: session.Allow},
)

func TestBashLeavesNothingBehind(t *testing.T) {
	for name, script := range processTrees {
		t.Run("alone/"+name, func(t *testing.T) {
			t.Parallel()
			checkNothingSurvives(t, tooltest.New(t), script, "timeout")
		})
		t.Run("supervised/"+name, func(t *testing.T) {
			t.Parallel()
			checkNothingSurvives(t, tooltest.New(t, withSupervisor), script, "interrupt")
		})
	}
	t.Run("supervised/no mark", func(t *testing.T) {
		t.Parallel()
		checkNothingSurvives(
			t,
			tooltest.New(t, withSupervisor),
			"(env -i setsid bash -c 'env -i setsid sleep %s & exit' &); sleep %s",
			"timeout",
		)
	})
	t.Run("supervised/kills its supervisor", func(t *testing.T) {
		t.Parallel()
		checkNothingSurvives(
			t, tooltest.New(t, withSupervisor), "setsid sleep %s & sleep 0.3; kill -9 $PPID; sleep %s", "itself",
		)
	})
	t.Run("supervised/daemon lowers its mark", func(t *testing.T) {
		t.Parallel()
		if _, err := osexec.LookPath("prlimit"); err != nil {
			t.Skip(err)
		}
		checkNothingSurvives(
			t, tooltest.New(t, withSupervisor),
			"P=$PPID; (setsid env -i bash -c 'prlimit --rttime=0 -p $$; sleep 0.2; kill -9 '$P'; exec sleep %s' &) "+
				">/dev/null 2>&1; sleep %s", "itself",
		)
	})
	t.Run("supervised/daemon kills its supervisor", func(t *testing.T) {
		t.Parallel()
		checkNothingSurvives(
			t,
			tooltest.New(t, withSupervisor),
			"P=$PPID; (setsid env -i bash -c 'sleep 0.2; kill -9 '$P'; exec sleep %s' &) >/dev/null 2>&1; sleep %s",
			"itself",
		)
	})
}

// hung is the time after which a call counts as waiting for sleepers, which sleep for days. It is no measure of speed.
const hung = 30 * time.Second

// sleepTime returns a time to sleep that no other test uses, and by which the sleepers are found.
func sleepTime() string {
	return strconv.Itoa(1_000_000 + os.Getpid()%10_000*1000 + int(sleepers.Add(1)))
}

var sleepers = new(atomic.Int64)

func checkNothingSurvives(t *testing.T, b *tooltest.Bench, script, how string) {
	seconds := sleepTime()
	b.Rules = reachesProc
	input := tooltest.Input{"command": strings.ReplaceAll(script, "%s", seconds), "timeout": 400}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if how == "interrupt" {
		input["timeout"] = 600_000
		stop := time.AfterFunc(400*time.Millisecond, cancel)
		defer stop.Stop()
	}
	start := time.Now()
	s := b.CallWith(ctx, tool.Call{Name: "bash"}, input)
	if took := time.Since(start); took > hung {
		t.Errorf("it took %v", took)
	}
	if n := countSleepers(t, seconds); n != 0 {
		t.Errorf("%d survivors:\n%s", n, listSurvivors(seconds))
	}
	switch how {
	case "interrupt":
		if s.Error == nil || s.Error.Reason != session.ReasonAborted ||
			!strings.Contains(textContent(s), "interrupted") {
			t.Errorf("%s %s", tooltest.TextOf(s), textContent(s))
		}
	case "timeout":
		if s.Error != nil || !strings.Contains(tooltest.TextOf(s), "exceeding timeout 400 ms") {
			t.Error(tooltest.TextOf(s))
		}
	}
}

const serverWord = "__server"

// serveTools runs one command as a server does, until it is killed. With a third argument, the folder for held files,
// the command runs in a sandbox in which .envrc is protected.
func serveTools(args []string) {
	config := exec.Config{
		Paths: workpath.Resolver{Directory: args[0]}, Shell: "/bin/bash",
		Supervisor: []string{"/proc/self/exe", process.SuperviseWord},
	}
	confine := tool.Confinement{Mode: session.SandboxOff}
	if len(args) > 2 {
		confine.Mode = session.SandboxWrites
		config.Sandbox = func(tool.CellRequest) (tool.Cell, error) {
			p := sandbox.Policy{Write: args[:1], ReadOnly: []string{filepath.Join(args[0], ".envrc")}, Network: true}
			return tool.Cell{Policy: p, Held: args[2]}, nil
		}
	}
	tools := exec.New(config)
	call := tool.Call{
		Name: "bash", Input: jsontext.Value(`{"command":` + tooltest.Quote(args[1]) + `}`),
		Ask: func(context.Context, tool.Request) error { return nil }, Progress: func(tool.Output) {},
		Confine: func(context.Context) (tool.Confinement, error) { return confine, nil },
	}
	for _, tl := range tools {
		if tl.Definition().Name == "bash" {
			_, _ = tl.Run(context.Background(), call)
		}
	}
	os.Exit(0)
}

// If the server is killed, everything its commands started ends within a second.
func TestServerDeath(t *testing.T) {
	b := tooltest.New(t)
	for name, script := range processTrees {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seconds := sleepTime()
			server := osexec.Command(os.Args[0], serverWord, b.Dir, strings.ReplaceAll(script, "%s", seconds))
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the command to start", func() bool { return countSleepers(t, seconds) > 0 })
			if err := server.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = server.Wait()
			start := time.Now()
			waitFor(t, "the command to end", func() bool { return countSleepers(t, seconds) == 0 })
			if took := time.Since(start); took > hung {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// waitFor polls the process table, which sends no notifications.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for range 3000 {
		if done() {
			return
		}
		<-ticker.C
	}
	t.Fatalf("waited too long for %s", what)
}

func TestSupervisedBash(t *testing.T) {
	b := tooltest.New(t, withSupervisor)
	b.Rules = reachesProc
	for command, want := range map[string]string{
		"echo out; echo err >&2; exit 3": "out\nerr\n\n\n<shell_metadata>\nThe command ended with exit code 3.",
		"kill -9 $$":                     "exit code 137",
		"cat; pwd":                       b.Dir + "\n",
		"ls /proc/self/fd | wc -l":       "4\n", // descriptors 0, 1, 2, and that of the directory
		"echo $CAIRN_CALL | wc -c":       "27\n",
	} {
		if got := tooltest.TextOf(b.Call("bash", tooltest.Input{"command": command})); !strings.Contains(got, want) {
			t.Errorf("%s says %q", command, got)
		}
	}
	seconds := sleepTime()
	killSleepersAtEnd(t, seconds)
	start := time.Now()
	s := b.Call("bash", tooltest.Input{"command": "setsid sleep " + seconds + " & echo done"})
	if took := time.Since(start); took > hung || !strings.Contains(tooltest.TextOf(s), "done\n") {
		t.Fatalf("%v: %s", took, tooltest.TextOf(s))
	}
}

func BenchmarkBash(b *testing.B) {
	for name, set := range map[string]func(*tooltest.Config){
		"direct": func(*tooltest.Config) {}, "supervised": withSupervisor, "sandboxed": withSandbox,
		"protected": withProtection,
	} {
		b.Run(name, func(b *testing.B) {
			bench := tooltest.New(b, set)
			want := ""
			if name == "sandboxed" || name == "protected" {
				bench.Confinement, want = tool.Confinement{Mode: session.SandboxWrites}, `"writes"`
				bench.WriteFile(".git/config", "")
			}
			for b.Loop() {
				s := bench.Call("bash", tooltest.Input{"command": "true"})
				if s.Error != nil || tooltest.Member(b, s.Output.Structured, "sandbox") != want {
					b.Fatal(tooltest.TextOf(s))
				}
			}
		})
	}
}

func textContent(s tool.Settlement) string {
	s.Error = nil
	return tooltest.TextOf(s)
}

// The call ends with the command, even if another process holds its output.
func TestBashDoesNotWaitForThePipe(t *testing.T) {
	b := tooltest.New(t)
	seconds := sleepTime()
	killSleepersAtEnd(t, seconds)
	start := time.Now()
	s := b.Call("bash", tooltest.Input{"command": "echo before; setsid sleep " + seconds + " & echo after"})
	if took := time.Since(start); took > hung || !strings.Contains(tooltest.TextOf(s), "before\nafter\n") {
		t.Fatalf("%v: %s", took, tooltest.TextOf(s))
	}
}

func TestBashKeepsMemorySmallAndTheFileWhole(t *testing.T) {
	size, command := int64(256<<20), "yes | head -c 256M"
	if os.Getenv("CAIRN_TEST_LARGE") != "" {
		size, command = 1<<30, "yes | head -c 1G"
	}
	b := tooltest.New(t)
	b.Call("bash", tooltest.Input{"command": "true"})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	reports := uint64(0) // one goroutine reports, and ends before the call
	call := tool.Call{Name: "bash", Progress: func(tool.Output) { reports++ }}
	s := b.CallWith(t.Context(), call, tooltest.Input{"command": command})
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if s.Error != nil || len(tooltest.TextOf(s)) > 55_000 {
		t.Fatalf("%.300s", tooltest.TextOf(s))
	}
	info, err := os.Stat(s.Output.OutputPaths[0])
	if err != nil || info.Size() != size {
		t.Fatalf("%v %v", info, err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20+reports<<18 { // the slower, the more reports
		t.Fatalf("%d bytes were allocated, with %d reports", grown, reports)
	}
	tooltest.MustContain(t, tooltest.TextOf(s), strconv.FormatInt(size, 10)+" bytes in all). All of it is in")
	t.Logf("%d MB/s", size/1e6*int64(time.Second)/int64(took))
}
