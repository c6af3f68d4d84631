package jsontree_test

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf16"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/foreigntest"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/jsontree"
)

var update = flag.Bool("update", false, "write the golden files")

func read(t testing.TB, data fs.FS) ([]foreign.Session, []foreign.Problem) {
	t.Helper()
	var out []foreign.Session
	problems, err := jsontree.Read(t.Context(), data, func(s foreign.Session) error {
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, problems
}

func TestSamples(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.1.174", "1.0.185"} {
		sessions, problems := read(t, os.DirFS("testdata/"+version))
		if len(problems) > 0 {
			t.Errorf("%s: %v", version, problems)
		}
		foreigntest.Check(t, sessions)
		foreigntest.CheckGolden(t, "testdata/"+version+".golden", sessions, *update)
		again, _ := read(t, os.DirFS("testdata/"+version))
		if diff := cmp.Diff(sessions, again); diff != "" {
			t.Errorf("%s is another one when it is read again: %s", version, diff)
		}
	}
}

// An export of what was read has every message and part as OpenCode wrote it.
func TestOriginalFormStays(t *testing.T) {
	t.Parallel()
	const root = "testdata/1.0.185/storage"
	sessions, _ := read(t, os.DirFS("testdata/1.0.185"))
	s := sessions[0]
	place := session.Session{ID: session.ID(s.ID), Location: session.Location{Directory: s.Directory}}
	for _, m := range opencode.RenderExport(&place, s.Messages) {
		id, _ := opencode.IDAndTime(m.Info)
		compareFile(t, path.Join(root, "message", s.ID, string(id)+".json"), m.Info)
		for _, p := range m.Parts {
			compareFile(t, path.Join(root, "part", string(id), string(opencode.PartID(p))+".json"), p)
		}
	}
	if s.Original == nil || s.Original.Changes == nil || s.Original.Changes.Additions != 1 {
		t.Errorf("original: %+v", s.Original)
	}
}

func compareFile(t *testing.T, name string, got any) {
	t.Helper()
	var want, have any
	b, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, &want)
	}
	if err != nil {
		t.Error(err)
		return
	}
	shown, err := json.Marshal(got)
	if err == nil {
		err = json.Unmarshal(shown, &have)
	}
	if diff := cmp.Diff(want, have); diff != "" || err != nil {
		t.Errorf("%s: %v\n%s", name, err, diff)
	}
}

const (
	info  = `{"id":"ses_1","title":"One","version":"1.0","directory":"/d","time":{"created":1000,"updated":2000}}`
	user  = `{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1100}}`
	text  = `{"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","type":"text","text":"Hi"}`
	reply = `{"id":"msg_2","sessionID":"ses_1","role":"assistant","time":{"created":1200,"completed":1300},` +
		`"modelID":"m","providerID":"p","mode":"build","path":{"cwd":"/d","root":"/d"},"cost":0.5,` +
		`"tokens":{"input":1,"output":2,"reasoning":0,"cache":{"read":3,"write":4}}}`
	call = `{"id":"prt_2","messageID":"msg_2","sessionID":"ses_1","type":"tool","callID":"c","tool":"bash",` +
		`"state":{"status":"running","input":{"command":"ls"},"time":{"start":1250}}}`
)

// base is a session of an old 1.0 version: its prompt names no agent and no model, its answer no parent and no end.
func base() map[string]string {
	return map[string]string{
		"storage/session/p1/ses_1.json":    info,
		"storage/message/ses_1/msg_1.json": user,
		"storage/message/ses_1/msg_2.json": reply,
		"storage/part/msg_1/prt_1.json":    text,
		"storage/part/msg_2/prt_2.json":    call,
	}
}

func tree(files ...map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for _, m := range files {
		for name, text := range m {
			out[name] = &fstest.MapFile{Data: []byte(text)}
			if text == "-" {
				delete(out, name)
			}
		}
	}
	return out
}

// OpenCode touches a session when it is prompted, not when the answer ends.
func TestTimeOfUpdateStays(t *testing.T) {
	t.Parallel()
	for updated, want := range map[int64]int64{1150: 1150, 2000: 2000, 0: 1300} {
		files := base()
		files["storage/session/p1/ses_1.json"] = strings.Replace(info, "2000", strconv.FormatInt(updated, 10), 1)
		sessions, _ := read(t, tree(files))
		if got := sessions[0].Original.Time.Updated; got != want {
			t.Errorf("updated %d is read as %d, want %d", updated, got, want)
		}
	}
}

