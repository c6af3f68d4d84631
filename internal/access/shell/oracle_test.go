//go:build linux

package shell_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ran is the effect of a line in bash.
type ran struct {
	commands []ranCommand      // in the order of their start
	files    map[string]string // the files that were made or changed
}

// ranCommand is a command as a program would have received it.
type ranCommand struct {
	words    []string
	input    string
	zone, ci string // the variables TZ and CI, "unset" for none
}

// files are the files in the directory of a line.
var files = map[string]string{"a.txt": "a.txt\n", "b.go": "b.go\n", "in": "in\n", "d/f": "d/f\n"}

// oracle is a bash that evaluates lines one after the other, as `bash -c` would, and reports the words of each command
// instead of running it. It is restarted when a line takes too long or ends it.
type oracle struct {
	dir     string
	locale  string
	cmd     *exec.Cmd
	in      *os.File
	reports *os.File
	out     *bufio.Reader
	number  int
	have    map[string]string // the files of the directory
	seen    time.Time         // its time of modification
}

func newOracle(t testing.TB, locale string) *oracle {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	dir, err := os.MkdirTemp("", "oracle")
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{dir: dir, locale: locale}
	t.Cleanup(func() {
		o.stop()
		_ = os.RemoveAll(dir)
	})
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(o.work(), 0o700), o.chown(o.work())); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *oracle) work() string { return filepath.Join(o.dir, "work") }

// unprivilegedID is the user of the shell when the test runs as root.
const unprivilegedID = 65534

func (o *oracle) chown(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, unprivilegedID, unprivilegedID)
}

// attributes are those of a process that a line may reach.
func (o *oracle) attributes() *syscall.SysProcAttr {
	out := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		out.Credential = &syscall.Credential{Uid: unprivilegedID, Gid: unprivilegedID}
	}
	return out
}

func (o *oracle) start() error {
	script, err := os.ReadFile("testdata/oracle.bash")
	if err != nil {
		return err
	}
	requests, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, reports, err := os.Pipe()
	if err != nil {
		return err
	}
	// A wrapper moves the pipes to high numbers, which the lines do not use.
	o.cmd = exec.Command("bash", "--norc", "--noprofile", "-c", "exec 230<&3 231>&4 3<&- 4>&-\n"+string(script))
	o.cmd.Dir, o.cmd.Env = o.work(), []string{"PATH=" + filepath.Join(o.dir, "none"), "LC_ALL=" + o.locale}
	o.cmd.ExtraFiles = []*os.File{requests, reports}
	o.cmd.SysProcAttr = o.attributes()
	err = o.cmd.Start()
	_ = requests.Close()
	_ = reports.Close()
	o.in, o.reports, o.out = in, out, bufio.NewReaderSize(out, 1<<16)
	return err
}

func (o *oracle) stop() {
	if o.cmd == nil {
		return
	}
	_ = syscall.Kill(-o.cmd.Process.Pid, syscall.SIGKILL)
	_ = o.in.Close()
	_ = o.reports.Close()
	_ = o.cmd.Wait()
	o.cmd = nil
}

// run evaluates the line in a directory with the known files and more, with commands that all return the status.
func (o *oracle) run(line string, status int, more map[string]string) (ran, error) {
	if o.cmd == nil {
		if err := o.start(); err != nil {
			return ran{}, err
		}
	}
	if err := o.prepare(more); err != nil {
		return ran{}, err
	}
	o.number++
	if err := o.reports.SetReadDeadline(time.Now().Add(hungTime)); err != nil {
		return ran{}, err
	}
	if _, err := fmt.Fprintf(o.in, "%d\x00%d\x00%s\x00", o.number, status, line); err != nil {
		o.stop()
		return ran{}, err
	}
	var out ran
	for {
		c, more, err := o.report()
		if err != nil {
			o.stop()
			return out, fmt.Errorf("bash did not end: %w", err)
		}
		if !more {
			break
		}
		out.commands = append(out.commands, c)
	}
	before := o.have
	if err := o.readFiles(strings.Contains(line, ">")); err != nil {
		return ran{}, err
	}
	out.files = map[string]string{}
	for name, text := range o.have {
		if old, known := before[name]; !known || old != text {
			out.files[name] = text
		}
	}
	return out, nil
}

var decodeReport = strings.NewReplacer("\x01a", "\x01", "\x01b", "\n")

// hungTime bounds the time of bash for one line, also on a busy machine. Lines take a millisecond.
const hungTime = 2 * time.Minute

