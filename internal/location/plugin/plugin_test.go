package plugin_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/plugin"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// TestMain runs the supervisor of programs that a test starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == process.SuperviseWord {
		os.Exit(process.RunSupervisor())
	}
	os.Exit(m.Run())
}

// forms are OpenCode's forms, as far as the tests need them: a prompt is its text, a message its id and text.
type forms struct{}

func encode(v any) jsontext.Value {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return raw
}

func (forms) Prompt(v *extension.Prompt) (jsontext.Value, []jsontext.Value, error) {
	part := encode(map[string]string{"type": "text", "text": v.Prompt.Text})
	return encode(map[string]any{"id": v.MessageID, "role": "user"}), []jsontext.Value{part}, nil
}

func (forms) ApplyPrompt(v *extension.Prompt, _ jsontext.Value, parts []jsontext.Value) error {
	var texts []string
	for _, raw := range parts {
		var p struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return err
		}
		texts = append(texts, p.Text)
	}
	v.Prompt.Text = strings.Join(texts, "\n")
	return nil
}

type form struct {
	Info struct {
		ID session.MessageID `json:"id"`
	} `json:"info"`
	Parts []map[string]string `json:"parts"`
}

func (forms) Messages(_ session.ID, messages []session.Message) (out []jsontext.Value, err error) {
	for _, m := range messages {
		u, ok := m.(*session.User)
		if !ok {
			continue
		}
		var f form
		f.Info.ID, f.Parts = u.ID, []map[string]string{{"type": "text", "text": u.Text}}
		out = append(out, encode(f))
	}
	return out, nil
}

func (forms) ParseMessages(values []jsontext.Value) (out []session.Message, err error) {
	for _, raw := range values {
		var f form
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, err
		}
		out = append(out, user(f.Info.ID, f.Parts[0]["text"], 0))
	}
	return out, nil
}

func (forms) Model(ref session.ModelRef) (model, provider jsontext.Value) {
	return encode(map[string]string{"id": ref.ID}), encode(map[string]string{"id": ref.ProviderID})
}

func (forms) Permission(v *extension.Permission) jsontext.Value {
	return encode(map[string]any{"type": v.Action, "pattern": v.Resources})
}

func user(id session.MessageID, text string, seq int64) *session.User {
	u := &session.User{Text: text}
	u.ID, u.Type, u.Seq = id, session.TypeUser, seq
	return u
}

// world is a location with plugins.
type world struct {
	testing.TB
	dir  string
	pool *plugin.Pool
	logs *lockedWriter
	api  roundTripper
	// credential returns what is stored for a provider.
	credential func(string) (jsontext.Value, error)

	mu       sync.Mutex // guards the rest
	requests []string   // to the API
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// lockedWriter is a buffer that a logger writes to concurrently.
type lockedWriter struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

// logged returns what was logged.
func (w *world) logged() string {
	w.logs.mu.Lock()
	defer w.logs.mu.Unlock()
	return w.logs.b.String()
}

func newWorld(t testing.TB) *world {
	t.Helper()
	if _, err := exec.LookPath("bun"); err != nil {
		t.Skip("bun is not on PATH: npm install -g bun")
	}
	return newWorldWith(t)
}

// newWorldWith is newWorld with any runtime.
func newWorldWith(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, dir: t.TempDir(), logs: &lockedWriter{}}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.api = func(r *http.Request) (*http.Response, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.requests = append(w.requests, r.Method+" "+r.URL.RequestURI())
		return &http.Response{
			StatusCode: http.StatusTeapot, Header: http.Header{"X-Test": {"yes"}},
			Body: io.NopCloser(strings.NewReader(`{"short":"and stout"}`)),
		}, nil
	}
	w.pool = plugin.NewPool(plugin.Options{
		Supervisor: []string{self, process.SuperviseWord}, Scripts: filepath.Join(w.dir, "scripts"),
		Logger:    slog.New(slog.NewTextHandler(w.logs, nil)),
		ServerURL: func() string { return "http://cairn.localhost" },
		API:       roundTripper(func(r *http.Request) (*http.Response, error) { return w.api(r) }),
	})
	t.Cleanup(w.pool.Close)
	return w
}