const whole = `session ses_1 "One"
user: Hi
assistant: bash{"command":"ls"} interrupted: it had not ended when the session was exported; its outcome is unknown
`

func encodeUTF16(text string) string {
	out := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(text)) {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return string(out)
}

// Each case changes files of the base tree; "-" removes one.
func TestRulesOfTrees(t *testing.T) {
	t.Parallel()
	const reduced = `session ses_1 "One"` + "\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing is wrong", nil, whole},
		{"a byte order mark", map[string]string{"storage/part/msg_1/prt_1.json": "\xEF\xBB\xBF" + text}, whole},
		{"UTF-16", map[string]string{"storage/message/ses_1/msg_1.json": encodeUTF16(user)}, whole},
		{
			"half a surrogate pair, and bytes that are not UTF-8",
			map[string]string{"storage/part/msg_1/prt_1.json": strings.Replace(text, "Hi", "a\\ud83d\xFFb", 1)},
			strings.Replace(whole, "Hi", "a\uFFFD\uFFFDb", 1),
		},
		{
			"the session's file is cut off",
			map[string]string{"storage/session/p1/ses_1.json": info[:40]},
			"session ses_1\n! storage/session/p1/ses_1.json: it is cut off\n" + strings.TrimPrefix(whole, reduced),
		},
		{
			"a member of the session is of another type",
			map[string]string{"storage/session/p1/ses_1.json": strings.Replace(info, `"time"`, `"revert":7,"time"`, 1)},
			reduced + "! storage/session/p1/ses_1.json revert: it does not have the form that OpenCode writes\n" +
				strings.TrimPrefix(whole, reduced),
		},
		{
			"a message is empty",
			map[string]string{"storage/message/ses_1/msg_1.json": ""},
			reduced + "! storage/message/ses_1/msg_1.json: it is empty; its parts are left out too, which are 1\n" +
				"assistant: bash" + strings.SplitN(whole, "bash", 2)[1],
		},
		{
			"a member of a message is of another type",
			map[string]string{"storage/message/ses_1/msg_2.json": strings.Replace(reply, `"cost":0.5`, `"cost":{}`, 1)},
			reduced + "! storage/message/ses_1/msg_2.json cost: it does not have the form that OpenCode writes\n" +
				strings.TrimPrefix(whole, reduced),
		},
		{
			"a part is of another type, the others stay",
			map[string]string{"storage/part/msg_1/prt_0.json": `{"type":"text","text":[]}`},
			reduced + "! storage/part/msg_1/prt_0.json: it does not have the form that OpenCode writes\n" +
				strings.TrimPrefix(whole, reduced),
		},
		{
			"a part is nested too deeply",
			map[string]string{"storage/part/msg_1/prt_0.json": strings.Repeat(`{"a":`, 600)},
			reduced + "! storage/part/msg_1/prt_0.json: it is nested too deeply\n" + strings.TrimPrefix(whole, reduced),
		},
		{
			"an image is too large",
			map[string]string{"storage/part/msg_1/prt_0.json": `{"type":"file","mime":"image/png","url":"data:image/png;base64,` +
				strings.Repeat("A", 11<<20) + `"}`},
			reduced + "! storage/part/msg_1/prt_0.json: it is larger than 10 MiB\n" + strings.TrimPrefix(whole, reduced),
		},
		{
			"the texts of changed files do not fit into the message",
			map[string]string{"storage/message/ses_1/msg_1.json": strings.TrimSuffix(user, "}") +
				`,"summary":{"diffs":[{"file":"a","before":"` + strings.Repeat("A", 12<<20) + `","after":"","additions":1,"deletions":0}]}}`},
			reduced + "! storage/message/ses_1/msg_1.json summary.diffs: the message is larger than 11 MiB with it\n" +
				strings.TrimPrefix(whole, reduced),
		},
		{
			"a message without parts",
			map[string]string{"storage/part/msg_1/prt_1.json": "-"},
			reduced + "! ses_1 parts: messages without parts: 1\n" + strings.TrimPrefix(whole, reduced+"user: Hi\n"),
		},
		{
			"parts without a message",
			map[string]string{"storage/part/msg_9/prt_9.json": text},
			"! storage/part: 1 parts are of 1 messages that are missing\n" + whole,
		},
		{
			"messages without a session",
			map[string]string{"storage/message/ses_9/msg_9.json": user},
			"! storage/message/ses_9: its session is missing; it has 1 messages\n" + whole,
		},
		{
			"a session in the folders of two projects",
			map[string]string{"storage/session/p0/ses_1.json": strings.NewReplacer("One", "Old", "2000", "1500").Replace(info)},
			reduced + "! storage/session/p0/ses_1.json: another file of the session is newer\n" +
				strings.TrimPrefix(whole, reduced),
		},
		{
			"a tree that a migration has copied is read once",
			map[string]string{"project/d/storage/session/info/ses_1.json": info},
			whole,
		},
		{
			"a version that is not known",
			map[string]string{"storage/migration": "7\n"},
			"! storage/migration: the files have version 7; 2 is the newest that is known\n" + whole,
		},
		{
			"a name that is not an id",
			map[string]string{"storage/session/p1/notes.json": "{}"},
			"! storage/session/p1/notes.json: its name is not the id of a session\n" + whole,
		},
		{
			"a list that is not one",
			map[string]string{"storage/todo/ses_1.json": "{}"},
			reduced + "! storage/todo/ses_1.json: it is not a list\n" + strings.TrimPrefix(whole, reduced),
		},
	} {
		sessions, problems := read(t, tree(base(), c.files))
		foreigntest.Check(t, sessions)
		if o := sessions[0].Original; o == nil || o.ID != "ses_1" || o.Time.Created != sessions[0].Created {
			t.Errorf("%s: original %+v", c.name, o)
		}
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

// What older versions do not write is found elsewhere: sums in the turns, the folder in them or in the project, and the
// changes of files in the session or beside it.
func TestOlderForms(t *testing.T) {
	t.Parallel()
	without := strings.Replace(info, `"directory":"/d",`, "", 1)
	type facts struct {
		Directory, Agent string
		Cost             session.USD
		Tokens           session.Tokens
		Changes          *session.Changes
		Todos            []session.Todo
	}
	want := facts{"/d", "build", session.Dollar / 2, session.Tokens{
		Input: 1, Output: 2, Cache: session.CacheUsage{Read: 3, Write: 4},
	}, nil, nil}
	for _, c := range []struct {
		name  string
		files map[string]string
		edit  func(*facts)
	}{
		{"the folder is that of the turns", map[string]string{"storage/session/p1/ses_1.json": without}, nil},
		{"the folder is that of the project", map[string]string{
			"storage/session/p1/ses_1.json": without, "storage/project/p1.json": `{"id":"p1","worktree":"/w"}`,
		}, func(f *facts) { f.Directory = "/w" }},
		{"changes of files in the session, before migration 2", map[string]string{
			"storage/session/p1/ses_1.json": strings.Replace(info, `"time"`,
				`"summary":{"diffs":[{"file":"a","additions":2,"deletions":1},{"file":"b","additions":3,"deletions":0}]},"time"`, 1),
		}, func(f *facts) { f.Changes = &session.Changes{Additions: 5, Deletions: 1, Files: 2} }},
		{"changes of files beside the session", map[string]string{
			"storage/session_diff/ses_1.json": `[{"file":"a","additions":2,"deletions":1}]`,
		}, func(f *facts) { f.Changes = &session.Changes{Additions: 2, Deletions: 1, Files: 1} }},
		{"a todo list", map[string]string{
			"storage/todo/ses_1.json": `[{"id":"1","content":"a","status":"done?","priority":"high"}]`,
		}, func(f *facts) {
			f.Todos = []session.Todo{{Content: "a", Status: session.TodoPending, Priority: session.TodoHigh}}
		}},
	} {
		sessions, problems := read(t, tree(base(), c.files))
		s, want := sessions[0], want
		if c.edit != nil {
			c.edit(&want)
		}
		got := facts{s.Directory, s.Agent, s.Cost, s.Tokens, s.Original.Changes, s.Todos}
		if diff := cmp.Diff(want, got); diff != "" || len(problems)+len(s.Problems) > 0 {
			t.Errorf("%s: %v %v %s", c.name, problems, s.Problems, diff)
		}
	}
}

// Before migration 1 a project has its own tree. Its oldest form holds the parts in the messages.
func TestProjectTrees(t *testing.T) {
	t.Parallel()
	const root = "project/d/storage/session/"
	separate := map[string]string{
		root + "info/ses_1.json": info, root + "message/ses_1/msg_1.json": user, root + "message/ses_1/msg_2.json": reply,
		root + "part/ses_1/msg_1/prt_1.json": text, root + "part/ses_1/msg_2/prt_2.json": call,
	}
	inline := map[string]string{
		root + "info/ses_1.json": info,
		root + "message/ses_1/msg_1.json": `{"role":"user","id":"msg_1","parts":[{"type":"text","text":"Hi"},` +
			`{"type":"file","mediaType":"image/png","filename":"a.png","url":"data:image/png;base64,AAAA"}],` +
			`"metadata":{"time":{"created":1100},"sessionID":"ses_1","tool":{}}}`,
		root + "message/ses_1/msg_2.json": `{"role":"assistant","id":"msg_2","parts":[{"type":"step-start"},` +
			`{"type":"reasoning","text":"Well"},{"type":"source-url","url":"x"},` +
			`{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"a","toolName":"read",` +
			`"args":{"filePath":"/f"},"result":"text"}},` +
			`{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"b","toolName":"bash",` +
			`"args":{"command":"x"},"result":"no"}},` +
			`{"type":"tool-invocation","toolInvocation":{"state":"call","toolCallId":"c","toolName":"bash","args":{}}}],` +
			`"metadata":{"time":{"created":1200,"completed":1300},"sessionID":"ses_1",` +
			`"tool":{"a":{"title":"f","time":{"start":1210,"end":1220},"preview":"t"},"b":{"error":true,"time":{"start":1,"end":2}}},` +
			`"assistant":{"system":["s"],"modelID":"m","providerID":"p","path":{"cwd":"/d","root":"/d"},"cost":0.5,` +
			`"tokens":{"input":1,"output":2,"reasoning":0,"cache":{"read":3,"write":4}}}}}`,
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"separate parts": {separate, whole},
		"inline parts": {inline, `session ses_1 "One"
user: Hi [a.png data:image/png;base64,AAAA]
assistant: (Well) | read{"filePath":"/f"} text | bash{"command":"x"} tool: no | bash{} interrupted: it had not ended when the session was exported; its outcome is unknown
`},
	} {
		sessions, problems := read(t, tree(c.files))
		foreigntest.Check(t, sessions)
		if diff := cmp.Diff(c.want, foreigntest.Outline(sessions)); diff != "" || len(problems) > 0 {
			t.Errorf("%s: %v %s", name, problems, diff)
		}
		if s := sessions[0]; s.Cost != session.Dollar/2 || s.Tokens.Cache.Write != 4 || s.Model.ID != "m" {
			t.Errorf("%s: %s %+v %v", name, s.Cost, s.Tokens, s.Model)
		}
	}
}

// The reading ends with the error of the receiver, and with the context.
func TestReadEnds(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	_, err := jsontree.Read(t.Context(), tree(base()), func(foreign.Session) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(full)
	_, err = jsontree.Read(ctx, tree(base()), func(foreign.Session) error { return nil })
	if !errors.Is(err, full) {
		t.Errorf("after the end of the context: %v", err)
	}
}

// Any files can be read, what is read can be stored, and each message and part is read or a problem.
func FuzzRead(f *testing.F) {
	f.Add([]byte(info), []byte(user), []byte(text))
	f.Add([]byte(info), []byte(reply), []byte(call))
	f.Add([]byte(`{"time":{"created":-1}}`), []byte(`{"role":"user","metadata":{},"parts":[{"type":"text"}]}`), []byte("[]"))
	f.Fuzz(func(t *testing.T, info, message, part []byte) {
		sessions, _ := read(t, fstest.MapFS{
			"storage/session/p/ses_1.json":     {Data: info},
			"storage/message/ses_1/msg_1.json": {Data: message},
			"storage/part/msg_1/prt_1.json":    {Data: part},
			"storage/todo/ses_1.json":          {Data: part},
		})
		s := sessions[0]
		if len(s.Messages)+len(s.Problems) == 0 {
			t.Errorf("nothing was read")
		}
		for _, m := range s.Messages {
			raw, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			again, err := session.DecodeMessage(raw)
			if err != nil {
				t.Fatal(err)
			}
			rawAgain, _ := json.Marshal(again)
			if diff := cmp.Diff(plain(t, raw), plain(t, rawAgain)); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func plain(t *testing.T, v jsontext.Value) (out any) {
	if err := json.Unmarshal(v, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
