package process_test

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// startChild starts a child in a mode, with a supervisor if there is one here.
func startChild(t *testing.T, mode string, e process.Environment) *process.Child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := process.StartChild(process.Spec{
		Argv: []string{self, childWord, mode}, Dir: t.TempDir(), Env: e.List(), Supervisor: process.SupervisorCommand(),
		Processes: process.MaxProcesses,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestChildTalksAndEndsWithItsInput(t *testing.T) {
	t.Parallel()
	c := startChild(t, "echo", process.Environment{})
	if _, err := io.WriteString(c.In, "hello\n"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 6)
	if _, err := io.ReadFull(c.Out, answer); err != nil || string(answer) != "hello\n" {
		t.Errorf("it answered %q, %v", answer, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if code, signal := c.ExitStatus(); code != 0 || signal != "" {
		t.Errorf("it ended with %d %s", code, signal)
	}
}

func TestStubbornChildIsKilled(t *testing.T) {
	t.Parallel()
	c := startChild(t, "stubborn", process.Environment{})
	if _, err := io.ReadFull(c.Out, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	select {
	case <-c.Done():
	default:
		t.Error("it lives after Close")
	}
}

// A child gets no variables but the usual and the named ones, and the mark by which the server knows tools.
func TestEnvironmentOfAChild(t *testing.T) {
	for _, name := range []string{"CHILD_SECRET", "CHILD_PASSED", "CHILD_DENIED", "CAIRN_PASSWORD", "OPENCODE_KEY"} {
		t.Setenv(name, "x")
	}
	c := startChild(t, "environment", process.Environment{
		Pass: []string{"CHILD_PASSED", "CHILD_DENIED", "CAIRN_PASSWORD"}, Set: []string{"CHILD_SET=1"}, Deny: []string{"CHILD_DENIED"},
	})
	text, err := io.ReadAll(c.Out)
	if err != nil {
		t.Fatal(err)
	}
	got := "\n" + string(text)
	for name, want := range map[string]bool{
		"CHILD_SECRET": false, "CHILD_DENIED": false, "CAIRN_PASSWORD": false, "OPENCODE_KEY": false, "CHILD_PASSED": true,
		"CHILD_SET": true, tool.CallVariable: true, "PATH": true,
	} {
		if strings.Contains(got, "\n"+name+"=") != want {
			t.Errorf("%s reached the child: %v, want %v", name, !want, want)
		}
	}
}

// The standard error of a child is read without an end, and its end is kept.
func TestErrorsOfAChildAreBounded(t *testing.T) {
	t.Parallel()
	c := startChild(t, "errors", process.Environment{})
	<-c.Done()
	_ = c.Close()
	if code, _ := c.ExitStatus(); code != 7 {
		t.Errorf("it ended with %d", code)
	}
	if got := c.ReadErrors(); len(got) > 8<<10 || !strings.HasSuffix(got, "the last") {
		t.Errorf("%d bytes are kept, the end is %q", len(got), got[max(0, len(got)-20):])
	}
}

// The output that is collected is complete when the program has ended.
func TestCollectedOutputHasItsEnd(t *testing.T) {
	t.Parallel()
	c := startChild(t, "output", process.Environment{})
	output := c.CollectOutput()
	<-c.Done()
	if got := output(); !strings.HasSuffix(got, "the last") {
		t.Errorf("the end is %q", got[max(0, len(got)-20):])
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	var b process.Backoff
	if !b.Next().IsZero() {
		t.Error("the first start waits")
	}
	now := time.Unix(1000, 0)
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		b.Note(now, now)
		if got := b.Next().Sub(now); got != want*time.Second {
			t.Errorf("after %d failures the pause is %v, want %v", i+1, got, want*time.Second)
		}
	}
	b.Note(now, now.Add(time.Minute))
	if got := b.Next().Sub(now.Add(time.Minute)); got != time.Second {
		t.Errorf("after a long life the pause is %v", got)
	}
	for range 100 { // many failures do not overflow
		b.Note(now, now)
	}
	if got := b.Next().Sub(now); got != 5*time.Minute {
		t.Errorf("after many failures the pause is %v", got)
	}
}
