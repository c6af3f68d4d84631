//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

func (b *bench) measureBinarySize(context.Context) error {
	info, err := os.Stat(b.binary)
	if err != nil {
		return err
	}
	b.add(row{ID: "P1", What: "binary", Figure: toMiB(info.Size()), Unit: "MiB", N: 1, Target: 45})
	return nil
}

// measureCommandLine measures --help, which users wait for.
func (b *bench) measureCommandLine(ctx context.Context) error {
	h := b.newHome("cli")
	for _, arg := range []string{"--help", "version"} {
		quiet := b.settle(ctx)
		var ms []float64
		for range b.scaleCount(21) {
			d, err := firstByte(h.newCommand(ctx, b.binary, arg))
			if err != nil {
				return err
			}
			ms = append(ms, toMillis(d))
		}
		b.add(row{
			ID: "P2", What: arg + ", to the first byte", Figure: medianOf(ms), Unit: "ms", N: len(ms), Target: 20,
			Limit: b.limits.spawnTime(ctx), Of: "spawn", Foreign: quiet.foreignSince(),
		})
	}
	return nil
}

func firstByte(cmd *exec.Cmd) (time.Duration, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, err = io.ReadFull(out, make([]byte, 1))
	d := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("it said nothing: %w", err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		return 0, err
	}
	return d, cmd.Wait()
}

func (b *bench) measureServeStart(ctx context.Context) error {
	h := b.newHome("start")
	quiet := b.settle(ctx)
	var ms []float64
	for i := range b.scaleCount(11) + 1 {
		s, err := b.serve(ctx, h)
		if err != nil {
			return err
		}
		s.stop()
		if i > 0 { // the first run creates the store
			ms = append(ms, toMillis(s.ready))
		}
	}
	b.add(
		row{
			ID: "P3", What: "serve, to the first 200", Figure: medianOf(ms), Unit: "ms", N: len(ms), Target: 40,
			Limit: b.limits.spawnTime(ctx), Of: "spawn", Foreign: quiet.foreignSince(),
		},
	)
	return nil
}

// measureIdle measures an unused server, and one with an open project.
func (b *bench) measureIdle(ctx context.Context) error {
	h := b.newHome("idle")
	quiet := b.settle(ctx)
	s, err := b.serve(ctx, h)
	if err != nil {
		return err
	}
	defer s.stop()
	time.Sleep(time.Second)
	started := toMiB(usageOf(s.pid()).rss)
	if _, err := s.client.Location(ctx); err != nil {
		return err
	}
	if _, err := s.client.Agents(ctx); err != nil {
		return err
	}
	if _, err := s.client.Models(ctx); err != nil {
		return err
	}
	if _, err := s.begin(ctx); err != nil {
		return err
	}
	time.Sleep(time.Second)
	open := toMiB(usageOf(s.pid()).rss)
	before := usageOf(s.pid())
	time.Sleep(time.Duration(b.scaleCount(8)) * time.Second)
	used := (usageOf(s.pid()).cpu - before.cpu).Seconds() / float64(b.scaleCount(8)) * 100
	if used < 0.05 { // less than one wake-up per second is the Go runtime's own
		used = 0
	}
	foreign := quiet.foreignSince()
	b.add(
		row{
			ID: "P4", What: "RSS of a server, started", Figure: started, Unit: "MiB", N: 1, Target: 40, Foreign: foreign,
		},
	)
	b.add(
		row{
			ID: "P4", What: "RSS of a server, project open", Figure: open, Unit: "MiB", N: 1, Target: 40, Foreign: foreign,
		},
	)
	b.add(row{ID: "P5", What: "idle CPU", Figure: used, Unit: "%", N: 1, Foreign: foreign})
	return nil
}

// measureColdRun measures one prompt on the command line without a server: a process that owns the store meanwhile.
func (b *bench) measureColdRun(ctx context.Context) error {
	h := b.newHome("run")
	quiet := b.settle(ctx)
	var wall, cpu, rss []float64
	for i := range b.scaleCount(11) + 1 {
		o := order{n: 20, size: 5, id: "run"}
		cmd := h.newCommand(ctx, b.binary, "run", o.String())
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		start := time.Now()
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("cairn run: %w: %s", err, said.String())
		}
		d := time.Since(start)
		if n := len(b.model.takeExchanges("run")); n != 1 {
			return fmt.Errorf("the model was asked %d times", n)
		}
		if i == 0 { // the first run creates the store
			continue
		}
		use, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		wall = append(wall, toMillis(d))
		cpu = append(cpu, toMillis(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()))
		rss = append(rss, float64(use.Maxrss)/1024)
	}
	foreign := quiet.foreignSince()
	spawn := b.limits.spawnTime(ctx)
	b.add(
		row{
			ID: "P6", What: "run, cold: wall", Figure: medianOf(wall), Unit: "ms", N: len(wall), Target: 90, Limit: spawn,
			Of: "spawn", Foreign: foreign,
		},
	)
	b.add(row{ID: "P6", What: "run, cold: CPU", Figure: medianOf(cpu), Unit: "ms", N: len(wall), Foreign: foreign})
	b.add(
		row{
			ID: "P6", What: "run, cold: peak RSS", Figure: medianOf(rss), Unit: "MiB", N: len(wall), Target: 45,
			Foreign: foreign,
		},
	)
	if runtime.GOOS != "linux" {
		return fmt.Errorf("memory and CPU are read from /proc: on %s they are not true", runtime.GOOS)
	}
	return nil
}
