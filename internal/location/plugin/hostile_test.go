package plugin_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/tool"
)

// callOnce shows a call to the plugin, with a budget of the point.
func callOnce(t *testing.T, e extension.Extension, budget time.Duration) error {
	t.Helper()
	run := extension.NewChain(extension.Config{Extensions: []extension.Extension{e}, Budget: budget}).Begin()
	_, err := run.Call(t.Context(), &extension.Call{Tool: "bash", Input: jsontext.Value(`{"command":"ls"}`)})
	return err
}

// TestFaults: what a plugin does wrong in a hook fails the call that it guards, says why, and leaves the plugins usable.
func TestFaults(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`throw new Error("not this")`:                                  "not this",
		`throw "a text"`:                                               "a text",
		`o.args = undefined`:                                           "",
		`o.args = 7n`:                                                  "BigInt",
		`o.args.self = o.args`:                                         "c", // cyclic, in the words of the runtime
		`o = null`:                                                     "",
		`process.stdout.write("{}\n".repeat(500))`:                     "",
		`await Bun.write(Bun.stdout, "noise\n")`:                       "",
		`setTimeout(() => { throw 1 }, 0)`:                             "",
		`Promise.reject(new Error("unhandled"))`:                       "",
		`o.args.command = "x".repeat(20 << 20)`:                        "16777216",
		`console.log("x".repeat(1 << 20))`:                             "",
		`process.exit(3)`:                                              "has ended",
		`process.kill(process.pid, "SIGKILL")`:                         "has ended",
		`process.stdin.destroy(); process.exitCode=1; process.abort()`: "has ended",
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			e := w.one(`let calls = 0;
export default async () => ({ "tool.execute.before": async (i, o) => { if (calls++ === 0) { ` + body + ` } } })`)
			err := callOnce(t, e, time.Minute)
			switch {
			case want == "" && err != nil:
				t.Error(err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%v, want %q", err, want)
			}
			// Those that ended the program are started again, and are bad again; all others work.
			if err := callOnce(t, e, time.Minute); err != nil && !strings.Contains(want, "ended") {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// TestEndedProgram: a program that ends again and again is not started for ever.
func TestEndedProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.one(`export default async () => ({ "tool.execute.before": async () => { process.exit(1) } })`)
	var last error
	for range 6 {
		if last = callOnce(t, e, time.Minute); last == nil {
			t.Fatal("a guard that cannot be asked allowed a call")
		}
	}
	if !strings.Contains(last.Error(), "does not start the plugins again before") || strings.Contains(last.Error(), "\n") {
		t.Error(last)
	}
}

// TestBusyProgram: a plugin that never returns fails its point in time; the program, which it keeps busy, is ended, and
// the next call gets another one.
func TestBusyProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.one(`import { existsSync, writeFileSync } from "node:fs";
export default async ({ directory }) => ({ "tool.execute.before": async (i, o) => {
	if (existsSync(directory + "/busy")) return;
	writeFileSync(directory + "/busy", "");
	for (;;);
} })`)
	if err := callOnce(t, e, 300*time.Millisecond); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("a call that hangs: %v", err)
	}
	if err := callOnce(t, e, time.Minute); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("the call that waited for the busy program: %v", err)
	}
	if err := callOnce(t, e, time.Minute); err != nil {
		t.Errorf("the call of the next program: %v", err)
	}
}

// TestBadPlugins: a plugin that cannot be loaded is named, and the others work.
func TestBadPlugins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set, state, _ := w.open(map[string]string{
		"a_syntax.ts":  `export default async (`,
		"b_throws.ts":  `export default async () => { throw new Error("not today") }`,
		"c_import.ts":  `import "no-such-package"; export default async () => ({})`,
		"d_nothing.ts": `export const version = 1`,
		"e_config.ts":  `export default async () => ({ config: () => { throw new Error("no config") } })`,
		"f_works.ts":   `export default async () => ({ "shell.env": async (i, o) => { o.env.A = "1" } })`,
	})
	want := map[string]string{
		"a_syntax": "", "b_throws": "not today", "c_import": "no-such-package", "d_nothing": "exports no plugin", "e_config": "no config",
		"f_works": "-",
	}
	for _, o := range state.Plugins {
		text := want[strings.TrimPrefix(o.ID, "plugin/")]
		if text == "-" && o.Error != "" || text != "-" && (o.Error == "" || !strings.Contains(o.Error, text)) {
			t.Errorf("%s: %q, want %q", o.ID, o.Error, text)
		}
	}
	run := extension.NewChain(extension.Config{Extensions: set.Extensions(state)}).Begin()
	v := extension.Environment{}
	if _, err := run.Environment(t.Context(), &v); err != nil || v.Variables["A"] != "1" {
		t.Error(v.Variables, err)
	}
}