// open loads plugins of the texts, by name.
func (w *world) open(texts map[string]string) (*plugin.Set, plugin.State, jsontext.Value) {
	w.Helper()
	var specs []plugin.Spec
	for name, text := range texts {
		file := filepath.Join(w.dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			w.Fatal(err)
		}
		resolved, problems := (&plugin.Store{}).Resolve([]config.Plugin{{
			ID: "plugin/" + strings.TrimSuffix(name, filepath.Ext(name)), File: file, IsTool: strings.HasPrefix(name, "tool"),
		}})
		if len(problems) > 0 {
			w.Fatal(problems)
		}
		specs = append(specs, resolved...)
	}
	slices.SortFunc(specs, func(a, b plugin.Spec) int { return strings.Compare(a.ID, b.ID) })
	set := w.pool.Open(plugin.Location{
		Directory: w.dir, Worktree: w.dir, Project: jsontext.Value(`{"id":"global"}`),
		Config: jsontext.Value(`{"model":"a/b"}`), Plugins: specs, Forms: forms{},
		MayAllow: func(id string) bool { return id == "plugin/allows" }, Credential: w.credential,
	})
	state, config := set.Await(w.Context())
	return set, state, config
}

// one loads one plugin and returns it as an extension.
func (w *world) one(text string) extension.Extension {
	w.Helper()
	set, state, _ := w.open(map[string]string{"one.ts": text})
	if state.Error != "" || state.Plugins[0].Error != "" {
		w.Fatal(state)
	}
	return set.Extensions(state)[0]
}

// all is a plugin that changes something at each point.
const all = `
export const All = async (input, options) => ({
	config: async (config) => { config.agent = { helper: { prompt: "help" } } },
	"chat.message": async (i, o) => { o.parts[0].text += " from " + i.sessionID },
	"chat.params": async (i, o) => { o.temperature = 0.25; o.options.effort = i.model.id; delete o.topP },
	"chat.headers": async (i, o) => { o.headers["x-agent"] = i.agent },
	"tool.definition": async (i, o) => { o.description = i.toolID + "!"; o.parameters.title = "T" },
	"tool.execute.before": async (i, o) => { o.args.command = o.args.command.toUpperCase() },
	"tool.execute.after": async (i, o) => { o.output += " after " + i.args.command; o.title = "new"; o.metadata.seen = true },
	"permission.ask": async (i, o) => { if (i.pattern[0] === "rm *") o.status = "deny" },
	"shell.env": async (i, o) => { o.env.WHERE = i.cwd },
	"experimental.session.compacting": async (i, o) => { o.context.push("keep names"); o.prompt = "short" },
	"experimental.compaction.autocontinue": async (i, o) => { o.enabled = i.overflow },
	"experimental.chat.system.transform": async (i, o) => { o.system.push("be brief", "be kind") },
	"experimental.text.complete": async (i, o) => { o.text = o.text.trim() },
	"command.execute.before": async (i, o) => { o.parts.push({ type: "text", text: i.command + " " + i.arguments }) },
})`

