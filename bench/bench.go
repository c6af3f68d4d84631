// Command bench measures what docs call the performance of cairn: it builds the binary, puts an instant scripted model
// on a loopback port, drives the binary as its users do (command line and HTTP API), and prints one table.
//
// Each row is a median of samples, or a percentile where it says so, beside what the machine itself needs for the same
// work, taken in the same run, and beside its target. Rows that were taken while other processes used more than 0.3
// cores are marked: trust their ratios only. Driver, model and server share the machine's cores, as they do at home.
//
// It listens on loopback only, keeps everything below one temporary directory, and ends within its time limit.
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

// bench is one run: what is measured, with what, and what came of it.
type bench struct {
	binary   string
	opencode string // the directory below whose node_modules OpenCode is; "": it is not there
	dir      string // everything that the run writes
	work     string // the project that sessions work in
	model    *model
	quick    bool // a tenth of the work: to try the driver itself
	rows     []row
	limits   limits
	say      func(format string, args ...any)
}

// measure is one group of rows that share a set-up.
type measure struct {
	name string
	rows string // the rows of the performance table that it fills
	run  func(*bench, context.Context) error
}

// measures are in the order of the table. None depends on another.
var measures = []measure{
	{"binary", "P1", (*bench).binarySize},
	{"cli", "P2", (*bench).commandLine},
	{"start", "P3", (*bench).serveStart},
	{"idle", "P4 P5", (*bench).idle},
	{"run", "P6", (*bench).runCold},
	{"prompt", "P7", (*bench).promptToRequest},
	{"chain", "P8 P15 P16", (*bench).chain},
	{"stream", "P10 P11 P12", (*bench).stream},
	{"paced", "P13", (*bench).paced},
	{"append", "P17", (*bench).appends},
	{"history", "P18 P19 P23", (*bench).history},
	{"sessions", "P20", (*bench).sessions},
	{"crowd", "P21", (*bench).crowd},
	{"turns", "P22", (*bench).turns},
	{"v1start", "P3 P4", (*bench).v1Start},
	{"v1messages", "P18", (*bench).v1Messages},
	{"v1sessions", "P20", (*bench).v1Sessions},
	{"v1readers", "P12 P13", (*bench).v1Readers},
}

// newBench builds the binary, unless there is one, and makes the places.
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

// makeProject makes a small repository with a file to read.
func makeProject(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(strings.Repeat("hello performance\n", 60)), 0o644); err != nil {
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

// scaled is n, or less of it in a quick run.
func (b *bench) scaled(n int) int {
	if b.quick {
		return max(2, n/10)
	}
	return n
}

// settle lets what a measurement began come to rest, and waits a little for a quiet machine.
func (b *bench) settle(ctx context.Context) load {
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
