package root_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/cli/root"
	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/host"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this test binary a cairn for the scripts: the whole program, with its real store and sockets.
func TestMain(m *testing.M) {
	program := func() {
		if code, ok := host.RunSupervisor(os.Args[1:]); ok {
			syscall.Exit(code) // the race detector would wait a second in os.Exit
		}
		os.Exit(root.Main(host.Host{}, script.Embed(os.Getenv(script.Variable))))
	}
	testscript.Main(m, map[string]func(){"cairn": program, "opencode": program, "tool": runAsTool, "mcp-notes": serveMCP, "lsp-words": serveLanguage})
}

// quick keeps the race detector from waiting a second at the end of each process.
const quick = "atexit_sleep_ms=10"

// With the race detector only those are played in which processes work beside each other; make crash plays all, and
// make full all with it.
func TestScripts(t *testing.T) {
	repository, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	p := testscript.Params{
		Setup: func(e *testscript.Env) error {
			// Sockets have short paths: the home is not below the script's directory.
			home, err := os.MkdirTemp("", "cairn")
			if err != nil {
				return err
			}
			e.Defer(func() { _ = os.RemoveAll(home) }) // only the system's temporary files
			e.Values[started{}] = map[string]*process{}
			e.Setenv("CAIRN_HOME", home)
			e.Setenv("HOME", home)
			e.Setenv("LANG", "C.UTF-8")
			e.Setenv("GORACE", quick)
			e.Setenv("CAIRN_DISABLE_MODELS_FETCH", "1")
			e.Setenv("CAIRN_DISABLE_DISCOVERY", "1")
			e.Setenv("CAIRN_DISABLE_KEYRING", "1")
			e.Setenv("REPOSITORY", repository)
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			e.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(e.WorkDir))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"capture": capture,
			"code":    code,
			"ollama":  ollama,
			"start":   start,
			"finish":  finish,
			"until":   until,
			"shaped":  shaped,
			"same":    same,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "sandbox":
				return sandbox.Check() == nil, nil
			case "identity": // of files that are renamed
				return fileattr.ReadIdentity(os.TempDir()) != "", nil
			default:
				return false, fmt.Errorf("there is no condition %q", cond)
			}
		},
	}
	if p.Dir = "testdata"; raceEnabled && os.Getenv("CAIRN_SOAK") == "" {
		p.Dir, p.Files = "", []string{"testdata/jobs.txtar", "testdata/owner.txtar", "testdata/waits.txtar"}
	}
	testscript.Run(t, p)
}

// code N COMMAND… runs a command, which must exit with N.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND…")
	}
	want := args[0]
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = strconv.Itoa(e.ExitCode())
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit %s, want %s", got, want)
	}
}

// capture NAME PATTERN keeps the first group of PATTERN in the last command's standard output as a variable.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME PATTERN")
	}
	m := regexp.MustCompile("(?m)" + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) != 2 {
		ts.Fatalf("nothing in the output looks like %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// ollama serves one model in the way of Ollama until the script ends.
func ollama(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ollama MODEL")
	}
	list := fmt.Sprintf(`{"object": "list", "data": [{"id": %q, "object": "model"}]}`, args[0])
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, list) })
	s := httptest.NewServer(mux)
	ts.Defer(s.Close)
	ts.Setenv("OLLAMA_HOST", s.Listener.Addr().String())
	ts.Setenv("CAIRN_DISABLE_DISCOVERY", "")
}

// started is the key of the processes that a script runs beside it.
type started struct{}

// process is one of them. Its output is read to its end in a goroutine that ends with it.
type process struct {
	cmd     *exec.Cmd
	matched chan struct{}
	ended   chan struct{}
	output  strings.Builder // to be read when ended is closed
}

// launch starts a command and watches its standard output for a line, or the beginning of one, that matches.
func launch(ts *testscript.TestScript, pattern string, args []string) *process {
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	p := &process{cmd: exec.Command(path, args[1:]...), matched: make(chan struct{}), ended: make(chan struct{})}
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Env = append(os.Environ(), "PWD="+p.cmd.Dir)
	for _, name := range []string{"CAIRN_HOME", "HOME", "LANG", "CAIRN_SCRIPT", "GORACE"} {
		p.cmd.Env = append(p.cmd.Env, name+"="+ts.Getenv(name))
	}
	out, err := p.cmd.StdoutPipe()
	ts.Check(err)
	p.cmd.Stderr = p.cmd.Stdout
	ts.Check(p.cmd.Start())
	want, found := regexp.MustCompile(pattern), false
	go func() {
		defer close(p.ended)
		for buf := make([]byte, 4096); ; {
			n, err := out.Read(buf)
			p.output.Write(buf[:n])
			if !found && want.MatchString(p.output.String()) {
				found = true
				close(p.matched)
			}
			if err != nil {
				return
			}
		}
	}()
	return p
}

// await returns when the pattern was seen.
func (p *process) await(ts *testscript.TestScript) {
	select {
	case <-p.matched:
	case <-time.After(time.Minute):
		p.stop(os.Kill)
		ts.Fatalf("%v did not say within a minute what was waited for:\n%s", p.cmd.Args[1:], p.output.String())
	case <-p.ended:
		_ = p.cmd.Wait() // what counts is that it ended too early
		ts.Fatalf("%v ended before it said what was waited for:\n%s", p.cmd.Args[1:], p.output.String())
	}
}

// stop sends a signal, if any, and returns the exit code, -1 for one that the signal killed.
func (p *process) stop(sig os.Signal) int {
	if sig != nil {
		_ = p.cmd.Process.Signal(sig) // it may have ended by itself
	}
	<-p.ended
	_ = p.cmd.Wait() // the code says it all
	return p.cmd.ProcessState.ExitCode()
}

// start NAME PATTERN COMMAND… runs a command beside the script, from when its output matches.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: start NAME PATTERN COMMAND…")
	}
	p := launch(ts, args[1], args[2:])
	ts.Value(started{}).(map[string]*process)[args[0]] = p
	ts.Defer(func() { p.stop(os.Kill) })
	p.await(ts)
}

// finish NAME INT|KILL|exit [CODE PATTERN] ends such a command or waits for its end, and looks at how it ended.
func finish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: finish NAME INT|KILL|exit [CODE PATTERN]")
	}
	p := ts.Value(started{}).(map[string]*process)[args[0]]
	code := p.stop(map[string]os.Signal{"INT": os.Interrupt, "KILL": os.Kill, "exit": nil}[args[1]])
	if len(args) == 4 &&
		(strconv.Itoa(code) != args[2] || !regexp.MustCompile("(?m)"+args[3]).MatchString(p.output.String())) {
		ts.Fatalf("exit %d:\n%s", code, p.output.String())
	}
}

// until PATTERN COMMAND… runs a command, which follows something, until its output matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND…")
	}
	p := launch(ts, args[0], args[1:])
	defer p.stop(os.Interrupt)
	p.await(ts)
}
