package root_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal returns the two ends of a new pseudo-terminal: ours, and the one that a process has.
func openTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	raw, err := ours.SyscallConn() // Fd would make reads of this file uninterruptible
	if err != nil {
		t.Fatal(err)
	}
	var n uint32
	err = raw.Control(func(fd uintptr) {
		if e := unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); e != nil {
			t.Error(e)
		}
		n, err = unix.IoctlGetUint32(int(fd), unix.TIOCGPTN)
	})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

func setSize(tty *os.File, rows, columns uint16) error {
	raw, err := tty.SyscallConn()
	if err != nil {
		return err
	}
	cerr := raw.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	})
	return cmp.Or(cerr, err)
}

// dialogue types keys when seen is on the screen.
type dialogue struct{ seen, keys string }

// startOnTerminal starts cairn on a terminal of its own and returns the other end of the terminal.
func startOnTerminal(t *testing.T, home, dir string, args ...string) (*exec.Cmd, *os.File) {
	t.Helper()
	path, err := exec.LookPath("cairn")
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := openTerminal(t)
	if args[0] == "tui" || os.Getenv("COLUMNS") != "" { // lines elsewhere are not cut
		if err := setSize(theirs, 24, 80); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = theirs, theirs, theirs, dir
	cmd.Env = append(
		os.Environ(),
		"CAIRN_HOME="+home,
		"HOME="+home,
		"LANG=C.UTF-8",
		"TERM=xterm",
		"GORACE="+quick,
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(dir),
	)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close() // the process has its own
	return cmd, ours
}

// onTerminal runs cairn on a terminal of its own and returns its screen and exit code. The terminal has a size for the
// full-screen interface, and where COLUMNS is set.
func onTerminal(t *testing.T, home, dir string, talk []dialogue, args ...string) (screen string, code int) {
	t.Helper()
	return onTerminalWith(t, home, dir, talk, func(string) {}, args...)
}

// onTerminalWith is onTerminal that calls act with each text that was seen, before its keys are typed.
func onTerminalWith(
	t *testing.T, home, dir string, talk []dialogue, act func(seen string), args ...string,
) (screen string, code int) {
	t.Helper()
	cmd, ours := startOnTerminal(t, home, dir, args...)
	if err := ours.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	from := 0
	for buf := make([]byte, 4096); ; {
		n, err := ours.Read(buf)
		all.Write(buf[:n])
		for len(talk) > 0 {
			at := strings.Index(all.String()[from:], talk[0].seen)
			if at < 0 {
				break
			}
			from += at + len(talk[0].seen)
			act(talk[0].seen)
			if _, err := io.WriteString(ours, talk[0].keys); err != nil {
				t.Fatal(err)
			}
			talk = talk[1:]
		}
		if err != nil { // the other end is closed, or the deadline passed
			break
		}
	}
	if len(talk) > 0 {
		t.Errorf("never on the screen: %q", talk[0].seen)
	}
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // it waits for something else
	defer late.Stop()
	_ = cmd.Wait() // the code says it
	return strings.ReplaceAll(all.String(), "\r\n", "\n"), cmd.ProcessState.ExitCode()
}

// TestTerminal: on a terminal an ask shows what would change and waits for the answer.
func TestTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	tests := map[string]struct {
		talk  []dialogue
		code  int
		file  string
		shows string
	}{
		"yes":    {[]dialogue{{"> ", "y\n"}}, 0, "hello bar\n", "+hello bar"},
		"again":  {[]dialogue{{"> ", "what?\n"}, {"> ", "y\n"}}, 0, "hello bar\n", "y: once"},
		"no":     {[]dialogue{{"> ", "n\n"}}, 3, "hello foo\n", "rejected permission"},
		"reason": {[]dialogue{{"> ", "n not today\n"}}, 3, "hello foo\n", "not today"},
		"ctrl-d": {[]dialogue{{"> ", "\x04"}}, 3, "hello foo\n", "permission requests are denied"},
		"ctrl-c": {[]dialogue{{"> ", "\x03"}}, 130, "hello foo\n", "interrupting"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			home, err := os.MkdirTemp("", "cairn") // short, for the socket
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(home)
			file := filepath.Join(dir, "a.txt")
			if err := os.WriteFile(file, []byte("hello foo\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			screen, code := onTerminal(t, home, dir, tt.talk, "run", "replace foo with bar in a.txt")
			got, err := os.ReadFile(file)
			if err != nil || string(got) != tt.file || code != tt.code || !strings.Contains(screen, tt.shows) {
				t.Errorf("exit %d, file %q (%v), screen:\n%s", code, got, err, screen)
			}
		})
	}
}

// TestSilentTerminal: on a terminal without input, the flags of the command decide, and programs are not asked.
func TestSilentTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	for args, want := range map[string]int{
		"--ask=deny": 3, "--ask=fail": 3, "--ask=wait:1s": 3, "--ask=allow": 0,
		"--format=json": 3,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			home, err := os.MkdirTemp("", "cairn") // short, for the socket
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(home)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello foo\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			screen, code := onTerminal(t, home, dir, nil, "run", args, "replace foo with bar in a.txt")
			if code != want || strings.TrimSpace(screen) == "" {
				t.Errorf("exit %d, want %d, screen:\n%s", code, want, screen)
			}
		})
	}
}

// TestHiddenKey: a key that is typed is not on the screen, and is not taken from what was typed before.
func TestHiddenKey(t *testing.T) {
	home := t.TempDir()
	screen, code := onTerminal(
		t,
		home,
		t.TempDir(),
		[]dialogue{{"not shown): ", "sk-very-secret\n"}},
		"auth",
		"login",
		"openai",
	)
	if code != 0 || strings.Contains(screen, "secret") {
		t.Errorf("exit %d: %s", code, screen)
	}
	b, err := os.ReadFile(filepath.Join(home, "data", "auth.json"))
	if err != nil || !strings.Contains(string(b), "sk-very-secret") {
		t.Errorf("%s %v", b, err)
	}
}

// TestStalledTerminal: SIGTERM ends the interface also if its terminal is not read, and gives the terminal its mode
// back.
func TestStalledTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	home, err := os.MkdirTemp("", "cairn") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	t.Setenv("CAIRN_DISABLE_KEYRING", "1")
	cmd, ours := startOnTerminal(t, home, t.TempDir(), "tui")
	var first [1]byte
	if _, err := ours.Read(first[:]); err != nil {
		t.Fatal(err)
	}
	for { // until neither end takes more, because nothing is read
		if err := ours.SetWriteDeadline(time.Now().Add(2 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(ours, strings.Repeat("word ", 1000)); err != nil {
			break
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // the code says it
	if !late.Stop() || cmd.ProcessState.ExitCode() < 0 {
		t.Errorf("it had to be killed: %v", cmd.ProcessState)
	}
	raw, err := ours.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		mode, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
		if err != nil || mode.Lflag&unix.ICANON == 0 || mode.Lflag&unix.ECHO == 0 {
			t.Errorf("the terminal is still in raw mode: %+v, %v", mode, err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
