//go:build unix

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// measure is a group of rows that share a set-up.
type measure struct {
	name string
	rows string // ids of its rows
	run  func(*bench, context.Context) error
}

// measures are in the order of the table. They do not depend on each other.
var measures = []measure{
	{"binary", "P1", (*bench).measureBinarySize},
	{"cli", "P2", (*bench).measureCommandLine},
	{"start", "P3", (*bench).measureServeStart},
	{"idle", "P4 P5", (*bench).measureIdle},
	{"run", "P6", (*bench).measureColdRun},
	{"prompt", "P7", (*bench).measurePromptToRequest},
	{"chain", "P8 P15 P16", (*bench).measureToolChain},
	{"bash", "P28", (*bench).measureBash},
	{"stream", "P10 P11 P12", (*bench).measureStream},
	{"paced", "P13", (*bench).measurePacedStream},
	{"append", "P17", (*bench).measureAppends},
	{"history", "P18 P19 P23", (*bench).measureHistory},
	{"compacted", "P24", (*bench).measureCompacted},
	{"sessions", "P20", (*bench).measureSessionLists},
	{"manysessions", "P20", (*bench).measureManySessions},
	{"export", "P29", (*bench).measureExport},
	{"mirror", "P30", (*bench).measureMirror},
	{"foreign", "P31", (*bench).measureForeign},
	{"search", "P32", (*bench).measureSearch},
	{"searchappend", "P32", (*bench).measureIndexedAppends},
	{"share", "P33", (*bench).measureShare},
	{"stats", "P34", (*bench).measureStats},
	{"acp", "P35", (*bench).measureACP},
	{"crowd", "P21", (*bench).measureConcurrentSessions},
	{"turns", "P22", (*bench).measureTurnRate},
	{"interface", "P25", (*bench).measureInterface},
	{"tasks", "P27", (*bench).measureTasks},
	{"v1start", "P3 P4", (*bench).measureV1Start},
	{"v1messages", "P18", (*bench).measureV1Messages},
	{"v1sessions", "P20", (*bench).measureV1Sessions},
	{"v1readers", "P12 P13", (*bench).measureV1Readers},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	only := flag.String("only", "", "measure these only, separated by commas: "+measureNames())
	asJSON := flag.Bool("json", false, "print one JSON object instead of the table")
	limit := flag.Duration("time", 3*time.Minute, "stop after this time with what there is")
	quick := flag.Bool("quick", false, "a tenth of the samples: to try the driver, not to quote")
	binary := flag.String("binary", "", "measure this cairn instead of building one")
	opencode := flag.String(
		"opencode",
		"",
		"measure OpenCode too, for the rows of its contract: where \"npm i opencode-ai@1.18.33 "+
			"@opencode-ai/plugin@1.18.33\" was run",
	)
	crush := flag.String("crush", "", "measure the first frame of this Crush too")
	profile := flag.String("profile", "", "write CPU profiles of the driver here, one per measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	chosen, err := selectMeasures(*only)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, *binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	b.quick, b.limits.dir = *quick, b.dir
	if *opencode != "" {
		if b.opencode, err = filepath.Abs(*opencode); err != nil {
			return err
		}
	}
	b.crush = *crush
	b.say = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	failed := b.measureAll(ctx, chosen, *profile)
	if *asJSON {
		err = printJSON(os.Stdout, b.rows)
	} else {
		err = printTable(os.Stdout, b.rows)
	}
	return errors.Join(err, failed)
}

// measureAll runs the chosen measures and continues after a failed one.
func (b *bench) measureAll(ctx context.Context, chosen []measure, profile string) error {
	var failed error
	for _, m := range chosen {
		if ctx.Err() != nil {
			return errors.Join(failed, fmt.Errorf("the time is up before %q", m.name))
		}
		start := time.Now()
		err := withProfile(profile, m.name, func() error { return m.run(b, ctx) })
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", m.name, err))
		}
		b.say("%-9s %5.1fs", m.name, time.Since(start).Seconds())
	}
	return failed
}

func measureNames() string {
	var all []string
	for _, m := range measures {
		all = append(all, m.name)
	}
	return strings.Join(all, " ")
}

func selectMeasures(only string) ([]measure, error) {
	if only == "" {
		return measures, nil
	}
	var out []measure
	for name := range strings.SplitSeq(only, ",") {
		found := false
		for _, m := range measures {
			if m.name == name {
				out, found = append(out, m), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no measure is called %q; there are %s", name, measureNames())
		}
	}
	return out, nil
}
