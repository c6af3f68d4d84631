//go:build unix

package hook

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// testHooks are hooks of a location with what they showed to people.
type testHooks struct {
	*Set
	directory string
	shown     []string
}

// newHooks returns the hooks, which run in an empty directory.
func newHooks(t *testing.T, hooks ...config.Hook) *testHooks {
	t.Helper()
	h := &testHooks{directory: t.TempDir()}
	for i := range hooks {
		hooks[i].Active, hooks[i].ID = true, "hook/"+hooks[i].Event+"/1"
	}
	h.Set = New(Options{
		Hooks: hooks, Directory: h.directory, Supervisor: process.SupervisorCommand(),
		Show: func(_ session.ID, _, text string) { h.shown = append(h.shown, text) },
		ServerTool: func(name string) (string, string, bool) {
			return "files", "get-all", name == "files_get_all"
		},
	})
	return h
}

// run returns a run of the chain of the hooks.
func (h *testHooks) run() *extension.Run {
	return extension.NewChain(extension.Config{Extensions: h.Extensions()}).Begin()
}

// write writes a file below the directory of the hooks.
func (h *testHooks) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.directory, name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// read reads a file that a hook wrote.
func (h *testHooks) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.directory, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCall: what a hook decides about a call, by its exit code and its output.
func TestCall(t *testing.T) {
	const input = `{"filePath":"a.go","oldString":"x","newString":"y"}`
	for _, c := range []struct {
		name, command string
		mayAllow      bool
		want          extension.Call
		fails         string // the failure, which denies the call
		shown         string
	}{
		{name: "nothing to say", command: `true`},
		{name: "text is ignored", command: `echo fine`},
		{name: "exit 2", command: `echo no >&2; exit 2`, want: extension.Call{Effect: session.Deny, Reason: "no"}},
		{name: "exit 3", command: `echo odd >&2; exit 3`, shown: "exit code 3: odd"},
		{name: "a missing program", command: `./missing.sh`, shown: "exit code 127"},
		{name: "a program that is not executable", command: `./plain.sh`, shown: "exit code 126"},
		{
			name:    "deny",
			command: `echo '{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "not now"}}'`,
			want:    extension.Call{Effect: session.Deny, Reason: "not now"},
		},
		{
			name: "an older form", command: `echo '{"decision": "block", "reason": "not now"}'`,
			want: extension.Call{Effect: session.Deny, Reason: "not now"},
		},
		{
			name: "ask", command: `echo '{"hookSpecificOutput": {"permissionDecision": "ask"}}'`,
			want: extension.Call{Effect: session.Ask},
		},
		{name: "allow needs the right", command: `echo '{"hookSpecificOutput": {"permissionDecision": "allow"}}'`},
		{
			name: "allow", command: `echo '{"hookSpecificOutput": {"permissionDecision": "allow"}}'`, mayAllow: true,
			want: extension.Call{Effect: session.Allow},
		},
		{
			name: "another input, context and a message",
			command: `echo '{"systemMessage": "look", "hookSpecificOutput": {"additionalContext": "mind the gap",
				"updatedInput": {"file_path": "/b.go", "old_string": "x", "new_string": "z", "replace_all": true}}}'`,
			want: extension.Call{
				Input:   jsontext.Value(`{"filePath":"/b.go","newString":"z","oldString":"x","replaceAll":true}`),
				Context: "mind the gap",
			},
			shown: "look",
		},
		{
			name: "the work ends", command: `echo '{"continue": false, "stopReason": "the disk is full"}'`,
			want: extension.Call{Effect: session.Deny, Reason: "the disk is full", Halt: "the disk is full"},
		},
		{name: "broken JSON", command: `echo '{"continue": fal'`, fails: "is not the JSON of a hook"},
		{name: "a wrong type", command: `echo '{"continue": "no"}'`, fails: "is not the JSON of a hook"},
		{
			name: "an unknown decision", command: `echo '{"hookSpecificOutput": {"permissionDecision": "denied"}}'`,
			fails: `unknown permissionDecision "denied"`,
		},
		{
			name: "an input that is no object", command: `echo '{"hookSpecificOutput": {"updatedInput": "x"}}'`,
			fails: "updatedInput that is no object",
		},
		{name: "1 GB of output", command: `head -c 1000000000 /dev/zero`, fails: "more than 1 MiB"},
		{name: "output without end", command: `yes`, fails: "more than 1 MiB"},
		{name: "1 GB of errors", command: `head -c 100000000 /dev/zero >&2; exit 3`, shown: "exit code 3"},
		{name: "it waits for more input", command: `cat > /dev/null; read more`, shown: "exit code 1"},
		{name: "it closes its input", command: `exec <&-; echo no >&2; exit 2`, want: extension.Call{Effect: session.Deny, Reason: "no"}},
		{
			name: "it leaves a child behind that holds its output", command: `sleep 1000 & echo no >&2; exit 2`,
			want: extension.Call{Effect: session.Deny, Reason: "no"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHooks(t, config.Hook{Event: "PreToolUse", Matcher: "Edit", Command: c.command, MayAllow: c.mayAllow})
			h.write(t, "plain.sh", "exit 2", 0o600)
			v := extension.Call{Tool: "edit", Input: jsontext.Value(input)}
			_, err := h.run().Call(t.Context(), &v)
			switch {
			case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
				t.Fatalf("the error is %v", err)
			case c.fails != "":
				return
			case err != nil:
				t.Fatal(err)
			}
			if len(c.want.Input) == 0 {
				c.want.Input = jsontext.Value(input)
			}
			c.want.Tool = "edit"
			if diff := cmp.Diff(c.want, v); diff != "" {
				t.Error(diff)
			}
			if got := strings.Join(h.shown, "\n"); !strings.HasPrefix(got, c.shown) || c.shown == "" && got != "" {
				t.Errorf("it showed %q", got)
			}
		})
	}
}

