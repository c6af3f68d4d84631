package sqlite

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

const leaseChild = "CAIRN_TEST_LEASE_DIR"

// TestMain lets the test binary play another process.
func TestMain(m *testing.M) {
	if dir := os.Getenv(leaseChild); dir != "" {
		holdLease(dir)
	}
	if dir := os.Getenv(crashChild); dir != "" {
		crashWriter(dir)
	}
	os.Exit(m.Run())
}

func holdLease(dir string) {
	if _, err := AcquireLease(dir, Owner{Version: "child", Addresses: []string{"http://127.0.0.1:1"}}); err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("held\n")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends or kills this
	os.Exit(0)
}

func TestLeaseIsHeldByOneProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), leaseChild+"="+dir)
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if line, _ := bufio.NewReader(stdout).ReadString('\n'); line != "held\n" {
		t.Fatalf("the child says %q", line)
	}
	_, err := AcquireLease(dir, Owner{})
	held, ok := errors.AsType[*HeldError](err)
	if !ok || !errors.Is(err, ErrHeld) {
		t.Fatalf("error is %v", err)
	}
	if o := held.Owner; o.PID != cmd.Process.Pid || o.Version != "child" ||
		!slices.Equal(o.Addresses, []string{"http://127.0.0.1:1"}) || o.Started == 0 {
		t.Errorf("owner is %+v", o)
	}
	if err := cmd.Process.Kill(); err != nil { // no chance to release
		t.Fatal(err)
	}
	_ = cmd.Wait()
	l, err := AcquireLease(dir, Owner{})
	if err != nil {
		t.Fatalf("after the owner was killed: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

func TestLeaseSaysWhereTheOwnerIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	l, err := AcquireLease(dir, Owner{Addresses: []string{"unix:///a/rather/long/path/to/a/socket"}})
	if err != nil {
		t.Fatal(err)
	}
	owner := func() Owner {
		_, err := AcquireLease(dir, Owner{})
		held, ok := errors.AsType[*HeldError](err)
		if !ok {
			t.Fatalf("error is %v", err)
		}
		return held.Owner
	}
	for _, addresses := range [][]string{{"http://127.0.0.1:4096", "unix:///s"}, {"b"}, nil} {
		if err := l.Update(addresses...); err != nil {
			t.Fatal(err)
		}
		if got := owner().Addresses; !slices.Equal(got, addresses) {
			t.Errorf("addresses are %q, want %q", got, addresses)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, leaseName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the lease file: %v, %v", info, err)
	}
	if err := errors.Join(l.Release(), l.Release()); err != nil {
		t.Error(err)
	}
	if err := l.Update("x"); err == nil {
		t.Error("a released lease was updated")
	}
}

// TestLostLease: an owner whose lease file was removed or replaced commits nothing, also not what began before, leaves
// the record of the next owner alone, and learns of the loss.
func TestLostLease(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", nil, 0o600), os.Rename(path+".new", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l, err := AcquireLease(dir, Owner{})
			if err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), Config{Dir: dir, CheckLease: l.Check})
			if err != nil {
				t.Fatal(err)
			}
			fill(t, s, 1, 2)
			for i, id := range []session.ID{"ses_begun", "ses_late"} {
				err = s.Update(t.Context(), store.Durable, func(tx store.Tx) error {
					if i == 0 {
						err = harm(filepath.Join(dir, leaseName))
					}
					return errors.Join(err, tx.PutSession(&session.Session{ID: id}))
				})
				if !errors.Is(err, store.ErrLeaseLost) || errors.Is(err, store.ErrUncertain) {
					t.Errorf("%s: %v", id, err)
				}
			}
			if err := s.WriteError(); !errors.Is(err, store.ErrLeaseLost) {
				t.Errorf("condition: %v", err)
			}
			next, err := AcquireLease(dir, Owner{})
			if err != nil {
				t.Fatal(err)
			}
			defer next.Release() //nolint:errcheck // ends with the test
			later, err := Open(t.Context(), Config{Dir: dir, CheckLease: next.Check})
			if err != nil {
				t.Fatal(err)
			}
			defer later.Close() //nolint:errcheck // ends with the test
			fill(t, later, 1, 1)
			if err := errors.Join(s.Close(), l.Release()); err != nil {
				t.Error(err)
			}
			if r := readCommitRecord(dir); r == nil || r.committed != 3 {
				t.Errorf("the record of the next owner is %+v", r)
			}
			err = later.View(t.Context(), func(r store.Reader) error {
				for _, id := range []session.ID{"ses_begun", "ses_late"} {
					if _, ok, err := r.Session(id); ok || err != nil {
						t.Errorf("%s was written: %v", id, err)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWatchLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l, err := AcquireLease(dir, Owner{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Release() //nolint:errcheck // ends with the test
		lost := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go l.WatchLoss(ctx, func(err error) { lost <- err })
		go (*Lease)(nil).WatchLoss(ctx, func(err error) { lost <- err })
		time.Sleep(10 * leaseCheckInterval) // of the bubble
		synctest.Wait()
		if len(lost) != 0 {
			t.Fatalf("lost: %v", <-lost)
		}
		if err := os.Remove(filepath.Join(dir, leaseName)); err != nil {
			t.Fatal(err)
		}
		if err := <-lost; !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("error is %v", err)
		}
		cancel()
	})
}

// Of many that want the folder at once, exactly one has it at a time.
func TestLeaseRace(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	var mu sync.Mutex
	wins := 0
	for range 50 {
		all.Go(func() {
			l, err := AcquireLease(dir, Owner{})
			if err != nil {
				if !errors.Is(err, ErrHeld) {
					t.Error(err)
				}
				return
			}
			if !mu.TryLock() {
				t.Error("two leases at once")
				return
			}
			wins++
			mu.Unlock()
			_ = l.Release()
		})
	}
	all.Wait()
	if wins == 0 {
		t.Error("no process got the lease")
	}
}

// Whatever stands in a lease file, it is read without harm and never more than it may be.
func FuzzLeaseFile(f *testing.F) {
	f.Add([]byte(`{"pid":1,"addresses":["http://127.0.0.1:4096"],"started":2,"later":true}`))
	f.Add([]byte(`{"pid":12}` + "\n" + `l":1}`))
	f.Add([]byte(`{"pid":`))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), leaseName)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		o := readOwner(file)
		if (&HeldError{Dir: "d", Owner: o}).Error() == "" {
			t.Error("no words")
		}
	})
}
