package codex

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/test/foreigntest"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

var update = flag.Bool("update", false, "write the golden files")

func read(t testing.TB, source []byte, name string) []foreign.Session {
	t.Helper()
	got, err := Read(bytes.NewReader(source), name)
	if err != nil {
		t.Fatal(err)
	}
	foreigntest.Check(t, got)
	return got
}

// All samples are read as their golden files say, and their first lines give the first messages.
func TestSamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			t.Fatal(err)
		}
		foreigntest.CheckGolden(t, strings.TrimSuffix(file, ".jsonl")+".txt", read(t, source, file), *update)
		foreigntest.CheckPrefixes(t, source, func(b []byte) []foreign.Session { return read(t, b, file) })
	}
}

const head = `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s","cwd":"/w","cli_version":"1",` +
	`"timestamp":"2026-01-01T00:00:00Z","model_provider":"openai"}}`

func row(kind, payload string) string {
	return fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:01Z","type":%q,"payload":{%s}}`, kind, payload)
}

func respond(kind, members string) string {
	return row("response_item", fmt.Sprintf(`"type":%q,%s`, kind, members))
}

func said(role, text string) string {
	return respond("message", fmt.Sprintf(`"role":%q,"content":[{"type":"text","text":%q}]`, role, text))
}

func call(id, name, arguments string) string {
	return respond("function_call", fmt.Sprintf(`"call_id":%q,"name":%q,"arguments":%q`, id, name, arguments))
}

func output(id, value string) string {
	return respond("function_call_output", fmt.Sprintf(`"call_id":%q,"output":%s`, id, value))
}

func event(kind, members string) string {
	return row("event_msg", fmt.Sprintf(`"type":%q,%s`, kind, members))
}