// TestHang: a hook that does not end in its time fails the call, and later ones of the turn without another run.
func TestHang(t *testing.T) {
	h := newHooks(t, config.Hook{Event: "PreToolUse", Command: `echo run >> runs; sleep 1000`, Timeout: 0.3})
	run := h.run()
	for range 2 {
		_, err := run.Call(t.Context(), &extension.Call{Tool: "bash", Input: jsontext.Value(`{}`)})
		if err == nil || !strings.Contains(err.Error(), "did not answer in time") {
			t.Errorf("the error is %v", err)
		}
	}
	if got := h.read(t, "runs"); got != "run\n" {
		t.Errorf("it ran so: %q", got)
	}
}

// TestLeftBehind: what a hook leaves running is ended, also if it left the session of the hook.
func TestLeftBehind(t *testing.T) {
	h := newHooks(t, config.Hook{
		Event: "PostToolUse", Command: `setsid sh -c 'echo $$ > child; exec sleep 1000' >/dev/null 2>&1 & while ! [ -s child ]; do :; done`,
	})
	if _, err := h.run().Result(t.Context(), &extension.Result{Tool: "bash", Input: jsontext.Value(`{}`)}); err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(h.read(t, "child"))
	if state, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(state), ") Z ") {
		t.Errorf("the process %s still runs: %s", pid, state)
	}
}

