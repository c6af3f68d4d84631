//go:build unix

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// measureExport exports sessions of 1,000 and of 10,000 messages with the command line. No owner runs, so the time
// includes the start of the process and its store.
func (b *bench) measureExport(ctx context.Context) error {
	h := b.newHome("export")
	sizes := []int{b.scaleCount(1_000), b.scaleCount(10_000)}
	ids := make([]session.ID, len(sizes))
	err := b.runServer(ctx, h, func(s *server) (err error) {
		for i := range ids {
			if ids[i], err = s.begin(ctx); err == nil {
				_, err = b.runTurn(ctx, s, ids[i], order{n: 1, size: 5})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = writeHistory(ctx, h.dataDir(), ids, sizes)
	}
	if err != nil {
		return err
	}
	for _, format := range []string{"jsonl", "json"} {
		small, err := b.exportSession(ctx, h, ids[0], format)
		if err != nil {
			return err
		}
		large, err := b.exportSession(ctx, h, ids[1], format)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("export %d messages, %s", sizes[1], format)
		b.add(row{
			ID: "P29", What: what, Figure: medianOf(large.ms), Unit: "ms", N: len(large.ms), Target: 300, Foreign: large.foreign,
		})
		b.add(row{
			ID: "P29", What: what + ": peak RSS", Figure: large.rss, Unit: "MiB", N: len(large.ms), Target: 1.5 * small.rss,
			Limit: small.rss, Of: fmt.Sprintf("%d messages", sizes[0]), Foreign: large.foreign,
		})
	}
	return nil
}

// commandFigures are those of a command that was run several times.
type commandFigures struct {
	ms      []float64
	rss     float64 // the greatest peak, in MiB
	foreign float64
}

func (b *bench) exportSession(ctx context.Context, h *home, id session.ID, format string) (f commandFigures, err error) {
	quiet := b.settle(ctx)
	for i := range 7 {
		file := filepath.Join(b.dir, fmt.Sprintf("export-%d.%s", i, format))
		ms, rss, err := runCommand(h.newCommand(ctx, b.binary, "export", string(id), "--format", format, "-o", file))
		if err != nil {
			return f, err
		}
		f.ms, f.rss = append(f.ms, ms), max(f.rss, rss)
	}
	f.foreign = quiet.foreignSince()
	return f, nil
}

// runCommand runs a command to its end, and returns its wall time in milliseconds and its peak RSS in MiB.
func runCommand(cmd *exec.Cmd) (ms, rss float64, err error) {
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w: %.500s", cmd.Args[1], err, out)
	}
	ms = toMillis(time.Since(start))
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		rss = float64(use.Maxrss) / 1024
	}
	return ms, rss, nil
}