// TestHooks: each hook gets what it gets in OpenCode, and what it changes comes back.
func TestHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set, state, config := w.open(map[string]string{"all.ts": all})
	if state.Error != "" {
		t.Fatal(state.Error)
	}
	if want := `{"model":"a/b","agent":{"helper":{"prompt":"help"}}}`; string(config) != want {
		t.Errorf("the configuration is %s, want %s", config, want)
	}
	run := extension.NewChain(extension.Config{Extensions: set.Extensions(state)}).Begin()
	ref := session.ModelRef{ID: "m", ProviderID: "p"}
	// Call each point with a value, and compare what comes back.
	topP, n := 0.5, 7
	got := map[string]any{}
	note := func(point string, v any, by []string, err error) {
		if err != nil || !slices.Equal(by, []string{"plugin/all"}) {
			t.Errorf("%s: changed by %v, error %v", point, by, err)
		}
		got[point] = v
	}
	ctx := t.Context()
	prompt := extension.Prompt{SessionID: "ses_1", Prompt: session.Prompt{Text: "hi"}}
	by, err := run.Prompt(ctx, &prompt)
	note("prompt", prompt.Prompt.Text, by, err)
	options := extension.Options{SessionID: "ses_1", Agent: "build", Model: ref, TopP: &topP, MaxTokens: &n}
	options.Options = map[string]jsontext.Value{"kept": jsontext.Value("1")}
	by, err = run.Options(ctx, &options)
	note("options", map[string]any{
		"temperature": *options.Temperature, "topP": options.TopP == nil, "max": *options.MaxTokens,
		"effort": string(options.Options["effort"]), "kept": string(options.Options["kept"]), "headers": options.Headers["x-agent"],
	}, by, err)
	definition := extension.Definition{Tool: "bash", Description: "d", Schema: jsontext.Value(`{"type":"object"}`)}
	by, err = run.Definition(ctx, &definition)
	note("definition", definition.Description+string(definition.Schema), by, err)
	call := extension.Call{Tool: "bash", Input: jsontext.Value(`{"command":"ls"}`)}
	by, err = run.Call(ctx, &call)
	note("call", string(call.Input), by, err)
	result := extension.Result{Tool: "bash", Input: call.Input, Title: "old", Content: session.TextContent("out")}
	by, err = run.Result(ctx, &result)
	note("result", result.Title+" "+result.Content[0].Text+" "+string(result.Metadata), by, err)
	permission := extension.Permission{Action: "bash", Resources: []string{"rm *"}, Effect: session.Allow}
	by, err = run.Permission(ctx, &permission)
	note("permission", permission.Effect, by, err)
	environment := extension.Environment{Directory: "/d"}
	by, err = run.Environment(ctx, &environment)
	note("environment", environment.Variables, by, err)
	compaction := extension.Compaction{SessionID: "ses_1"}
	by, err = run.Compaction(ctx, &compaction)
	note("compaction", compaction.Context, by, err)
	proceed := extension.Proceed{Enabled: true}
	by, err = run.Proceed(ctx, &proceed)
	note("proceed", proceed.Enabled, by, err)
	text := extension.Text{Text: " x "}
	by, err = run.Text(ctx, &text)
	note("text", text.Text, by, err)
	command := extension.Command{Name: "fix", Arguments: "it", Prompt: session.Prompt{Text: "Fix"}}
	by, err = run.Command(ctx, &command)
	note("command", command.Prompt.Text, by, err)
	got["system"] = run.System(ctx, extension.System{SessionID: "ses_1"})[0].Text
	want := map[string]any{
		"prompt": "hi from ses_1",
		"options": map[string]any{
			"temperature": 0.25, "topP": true, "max": 7, "effort": `"m"`, "kept": "1", "headers": "build",
		},
		"definition": `bash!{"type":"object","title":"T"}`, "call": `{"command":"LS"}`,
		"result": `new out after LS {"seen":true}`, "permission": session.Deny,
		"environment": map[string]string{"WHERE": "/d"}, "compaction": []string{"keep names", "short"}, "proceed": false,
		"text": "x", "command": "Fix\nfix it", "system": "be brief\n\nbe kind",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestMessages: messages that a plugin leaves alone stay as they are, those that it does not see keep their places, and
// the session's own are not touched.
func TestMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hidden := func(id session.MessageID) session.Message {
		m := &session.Synthetic{}
		m.ID, m.Type = id, session.TypeSynthetic
		return m
	}
	for act, want := range map[string]string{
		"":                                    "msg_1=one msg_h msg_2=two msg_3=three msg_i",
		"o.messages[1].parts[0].text = 'cut'": "msg_1=one msg_h msg_2=cut msg_3=three msg_i",
		"o.messages.splice(0, 2)":             "msg_h msg_3=three msg_i",
		"o.messages.reverse()":                "msg_1=one msg_2=two msg_3=three",
		"o.messages.length = 0":               "msg_h msg_i",
		"o.messages.push({...o.messages[0], info: {id: 'msg_9'}})": "msg_1=one msg_h msg_2=two msg_3=three msg_9=one msg_i",
	} {
		e := w.one(`export default async () => ({"experimental.chat.messages.transform": async (i, o) => { ` + act + ` }})`)
		before := []session.Message{
			user("msg_1", "one", 1), hidden("msg_h"), user("msg_2", "two", 3), user("msg_3", "three", 4), hidden("msg_i"),
		}
		v := extension.Messages{Messages: slices.Clone(before)}
		if err := e.Messages(t.Context(), &v); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range v.Messages {
			text := string(m.Meta().ID)
			if u, ok := m.(*session.User); ok {
				text += "=" + u.Text
			}
			got = append(got, text)
		}
		if act == "o.messages.reverse()" { // which hidden message goes where is not defined
			got = slices.DeleteFunc(got, func(s string) bool { return s == "msg_h" || s == "msg_i" })
			slices.Sort(got)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", act, got, want)
		}
		if u := before[2].(*session.User); u.Text != "two" {
			t.Errorf("%s changed the session's own message", act)
		}
	}
}