// TestManyRequests: a plugin that calls the API in a loop is bounded, and does not keep its hook from answering.
func TestManyRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set, state, _ := w.open(map[string]string{"tool.ts": `
export default { description: "Ask", args: {}, async execute(args, context) {
	const all = Array.from({ length: 200 }, () => context.ask({ permission: "p", patterns: [], always: [], metadata: {} })
		.then(() => "", (e) => (context.metadata({ title: "refused" }), e.message)));
	return (await Promise.all(all)).filter((text) => text.includes("too many")).length > 0 ? "bounded" : "unbounded";
} }`})
	// The questions wait until one was refused.
	release := make(chan struct{})
	refuse := sync.OnceFunc(func() { close(release) })
	isFirst := true
	call := tool.Call{
		Input:    jsontext.Value(`{}`),
		Progress: func(tool.Output) { refuse() },
		Ask: func(ctx context.Context, _ tool.Request) error {
			if isFirst { // for the tool itself
				isFirst = false
				return nil
			}
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil
		},
	}
	tools, _ := set.Tools(state, nil)
	out, err := tools[0].Run(t.Context(), call)
	if err != nil || out.Content[0].Text != "bounded" {
		t.Errorf("%+v %v", out, err)
	}
}

// TestUnreadMessages: a program that does not read keeps nobody waiting: calls end with their context, the program is
// ended, and so is the location.
func TestUnreadMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set, state, _ := w.open(map[string]string{"tool_busy.ts": `
export default { description: "Busy", args: { type: "object", properties: {} }, async execute() { for (;;); } }`})
	tools, _ := set.Tools(state, nil)
	allow := func(context.Context, tool.Request) error { return nil }
	for _, size := range []int{1, 4 << 20} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		input := jsontext.Value(`{"text":"` + strings.Repeat("x", size) + `"}`)
		if _, err := tools[0].Run(ctx, tool.Call{Input: input, Ask: allow}); err == nil {
			t.Error("a busy tool has answered")
		}
		cancel()
	}
	w.pool.Close()
}

// TestChangedFile: a program that is started again does not run what has changed since the plugin was resolved, also if
// size and time of the file are the same.
func TestChangedFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := `export default async () => ({ "tool.execute.before": async (i, o) => { process.exit(1) } })`
	e := w.one(text)
	file := filepath.Join(w.dir, "one.ts")
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := callOnce(t, e, time.Minute); err == nil {
		t.Fatal("the program has not ended")
	}
	if err := os.WriteFile(file, []byte(strings.Replace(text, "process.exit(1)", "process.exitCod", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := callOnce(t, e, time.Minute); err == nil || !strings.Contains(err.Error(), "has changed while cairn ran") {
		t.Error(err)
	}
}

// TestAskOfAnEndedCall: what a tool asks ends with its call.
func TestAskOfAnEndedCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set, state, _ := w.open(map[string]string{"tool_ask.ts": `
export default { description: "Ask", args: {}, async execute(args, context) {
	await context.ask({ permission: "p", patterns: [], always: [], metadata: {} });
	return "asked";
} }`})
	tools, _ := set.Tools(state, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	isFirst := true
	_, err := tools[0].Run(ctx, tool.Call{Input: jsontext.Value(`{}`), Ask: func(ctx context.Context, _ tool.Request) error {
		if isFirst {
			isFirst = false
			return nil
		}
		cancel()
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	}})
	if err == nil || <-ended == nil {
		t.Error(err)
	}
}

// TestStartsThatFail: what keeps the program from starting is no end of it, and is named each time.
func TestStartsThatFail(t *testing.T) {
	w := newWorld(t)
	path := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	set, state, _ := w.open(map[string]string{"one.ts": `export default async () => ({})`})
	for range 6 {
		if !strings.Contains(state.Error, "neither is on PATH") {
			t.Error(state.Error)
		}
		state, _ = set.Await(t.Context())
	}
	t.Setenv("PATH", path)
	if state, _ = set.Await(t.Context()); state.Error != "" {
		t.Error("with a runtime:", state.Error)
	}
}

// TestLargeMessage: a message that is too large ends the program, and the call says why.
func TestLargeMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	set, state, _ := w.open(map[string]string{"tool.ts": `import { connect } from "node:net";
export default { description: "Flood", args: {}, execute: () => new Promise((done) => {
	connect(` + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port) + `, "127.0.0.1", () => done("x".repeat(65 << 20)));
}) }`})
	tools, _ := set.Tools(state, nil)
	call := tool.Call{Input: jsontext.Value(`{}`), Ask: func(context.Context, tool.Request) error { return nil }}
	if _, err := tools[0].Run(t.Context(), call); err == nil || !strings.Contains(err.Error(), "a message has more than 67108864 bytes") {
		t.Error(err)
	}
	// Its connection ends with it.
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the program goes on")
	}
}

// TestPrintedSecrets: what plugins print is logged without secrets.
func TestPrintedSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one(`await Bun.write(Bun.stdout, "the key is sk-ant-api03-` + strings.Repeat("aB3", 30) + `\n");
export default async () => ({})`)
	if logs := w.logged(); !strings.Contains(logs, "the key is") || strings.Contains(logs, "aB3aB3aB3") {
		t.Error(logs)
	}
}
