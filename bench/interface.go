//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// measureInterface measures the full-screen interface: its first frame, and what it takes on a long session.
func (b *bench) measureInterface(ctx context.Context) error {
	h := b.newHome("interface")
	if err := b.measureFirstFrame(ctx, h, "first frame, cold", 120); err != nil {
		return err
	}
	s, err := b.serve(ctx, h)
	if err != nil {
		return err
	}
	defer func() { s.stop() }()
	if err := b.measureFirstFrame(ctx, h, "first frame, beside an owner", 60); err != nil {
		return err
	}
	id, err := s.begin(ctx)
	if err != nil {
		return err
	}
	if err := b.measureOtherFrames(ctx); err != nil {
		return err
	}
	s.stop()
	const messages = 10_000
	if err := writeHistory(ctx, h.dataDir(), []session.ID{id}, []int{messages}); err != nil {
		return err
	}
	if s, err = b.serve(ctx, h); err != nil {
		return err
	}
	if _, err := b.runTurn(ctx, s, id, order{n: 1, size: 5}); err != nil {
		return err
	}
	return b.measureOpenInterface(ctx, h, s, id)
}

// measureFirstFrame adds the row of the time until cairn's status line is on the screen, which is the last of a frame.
func (b *bench) measureFirstFrame(ctx context.Context, h *home, what string, target float64) error {
	quiet := b.settle(ctx)
	ms, err := b.timeFrames(ctx, "ready", func() *exec.Cmd { return h.newCommand(ctx, b.binary, "tui") })
	b.add(row{
		ID: "P25", What: "interface: " + what, Figure: medianOf(ms), Unit: "ms", N: len(ms), Target: target,
		Limit: b.limits.spawnTime(ctx), Of: "spawn", Foreign: quiet.foreignSince(),
	})
	return err
}

// measureOtherFrames adds the same for the other interfaces that are installed, cold: until the words of the empty
// prompt are on the screen.
func (b *bench) measureOtherFrames(ctx context.Context) error {
	if b.opencode != "" {
		env, err := b.openCodeHome(filepath.Join(b.dir, "interface-opencode"))
		if err != nil {
			return err
		}
		path := filepath.Join(b.opencode, "node_modules/.bin/opencode")
		if err := b.measureOtherFrame(ctx, "OpenCode", path, "Ask anything", env); err != nil {
			return err
		}
	}
	if b.crush == "" {
		return nil
	}
	env, err := b.crushHome(filepath.Join(b.dir, "interface-crush"))
	if err != nil {
		return err
	}
	return b.measureOtherFrame(ctx, "Crush", b.crush, "Ready", env)
}

func (b *bench) measureOtherFrame(ctx context.Context, name, path, text string, env []string) error {
	quiet := b.settle(ctx)
	ms, err := b.timeFrames(ctx, text, func() *exec.Cmd {
		c := exec.CommandContext(ctx, path)
		c.Env, c.Dir = slices.Clone(env), b.work
		return c
	})
	b.add(row{
		ID: "P25", What: "first frame of " + name + ", cold", Figure: medianOf(ms), Unit: "ms", N: len(ms),
		Limit: b.limits.spawnTime(ctx), Of: "spawn", Foreign: quiet.foreignSince(),
	})
	return err
}

// ownerGrace is longer than the process that works for cairn's interface outlives it, so that the next start is cold.
const ownerGrace = 2 * time.Second

// timeFrames returns the times until an interface shows the text. The first start, which creates the store, is not
// among them.
func (b *bench) timeFrames(ctx context.Context, text string, newCommand func() *exec.Cmd) (ms []float64, err error) {
	for i := range b.scaleCount(11) + 1 {
		start := time.Now()
		sc, err := openScreen(newCommand())
		if err != nil {
			return nil, err
		}
		err = sc.awaitText(ctx, text)
		d := time.Since(start)
		sc.kill()
		if err != nil {
			return nil, err
		}
		time.Sleep(ownerGrace)
		if i > 0 {
			ms = append(ms, toMillis(d))
		}
	}
	return ms, nil
}

// crushHome creates a home for Crush with the scripted model, in which it fetches and asks nothing at its start.
func (b *bench) crushHome(dir string) (env []string, err error) {
	config := filepath.Join(dir, ".config/crush")
	if err := os.MkdirAll(config, 0o700); err != nil {
		return nil, err
	}
	text := fmt.Sprintf(
		`{"options":{"disable_provider_auto_update":true,"disable_metrics":true,"data_directory":%q,
		"disable_notifications":true},"providers":{"mock":{"type":"openai-compat","base_url":%q,"api_key":"x",
		"models":[{"id":"m","name":"m","context_window":1000000,"default_max_tokens":8192}]}},
		"models":{"large":{"model":"m","provider":"mock"},"small":{"model":"m","provider":"mock"}}}`,
		filepath.Join(dir, "data"), b.model.url,
	)
	err = os.WriteFile(filepath.Join(config, "crush.json"), []byte(text), 0o600)
	if err == nil { // asks to write the project's instructions otherwise
		err = os.WriteFile(filepath.Join(b.work, "CRUSH.md"), nil, 0o600)
	}
	return []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "XDG_CONFIG_HOME=" + dir + "/.config",
		"XDG_DATA_HOME=" + dir + "/.local/share", "XDG_CACHE_HOME=" + dir + "/.cache", "NO_COLOR=1",
	}, err
}

// measureOpenInterface opens a long session and measures it idle and while an answer streams.
func (b *bench) measureOpenInterface(ctx context.Context, h *home, s *server, id session.ID) error {
	quiet := b.settle(ctx)
	start := time.Now()
	sc, err := openScreen(h.newCommand(ctx, b.binary, "tui", "--session", string(id)))
	if err != nil {
		return err
	}
	if err := sc.awaitText(ctx, "@bench"); err != nil {
		return errors.Join(err, sc.close())
	}
	opened := toMillis(time.Since(start))
	pid := sc.cmd.Process.Pid
	time.Sleep(2 * time.Second)
	idle := time.Duration(b.scaleCount(8)) * time.Second
	before := usageOf(pid)
	time.Sleep(idle)
	used := (usageOf(pid).cpu - before.cpu).Seconds() / idle.Seconds() * 100
	if used < 0.05 { // as for a server
		used = 0
	}
	before = usageOf(pid)
	start = time.Now()
	_, err = b.runTurn(ctx, s, id, order{n: b.scaleCount(2000), size: 5, every: 5 * time.Millisecond})
	streaming := (usageOf(pid).cpu - before.cpu).Seconds() / time.Since(start).Seconds() * 100
	rss, foreign := toMiB(usageOf(pid).rss), quiet.foreignSince()
	if ctx.Err() != nil { // it was stopped, and a process that is gone uses nothing
		return errors.Join(ctx.Err(), sc.close())
	}
	const of = ", 10000 messages"
	b.add(row{ID: "P25", What: "interface: open" + of, Figure: opened, Unit: "ms", N: 1, Target: 100, Foreign: foreign})
	b.add(row{ID: "P25", What: "interface: idle CPU" + of, Figure: used, Unit: "%", N: 1, Foreign: foreign})
	b.add(row{
		ID: "P25", What: "interface: CPU at 200 deltas a second" + of, Figure: streaming, Unit: "%", N: 1, Target: 5,
		Foreign: foreign,
	})
	b.add(row{ID: "P25", What: "interface: RSS" + of, Figure: rss, Unit: "MiB", N: 1, Target: 60, Foreign: foreign})
	time.Sleep(time.Second) // until it knows that the work is done: else leaving asks
	return errors.Join(err, sc.close())
}