// TestTools: tools are offered with their schemas, run with defaults, ask, report and end with their call.
func TestTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set, state, _ := w.open(map[string]string{"tool_greet.ts": `
export default { description: "Greet", args: { type: "object", properties: { name: { type: "string" } } },
	async execute(args, context) {
		context.metadata({ title: "half", metadata: { step: 1 } })
		await context.ask({ permission: "wave", patterns: [args.name], always: ["*"], metadata: {} })
		return { title: "T", output: "Hello " + args.name + " in " + (context.directory === process.cwd()), metadata: { n: 1 } }
	} }
export const fails = { description: "Fail", args: {}, async execute() { throw new Error("no luck") } }
export const waits = { description: "Wait", args: {}, execute: (args, { abort }) => new Promise((_, no) => {
	abort.addEventListener("abort", () => { console.log("was aborted"); no(abort.reason) }) }) }
`})
	var got []string
	var greet, fails, waits tool.Tool
	tools, _ := set.Tools(state, nil)
	for _, one := range tools {
		d := one.Definition()
		got = append(got, d.Name+" "+d.Description+" "+string(d.Schema))
		switch d.Name {
		case "tool_greet":
			greet = one
		case "tool_greet_fails":
			fails = one
		case "tool_greet_waits":
			waits = one
		}
	}
	if len(got) != 3 || !strings.HasPrefix(got[0], `tool_greet Greet {"type":"object","properties":{"name"`) {
		t.Fatal(got, state)
	}
	// A call asks twice: for the tool, and what the tool itself asks for.
	var asked, shown []string
	call := tool.Call{
		Input: jsontext.Value(`{"name":"Ada"}`),
		Ask: func(_ context.Context, r tool.Request) error {
			asked = append(asked, r.Action+" "+strings.Join(r.Resources, ","))
			return nil
		},
		Progress: func(o tool.Output) { shown = append(shown, o.Title+string(o.Structured)) },
	}
	out, err := greet.Run(t.Context(), call)
	if err != nil || out.Title != "T" || out.Content[0].Text != "Hello Ada in true" || string(out.Structured) != `{"n":1}` {
		t.Errorf("%+v %v", out, err)
	}
	if d := cmp.Diff([]string{"tool_greet *", "wave Ada"}, asked); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{`half{"step":1}`}, shown); d != "" {
		t.Error(d)
	}
	// A refusal keeps it from running, and a refusal of its own question is its failure.
	denial := &tool.Denial{Action: "tool_greet"}
	call.Ask = func(context.Context, tool.Request) error { return denial }
	if _, err := greet.Run(t.Context(), call); !errors.Is(err, error(denial)) {
		t.Errorf("refused: %v", err)
	}
	call.Ask = func(context.Context, tool.Request) error { return nil }
	if _, err := fails.Run(t.Context(), call); err == nil || err.Error() != "no luck" {
		t.Errorf("failed: %v", err)
	}
	// The end of a call reaches the tool.
	ctx, cancel := context.WithCancel(t.Context())
	call.Ask = func(context.Context, tool.Request) error { cancel(); return nil }
	if _, err := waits.Run(ctx, call); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// TestReplacedTool: a tool in the place of a built-in one asks with its action about each text of its input.
func TestReplacedTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set, state, _ := w.open(map[string]string{"tool.ts": `
export default { description: "Edit", args: { type: "object", properties: {} }, async execute() { return "ran" } }`})
	tools, _ := set.Tools(state, func(string) string { return "edit" })
	long := strings.Repeat("x", 5000)
	for input, want := range map[string]string{
		`{}`:                                     "edit *",
		`{"path": "secret"}`:                     "edit * path secret",
		`{"files": ["b", ["a"]]}`:                "edit * a b files",
		`{"p": "./secret/a"}`:                    "edit * ./secret/a secret/a p",
		`{"p": "x/../secret/a"}`:                 "edit * p x/../secret/a secret/a",
		`{"p": "` + w.dir + `/secret/a"}`:        "edit * " + w.dir + "/secret/a secret/a p",
		`{"p": "file://` + w.dir + `/secret/a"}`: "edit * file://" + w.dir + "/secret/a secret/a p",
		`{"edits": [{"path": "secret", "n": 1}, {"path": "secret"}], "e": ""}`: "edit * e edits n path secret",
		`{"text": "` + long + `"}`:                                              "edit * text, hidden " + long,
		`{"many": [` + strings.Repeat(`"a",`, 300) + `"b"]}`:                    "The input has more than 200 texts",
		`{"content": "` + long + `", "deep": [{"a": [{"b": [{"c": "hid"}]}]}]}`: "edit * a b c content deep hid, hidden " + long,
	} {
		got := ""
		_, err := tools[0].Run(t.Context(), tool.Call{Input: jsontext.Value(input), Ask: func(_ context.Context, r tool.Request) error {
			got = r.Action + " " + strings.Join(r.Resources, " ")
			if len(r.Hidden) > 0 {
				got += ", hidden " + strings.Join(r.Hidden, " ")
			}
			return nil
		}})
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || err == nil && got != want {
			t.Errorf("%.60s: %.200s, want %.200s", input, got, want)
		}
	}
}

// TestClient: requests of a plugin to the server's address are answered through the pipe, and no others.
func TestClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// The client is that of OpenCode's SDK: a small one stands in for it here.
	sdk := filepath.Join(w.dir, "node_modules", "@opencode-ai", "sdk")
	if err := os.MkdirAll(sdk, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"package.json": `{"name":"@opencode-ai/sdk","type":"module","exports":{".":{"import":"./index.js"}}}`,
		"index.js": `export const createOpencodeClient = (config) => ({ get: async (path, init) => {
	const r = await config.fetch(path.includes("://") ? path : config.baseUrl + path, init);
	return r.status + " " + r.headers.get("x-test") + " " + (await r.text());
} })`,
	} {
		if err := os.WriteFile(filepath.Join(sdk, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := w.one(`export default async ({ client, serverUrl }) => ({ "experimental.text.complete": async (i, o) => {
	if (o.text === "direct") return (o.text = "" + (await fetch(new URL("/direct", serverUrl))).status);
	o.text = await client.get(o.text, { headers: { authorization: "Bearer stolen" } }).catch((e) => e.message) } })`)
	w.api = func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Authorization") != "" {
			t.Error("a plugin chose who it is")
		}
		return &http.Response{
			StatusCode: http.StatusTeapot, Header: http.Header{"X-Test": {"yes"}},
			Body: io.NopCloser(strings.NewReader(strings.Repeat("x", 100_000))),
		}, nil
	}
	for path, want := range map[string]string{
		"/session":             "418 yes " + strings.Repeat("x", 100_000),
		"direct":               "418", // the fetch of the runtime, as the SDK uses it for events
		"http://elsewhere.org": `"http://elsewhere.org/" is not an address of this server`,
	} {
		v := extension.Text{Text: path}
		if err := e.Text(t.Context(), &v); err != nil || v.Text != want {
			t.Errorf("%s: %.100s %v", path, v.Text, err)
		}
	}
}