// report reads one report; false at the end of the line's.
func (o *oracle) report() (c ranCommand, more bool, err error) {
	next := func() string {
		var s string
		if err == nil {
			s, err = o.out.ReadString(0)
		}
		return decodeReport.Replace(strings.TrimSuffix(s, "\x00"))
	}
	number := next()
	if number == "end" || err != nil {
		return c, false, err
	}
	if number != strconv.Itoa(o.number) {
		return c, false, fmt.Errorf("a command of line %s reported %q while line %d ran", number, next(), o.number)
	}
	c.input, c.zone, c.ci = next(), next(), next()
	count, badCount := strconv.Atoi(next())
	if err := errors.Join(err, badCount); err != nil {
		return c, false, err
	}
	for range count {
		c.words = append(c.words, next())
	}
	return c, true, err
}

// prepare makes the directory hold the known files and more.
func (o *oracle) prepare(more map[string]string) error {
	want := maps.Clone(files)
	maps.Copy(want, more)
	if maps.Equal(want, o.have) {
		return nil
	}
	for name := range o.have {
		if _, ok := want[name]; !ok {
			if err := os.RemoveAll(filepath.Join(o.work(), name)); err != nil {
				return err
			}
		}
	}
	for name, text := range want {
		if have, ok := o.have[name]; ok && have == text {
			continue
		}
		path := filepath.Join(o.work(), name)
		_ = os.RemoveAll(path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		err := errors.Join(os.WriteFile(path, []byte(text), 0o644), o.chown(path), o.chown(filepath.Dir(path)))
		if err != nil {
			return err
		}
	}
	return o.readFiles(true)
}

// readFiles reads the files of the directory, unless their contents cannot have changed and no name was added.
func (o *oracle) readFiles(contents bool) error {
	info, err := os.Stat(o.work())
	if err != nil || !contents && info.ModTime().Equal(o.seen) {
		return err
	}
	o.seen, o.have = info.ModTime(), map[string]string{}
	return filepath.WalkDir(o.work(), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, relErr := filepath.Rel(o.work(), path)
		o.have[name] = string(text)
		return errors.Join(err, relErr)
	})
}

// execute runs the line with a real shell and real programs, which are this test binary by each name, and returns the
// words of those that ran.
func (o *oracle) execute(ctx context.Context, shell, line string, names []string) ([]ranCommand, error) {
	bin, log := filepath.Join(o.dir, "bin"), filepath.Join(o.dir, "log")
	err := errors.Join(
		os.RemoveAll(bin),
		os.RemoveAll(log),
		os.Mkdir(bin, 0o755),
		os.Mkdir(log, 0o700),
		o.chown(log),
		o.linkRecorder(bin, names),
	)
	if err != nil {
		return nil, err
	}
	if err := o.readFiles(true); err != nil {
		return nil, err
	}
	if err := o.prepare(nil); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, shell, "-c", "--", line)
	cmd.Dir, cmd.Env = o.work(), []string{"PATH=" + bin, "LC_ALL=" + o.locale, recorderLog + "=" + log}
	cmd.SysProcAttr = o.attributes()
	if err := o.wait(cmd); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(log)
	if err != nil {
		return nil, err
	}
	var out []ranCommand
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(log, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, ranCommand{words: strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")})
	}
	return out, nil
}

// linkRecorder makes this test binary a program by each of the names.
func (o *oracle) linkRecorder(bin string, names []string) error {
	recorder := filepath.Join(o.dir, "recorder")
	if _, err := os.Stat(recorder); err != nil {
		program, err := os.ReadFile("/proc/self/exe")
		if err := errors.Join(err, os.WriteFile(recorder, program, 0o755)); err != nil {
			return err
		}
	}
	for _, name := range names {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || len(name) > 200 {
			continue
		}
		if err := os.Symlink(recorder, filepath.Join(bin, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// wait runs the command and waits for all its processes: they hold a pipe open.
func (o *oracle) wait(cmd *exec.Cmd) error {
	held, hold, err := os.Pipe()
	if err != nil {
		return err
	}
	defer held.Close()
	cmd.ExtraFiles = []*os.File{hold}
	err = cmd.Start()
	_ = hold.Close()
	if err != nil {
		return err
	}
	_ = cmd.Wait() // the status of the line
	if err := held.SetReadDeadline(time.Now().Add(hungTime)); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, held)
	return err
}

// recorderLog names the directory to which this binary writes its words when a line runs it.
const recorderLog = "CAIRN_RECORDER_LOG"

func TestMain(m *testing.M) {
	dir := os.Getenv(recorderLog)
	if dir == "" {
		os.Exit(m.Run())
	}
	text := strings.Join(os.Args, "\x00") + "\x00"
	err := os.WriteFile(filepath.Join(dir, strconv.Itoa(os.Getpid())), []byte(text), 0o600)
	if err != nil {
		os.Exit(3)
	}
}
