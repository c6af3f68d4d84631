package embed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cairn-dev/cairn/sdk"
	"github.com/cairn-dev/cairn/sdk/cairntest"
	"github.com/cairn-dev/cairn/sdk/embed"
)

func newSession(t *testing.T, c *sdk.Client) *sdk.Session {
	t.Helper()
	s, err := c.CreateSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// findCall returns the first call of the tool in a session.
func findCall(t *testing.T, s *sdk.Session, tool string) *sdk.ToolCall {
	t.Helper()
	for m, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range m.Parts {
			if p.Call != nil && p.Call.Tool == tool {
				return p.Call
			}
		}
	}
	t.Fatalf("the session has no call of %s", tool)
	return nil
}

type lookupInput struct {
	Name string `json:"name" jsonschema:"whom to look up"`
}

// The model gets the program's tools with their schema, and the program the arguments; an error is for the model.
func TestTool(t *testing.T) {
	lookup, err := embed.NewTool("lookup", "Look up a person.", func(_ context.Context, in lookupInput) (string, error) {
		if in.Name == "nobody" {
			return "", errors.New("nobody is unknown")
		}
		return "found " + in.Name, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	model := cairntest.NewModel(
		cairntest.Turn(cairntest.Call("lookup", map[string]any{"name": "ada"})),
		cairntest.Turn(cairntest.Call("lookup", map[string]any{"nom": "ada"})),
		cairntest.Turn(cairntest.Call("lookup", map[string]any{"name": "nobody"})),
		cairntest.Turn(cairntest.Text("Done.")),
	)
	store := cairntest.Open(t, &embed.Options{Models: []embed.Model{model.Model()}, Tools: []embed.Tool{lookup}})
	s := newSession(t, store.Client())
	if _, err := s.Do(t.Context(), sdk.Prompt{Text: "look"}); err != nil {
		t.Fatal(err)
	}
	// The definition that the model got.
	var schema string
	for _, d := range model.Requests()[0].Tools {
		if d.Name == "lookup" {
			schema = d.Description + string(d.Schema)
		}
	}
	for _, text := range []string{"Look up a person.", `"required":["name"]`, "whom to look up"} {
		if !strings.Contains(schema, text) {
			t.Errorf("the definition lacks %q: %s", text, schema)
		}
	}
	// The results that the model got.
	var got []string
	for _, m := range model.Requests()[3].Messages {
		for _, p := range m.Parts {
			if p.Result != nil {
				got = append(got, fmt.Sprint(p.Result.IsError, " ", p.Result.Text))
			}
		}
	}
	ok := len(got) == 3 && got[0] == "false found ada" && strings.HasPrefix(got[1], "true ")
	if !ok || got[2] != "true nobody is unknown" {
		t.Errorf("the results are %q", got)
	}
}

// A tool that asks does not run before the reply.
func TestToolAsks(t *testing.T) {
	ran := 0
	deploy := embed.Tool{
		Name: "deploy", Description: "Deploy.", Ask: true,
		Run: func(context.Context, embed.ToolCall) (embed.ToolResult, error) {
			ran++
			return embed.ToolResult{Text: "deployed", Title: "to production"}, nil
		},
	}
	model := cairntest.NewModel(
		cairntest.Turn(cairntest.Call("deploy", nil)), cairntest.Turn(cairntest.Text("Denied.")),
		cairntest.Turn(cairntest.Call("deploy", nil)), cairntest.Turn(cairntest.Text("Done.")),
	)
	store := cairntest.Open(t, &embed.Options{Models: []embed.Model{model.Model()}, Tools: []embed.Tool{deploy}})
	s := newSession(t, store.Client())
	if r, err := s.Do(t.Context(), sdk.Prompt{Text: "deploy"}); err != nil || ran != 0 || len(r.Denied) != 1 {
		t.Errorf("denied: ran %d times, %+v, %v", ran, r, err)
	}
	if r, err := s.Do(t.Context(), sdk.Prompt{Text: "deploy", Asks: sdk.AskAllow}); err != nil || ran != 1 {
		t.Errorf("allowed: ran %d times, %+v, %v", ran, r, err)
	}
}

// A source is in the first request, and a change of it in a message of a later one.
func TestContextSource(t *testing.T) {
	var mu sync.Mutex
	text := "The moon is full."
	source := embed.ContextSource{Key: "moon", Read: func(context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		return text, nil
	}}
	model := cairntest.NewModel(
		cairntest.Turn(cairntest.Text("One.")), cairntest.Turn(cairntest.Text("Two.")),
		cairntest.Turn(cairntest.Text("Three.")),
	)
	o := &embed.Options{Models: []embed.Model{model.Model()}, Context: []embed.ContextSource{source}}
	s := newSession(t, cairntest.Open(t, o).Client())
	for _, next := range []string{"The moon is new.", "", ""} {
		if _, err := s.Do(t.Context(), sdk.Prompt{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		text = next
		mu.Unlock()
	}
	requests := model.Requests()
	if !strings.Contains(strings.Join(requests[0].System, "\n"), "The moon is full.") {
		t.Errorf("the first system context is %q", requests[0].System)
	}
	if said := fmt.Sprintf("%+v", requests[1].Messages); !strings.Contains(said, "The moon is new.") {
		t.Errorf("the second request has %s", said)
	}
	if said := fmt.Sprintf("%+v", requests[2].Messages); !strings.Contains(said, "The part moon of the system context") {
		t.Errorf("the third request has %s", said)
	}
}

// Hooks change prompts, calls and results, and decide on permissions; an error of one fails what it looks at.
func TestHooks(t *testing.T) {
	model := cairntest.NewModel(
		cairntest.Turn(cairntest.Call("bash", map[string]any{"command": "echo one"})),
		cairntest.Turn(cairntest.Call("read", map[string]any{"filePath": "/etc/hostname"})),
		cairntest.Turn(cairntest.Text("Done.")),
	)
	hooks := embed.Hooks{
		Prompt: func(_ context.Context, h *embed.PromptHook) error {
			if h.Text == "refuse" {
				return errors.New("not today")
			}
			h.Text += " please"
			return nil
		},
		BeforeCall: func(_ context.Context, h *embed.CallHook) error {
			if h.Tool == "read" {
				return errors.New("no reading")
			}
			h.Input = []byte(strings.Replace(string(h.Input), "one", "two", 1))
			return nil
		},
		AfterCall:  func(_ context.Context, h *embed.ResultHook) error { h.Text = strings.ToUpper(h.Text); return nil },
		Permission: func(_ context.Context, h *embed.PermissionHook) error { h.Effect = sdk.EffectAllow; return nil },
	}
	store := cairntest.Open(t, &embed.Options{Models: []embed.Model{model.Model()}, Hooks: hooks})
	s := newSession(t, store.Client())
	if _, err := s.Do(t.Context(), sdk.Prompt{Text: "refuse"}); err == nil || !strings.Contains(err.Error(), "not today") {
		t.Errorf("a prompt that a hook refuses: %v", err)
	}
	if _, err := s.Do(t.Context(), sdk.Prompt{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if call := findCall(t, s, "bash"); call.Output != "TWO\n" {
		t.Errorf("the call is %+v", call)
	}
	if call := findCall(t, s, "read"); call.Error == nil || !strings.Contains(call.Error.Message, "no reading") {
		t.Errorf("the refused call is %+v", call)
	}
	if text := model.Requests()[0].Messages[0].Parts[0].Text; text != "go please" {
		t.Errorf("the prompt is %q", text)
	}
}

// A hook that changes the elements of a field it may not change has no effect.
func TestHookGetsCopies(t *testing.T) {
	model := cairntest.NewModel(
		cairntest.Turn(cairntest.Call("bash", map[string]any{"command": "rm -r x"})), cairntest.Turn(cairntest.Text("Done.")),
	)
	hooks := embed.Hooks{Permission: func(_ context.Context, h *embed.PermissionHook) error {
		h.Resources[0] = "harmless"
		return nil
	}}
	c := cairntest.Open(t, &embed.Options{Models: []embed.Model{model.Model()}, Hooks: hooks}).Client()
	asked := ""
	for e, err := range newSession(t, c).Run(t.Context(), sdk.Prompt{Text: "go", Asks: sdk.AskWait}) {
		if d, ok := e.Data.(sdk.Asked); ok {
			asked = d.Ask.Resources[0]
			if err := c.Reply(t.Context(), d.Ask, sdk.ReplyReject, "no"); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil && asked == "" { // the refusal ends the work
			t.Fatal(err)
		}
	}
	if asked == "" || asked == "harmless" {
		t.Errorf("people are asked for %q", asked)
	}
}

// An error of a model ends the work; one that it wants to be repeated does not.
func TestModelErrors(t *testing.T) {
	model := cairntest.NewModel(
		cairntest.Fail(embed.Retry(errors.New("busy"), time.Millisecond)), cairntest.Turn(cairntest.Text("Now.")),
		cairntest.Fail(errors.New("broken")),
	)
	store := cairntest.Open(t, &embed.Options{Models: []embed.Model{model.Model()}})
	s := newSession(t, store.Client())
	if r, err := s.Do(t.Context(), sdk.Prompt{Text: "go"}); err != nil || r.Text != "Now." {
		t.Errorf("%+v, %v", r, err)
	}
	_, err := s.Do(t.Context(), sdk.Prompt{Text: "go"})
	if failed, ok := errors.AsType[*sdk.RunError](err); !ok || !strings.Contains(failed.Message, "broken") {
		t.Errorf("%v", err)
	}
}

// Options that cannot be used are named, and nothing is opened.
func TestInvalidOptions(t *testing.T) {
	generate := cairntest.NewModel().Model().Generate
	run := func(context.Context, embed.ToolCall) (embed.ToolResult, error) { return embed.ToolResult{}, nil }
	read := func(context.Context) (string, error) { return "", nil }
	nonsense, text := []byte(`{"permission":{"bash":"nonsense"}}`), []byte(`{"type":"string"}`)
	model := embed.Model{ID: "a", Generate: generate}
	home := writeSettings(t, `{"permission":{"edit":"nonsense"}}`)
	for name, o := range map[string]embed.Options{
		"Config, a list":                        {Config: []byte("[]")},
		"Config, null":                          {Config: []byte("null")},
		"Config, a value":                       {Home: t.TempDir(), Config: nonsense},
		"Config, beside a file that is invalid": {Home: home, Config: nonsense},
		"Tools[0], text":                        {Tools: []embed.Tool{{Name: "a", Run: run, Schema: text}}},
		"Home":                                  {Home: "home"},
		"Directory":                             {Directory: "."},
		"Config":                                {Config: []byte("{")},
		"Models[0]":                             {Models: []embed.Model{{ID: "a b", Generate: generate}}},
		"Models[1]":                             {Models: []embed.Model{model, model}},
		"Tools[0]":                              {Tools: []embed.Tool{{Name: "1", Run: run}}},
		"Tools[1]":                              {Tools: []embed.Tool{{Name: "a", Run: run}, {Name: "b"}}},
		"Context[0]":                            {Context: []embed.ContextSource{{Key: "A", Read: read}}},
	} {
		t.Run(name, func(t *testing.T) {
			field, _, _ := strings.Cut(name, ",")
			store, err := embed.Open(t.Context(), &o)
			e, ok := errors.AsType[*sdk.Error](err)
			if store != nil || !ok || e.Code != sdk.CodeInvalid || e.Field != field || strings.Contains(e.Message, "CONTENT") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A setting of the program that would do nothing is an error that names it; one of a file of the user is not.
func TestConfigMistakes(t *testing.T) {
	home := writeSettings(t, `{"permision":{"bash":"deny"},"small_model":3}`)
	for config, want := range map[string]string{
		`{"permision":{"bash":"deny"}}`:        "Config:1:2: permision is not a configuration key; did you mean permission?",
		`{"model":3}`:                          "Config:1:10: model is left out: ",
		`{"model":"gpt"}`:                      "Config:1:10: model names no provider: ",
		`{"agent":{"build":{"steps":"many"}}}`: "Config:1:28: agent.build.steps is left out: ",
		`{"compaction":{"atuo":false}}`:        "Config:1:16: compaction.atuo is not a configuration key",
		`{"summaries":true}`:                   "",
	} {
		store, err := embed.Open(t.Context(), &embed.Options{Home: home, Config: []byte(config)})
		if store != nil {
			err = errors.Join(err, store.Close())
		}
		e, ok := errors.AsType[*sdk.Error](err)
		isRefused := ok && e.Code == sdk.CodeInvalid && e.Field == "Config" && strings.Contains(e.Message, want)
		if want == "" && err != nil || want != "" && !isRefused {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// writeSettings returns a home whose settings are the text.
func writeSettings(t *testing.T, text string) string {
	t.Helper()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "config"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "config", "cairn.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// Two programs share a home: the second one is a client of the first, unless it adds something of its own.
func TestSharedHome(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	model := cairntest.NewModel(cairntest.Turn(cairntest.Text("Hello.")))
	first := cairntest.Open(t, &embed.Options{Home: home, Models: []embed.Model{model.Model()}})
	second := cairntest.Open(t, &embed.Options{Home: home})
	if first.Owner() != "" || !strings.HasPrefix(second.Owner(), "process ") {
		t.Errorf("the owners are %q and %q", first.Owner(), second.Owner())
	}
	s := newSession(t, second.Client())
	if r, err := s.Do(t.Context(), sdk.Prompt{Text: "hello"}); err != nil || r.Text != "Hello." {
		t.Errorf("%+v, %v", r, err)
	}
	for name, o := range map[string]*embed.Options{
		"model": {Home: home, Models: []embed.Model{model.Model()}}, "config": {Home: home, Config: []byte("{}")},
	} {
		_, err := embed.Open(t.Context(), o)
		e, ok := errors.AsType[*sdk.Error](err)
		if !ok || e.Code != sdk.CodeConflict || !strings.Contains(e.Message, "use another home") {
			t.Errorf("a third one with a %s: %v", name, err)
		}
	}
}

// A store that is closed has no goroutine left, and the next one has what was recorded.
func TestClose(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	model := cairntest.NewModel(
		cairntest.Turn(cairntest.Call("bash", map[string]any{"command": "echo hi"})),
		cairntest.Turn(cairntest.Text("Hello.")),
	)
	o := &embed.Options{
		Home: home, Models: []embed.Model{model.Model()}, Env: func(string) string { return "" }, Directory: t.TempDir(),
	}
	store, err := embed.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, store.Client())
	if _, err := s.Do(t.Context(), sdk.Prompt{Text: "hello", Asks: sdk.AskAllow}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	if left := awaitGoroutines(); len(left) > 0 {
		t.Errorf("goroutines that outlive the store:\n%s", strings.Join(left, "\n\n"))
	}
	again := cairntest.Open(t, o)
	found, err := again.Client().OpenSession(t.Context(), s.ID())
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for m, err := range found.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, m.Text)
	}
	if diff := cmp.Diff([]string{"hello", "", "Hello."}, texts); diff != "" {
		t.Error(diff)
	}
}

// awaitGoroutines returns the stacks of goroutines of cairn's that do not end. One that has said that it ends, to the
// one that waits for it, may still have to return.
func awaitGoroutines() (left []string) {
	for range 10_000 {
		if left = listGoroutines(); len(left) == 0 {
			break
		}
		runtime.Gosched()
	}
	return left
}

// listGoroutines returns the stacks of goroutines that run code of cairn's, but for that of the test.
func listGoroutines() (out []string) {
	buffer := make([]byte, 1<<20)
	stacks := strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n")
	for _, stack := range stacks[1:] {
		if strings.Contains(stack, "cairn-dev/cairn") && !strings.Contains(stack, "testing.(*T).Run") {
			out = append(out, stack)
		}
	}
	return out
}

// A home of a newer version is refused in words, and stays as it is.
func TestNewerHome(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	store, err := embed.Open(t.Context(), &embed.Options{Home: home, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	setSchemaVersion(t, filepath.Join(home, "data", "cairn.db"), 9999)
	_, err = embed.Open(t.Context(), &embed.Options{Home: home, Env: func(string) string { return "" }})
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok || e.Code != sdk.CodeUnavailable || !strings.Contains(e.Message, "newer") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(home, "data", "cairn.db")); err != nil {
		t.Error(err)
	}
}

// setSchemaVersion makes a database one of another version of cairn.
func setSchemaVersion(t *testing.T, path string, version int) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := sqlitex.ExecuteTransient(c, fmt.Sprintf("PRAGMA user_version = %d", version), nil); err != nil {
		t.Fatal(err)
	}
}

// Arguments that are no struct or that a schema cannot describe, and a tool without a function, are refused.
func TestNewToolRefuses(t *testing.T) {
	type endless struct {
		Next *endless `json:"next"`
	}
	type function struct{ F func() }
	for name, err := range map[string]error{
		"an int":                      newToolError(func(context.Context, int) (string, error) { return "", nil }),
		"a function in it":            newToolError(func(context.Context, function) (string, error) { return "", nil }),
		"a type that contains itself": newToolError(func(context.Context, endless) (string, error) { return "", nil }),
	} {
		if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Code != sdk.CodeInvalid || e.Field != "In" {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := newToolError[lookupInput](nil)
	if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Field != "run" || e.Message != "the tool a has no function" {
		t.Errorf("no function: %v", err)
	}
	if err := embed.Retry(nil, 0); err != nil {
		t.Error(err)
	}
}

// Each undo reports the files that it changed itself, not those of the undos before it.
func TestUndoSteps(t *testing.T) {
	write := func(text string) cairntest.Answer {
		return cairntest.Turn(cairntest.Call("write", map[string]any{"filePath": "f.txt", "content": text}))
	}
	done := cairntest.Turn(cairntest.Text("Done."))
	model := cairntest.NewModel(done, write("a"), done, write("b"), done, done)
	store := cairntest.Open(t, &embed.Options{
		Directory: t.TempDir(), Models: []embed.Model{model.Model()}, Config: []byte(`{"permission":{"edit":"allow"}}`),
	})
	s := newSession(t, store.Client())
	for range 4 {
		if _, err := s.Do(t.Context(), sdk.Prompt{Text: "go"}); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range [][]string{nil, {"f.txt"}, {"f.txt"}, nil} {
		undone, err := s.Undo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, undone.Changed); diff != "" {
			t.Errorf("undo %d: %s", i, diff)
		}
	}
}

// newToolError returns the error of NewTool for a function.
func newToolError[In any](run func(context.Context, In) (string, error)) error {
	_, err := embed.NewTool("a", "A.", run)
	return err
}

// A store that is a client of another owner takes over when that one ends.
func TestOwnerEnds(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	first, err := embed.Open(t.Context(), &embed.Options{Home: home, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	second := cairntest.Open(t, &embed.Options{Home: home})
	s := newSession(t, second.Client())
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Rename(t.Context(), "later"); err != nil {
		t.Error(err)
	}
	if info, err := s.Info(t.Context()); err != nil || info.Title != "later" {
		t.Errorf("%+v, %v", info, err)
	}
}

// Work that a program has cut off is resumed when the store is opened again, also by a program.
func TestResume(t *testing.T) {
	home, started := filepath.Join(t.TempDir(), "home"), make(chan struct{}, 1)
	o := &embed.Options{
		Home: home, Directory: t.TempDir(), Env: func(string) string { return "" },
		Models: []embed.Model{newFuncModel(func(ctx context.Context, yield func(embed.Chunk, error) bool) {
			started <- struct{}{}
			<-ctx.Done()
		})},
	}
	store, err := embed.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, store.Client())
	if _, err := s.Prompt(t.Context(), sdk.Prompt{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	<-started
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	// The next one has a model that answers.
	o.Models = []embed.Model{newFuncModel(func(_ context.Context, yield func(embed.Chunk, error) bool) {
		yield(embed.Chunk{Text: "Done."}, nil)
	})}
	again, err := cairntest.Open(t, o).Client().OpenSession(t.Context(), s.ID())
	if err != nil {
		t.Fatal(err)
	}
	// Nothing is sent to the session: the open store works on it.
	for e, err := range again.Events(t.Context(), -1) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Data.(sdk.TextEnded); ok && d.Text == "Done." {
			return
		}
	}
}

// Work that a process left while a request was to be repeated goes on with the same prompt, and the program can answer what it
// asks.
func TestResumedWorkAsks(t *testing.T) {
	o := &embed.Options{
		Home: filepath.Join(t.TempDir(), "home"), Directory: t.TempDir(), Env: func(string) string { return "" },
		Models: []embed.Model{newFuncModel(func(_ context.Context, yield func(embed.Chunk, error) bool) {
			if yield(embed.Chunk{Text: "I begin"}, nil) {
				yield(embed.Chunk{}, embed.Retry(errors.New("overloaded"), 20*time.Second))
			}
		})},
	}
	store, err := embed.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s, p := newSession(t, store.Client()), sdk.Prompt{Text: "go", ID: "msg_1"}
	for e, err := range s.Run(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Data.(sdk.Retrying); ok {
			break
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	// The model of the next process calls a command first.
	requests := 0
	o.Models = []embed.Model{newFuncModel(func(_ context.Context, yield func(embed.Chunk, error) bool) {
		if requests++; requests == 1 {
			yield(embed.Chunk{Call: &embed.Call{ID: "c1", Tool: "bash", Input: []byte(`{"command":"echo hi"}`)}}, nil)
			return
		}
		yield(embed.Chunk{Text: "Done."}, nil)
	})}
	c := cairntest.Open(t, o).Client()
	again, err := c.OpenSession(t.Context(), s.ID())
	if err != nil {
		t.Fatal(err)
	}
	asks, text := 0, ""
	for e, err := range again.Run(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		switch d := e.Data.(type) {
		case sdk.Asked:
			asks++
			if err := c.Reply(t.Context(), d.Ask, sdk.ReplyOnce, ""); err != nil {
				t.Fatal(err)
			}
		case sdk.TextEnded:
			text = d.Text
		}
	}
	if asks != 1 || text != "Done." {
		t.Errorf("%d asks, the text %q", asks, text)
	}
}

// A model that reads images gets those of prompts and of results.
func TestImages(t *testing.T) {
	var dot bytes.Buffer
	if err := png.Encode(&dot, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	file := sdk.File{Name: "a.png", MediaType: "image/png", Data: dot.Bytes()}
	tool := embed.Tool{Name: "draw", Run: func(context.Context, embed.ToolCall) (embed.ToolResult, error) {
		return embed.ToolResult{Text: "drawn", Files: []sdk.File{file}}, nil
	}}
	script := cairntest.NewModel(cairntest.Turn(cairntest.Call("draw", nil)), cairntest.Turn(cairntest.Text("Dots.")))
	model := script.Model()
	model.Images = true
	o := &embed.Options{Models: []embed.Model{model}, Tools: []embed.Tool{tool}}
	s := newSession(t, cairntest.Open(t, o).Client())
	if _, err := s.Do(t.Context(), sdk.Prompt{Text: "what is it?", Files: []sdk.File{file}}); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, message := range script.Requests()[1].Messages {
		for _, part := range message.Parts {
			if part.File != nil && part.File.MediaType == "image/png" && len(part.File.Data) > 0 {
				found["message"]++
			}
			if part.Result != nil {
				found["result"] += len(part.Result.Files)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"message": 1, "result": 1}, found); diff != "" {
		t.Errorf("%s\nthe request has %+v", diff, script.Requests()[1].Messages)
	}
}

// Arguments that a program decodes itself may be of any form, and bytes are a text in base64.
func TestNewToolBytes(t *testing.T) {
	type input struct {
		Any  json.RawMessage `json:"any"`
		Data []byte          `json:"data"`
	}
	tool, err := embed.NewTool("a", "A.", func(_ context.Context, in input) (string, error) {
		return string(in.Any) + string(in.Data), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	model := cairntest.NewModel(
		cairntest.Turn(cairntest.Call("a", map[string]any{"any": []string{"x"}, "data": []byte("y")})),
		cairntest.Turn(cairntest.Text("Done.")),
	)
	o := &embed.Options{Models: []embed.Model{model.Model()}, Tools: []embed.Tool{tool}}
	s := newSession(t, cairntest.Open(t, o).Client())
	if _, err := s.Do(t.Context(), sdk.Prompt{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if call := findCall(t, s, "a"); call.Error != nil || call.Output != `["x"]y` {
		t.Errorf("the call is %+v", call)
	}
}