// TestEvents: events of the server reach the plugins that want them.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pr, pw := io.Pipe()
	w.api = func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != "/event" {
			t.Errorf("%s", r.URL)
		}
		return &http.Response{StatusCode: http.StatusOK, Body: pr}, nil
	}
	e := w.one(`let seen = [], told;
const first = new Promise((yes) => (told = yes));
export default async () => ({ event: async ({ event }) => { seen.push(event.type); if (seen.length === 2) told() },
	"experimental.text.complete": async (i, o) => { await first; o.text = seen.join() } })`)
	go func() {
		_, _ = io.WriteString(pw, "data: {\"type\":\"server.connected\"}\n\ndata: {\"type\":\"session.next.prompted\"}\n\n")
		_, _ = io.WriteString(pw, "data: {\"type\":\"a\"}\n\nda")
		_, _ = io.WriteString(pw, "ta: {\"type\":\"b\"}\n\n")
	}()
	v := extension.Text{}
	if err := e.Text(t.Context(), &v); err != nil || v.Text != "a,b" {
		t.Error(v.Text, err)
	}
	_ = pw.Close()
}

// TestStuckEvents: a handler that does not settle costs other plugins a bounded time, and events that wait are bounded.
func TestStuckEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pr, pw := io.Pipe()
	w.api = func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: pr}, nil
	}
	set, state, _ := w.open(map[string]string{
		"a_stuck.ts": `export default async () => ({ event: () => new Promise(() => {}) })`,
		"b_sees.ts": `let seen = [], told;
const both = new Promise((yes) => (told = yes));
export default async () => ({ event: async ({ event }) => { seen.push(event.type); if (seen.length === 2) told() },
	"experimental.text.complete": async (i, o) => { await both; o.text = seen.join() } })`,
	})
	go func() {
		for range 1500 {
			_, _ = io.WriteString(pw, "data: {\"type\":\"a\"}\n\n")
		}
		_ = pw.Close()
	}()
	v := extension.Text{}
	if err := set.Extensions(state)[1].Text(t.Context(), &v); err != nil || !strings.HasPrefix(v.Text, "a,a") { // or more
		t.Error(v.Text, err)
	}
}

// TestCanceledRequests: requests that a plugin cancels at once end at the server, and leave the API usable.
func TestCanceledRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.api = func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/hang" {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody}, nil
	}
	e := w.one(`export default async ({ serverUrl }) => ({ "experimental.text.complete": async (i, o) => {
	for (let n = 0; n < 300; n++) {
		const abort = new AbortController();
		if (n % 3 === 0) abort.abort();
		const request = fetch(new URL("/hang", serverUrl), { signal: abort.signal });
		abort.abort();
		await request.catch(() => {});
	}
	o.text = "" + (await fetch(new URL("/works", serverUrl))).status;
} })`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	v := extension.Text{}
	if err := e.Text(ctx, &v); err != nil || v.Text != "418" {
		t.Error(v.Text, err)
	}
}

// TestLastEvents: plugins have seen the events of a stream that ended before they end.
func TestLastEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.api = func(*http.Request) (*http.Response, error) {
		text := "data: {\"type\":\"a\"}\n\ndata: {\"type\":\"b\"}\n\n"
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text))}, nil
	}
	w.one(`import { appendFileSync } from "node:fs";
export default async ({ directory }) => ({ event: async ({ event }) => {
	await new Promise((next) => setTimeout(next, 20));
	appendFileSync(directory + "/seen", event.type);
} })`)
	w.pool.Close()
	seen, err := os.ReadFile(filepath.Join(w.dir, "seen"))
	if err != nil || string(seen) != "ab" {
		t.Error(string(seen), err)
	}
}

// TestEventsGoOn: a program that ended is started again although nothing but events needs it.
func TestEventsGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	streams := 0
	w.api = func(r *http.Request) (*http.Response, error) {
		streams++
		text := "data: {\"type\":\"a\"}\n\n"
		if streams > 1 {
			text = "data: {\"type\":\"b\"}\n\n"
		}
		ended, end := io.Pipe() // the stream goes on
		context.AfterFunc(r.Context(), func() { _ = end.Close() })
		return &http.Response{StatusCode: http.StatusOK, Body: struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader(text), ended), ended}}, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	w.one(`import { connect } from "node:net";
export default async () => ({ event: async ({ event }) => {
	if (event.type === "a") process.exit(1);
	connect(` + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port) + `, "127.0.0.1");
} })`)
	conn, err := listener.Accept() // the second program has seen the second event
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}
