package gemini

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

// All samples are read as their golden files say, and the first lines of one give the first messages.
func TestSamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json*")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			t.Fatal(err)
		}
		golden := strings.TrimSuffix(file, filepath.Ext(file)) + ".txt"
		foreigntest.CheckGolden(t, golden, read(t, source, file), *update)
		foreigntest.CheckPrefixes(t, source, func(b []byte) []foreign.Session { return read(t, b, file) })
	}
}

const head = `{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z","kind":"main"}`

func msg(id, kind, members string) string {
	return fmt.Sprintf(`{"id":%q,"timestamp":"2026-01-01T00:00:01Z","type":%q,%s}`, id, kind, members)
}

func said(id, kind, text string) string { return msg(id, kind, fmt.Sprintf(`"content":%q`, text)) }

// tool returns a call. The result is a list of parts.
func tool(id, status, result string) string {
	return fmt.Sprintf(`{"id":%q,"name":"x","args":{"a":1},"status":%q,"result":%s}`, id, status, result)
}

func response(id, value string) string {
	return fmt.Sprintf(`{"functionResponse":{"id":%q,"name":"x","response":%s}}`, id, value)
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
		{"a later record of an id replaces the earlier one, where it stands", []string{
			head, said("a", "user", "one"), said("b", "gemini", "half"), said("c", "user", "two"), said("b", "gemini", "whole"),
		}, "session s\nuser: one\ngemini: whole\nuser: two\n"},
		{"a list of messages replaces all", []string{
			head, said("a", "user", "one"), `{"$set":{"messages":[` + said("b", "user", "two") + `,` + said("a", "user", "three") + `]}}`, said("c", "gemini", "x"),
		}, "session s\nuser: two\nuser: three\ngemini: x\n"},
		{"a rewind cuts the message and those after it", []string{
			head, said("a", "user", "one"), said("b", "gemini", "x"), said("c", "user", "two"), said("d", "gemini", "y"), `{"$rewindTo":"c"}`, said("d", "user", "three"),
		}, "session s\nuser: one\ngemini: x\nuser: three\n"},
		{
			"a rewind to a missing message cuts nothing",
			[]string{head, said("a", "user", "one"), `{"$rewindTo":"zz"}`},
			"session s\n! line 3 $rewindTo: the message is missing; all messages were kept\nuser: one\n",
		},
		{
			"facts of the session",
			[]string{head, `{"$set":{"summary":"Mine","sessionId":"other"}}`, said("a", "user", "one")},
			"session s \"Mine\"\nuser: one\n",
		},
		{
			"a subagent",
			[]string{`{"sessionId":"k","projectHash":"h","kind":"subagent"}`, said("a", "user", "one")},
			"session k of parent\nuser: one\n",
		},

		{"results come with the call and again in a user message", []string{
			head, msg("a", "gemini", `"content":"look","thoughts":[{"subject":"S","description":"d"}],"toolCalls":[`+tool("t", "success", `[`+response("t", `{"output":"out"}`)+`]`)+`]`),
			msg("b", "user", `"content":[`+response("t", `{"output":"out"}`)+`]`),
		}, "session s\ngemini: (**S**⏎⏎d) | look | x{\"a\":1} out\n"},
		{"results only in the user message, and a result without a call", []string{
			head, msg("a", "gemini", `"content":"","toolCalls":[`+tool("t", "success", `null`)+`,`+tool("u", "executing", `null`)+`]`),
			msg("b", "user", `"content":[`+response("t", `{"output":"out"}`)+`,`+response("z", `{}`)+`,{"text":"and"}]`),
		}, "session s\n! b functionResponse: the call of the result is missing\ngemini: x{\"a\":1} out | x{\"a\":1} " + interrupted + "\nuser: and\n"},
		{"results of several calls in each, errors and cancelled calls", []string{
			head, msg("a", "gemini", `"toolCalls":[`+tool("t", "success", `[`+response("t", `{"output":"1"}`)+`,`+response("u", `{"error":"no"}`)+`]`)+
				`,`+tool("u", "error", `[`+response("t", `{"output":"1"}`)+`,`+response("u", `{"error":"no"}`)+`]`)+`,`+tool("v", "cancelled", `[]`)+`]`),
		}, "session s\ngemini: x{\"a\":1} 1 | x{\"a\":1} tool: no | x{\"a\":1} aborted: the tool failed\n"},
		{"a call with a file", []string{
			head, msg("a", "gemini", `"toolCalls":[`+tool("t", "success", `[`+response("t", `{"output":"see"}`)+`,{"inlineData":{"mimeType":"image/png","data":"aGk="}}]`)+`]`),
		}, "session s\ngemini: x{\"a\":1} seedata:image/png;base64,aGk=\n"},
		{"a history that was rewritten has parts", []string{
			head, msg("a", "gemini", `"content":[{"text":"hm","thought":true},{"text":"I "},{"text":"look"},{"functionCall":{"id":"t","name":"x","args":{}}},{"thoughtSignature":"z"}]`),
			msg("b", "user", `"content":[`+response("t", `{"output":{"k":1}}`)+`]`),
		}, "session s\ngemini: (hm) | I look | x{} {\"k\":1}\n"},
		{"names and arguments", []string{
			head, msg("a", "gemini", `"toolCalls":[{"id":"1","name":"read_file","args":{"absolute_path":"/a"},"status":"success"},`+
				`{"id":"2","name":"run_shell_command","args":{"command":"ls","dir_path":"d"},"status":"success","resultDisplay":"shown"},`+
				`{"id":"3","name":"write_todos","args":{"todos":[{"description":"one","status":"blocked"}]},"status":"success"}]`),
		}, "session s\ngemini: read{\"filePath\":\"/a\"}  | bash{\"command\":\"ls\",\"workdir\":\"d\"} shown | " +
			"todowrite{\"todos\":[{\"content\":\"one\",\"status\":\"pending\",\"priority\":\"medium\"}]} \n"},

		{"what the program says to the person and to the model", []string{
			head, said("a", "info", "Update!"), said("b", "warning", "careful"), said("c", "error", "quota"),
			said("d", "user", "<session_context>\nx"), said("e", "user", "System: Please continue."), said("f", "user", "hi"),
		}, "session s\ngemini: api: quota\nsynthetic: System: Please continue.\nuser: hi\n"},
		{"files", []string{
			head, msg("a", "user", `"content":["see",{"inlineData":{"mimeType":"image/png","data":"aGk="}},{"fileData":{"fileUri":"gs://x"}}]`),
		}, "session s\n! a content[2]: its content is not in the source\nuser: see [ data:image/png;base64,aGk=]\n"},
		{"one object", []string{
			`{`, `"sessionId":"doc",`, `"messages":[`, said("a", "user", "one") + `,`, said("b", "gemini", "x"), `],"summary":"T"}`,
		}, "session doc \"T\"\nuser: one\ngemini: x\n"},
		{"one object in a line", []string{`{"sessionId":"doc","projectHash":"h","messages":[` + said("a", "user", "one") + `]}`}, "session doc\nuser: one\n"},
		{
			"one object that is cut off",
			[]string{`{`, `"sessionId":"doc",`, `"messages":[`, said("a", "user", "one") + `,`, `{"id":"b","ty`},
			"session doc\n! message 2: the file is cut off or not valid JSON here; what follows was left out\nuser: one\n",
		},
		{
			"one object in a line that is cut off",
			[]string{`{"sessionId":"doc","messages":[` + said("a", "user", "one") + `,{"id`},
			"session doc\n! message 2: the file is cut off or not valid JSON here; what follows was left out\nuser: one\n",
		},
		{"rows and fields that cannot be read", []string{
			`x`, head, `{"new":1}`, said("a", "new", "x"), msg("b", "user", `"content":7`), msg("c", "user", `"content":[{"new":1},{"text":"kept"}]`),
			msg("d", "gemini", `"content":{"text":"kept"},"tokens":"many","toolCalls":7`), `{"$set":{"messages":7}}`, msg("e", "user", `"content":"kept"`), `{"id":"f`,
		}, "session s\n! line 1: it is not a JSON object\n! line 3: the kind of row is unknown\n! line 8 messages: it is not a list\n! line 10: it is cut off\n" +
			"! a type: the type of the message is unknown\n! b content: it is neither a string nor a list\n! c content[0]: the kind of content is unknown\n" +
			"user: kept\ngemini: kept\nuser: kept\n"},
		{"no conversation", []string{head}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := foreigntest.Outline(read(t, []byte(strings.Join(c.rows, "\n")), "/tmp/chats/parent/file.jsonl"))
			if diff := cmp.Diff(strings.ReplaceAll(c.want, "gemini:", "assistant:"), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Cached tokens are part of the input, thoughts are not part of the output.
func TestUsage(t *testing.T) {
	t.Parallel()
	const usage = `"content":"x","model":"gemini-x","tokens":{"input":100,"cached":60,"output":10,"thoughts":5,"tool":3}`
	s := read(t, []byte(head+"\n"+msg("a", "gemini", usage)+"\n"+msg("a", "gemini", usage)), "x")[0]
	if u := s.Tokens; u.Input != 43 || u.Output != 10 || u.Reasoning != 5 || u.Cache.Read != 60 || s.Model.ID != "gemini-x" {
		t.Errorf("%+v of %v", u, s.Model)
	}
}

func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.json*")
	for _, file := range files {
		if b, err := os.ReadFile(filepath.Clean(file)); err == nil {
			f.Add(b)
		}
	}
	f.Add([]byte(head + "\n" + said("a", "user", "x") + "\n" + `{"$set":{"messages":[{"id":"a"}]}}` + "\n" + `{"$rewindTo":"a"}`))
	f.Add([]byte("{\n\"messages\":[" + said("a", "user", "x") + "]}"))
	f.Fuzz(func(t *testing.T, source []byte) { read(t, source, "f.jsonl") })
}

// A file without one row, such as a binary one, has one problem, whatever its lines are.
func TestNoRows(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"binary":                      "\x00\x01\xff\n\xfe\x02\nabc\n",
		"UTF-16 without a mark":       "{\x00\"\x00a\x00\"\x00:\x001\x00}\x00\n\x00{\x00}\x00\n\x00",
		"text":                        "one\ntwo\nthree\n",
		"binary within a single line": "\x00\x01\xff",
	} {
		got := read(t, []byte(text), "chats/x.jsonl")
		if len(got) != 1 || len(got[0].Problems) != 1 || len(got[0].Messages) != 0 {
			t.Errorf("%s: %d sessions, problems %+v", name, len(got), got[0].Problems)
		}
	}
}
