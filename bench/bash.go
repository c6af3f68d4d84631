//go:build unix

package main

import (
	"context"
	"os/exec"
	"time"
)

// measureBash measures a confined call of true by the bash tool, which the model makes after thinking for a while, in a
// worktree of git.
func (b *bench) measureBash(ctx context.Context) error {
	s, _, err := b.startWarmServer(ctx, "bash")
	if err != nil {
		return err
	}
	defer s.stop()
	quiet := b.settle(ctx)
	var ms []float64
	for range b.scaleCount(5) {
		id, err := s.begin(ctx)
		if err != nil {
			return err
		}
		t, err := b.runTurn(ctx, s, id, order{n: 1, size: 5, calls: 20, think: 100 * time.Millisecond})
		if err != nil {
			return err
		}
		for i, e := range t.exchanges[1:] {
			ms = append(ms, toMillis(e.arrived.Sub(t.exchanges[i].last)))
		}
	}
	foreign := quiet.foreignSince()
	bare := b.timeCommand(ctx, "bash", "-c", "true")
	git := b.timeCommand(ctx, "git", "status", "-z", "--porcelain=v2", "--untracked-files=all")
	b.add(row{
		ID: "P28", What: "call of true by bash, from the model's call to its next request", Figure: medianOf(ms), Unit: "ms",
		N: len(ms), Target: bare + 2*git + 10, Limit: bare + 2*git, Of: "bash, and git status twice", Foreign: foreign,
	})
	return nil
}

// timeCommand returns the median wall time, in ms, of a command in the project.
func (b *bench) timeCommand(ctx context.Context, name string, args ...string) float64 {
	var ms []float64
	for range 25 {
		c := exec.CommandContext(ctx, name, args...)
		c.Dir = b.work
		start := time.Now()
		if c.Run() == nil {
			ms = append(ms, toMillis(time.Since(start)))
		}
	}
	return medianOf(ms)
}
