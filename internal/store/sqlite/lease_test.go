package sqlite

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
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
