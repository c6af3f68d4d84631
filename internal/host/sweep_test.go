package host

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Every owner looks for old output files, those of one command once a day.
func TestTidy(t *testing.T) {
	home, _ := newHome(t)
	dir := filepath.Join(home, "data", "tool-output")
	put := func(name string) (gone func() bool) {
		path := filepath.Join(dir, "tool_"+name)
		write(t, path, "x")
		long := time.Now().Add(-30 * 24 * time.Hour)
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
		return func() bool {
			_, err := os.Stat(path)
			return errors.Is(err, os.ErrNotExist)
		}
	}
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: filepath.Join(home, "data")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	logger := slog.New(slog.DiscardHandler)
	w := &owner{
		store: s,
		locations: &locationCache{
			outputs: &tool.Outputs{Dir: dir}, snapshots: newSnapshots(filepath.Join(home, "data"), logger),
			projects: &project.Finder{Store: s},
		},
		logger: logger,
	}
	if w.isSweepDue(time.Now()) {
		t.Error("there is nothing to sweep")
	}
	gone := put("a")
	if !w.isSweepDue(time.Now()) {
		t.Error("the sweep did not run")
	}
	w.sweepOutputs(t.Context())
	if !gone() || w.isSweepDue(time.Now()) || !w.isSweepDue(time.Now().Add(25*time.Hour)) {
		t.Errorf(
			"swept: gone %v, again today %v, tomorrow %v",
			gone(),
			w.isSweepDue(time.Now()),
			w.isSweepDue(time.Now().Add(25*time.Hour)),
		)
	}
	// A command's owner does it by itself, in the background.
	stamp := filepath.Join(dir, sweepStamp)
	if err := os.Remove(stamp); err != nil {
		t.Fatal(err)
	}
	swept := make(chan struct{})
	w.startSweeps(t.Context(), false)
	go func() {
		defer close(swept)
		for w.isSweepDue(time.Now()) && t.Context().Err() == nil {
			runtime.Gosched()
		}
	}()
	<-swept
	w.stopSweeps()
	w.sweeps.Wait()
}

// TestCopiesOutliveCaptures: what is kept of an unused worktree is removed, but not the copies of forced reverts.
func TestCopiesOutliveCaptures(t *testing.T) {
	data := t.TempDir()
	s := newSnapshots(data, slog.New(slog.DiscardHandler))
	of := func(name string) string { return filepath.Join(data, "snapshot", "worktrees", name) }
	kept := filepath.Join(of("one"), "copies", "X", "a.txt")
	write(t, kept, "mine")
	write(t, filepath.Join(of("one"), "index"), "x")
	write(t, filepath.Join(of("two"), "index"), "x")
	none := func(session.ID) (bool, error) { return false, nil }
	if err := s.collect(t.Context(), time.Now().Add(2*worktreeAge), none); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(kept); string(b) != "mine" {
		t.Errorf("the copy is gone: %v", err)
	}
	for _, gone := range []string{filepath.Join(of("one"), "index"), of("two")} {
		if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
}

const dyingHome = "HOST_TEST_DYING"

// deleteAndDie is a process that is killed between the deletion of a session and the removal of its files.
func deleteAndDie(home string) error {
	c, err := Host{}.Open(context.Background(), optionsOf(home))
	if err != nil {
		return err
	}
	outputs := &tool.Outputs{Dir: filepath.Join(home, "data", "tool-output")}
	var last session.ID
	for range 2 {
		s, err := c.API.Create(context.Background(), api.CreateSession{})
		if err != nil {
			return err
		}
		f := tool.NewCapture(outputs, tool.Limits{Lines: 1}, nil).SetSession(s.ID)
		_, _ = f.Write([]byte("one\ntwo\nthree\n"))
		if f.Finish(context.Background()).Path == "" {
			return errors.New("no file was made")
		}
		last = s.ID
	}
	if _, err := fault.Set(string(fault.DeletePostCommit) + "=kill"); err != nil {
		return err
	}
	return c.API.Delete(context.Background(), last)
}

// What a session's tools wrote does not outlast it, also when cairn is killed before it could be removed.
func TestOrphans(t *testing.T) {
	home, _ := newHome(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dyingHome+"="+home)
	if out, err := cmd.CombinedOutput(); err == nil || len(out) > 0 {
		t.Fatalf("the child was not killed: %v, %s", err, out)
	}
	files := func() []string {
		found, err := filepath.Glob(filepath.Join(home, "data", "tool-output", "tool_*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if n := len(files()); n != 2 {
		t.Fatalf("%d files before, want that of the deleted session too", n)
	}
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	page, err := c.API.Sessions(t.Context(), api.SessionQuery{})
	if err != nil || len(page.Data) != 1 {
		t.Fatalf("%v, %v", page, err)
	}
	for len(files()) != 1 && t.Context().Err() == nil {
		runtime.Gosched()
	}
	if left := files(); !strings.HasSuffix(left[0], string(page.Data[0].ID)) {
		t.Errorf("left are %v", left)
	}
}
