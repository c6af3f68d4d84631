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

func (b *bench) binarySize(context.Context) error {
	info, err := os.Stat(b.binary)
	if err != nil {
		return err
	}
	b.add(row{ID: "P1", What: "binary", Figure: mib(info.Size()), Unit: "MiB", N: 1, Target: 45})
	return nil
}

// commandLine is what somebody waits for who asks for help.
func (b *bench) commandLine(ctx context.Context) error {
	h := b.home("cli")
	for _, arg := range []string{"--help", "version"} {
		quiet := b.settle(ctx)
		var ms []float64
		for range b.scaled(21) {
			d, err := firstByte(h.command(ctx, b.binary, arg))
			if err != nil {
				return err
			}
			ms = append(ms, millis(d))
		}
		b.add(row{
			ID: "P2", What: arg + ", to the first byte", Figure: median(ms), Unit: "ms", N: len(ms), Target: 20,
			Limit: b.limits.spawn(ctx), Of: "spawn", Foreign: quiet.foreign(),
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

func (b *bench) serveStart(ctx context.Context) error {
	h := b.home("start")
	quiet := b.settle(ctx)
	var ms []float64
	for i := range b.scaled(11) + 1 {
		s, err := b.serve(ctx, h)
		if err != nil {
			return err
		}
		s.stop()
		if i > 0 { // the first one makes the store
			ms = append(ms, millis(s.ready))
		}
	}
	b.add(row{ID: "P3", What: "serve, to the first 200", Figure: median(ms), Unit: "ms", N: len(ms), Target: 40, Limit: b.limits.spawn(ctx), Of: "spawn", Foreign: quiet.foreign()})
	return nil
}

// idle looks at a server that nobody uses, and at one whose project was opened.
func (b *bench) idle(ctx context.Context) error {
	h := b.home("idle")
	quiet := b.settle(ctx)
	s, err := b.serve(ctx, h)
	if err != nil {
		return err
	}
	defer s.stop()
	time.Sleep(time.Second)
	started := mib(usageOf(s.pid()).rss)
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
	open := mib(usageOf(s.pid()).rss)
	before := usageOf(s.pid())
	time.Sleep(time.Duration(b.scaled(8)) * time.Second)
	used := (usageOf(s.pid()).cpu - before.cpu).Seconds() / float64(b.scaled(8)) * 100
	if used < 0.05 { // less than a wake-up per second: the runtime's own
		used = 0
	}
	foreign := quiet.foreign()
	b.add(row{ID: "P4", What: "RSS of a server, started", Figure: started, Unit: "MiB", N: 1, Target: 40, Foreign: foreign})
	b.add(row{ID: "P4", What: "RSS of a server, project open", Figure: open, Unit: "MiB", N: 1, Target: 40, Foreign: foreign})
	b.add(row{ID: "P5", What: "idle CPU", Figure: used, Unit: "%", N: 1, Foreign: foreign})
	return nil
}

// runCold is one question from the command line, with no server: a process that owns the store for its time.
func (b *bench) runCold(ctx context.Context) error {
	h := b.home("run")
	quiet := b.settle(ctx)
	var wall, cpu, rss []float64
	for i := range b.scaled(11) + 1 {
		o := order{n: 20, size: 5, id: "run"}
		cmd := h.command(ctx, b.binary, "run", o.String())
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		start := time.Now()
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("cairn run: %w: %s", err, said.String())
		}
		d := time.Since(start)
		if n := len(b.model.take("run")); n != 1 {
			return fmt.Errorf("the model was asked %d times", n)
		}
		if i == 0 { // the first one makes the store
			continue
		}
		use, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		wall = append(wall, millis(d))
		cpu = append(cpu, millis(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()))
		rss = append(rss, float64(use.Maxrss)/1024)
	}
	foreign := quiet.foreign()
	spawn := b.limits.spawn(ctx)
	b.add(row{ID: "P6", What: "run, cold: wall", Figure: median(wall), Unit: "ms", N: len(wall), Target: 90, Limit: spawn, Of: "spawn", Foreign: foreign})
	b.add(row{ID: "P6", What: "run, cold: CPU", Figure: median(cpu), Unit: "ms", N: len(wall), Foreign: foreign})
	b.add(row{ID: "P6", What: "run, cold: peak RSS", Figure: median(rss), Unit: "MiB", N: len(wall), Target: 45, Foreign: foreign})
	if runtime.GOOS != "linux" {
		return fmt.Errorf("memory and CPU are read from /proc: on %s they are not true", runtime.GOOS)
	}
	return nil
}
