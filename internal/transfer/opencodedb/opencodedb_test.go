package opencodedb_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/foreigntest"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/opencodedb"
)

var update = flag.Bool("update", false, "write the golden files")

func read(t testing.TB, path string) ([]foreign.Session, []foreign.Problem) {
	t.Helper()
	var out []foreign.Session
	problems, err := opencodedb.Read(t.Context(), path, func(s foreign.Session) error {
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, problems
}

// dump returns the SQL of a sample.
func dump(t testing.TB, version string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/opencode-" + version + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSamples(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.2.1", "2.0.26"} {
		path := foreigntest.MakeDatabase(t, dump(t, version))
		sessions, problems := read(t, path)
		if len(problems) > 0 {
			t.Errorf("%s: %v", version, problems)
		}
		foreigntest.Check(t, sessions)
		foreigntest.CheckGolden(t, "testdata/opencode-"+version+".golden", sessions, *update)
		again, _ := read(t, path)
		if diff := cmp.Diff(sessions, again); diff != "" {
			t.Errorf("%s is another one when it is read again: %s", version, diff)
		}
	}
}

// An export of what was read of 1.x has the members of every message and part as OpenCode wrote them.
func TestOriginalFormStays(t *testing.T) {
	t.Parallel()
	script := dump(t, "1.2.1")
	sessions, _ := read(t, foreigntest.MakeDatabase(t, script))
	s := sessions[0]
	place := session.Session{ID: session.ID(s.ID), Location: session.Location{Directory: s.Directory}}
	rows := 0
	compare := func(id string, v any) {
		_, row, _ := strings.Cut(script, "VALUES('"+id+"'")
		_, data, _ := strings.Cut(row, "'{")
		data, _, _ = strings.Cut(data, "');\n")
		var want, got map[string]any
		shown, err := json.Marshal(v)
		if err = errors.Join(err, json.Unmarshal([]byte("{"+data), &want), json.Unmarshal(shown, &got)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"id", "sessionID", "messageID"} {
			delete(got, name)
		}
		rows++
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
	for _, m := range opencode.RenderExport(&place, s.Messages) {
		id, _ := opencode.IDAndTime(m.Info)
		compare(string(id), m.Info)
		for _, p := range m.Parts {
			compare(string(opencode.PartID(p)), p)
		}
	}
	if rows+1 != s.Rows || s.Original.Slug != "swift-harbor" || len(s.Original.Permission) != 3 {
		t.Errorf("%d of %d rows, %+v", rows, s.Rows, s.Original)
	}
}

const tables1 = `CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, title text, directory text,
	version text, time_created integer, time_updated integer, time_archived integer, model text, cost real, tokens_input integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);
CREATE TABLE todo (session_id text, content text, status text, priority text, position integer);
`

const tables2 = `CREATE TABLE session_v2 (id text PRIMARY KEY, parent_id text, title text, directory text, version text,
	time_created integer, time_updated integer);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer, time_created integer, data);
`

// session1 makes a session of 1.x with a prompt.
func session1(n int, title string) string {
	return fmt.Sprintf(`INSERT INTO session(id,title,version,directory,time_created,time_updated) VALUES('ses_%[1]d','%[2]s','1.2','/d',%[1]d,%[1]d);
INSERT INTO message VALUES('msg_%[1]d','ses_%[1]d',%[1]d,'{"role":"user","time":{"created":%[1]d}}');
INSERT INTO part VALUES('prt_%[1]d','msg_%[1]d','ses_%[1]d','{"type":"text","text":"%[2]s"}');
`, n, title)
}

// session2 makes a session of 2.x with rows of type and data.
func session2(n int, title string, rows ...string) string {
	out := fmt.Sprintf(`INSERT INTO session_v2(id,title,version,directory,time_created,time_updated) VALUES('ses_%[1]d','%[2]s','2.0','/d',%[1]d,%[1]d);
`, n, title)
	for i := 0; i+1 < len(rows); i += 2 {
		out += fmt.Sprintf("INSERT INTO session_message VALUES('msg_%d%d','ses_%d','%s',%d,%d,'%s');\n",
			n, i/2, n, rows[i], i+1, n+i, rows[i+1])
	}
	return out
}

func TestRules(t *testing.T) {
	t.Parallel()
	const hello = "session ses_1 \"a\"\nuser: a\n"
	for _, c := range []struct{ name, sql, want string }{
		{
			"2.x rows of an id win, and the sessions of 1.x that 2.x lacks come too",
			tables1 + tables2 + session1(1, "old") + session1(2, "only old") + session2(1, "new", "user", `{"text":"b"}`) +
				session2(3, "only new", "user", `{"text":"c"}`),
			"session ses_1 \"new\"\nuser: b\nsession ses_3 \"only new\"\nuser: c\nsession ses_2 \"only old\"\nuser: only old\n",
		},
		{
			"a session of 2.x without messages does not hide that of 1.x",
			tables1 + tables2 + session1(1, "a") + session2(1, "new"), hello,
		},
		{
			"data that is not JSON", tables1 + session1(1, "a") +
				`INSERT INTO message VALUES('msg_2','ses_1',2,'{"role":'); INSERT INTO part VALUES('prt_2','msg_2','ses_1','{}')`,
			"session ses_1 \"a\"\n! msg_2: it is cut off; its parts are left out too, which are 1\nuser: a\n",
		},
		{
			"a part that is not JSON", tables1 + session1(1, "a") + `INSERT INTO part VALUES('prt_2','msg_1','ses_1',x'ff00')`,
			"session ses_1 \"a\"\n! prt_2: it is not a JSON object\nuser: a\n",
		},
		{
			"parts without a message", tables1 + session1(1, "a") + `INSERT INTO part VALUES('prt_2','msg_9','ses_1','{}')`,
			"session ses_1 \"a\"\n! ses_1 parts: parts of messages that are missing: 1\nuser: a\n",
		},
		{
			"an id that is not one", tables1 + session1(1, "a") + `INSERT INTO session(id) VALUES('../x')`,
			"! ../x: its id is not valid\n" + hello,
		},
		{
			"a damaged id", tables1 + session1(1, "a") + session1(2, "b") + `UPDATE session SET id = 'ses>2' WHERE id = 'ses_2'`,
			"! ses>2: its id is not valid\n! message: 1 messages are of 1 sessions that are missing\n" + hello,
		},
		{"rows of 2.x that say nothing", tables2 + session2(1, "a", "user", `{"text":"a"}`, "idle", `{"outcome":"x"}`,
			"location-switched", `{}`, "compaction", `{"status":"failed"}`), hello},
		{
			"rows of 2.x that cannot be read", tables2 + session2(1, "a", "user", `{"text":"a"}`, "hologram", `{}`,
				"assistant", `[]`, "user", `{"text":" "}`, "user", `{"files":[{"mime":"image/png","data":"`+strings.Repeat("A", 11<<20)+`"}]}`),
			"session ses_1 \"a\"\n! msg_11: its type is not known\n! msg_12: it is not a JSON object\n! msg_13: the prompt is empty\n" +
				"! msg_14 files[0]: it is larger than 10 MiB\n! msg_14: the prompt is empty\nuser: a\n",
		},
		{
			"the order of 2.x is that of seq", tables2 + session2(1, "a", "user", `{"text":"b"}`) +
				`INSERT INTO session_message VALUES('msg_0','ses_1','user',0,0,'{"text":"a","time":{"created":1}}'); UPDATE session_message SET data = '{"text":"b","time":{"created":2}}' WHERE id = 'msg_10'`,
			"session ses_1 \"a\"\nuser: a\nuser: b\n",
		},
		{
			"all rows of 2.x", tables2 + session2(
				1, "a",
				"user", `{"text":"a","files":[{"data":"AAAA","mime":"image/png","name":"x.png","source":{"type":"inline"}}],"skills":[{"id":"s","name":"s","text":"skill"}]}`,
				"agent-switched", `{"agent":"plan"}`, "model-switched", `{"model":{"id":"m","providerID":"p"}}`,
				"synthetic", `{"text":"be brief"}`, "system", `{"text":"new rules"}`,
			) + `INSERT INTO session_message VALUES('msg_x','ses_1','shell',20,20,'{"command":"ls","status":"exited","exit":1,"output":{"output":"f"}}');
INSERT INTO session_message VALUES('msg_y','ses_1','compaction',21,21,'{"status":"completed","reason":"auto","summary":"all","recent":"r"}');
INSERT INTO session_message VALUES('msg_z','ses_1','assistant',22,22,'{"model":{"id":"m","providerID":"p"},"content":[{"type":"reasoning","text":"Well"},{"type":"text","text":""},{"type":"tool","id":"c","name":"subagent","state":{"status":"running","input":{"agent":"general","prompt":"x"}}},{"type":"tool","id":"c","name":"read","state":{"status":"error","input":{"path":"f"},"error":{"type":"tool.execution","message":"no"}}},{"type":"hologram"}]}');`,
			`session ses_1 "a"
! msg_z content: it has an item of a type that is not known
user: a⏎⏎skill [x.png data:image/png;base64,AAAA]
agent-switched: ` + `
model-switched: ` + `
synthetic: be brief
system: new rules
shell: $ ls -> f
compaction: auto all
assistant: (Well) | task{"prompt":"x","subagent_type":"general"} interrupted: the source has no result of this call | read{"filePath":"f"} tool: no | aborted: it had not ended in the source
`,
		},
	} {
		sessions, problems := read(t, foreigntest.MakeDatabase(t, c.sql))
		foreigntest.Check(t, sessions)
		got := ""
		for _, p := range problems {
			got += fmt.Sprintf("! %s: %s\n", p.Row, p.Reason)
		}
		got += foreigntest.Outline(sessions)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// Columns that later versions add to sessions are read where they are, and the todo list beside.
func TestSessionColumns(t *testing.T) {
	t.Parallel()
	path := foreigntest.MakeDatabase(t, tables1+session1(1, "a")+`UPDATE session SET cost = 0.25, tokens_input = 7,
		model = '{"id":"m","providerID":"p"}', parent_id = 'ses_0', time_archived = 9;
		INSERT INTO todo VALUES('ses_1','b','completed','high',1),('ses_1','a','odd','odd',0)`)
	sessions, _ := read(t, path)
	s := sessions[0]
	if s.Cost != session.Dollar/4 || s.Tokens.Input != 7 || s.Model == nil || s.Model.ID != "m" || s.ParentID != "ses_0" ||
		s.Archived != 9 || s.Directory != "/d" {
		t.Errorf("%+v", s)
	}
	want := []session.Todo{
		{Content: "a", Status: session.TodoPending, Priority: session.TodoMedium},
		{Content: "b", Status: session.TodoCompleted, Priority: session.TodoHigh},
	}
	if diff := cmp.Diff(want, s.Todos); diff != "" {
		t.Error(diff)
	}
}

// Whatever page of a database is lost, the reading ends with an error, or gives the sessions with their problems.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	script := tables1 + "CREATE INDEX part_message ON part(message_id);\n"
	for n := range 60 {
		script += session1(n+1, strings.Repeat("x", 1000))
	}
	path := foreigntest.MakeDatabase(t, script)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	partly := 0
	for at := page; at < len(whole); at += page {
		damaged := append([]byte(nil), whole...)
		clear(damaged[at : at+page])
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		good, bad := 0, 0
		_, err := opencodedb.Read(t.Context(), path, func(s foreign.Session) error {
			if good++; len(s.Problems) > 0 {
				bad++
			}
			return nil
		})
		if err == nil && bad > 0 && good == 60 {
			partly++
		}
		if err == nil && bad == 0 && good < 60 {
			t.Errorf("page %d: %d sessions are missing without a word", at/page, 60-good)
		}
	}
	if partly == 0 {
		t.Error("no session was read beside a damaged one")
	}
}

func TestNoTables(t *testing.T) {
	t.Parallel()
	path := foreigntest.MakeDatabase(t, "CREATE TABLE message (id)")
	if _, err := opencodedb.Read(t.Context(), path, nil); err == nil || !strings.Contains(err.Error(), "no table") {
		t.Errorf("error %v", err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	got, err := opencodedb.Find(fstest.MapFS{
		"opencode-stable.db": {}, "opencode-stable.db-wal": {}, "opencode.db": {}, "opencode.db-shm": {}, "other.db": {},
	})
	if diff := cmp.Diff([]string{"opencode.db", "opencode-stable.db"}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

// Any data of a row of 2.x can be read, and what is read can be stored.
func FuzzMessage(f *testing.F) {
	for _, line := range strings.Split(dump(f, "2.0.26"), "\n") {
		if row, ok := strings.CutPrefix(line, "INSERT INTO session_message VALUES("); ok {
			fields := strings.SplitN(strings.TrimSuffix(row, "');"), ",", 7)
			f.Add(strings.Trim(fields[2], "'"), []byte(strings.TrimPrefix(fields[6], "'")))
		}
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		for _, m := range opencodedb.ConvertRow(kind, data).Messages {
			raw, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			again, err := session.DecodeMessage(raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(m, again); diff != "" {
				t.Error(diff)
			}
		}
	})
}
