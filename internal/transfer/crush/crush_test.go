package crush_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/foreigntest"
	"github.com/cairn-dev/cairn/internal/transfer/crush"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

var update = flag.Bool("update", false, "write the golden files")

func read(t testing.TB, path string) ([]foreign.Session, []foreign.Problem) {
	t.Helper()
	var out []foreign.Session
	problems, err := crush.Read(t.Context(), path, func(s foreign.Session) error {
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, problems
}

func TestSample(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("testdata/crush-2025-08.sql")
	if err != nil {
		t.Fatal(err)
	}
	path := foreigntest.MakeDatabase(t, string(script))
	sessions, problems := read(t, path)
	if len(problems) > 0 {
		t.Error(problems)
	}
	foreigntest.Check(t, sessions)
	foreigntest.CheckGolden(t, "testdata/crush-2025-08.golden", sessions, *update)
	again, _ := read(t, path)
	if diff := cmp.Diff(sessions, again); diff != "" {
		t.Errorf("it is another one when it is read again: %s", diff)
	}
}

// tables is the schema of the newest version, as far as it is read.
const tables = `CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT, prompt_tokens INTEGER,
	completion_tokens INTEGER, cost REAL, updated_at INTEGER, created_at INTEGER, summary_message_id TEXT, todos TEXT);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT, provider TEXT,
	created_at INTEGER, updated_at INTEGER, finished_at INTEGER, is_summary_message INTEGER);
INSERT INTO sessions VALUES('s', NULL, 'A', 10, 2, 0.5, 1754316003, 1754315985, NULL, '[{"content":"a","status":"completed","active_form":"A"}]');
`

// rows makes messages of role and parts, all of one second.
func rows(pairs ...string) string {
	out := tables
	for i := 0; i+1 < len(pairs); i += 2 {
		out += fmt.Sprintf("INSERT INTO messages VALUES('m%d','s','%s','%s','m','p',1754315985,1754315986,NULL,0);\n",
			9-i/2, pairs[i], pairs[i+1])
	}
	return out
}

func text(s string) string { return `[{"type":"text","data":{"text":"` + s + `"}}]` }

const stop = `{"type":"finish","data":{"reason":"end_turn","time":1754315986}}`

func call(name, input string) string {
	return `[{"type":"tool_call","data":{"id":"c","name":"` + name + `","input":"` + input + `","finished":true}},` + stop + `]`
}

func TestRules(t *testing.T) {
	t.Parallel()
	const head = "session s \"A\"\n"
	for _, c := range []struct{ name, sql, want string }{
		{"the order of one second is that of the rows", rows("user", text("a"), "assistant", `[{"type":"text","data":{"text":"b"}},`+stop+`]`, "user", text("c")), head + "user: a\nassistant: b\nuser: c\n"},
		{
			"a summary replaces what is before it",
			rows("user", text("a"), "assistant", text("all")) + `UPDATE sessions SET summary_message_id = 'm8'`,
			head + "user: a\ncompaction: manual all\n",
		},
		{
			"an older summary", rows("user", text("a"), "assistant", text("all"), "user", text("b")) +
				`UPDATE messages SET is_summary_message = 1 WHERE id = 'm8'`,
			head + "user: a\ncompaction: manual all\nuser: b\n",
		},
		{
			"a result", rows("assistant", call("view", `{\"file_path\":\"/f\"}`), "tool",
				`[{"type":"tool_result","data":{"tool_call_id":"c","content":"text","is_error":false}}]`),
			head + "assistant: read{\"filePath\":\"/f\"} text\n",
		},
		{
			"a failed call", rows("assistant", call("edit", `{\"file_path\":\"/f\",\"old_string\":\"a\"}`), "tool",
				`[{"type":"tool_result","data":{"tool_call_id":"c","content":"no","is_error":true}}]`),
			head + "assistant: edit{\"filePath\":\"/f\",\"oldString\":\"a\"} tool: no\n",
		},
		{
			"a call without a result", rows("assistant", call("bash", `{\"command\":\"ls\"}`)),
			head + "assistant: bash{\"command\":\"ls\"} interrupted: the source has no result of this call\n",
		},
		{
			"arguments that are not JSON", rows("assistant", call("bash", `{\"command\":`)),
			head + "! m9 parts[0].input: it is cut off\nassistant: bash{} interrupted: the source has no result of this call\n",
		},
		{
			"a result without a call", rows("tool", `[{"type":"tool_result","data":{"tool_call_id":"c","content":"text"}}]`),
			head + "! m9 parts[0]: it is the result of a call that is missing\n",
		},
		{
			"answers that did not end well", rows("assistant", text("a"), "assistant",
				`[{"type":"finish","data":{"reason":"canceled"}}]`, "assistant",
				`[{"type":"finish","data":{"reason":"error","message":"Bad Request","details":"too long"}}]`),
			head + "assistant: a | aborted: it had not ended in the source\nassistant: aborted: it was cancelled\n" +
				"assistant: api: Bad Request: too long\n",
		},
		{
			"reasoning, without its signature", rows("assistant",
				`[{"type":"reasoning","data":{"thinking":"Well","signature":"x"}},`+stop+`]`),
			head + "assistant: (Well)\n",
		},
		{
			"images, commands and what Crush writes itself", rows("user", `[{"type":"text","data":{"text":"a"}},`+
				`{"type":"binary","data":{"Path":"/d/x.png","MIMEType":"image/png","Data":"AAAA"}},`+
				`{"type":"binary","data":{"Path":"y.png","MIMEType":"image/png","Data":"`+strings.Repeat("A", 11<<20)+`"}},`+
				`{"type":"shell_command","data":{"command":"ls","output":"f","exit_code":0}},`+
				`{"type":"text","data":{"text":"go on","hidden":true}},{"type":"hologram","data":{}}]`),
			head + "! m9 parts[2]: it is larger than 10 MiB\n! m9 parts[5]: its type is not known\n" +
				"shell: $ ls -> f\nsynthetic: go on\nuser: a [x.png data:image/png;base64,AAAA]\n",
		},
		{
			"parts that cannot be read", rows("user", `[{"type":`, "user", `{}`, "robot", text("x"), "user", text("a")),
			head + "! m9 parts: it is not valid JSON\n! m8 parts: it is not a list\n! m7 role: its role is not known\nuser: a\n",
		},
		{
			"a subagent, and a session for a title", rows("user", text("a")) +
				`INSERT INTO sessions(id, parent_session_id, title, created_at) VALUES('call_1','s','Sub',1754315986),('title-s','s','T',1754315986);
				INSERT INTO messages(id, session_id, role, parts, created_at) VALUES('x','call_1','user','` + text("b") + `',1754315987)`,
			head + "user: a\nsession call_1 of s \"Sub\"\nuser: b\n",
		},
	} {
		sessions, problems := read(t, foreigntest.MakeDatabase(t, c.sql))
		foreigntest.Check(t, sessions)
		if diff := cmp.Diff(c.want, foreigntest.Outline(sessions)); diff != "" || len(problems) > 0 {
			t.Errorf("%s: %v %s", c.name, problems, diff)
		}
	}
}

// The session has its own sums, its todo list, and the project of the database.
func TestSession(t *testing.T) {
	t.Parallel()
	from := foreigntest.MakeDatabase(t, rows("user", text("a")))
	project := t.TempDir()
	path := filepath.Join(project, ".crush", "crush.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(from, path); err != nil {
		t.Fatal(err)
	}
	sessions, _ := read(t, path)
	s := sessions[0]
	if s.Directory != project || s.Cost != session.Dollar/2 || s.Tokens.Input != 10 || s.Tokens.Output != 2 ||
		s.Created != 1754315985000 || s.Updated != 1754316003000 {
		t.Errorf("%+v", s)
	}
	if want := []session.Todo{{Content: "a", Status: session.TodoCompleted, Priority: session.TodoMedium}}; !cmp.Equal(want, s.Todos) {
		t.Errorf("todos: %+v", s.Todos)
	}
}

// A database that has grown gives the same messages for the same rows.
func TestGrown(t *testing.T) {
	t.Parallel()
	all := []string{"user", text("a"), "assistant", call("bash", "{}"), "tool", `[]`, "user", text("b")}
	var last string
	for n := 0; n <= len(all); n += 2 {
		sessions, _ := read(t, foreigntest.MakeDatabase(t, rows(all[:n]...)))
		var ids strings.Builder
		for _, m := range sessions[0].Messages {
			ids.WriteString(string(m.Meta().ID) + "\n")
		}
		if !strings.HasPrefix(ids.String(), last) {
			t.Errorf("%d rows: %s, before: %s", n/2, ids.String(), last)
		}
		last = ids.String()
	}
}

// Any role and parts can be read, and what is read is whole.
func FuzzMessage(f *testing.F) {
	f.Add("user", text("a"))
	f.Add("assistant", call("bash", `{\"command\":\"ls\"}`))
	f.Add("tool", `[{"type":"tool_result","data":{"tool_call_id":"c","content":"text"}}]`)
	f.Fuzz(func(t *testing.T, role, parts string) {
		foreigntest.Check(t, []foreign.Session{crush.ConvertRow(role, parts)})
	})
}