// TestHeldOutput: a process that the end of a hook does not reach, and that holds its output, does not hold the hook.
func TestHeldOutput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "child")
	script := `echo said; env -i PATH="$PATH" setsid sh -c 'echo $$ > "$0"; exec sleep 1000' "$0" & while ! [ -s "$0" ]; do :; done`
	ended := make(chan Run, 1)
	go func() {
		run, err := RunProgram(t.Context(), process.Spec{ // without a supervisor
			Argv: []string{"/bin/sh", "-c", script, file}, Dir: t.TempDir(),
		}, nil)
		if err != nil {
			t.Error(err)
		}
		ended <- run
	}()
	select {
	case run := <-ended:
		if run.Output != "said\n" {
			t.Errorf("%+v", run)
		}
	case <-time.After(30 * time.Second):
		t.Error("it waits for the process")
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// TestInput: what hooks get, under the names of Claude Code.
func TestInput(t *testing.T) {
	keep := func(event string) config.Hook { return config.Hook{Event: event, Command: "cat > input; env > env"} }
	agent := extension.Stop{SessionID: "ses_2", ParentID: "ses_1", Agent: "explore", Text: "done", Again: true}
	for _, c := range []struct {
		event string
		do    func(*extension.Run) error
		want  string
	}{
		{"PreToolUse", func(r *extension.Run) error {
			_, err := r.Call(t.Context(), &extension.Call{
				SessionID: "ses_1", CallID: "c1", Tool: "grep", Agent: "plan", Input: jsontext.Value(`{"pattern":"x","include":"*.go"}`),
			})
			return err
		}, `"permission_mode":"plan","tool_name":"Grep","tool_input":{"glob":"*.go","pattern":"x"},"tool_use_id":"c1"`},
		{"PreToolUse", func(r *extension.Run) error {
			_, err := r.Call(t.Context(), &extension.Call{SessionID: "ses_1", Tool: "files_get_all", Input: jsontext.Value(`{"a":1}`)})
			return err
		}, `"permission_mode":"default","tool_name":"mcp__files__get-all","tool_input":{"a":1}`},
		{"PostToolUse", func(r *extension.Run) error {
			_, err := r.Result(t.Context(), &extension.Result{
				SessionID: "ses_1", CallID: "c1", Tool: "write", Input: jsontext.Value(`{"filePath":"/a.go","content":"x"}`),
				Content: session.TextContent("Wrote it."),
			})
			return err
		}, `"permission_mode":"default","tool_name":"Write","tool_input":{"content":"x","file_path":"/a.go"},` +
			`"tool_response":{"content":"Wrote it.","filePath":"/a.go","success":true},"tool_use_id":"c1"`},
		{"PermissionRequest", func(r *extension.Run) error {
			_, err := r.Permission(t.Context(), &extension.Permission{
				SessionID: "ses_1", Tool: "bash", Input: jsontext.Value(`{"command":"ls"}`), Action: "bash", Effect: session.Ask,
			})
			return err
		}, `"permission_mode":"default","tool_name":"Bash","tool_input":{"command":"ls"}`},
		{"UserPromptSubmit", func(r *extension.Run) error {
			_, err := r.Prompt(t.Context(), &extension.Prompt{SessionID: "ses_1", Prompt: session.Prompt{Text: "hi"}})
			return err
		}, `"permission_mode":"default","prompt":"hi"`},
		{"Stop", func(r *extension.Run) error {
			_, err := r.Stop(t.Context(), &extension.Stop{SessionID: "ses_1", Text: "done"})
			return err
		}, `"permission_mode":"default","stop_hook_active":false,"last_assistant_message":"done"`},
		{"SubagentStop", func(r *extension.Run) error {
			_, err := r.Stop(t.Context(), &agent)
			return err
		}, `"permission_mode":"default","stop_hook_active":true,"last_assistant_message":"done","agent_id":"ses_2","agent_type":"explore"`},
		{"PreCompact", func(r *extension.Run) error {
			_, err := r.Compaction(t.Context(), &extension.Compaction{SessionID: "ses_1", Manual: true, Instructions: "brief"})
			return err
		}, `"trigger":"manual","custom_instructions":"brief"`},
		{"Notification", notify(extension.Event{SessionID: "ses_1", Type: extension.EventAsked, Cause: "permission", Text: "may I?"}), `"message":"may I?","notification_type":"permission_prompt"`},
		{"SessionStart", notify(extension.Event{SessionID: "ses_1", Type: extension.EventSessionStarted, Cause: "startup"}), `"source":"startup"`},
		{"SessionEnd", notify(extension.Event{SessionID: "ses_1", Type: extension.EventSessionEnded, Cause: "removed"}), `"reason":"removed"`},
		{"PostCompact", notify(extension.Event{SessionID: "ses_1", Type: extension.EventCompacted, Cause: "auto", Text: "so"}), `"trigger":"auto","compact_summary":"so"`},
		{"SubagentStart", notify(extension.Event{SessionID: "ses_2", Type: extension.EventSubagentStarted, Agent: "explore"}), `"agent_id":"ses_2","agent_type":"explore"`},
	} {
		t.Run(c.event, func(t *testing.T) {
			t.Setenv("CAIRN_TOKEN", "secret")
			h := newHooks(t, keep(c.event))
			if err := c.do(h.run()); err != nil {
				t.Fatal(err)
			}
			id := "ses_1"
			if strings.Contains(c.event, "Subagent") {
				id = "ses_2"
			}
			want := `{"session_id":"` + id + `","transcript_path":"","cwd":"` + h.directory + `","hook_event_name":"` + c.event + `",` +
				c.want + `}`
			if diff := cmp.Diff(want, h.read(t, "input")); diff != "" {
				t.Error(diff)
			}
			env := h.read(t, "env")
			if !strings.Contains(env, "CLAUDE_PROJECT_DIR="+h.directory+"\n") ||
				!strings.Contains(env, "CAIRN_PROJECT_DIR="+h.directory+"\n") || strings.Contains(env, "secret") {
				t.Errorf("the environment is\n%s", env)
			}
		})
	}
}

// notify returns what tells a run's hooks of the event and waits for them.
func notify(e extension.Event) func(r *extension.Run) error {
	return func(r *extension.Run) error {
		var n extension.Notifier
		r.Notify(&n, e)
		return n.Close(context.Background())
	}
}

// TestPatch: a patch is shown once for each file that it changes, to hooks of edits, and is refused if one is.
func TestPatch(t *testing.T) {
	h := newHooks(t, config.Hook{
		Event: "PreToolUse", Matcher: "Edit|Write", Command: `cat > last; cat last >> input
			if grep -q '"file_path":"[^"]*secret' last; then
				echo not that one >&2; exit 2
			fi`,
	})
	patch := "*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** Delete File: secret.txt\n*** Add File: c.go\n+z\n*** End Patch"
	v := extension.Call{Tool: "apply_patch", Input: encode(map[string]string{"patchText": patch})}
	h.write(t, "input", "", 0o600)
	if _, err := h.run().Call(t.Context(), &v); err != nil || v.Effect != session.Deny || v.Reason != "not that one" {
		t.Errorf("%v: %+v", err, v)
	}
	var paths []string
	dec := jsontext.NewDecoder(strings.NewReader(h.read(t, "input")))
	for {
		var in struct {
			Tool  string `json:"tool_name"`
			Input struct {
				Path string `json:"file_path"`
			} `json:"tool_input"`
		}
		if json.UnmarshalDecode(dec, &in) != nil {
			break
		}
		paths = append(paths, in.Tool+" "+strings.TrimPrefix(in.Input.Path, h.directory))
	}
	if diff := cmp.Diff([]string{"MultiEdit /a.go", "MultiEdit /secret.txt"}, paths); diff != "" {
		t.Error(diff)
	}
}

// TestOthers: what hooks of the other events decide.
func TestOthers(t *testing.T) {
	block := `echo '{"decision": "block", "reason": "run the tests"}'`
	// A prompt gets context beside its words, or is refused.
	p := extension.Prompt{Prompt: session.Prompt{Text: "hi", System: "be kind"}}
	if _, err := newHooks(t, config.Hook{Event: "UserPromptSubmit", Command: "date +%%"}).run().Prompt(t.Context(), &p); err != nil ||
		p.Prompt.System != "be kind\n%" || p.Prompt.Text != "hi" {
		t.Errorf("%v: %+v", err, p)
	}
	if _, err := newHooks(t, config.Hook{Event: "UserPromptSubmit", Command: block}).run().Prompt(t.Context(), &p); err == nil ||
		!strings.Contains(err.Error(), "run the tests") {
		t.Errorf("the prompt was refused with %v", err)
	}
	// The prompt of a subagent is no prompt of a person.
	p.ParentID = "ses_0"
	if _, err := newHooks(t, config.Hook{Event: "UserPromptSubmit", Command: block}).run().Prompt(t.Context(), &p); err != nil {
		t.Error(err)
	}
	// A result gets a text after it; a hook that fails leaves it.
	r := extension.Result{Tool: "bash", Content: session.TextContent("ok"), Input: jsontext.Value(`{}`)}
	if _, err := newHooks(t, config.Hook{Event: "PostToolUse", Command: block}).run().Result(t.Context(), &r); err != nil ||
		len(r.Content) != 2 || r.Content[1].Text != "run the tests" {
		t.Errorf("%v: %+v", err, r)
	}
	if _, err := newHooks(t, config.Hook{Event: "PostToolUse", Command: "echo '{'"}).run().Result(t.Context(), &r); err != nil ||
		len(r.Content) != 2 {
		t.Errorf("%v: %+v", err, r)
	}
	// The work goes on, a summary is refused.
	s := extension.Stop{}
	if _, err := newHooks(t, config.Hook{Event: "Stop", Command: block}).run().Stop(t.Context(), &s); err != nil || s.Continue != "run the tests" {
		t.Errorf("%v: %+v", err, s)
	}
	m := extension.Compaction{Manual: true}
	if _, err := newHooks(t, config.Hook{Event: "PreCompact", Matcher: "manual", Command: block}).run().Compaction(t.Context(), &m); err != nil ||
		m.Refuse != "run the tests" {
		t.Errorf("%v: %+v", err, m)
	}
	// A permission is denied; one that the rules allow is not shown, and a failure leaves it to the person.
	deny := `echo '{"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "never"}}}'`
	ask := extension.Permission{Tool: "bash", Action: "bash", Effect: session.Ask}
	if _, err := newHooks(t, config.Hook{Event: "PermissionRequest", Command: deny}).run().Permission(t.Context(), &ask); err != nil ||
		ask.Effect != session.Deny || ask.Reason != "never" {
		t.Errorf("%v: %+v", err, ask)
	}
	ask = extension.Permission{Tool: "bash", Action: "bash", Effect: session.Allow}
	if _, err := newHooks(t, config.Hook{Event: "PermissionRequest", Command: deny}).run().Permission(t.Context(), &ask); err != nil ||
		ask.Effect != session.Allow {
		t.Errorf("%v: %+v", err, ask)
	}
	ask.Effect = session.Ask
	if _, err := newHooks(t, config.Hook{Event: "PermissionRequest", Command: "echo '{'"}).run().Permission(t.Context(), &ask); err != nil ||
		ask.Effect != session.Ask {
		t.Errorf("%v: %+v", err, ask)
	}
}