// Each case is a file and the outline of what is read of it.
func TestRules(t *testing.T) {
	t.Parallel()
	const interrupted = "interrupted: the source has no result of this call"
	for _, c := range []struct {
		name string
		rows []string
		want string
	}{
		{"events repeat the conversation", []string{
			head, event("user_message", `"message":"hi"`), said("user", "hi"), event("agent_message", `"message":"ho"`),
			said("assistant", "ho"), event("item_completed", `"item":{"type":"AgentMessage"}`), row("world_state", `"full":true`),
		}, "session s\nuser: hi\nassistant: ho\n"},
		{"instructions and surroundings are left out", []string{
			head, said("developer", "obey"), said("user", "<environment_context>x"), said("user", "# AGENTS.md instructions for /w"),
			said("user", "hi"),
			respond("message", `"role":"user","content":[{"type":"input_text","text":"a note"}],"internal_chat_message_metadata_passthrough":{"content_item_metadata":[{"provenance":{"type":"harness"}}]}`),
			said("user", "<turn_aborted>\nx"),
		}, "session s\nuser: hi\nsynthetic: a note\nsynthetic: <turn_aborted>⏎x\n"},
		{"a command of the user", []string{
			head, said("user", "<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 0\nDuration: 0.1 seconds\nOutput:\na.go\n</result>\n</user_shell_command>"),
		}, "session s\nshell: $ ls -> a.go\n"},

		{"items of an answer are one turn, and its results end it", []string{
			head, respond("reasoning", `"summary":[{"type":"summary_text","text":"hm"}],"content":null,"encrypted_content":"e"`), said("assistant", "I look"),
			call("c1", "shell", `{"command":["bash","-lc","ls a"],"workdir":"/w"}`), call("c2", "exec_command", `{"cmd":"pwd"}`),
			output("c1", `"{\"output\":\"a\\n\",\"metadata\":{\"exit_code\":2}}"`), output("c2", `"/w"`), said("assistant", "done"),
		}, "session s\nassistant: (hm) | I look | bash{\"command\":\"ls a\",\"workdir\":\"/w\"} a⏎Exit code: 2 | bash{\"command\":\"pwd\"} /w\nassistant: done\n"},
		{"results that fail, in all forms, and one that is missing", []string{
			head, call("a", "x", `{}`), call("b", "x", `{}`), call("c", "x", `{}`), call("d", "x", `{}`),
			output("a", `{"content":"no","success":false}`), output("b", `"aborted by user after 1s"`),
			output("c", `[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,aGk="}]`),
			output("z", `"x"`),
		}, "session s\n! line 9 call_id: the call of the result is missing\n" +
			"assistant: x{} tool: no | x{} aborted: aborted by user after 1s | x{} seedata:image/png;base64,aGk= | x{} " + interrupted + "\n"},
		{"other calls", []string{
			head, respond("custom_tool_call", `"call_id":"p","name":"apply_patch","input":"*** Begin"`), respond("custom_tool_call_output", `"call_id":"p","output":"ok"`),
			respond("local_shell_call", `"call_id":"l","action":{"type":"exec","command":["echo","a b"],"working_directory":"/w"}`), output("l", `"a b"`),
			respond("web_search_call", `"id":"w","status":"completed","action":{"type":"search","query":"q"}`),
			call("u", "update_plan", `{"plan":[{"step":"one","status":"in_progress"}]}`), output("u", `"Plan updated"`),
			call("bad", "x", `{"a":`),
		}, "session s\n! line 9 arguments: it is cut off\nassistant: apply_patch{\"patchText\":\"*** Begin\"} ok\n" +
			"assistant: bash{\"command\":\"echo 'a b'\",\"type\":\"exec\",\"workdir\":\"/w\"} a b\n" +
			"assistant: websearch{\"query\":\"q\",\"type\":\"search\"}  | todowrite{\"todos\":[{\"content\":\"one\",\"status\":\"in_progress\",\"priority\":\"medium\"}]} Plan updated\n" +
			"assistant: x{} " + interrupted + "\n"},

		{"a compaction, whose history is not imported again", []string{
			head, said("user", "one"), said("assistant", "x"),
			row("compacted", `"message":"So far","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}]`),
			said("user", "two"),
		}, "session s\nuser: one\nassistant: x\ncompaction: auto So far\nuser: two\n"},
		{"a compaction whose summary is in the history", []string{
			head, said("user", "one"),
			row("compacted", `"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]},`+
				`{"type":"message","role":"user","content":[{"type":"input_text","text":"The summary"}]}]`),
		}, "session s\nuser: one\ncompaction: auto The summary\n"},
		{"a compaction that cannot be read hides nothing", []string{
			head, said("user", "one"), row("compacted", `"message":"","replacement_history":[{"type":"compaction","encrypted_content":"e"}]`),
			respond("compaction", `"encrypted_content":"e"`),
		}, "session s\nuser: one\nsystem: Codex replaced the messages before this one by a summary that is encrypted.\n"},
		{"turns that were rolled back", []string{
			head, said("user", "one"), said("assistant", "x"), said("user", "two"), said("assistant", "y"), said("user", "<turn_aborted>"),
			event("thread_rolled_back", `"num_turns":1`), said("user", "three"),
		}, "session s\nuser: one\nassistant: x\nuser: three\n"},

		{"a fork names its parent, and repeats its head", []string{
			`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"f","forked_from_id":"p"}}`, head, said("user", "one"),
			event("thread_name_updated", `"thread_id":"f","thread_name":"Mine"`),
		}, "session f of p \"Mine\"\nuser: one\n"},
		{"a subagent names its parent", []string{
			row("session_meta", `"id":"a","source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","depth":1}}}`), said("user", "one"),
		}, "session a of p\nuser: one\n"},
		{"the form until 2025", []string{
			`{"id":"old","timestamp":"2025-06-01T00:00:00Z","instructions":null}`, `{"record_type":"state"}`,
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}`,
			`{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"hm"}]}`,
		}, "session old\nuser: one\nassistant: (hm)\n"},
		{"no head", []string{said("user", "one")}, "session 01a22177-ca8b-73d1-a85d-63c5998dde5a\nuser: one\n"},
		{"no conversation", []string{head, event("task_started", `"turn_id":"x"`)}, ""},
		{"ids that come twice", []string{
			head, respond("message", `"id":"m","role":"user","content":[{"type":"input_text","text":"one"}]`),
			respond("message", `"id":"m","role":"user","content":[{"type":"input_text","text":"two"}]`),
		}, "session s\nuser: one\nuser: two\n"},
		{"images", []string{
			head, respond("message", `"role":"user","content":[{"type":"input_text","text":"<image name=[Image #1]>"},`+
				`{"type":"input_image","image_url":"data:image/png;base64,aGk="},{"type":"input_text","text":"</image>"},{"type":"input_text","text":"see"},`+
				`{"type":"input_image","image_url":"https://x"}]`),
		}, "session s\n! line 2 content[4]: its content is not in the source\nuser: see [ data:image/png;base64,aGk=]\n"},
		{"rows and fields that cannot be read", []string{
			head, `x`, `{"type":"new"}`, row("new", `"a":1`), respond("new_item", `"a":1`), `{"type":"response_item","payload":7}`,
			respond("message", `"role":"robot"`), respond("message", `"role":"user","content":"text"`), said("user", "kept"),
			respond("message", `"role":"user","content":[{"type":"new"},{"type":"input_text","text":"kept"}]`), `{"timestamp":"2026`,
		}, "session s\n! line 2: it is not a JSON object\n! line 3 type: the type of the row is unknown\n! line 4 type: the type of the row is unknown\n" +
			"! line 5 type: the type of the row is unknown\n! line 6 payload: it is not an object\n! line 11: it is cut off\n! line 7 role: the role is unknown\n" +
			"! line 8 content: it is not a list\n! line 10 content[0]: the kind of content is unknown\nuser: kept\nuser: kept\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			name := "rollout-2026-11-28T09-23-51-01a22177-ca8b-73d1-a85d-63c5998dde5a.jsonl"
			got := foreigntest.Outline(read(t, []byte(strings.Join(c.rows, "\n")), name))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The tokens of a request count once, whether an event, a record or both give them.
func TestUsage(t *testing.T) {
	t.Parallel()
	const usage = `{"input_tokens":100,"cached_input_tokens":60,"output_tokens":30,"reasoning_output_tokens":10}`
	count := func(total int) string {
		return event("token_count", fmt.Sprintf(`"info":{"total_token_usage":{"total_tokens":%d},"last_token_usage":%s}`, total, usage))
	}
	record := row("token_usage_record", `"usage":`+usage)
	for _, c := range []struct {
		name string
		rows []string
	}{
		{"events, one of them again", []string{said("assistant", "x"), count(1), count(1), said("user", "y"), count(1), said("assistant", "z"), count(2)}},
		{"events, one of a summary", []string{said("assistant", "x"), count(1), count(7), said("assistant", "z"), count(8)}},
		{"records and events", []string{said("assistant", "x"), record, count(1), said("assistant", "z"), record, count(2)}},
	} {
		s := read(t, []byte(strings.Join(append([]string{head}, c.rows...), "\n")), "x")[0]
		if u := s.Tokens; u.Input != 80 || u.Output != 40 || u.Reasoning != 20 || u.Cache.Read != 120 {
			t.Errorf("%s: %+v", c.name, u)
		}
	}
}

func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.jsonl")
	for _, file := range files {
		if b, err := os.ReadFile(filepath.Clean(file)); err == nil {
			f.Add(b)
		}
	}
	f.Add([]byte(strings.Join([]string{
		head, said("user", "x"), call("c", "shell", `{"command":["a"]}`), output("c", `"x"`),
		row("compacted", `"message":"m"`), event("thread_rolled_back", `"num_turns":1`),
	}, "\n")))
	f.Fuzz(func(t *testing.T, source []byte) { read(t, source, "f.jsonl") })
}
