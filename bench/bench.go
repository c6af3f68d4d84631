//go:build unix

// Command bench measures the performance of cairn. It builds the binary, serves an instant scripted model on a loopback
// port, drives the binary as users do (command line and HTTP API), and prints one table.
//
// Each row is a median of samples, or a percentile where it says so. It is shown beside what the machine itself needs
// for the same work, measured in the same run, and beside its target. Rows that were measured while other processes
// used more than 0.3 cores are marked: only their ratios are meaningful. Driver, model and server share the machine's
// cores.
//
// It listens on loopback only, keeps all files below one temporary directory, and ends within its time limit.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// bench is the state of one run.
type bench struct {
	binary   string
	opencode string // directory whose node_modules has OpenCode; "" without it
	crush    string // binary of Crush; "" without it
	dir      string // all files of the run
	work     string // project directory of the sessions
	model    *model
	quick    bool // do a tenth of the work, to test the driver itself
	rows     []row
	limits   limits
	say      func(format string, args ...any)
}

// newBench builds the binary, unless one is given, and creates the directories.
func newBench(ctx context.Context, binary string) (*bench, error) {
	dir, err := os.MkdirTemp("", "cairn-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, binary: filepath.Join(dir, "cairn"), work: filepath.Join(dir, "project")}
	if binary != "" {
		b.binary, err = filepath.Abs(binary)
	} else {
		err = build(ctx, b.binary)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := makeProject(ctx, b.work); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if b.model, err = newModel(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return b, nil
}

func build(ctx context.Context, path string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the binary: %w: %s", err, out)
	}
	return nil
}

// makeProject creates a small repository with a file to read.
func makeProject(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(strings.Repeat("hello performance\n", 60)),
		0o644); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", "."},
		{"add", "-A"},
		{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-qm", "init"},
	} {
		git := exec.CommandContext(ctx, "git", args...)
		git.Dir = dir
		if out, err := git.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

func (b *bench) close() error {
	return errors.Join(b.model.close(), os.RemoveAll(b.dir))
}

// scaleCount returns n, or a tenth of it in a quick run.
func (b *bench) scaleCount(n int) int {
	if b.quick {
		return max(2, n/10)
	}
	return n
}

// settle waits until the last measure's work has ended and, for a short time, for a quiet machine.
func (b *bench) settle(ctx context.Context) machineLoad {
	deadline := time.Now().Add(2 * time.Second)
	for time.Now().Before(deadline) && ctx.Err() == nil {
		before := readLoad()
		time.Sleep(200 * time.Millisecond)
		if readLoad().busySince(before) < 0.3 {
			break
		}
	}
	return readLoad()
}
