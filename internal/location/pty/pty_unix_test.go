//go:build unix

package pty_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/session"
)

// desk is a set of terminals and the changes that they reported.
type desk struct {
	*pty.Terminals
	dir   string
	mu    sync.Mutex // guards the fields below
	kinds []string
	exits chan pty.Info
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{dir: t.TempDir(), exits: make(chan pty.Info, 100)} // more than any test opens
	d.Terminals = pty.New(&session.IDs{}, func(c pty.Change) {
		d.mu.Lock()
		d.kinds = append(d.kinds, string(c.Kind))
		d.mu.Unlock()
		if c.Kind == pty.HasExited {
			d.exits <- c.Info
		}
	})
	t.Cleanup(d.Close)
	return d
}

// sh opens a terminal that runs the script.
func (d *desk) sh(t *testing.T, script string) pty.Info {
	t.Helper()
	i, err := d.Open(
		pty.Order{
			Directory: d.dir, Command: "sh", Args: []string{"-c", script},
			Env: []string{"PATH=" + os.Getenv("PATH"), "TERM=dumb"},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func (d *desk) attach(t *testing.T, id string, cursor int64) *pty.Attachment {
	t.Helper()
	a, err := d.Attach(d.dir, id, cursor)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// until reads until the output contains the text.
func until(t *testing.T, a *pty.Attachment, text string) string {
	t.Helper()
	var all strings.Builder
	for !strings.Contains(all.String(), text) {
		p, _, err := a.Next(t.Context(), 1000)
		if err != nil {
			t.Fatalf("%v before %q: %q", err, text, all.String())
		}
		all.Write(p)
	}
	return all.String()
}

// rest reads to the end of the output.
func rest(t *testing.T, a *pty.Attachment) string {
	t.Helper()
	var all strings.Builder
	for {
		p, _, err := a.Next(t.Context(), 1000)
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		all.Write(p)
	}
}

// A terminal passes its program's output to every reader, from any cursor, and reports the exit.
func TestTerminal(t *testing.T) {
	d := newDesk(t)
	i := d.sh(t, `test -t 0 && echo "at $PWD with $TERM $OPENCODE_TERMINAL"; read line; echo "got $line"; exit 3`)
	if diff := cmp.Diff([]string{"-c", i.Args[1], "-l"}, i.Args); diff != "" || i.Status != pty.Running ||
		i.Cwd != d.dir || i.Title != "Terminal "+i.ID[len(i.ID)-4:] {
		t.Error(diff, i)
	}
	if _, err := d.Get("/elsewhere", i.ID); !errors.Is(err, &session.Error{Code: session.CodeNotFound, Kind: "pty"}) {
		t.Error(err)
	}
	first := d.attach(t, i.ID, pty.FromStart)
	if got := until(t, first, "\n"); !strings.HasPrefix(got, "at ") ||
		!strings.Contains(got, filepath.Base(d.dir)+" with xterm-256color 1") {
		t.Errorf("%q", got)
	}
	late, again := d.attach(t, i.ID, pty.FromEnd), d.attach(t, i.ID, first.Cursor())
	if err := first.WriteInput(t.Context(), []byte("words\n")); err != nil {
		t.Fatal(err)
	}
	want := rest(t, first)
	if !strings.Contains(want, "got words") {
		t.Errorf("%q", want)
	}
	if got := rest(t, late); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := rest(t, again); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if e := <-d.exits; e.ExitCode != 3 || e.Status != pty.Exited {
		t.Error(e)
	}
	if _, err := d.Get(d.dir, i.ID); !errors.Is(err, &session.Error{Code: session.CodeNotFound, Kind: "pty"}) {
		t.Error(err)
	}
	if _, err := d.Attach(d.dir, i.ID, 0); !errors.Is(err, &session.Error{Code: session.CodeNotFound, Kind: "pty"}) ||
		len(d.List(d.dir)) != 0 {
		t.Error(err, "what has ended is listed still")
	}
	if diff := cmp.Diff([]string{"created", "exited"}, d.kinds); diff != "" {
		t.Error(diff)
	}
}

// Everything in a terminal's session ends with it, also processes that ignore SIGHUP or left the group.
func TestNothingOutlivesATerminal(t *testing.T) {
	for name, end := range map[string]func(*desk, string) error{
		"removed": func(d *desk, id string) error { return d.Remove(d.dir, id) },
		"closed":  func(d *desk, _ string) error { d.Close(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			i := d.sh(
				t,
				`set -m; trap '' HUP TERM; sh -c 'trap "" HUP TERM; echo $$ ready; while :; do sleep 100; done' & wait; while :; do sleep 100; done`,
			)
			out := until(t, d.attach(t, i.ID, 0), " ready")
			child, err := strconv.Atoi(strings.Fields(out)[len(strings.Fields(out))-2])
			if err != nil {
				t.Fatal(err, out)
			}
			if err := end(d, i.ID); err != nil {
				t.Fatal(err)
			}
			for _, pid := range []int{i.PID, child} {
				if err := syscall.Kill(pid, 0); err == nil && !zombie(pid) {
					t.Errorf("process %d is still there", pid)
				}
			}
			if list := d.List(d.dir); len(list) != 0 {
				t.Error(list)
			}
		})
	}
}

// When a shell ends, its background processes are ended, and the terminal does not wait for them.
func TestLeftoversEndWithTheProgram(t *testing.T) {
	d := newDesk(t)
	i := d.sh(t,
		`set -m; sh -c 'trap "" HUP TERM; echo $$ ready; while :; do sleep 100; done' & read x; echo bye; exit 4`)
	a := d.attach(t, i.ID, 0)
	child, err := strconv.Atoi(strings.Fields(until(t, a, " ready"))[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := a.WriteInput(t.Context(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	if e := <-d.exits; e.ExitCode != 4 {
		t.Error(e)
	}
	if err := syscall.Kill(child, 0); err == nil && !zombie(child) {
		t.Errorf("process %d is still there", child)
	}
	if got := rest(t, a); !strings.Contains(got, "bye") {
		t.Errorf("%q", got)
	}
}

// zombie reports whether a process has ended but has not been waited for.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestResizeAndRename(t *testing.T) {
	d := newDesk(t)
	i := d.sh(t, `read x; stty size; read x`)
	got, err := d.Update(d.dir, i.ID, "New", &pty.Size{Rows: 10, Cols: 40})
	if err != nil || got.Title != "New" {
		t.Fatal(got, err)
	}
	a := d.attach(t, i.ID, 0)
	if err := a.WriteInput(t.Context(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	until(t, a, "10 40")
	for _, s := range []pty.Size{{0, 1}, {1, -1}, {1, 100_000}} {
		if _, err := d.Update(d.dir, i.ID, "", &s); !errors.Is(err, &session.Error{Code: session.CodeInvalid}) {
			t.Error(s, err)
		}
	}
}

// A slow reader loses the oldest output and gets the position at which it continues; the program does not wait for it.
func TestSlowReaderGetsGap(t *testing.T) {
	d := newDesk(t)
	i := d.sh(t, `head -c 4000000 /dev/zero | tr '\0' x; echo; echo end`)
	slow := d.attach(t, i.ID, 0)
	<-d.exits
	text, skipped, err := slow.Next(t.Context(), 1000)
	if err != nil || !skipped || len(text) != 0 || slow.Cursor() == 0 {
		t.Fatal(len(text), skipped, slow.Cursor(), err)
	}
	left := slow.Cursor()
	if got := rest(t, slow); !strings.HasSuffix(got, "\r\nend\r\n") || left+int64(len(got)) != 4_000_007 {
		t.Errorf("%d after %d", len(got), left)
	}
}

// Writing to a program that does not read blocks until ctx ends.
func TestWriteToProgramThatDoesNotRead(t *testing.T) {
	d := newDesk(t)
	i := d.sh(t, `stty raw -echo; echo ready; exec sleep 100`)
	a := d.attach(t, i.ID, 0)
	until(t, a, "ready")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		for {
			if err := a.WriteInput(ctx, []byte(strings.Repeat("x", 64<<10))); err != nil {
				done <- err
				return
			}
		}
	}()
	cancel()
	if err := <-done; err == nil {
		t.Error("typed without end")
	}
	if err := d.Remove(d.dir, i.ID); err != nil {
		t.Error(err)
	}
}

// A ticket is valid once, for one terminal of one directory, and names its holder.
func TestTickets(t *testing.T) {
	d := newDesk(t)
	i, other := d.sh(t, "read x"), d.sh(t, "read x")
	holder := pty.Holder{
		Caller: caller.Caller{Kind: caller.KindToken, Token: "x", Role: caller.Admin}, Origin: "http://a",
	}
	word, err := d.IssueTicket(d.dir, i.ID, holder)
	if err != nil || len(word) != 36 {
		t.Fatal(word, err)
	}
	finds := func(word, id string) bool { h, ok := d.FindTicket(word, id); return ok && h == holder }
	redeems := func(word, dir, id string) bool { h, ok := d.RedeemTicket(word, dir, id); return ok && h == holder }
	if !finds(word, i.ID) || finds(word, other.ID) || finds("", i.ID) {
		t.Error("admits another, or not its own")
	}
	if !redeems(word, d.dir, i.ID) || redeems(word, d.dir, i.ID) || finds(word, i.ID) {
		t.Error("not good once")
	}
	for _, try := range [][2]string{{d.dir, other.ID}, {"/elsewhere", i.ID}} {
		word, _ = d.IssueTicket(d.dir, i.ID, holder)
		if redeems(word, try[0], try[1]) || redeems(word, d.dir, i.ID) {
			t.Error("good after a wrong try", try)
		}
	}
	if _, err := d.IssueTicket(d.dir, "pty_none", holder); !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		t.Error(err)
	}
}

// A command that cannot run is refused. The number of running terminals is bounded; that of ended ones is not.
func TestBounds(t *testing.T) {
	d := newDesk(t)
	for _, o := range []pty.Order{
		{Directory: d.dir, Command: "no-such-program"},
		{Directory: d.dir, Command: "sh", Cwd: "nowhere"},
		{Directory: d.dir, Command: "sh", Args: []string{"a\x00b"}},
	} {
		if _, err := d.Open(o); !errors.Is(err, &session.Error{Code: session.CodeInvalid}) {
			t.Error(o, err)
		}
	}
	for range 40 {
		d.sh(t, "true")
		<-d.exits
	}
	if n := len(d.List(d.dir)); n != 0 {
		t.Error(n, "are remembered")
	}
	for range 32 {
		d.sh(t, "read x")
	}
	if _, err := d.Open(pty.Order{
		Directory: d.dir, Command: "sh",
	}); !errors.Is(err, &session.Error{Code: session.CodeTooMany}) {
		t.Error(err)
	}
	d.Close()
	if _, err := d.Open(pty.Order{
		Directory: d.dir, Command: "sh",
	}); !errors.Is(err, &session.Error{Code: session.CodeUnavailable}) {
		t.Error(err)
	}
}
