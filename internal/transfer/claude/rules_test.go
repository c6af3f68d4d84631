package claude

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/test/foreigntest"
)

// at returns the time of the nth row.
func at(n int) string { return fmt.Sprintf("2026-01-01T00:00:%02dZ", n) }

// line returns a row of the tree: the nth, with the members.
func line(n int, id, parent, members string) string {
	link := "null"
	if parent != "" {
		link = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"uuid":%q,"parentUuid":%s,"sessionId":"s","timestamp":%q,%s}`, id, link, at(n), members)
}

func user(n int, id, parent, text string) string {
	return line(n, id, parent, fmt.Sprintf(`"type":"user","message":{"role":"user","content":%q}`, text))
}

// answer returns a row of the answer with the id msg_ID, with one block.
func answer(n int, id, parent, message, block string) string {
	return line(n, id, parent, fmt.Sprintf(
		`"type":"assistant","message":{"id":%q,"model":"claude-x","role":"assistant","content":[%s],`+
			`"usage":{"input_tokens":3,"output_tokens":%d}}`, message, block, n,
	))
}

func text(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }

func call(id, command string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Bash","input":{"command":%q}}`, id, command)
}

func returned(n int, id, parent, callID, text string) string {
	return line(n, id, parent, fmt.Sprintf(
		`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`,
		callID, text,
	))
}

// Each case is a file and the outline of what is read of it.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		rows []string
		want string
	}{
		{"the newest leaf's chain counts, not the order of the file", []string{
			user(1, "a", "", "one"), answer(2, "b", "a", "m1", text("old")), user(3, "c", "b", "dropped"),
			answer(4, "e", "a", "m2", text("new")), user(5, "f", "e", "two"),
		}, "session s\nuser: one\nassistant: new\nuser: two\n"},
		{"the newest leaf is written before an older one", []string{
			user(1, "a", "", "one"), user(9, "b", "a", "newest"), user(3, "c", "a", "older"),
		}, "session s\nuser: one\nuser: newest\n"},
		{"a prompt again from the beginning", []string{
			user(1, "a", "", "one"), answer(2, "b", "a", "m1", text("x")), user(3, "c", "", "again"),
		}, "session s\nuser: again\n"},
		{"rows without conversation are bridged", []string{
			user(1, "a", "", "one"), line(2, "p", "a", `"type":"progress"`), line(3, "q", "p", `"type":"attachment","attachment":{"type":"todo"}`),
			answer(4, "b", "q", "m1", text("x")), line(5, "r", "b", `"type":"system","subtype":"turn_duration"`),
			user(6, "c", "r", "two"), line(7, "z", "c", `"type":"progress"`),
		}, "session s\nuser: one\nassistant: x\nuser: two\n"},
		{"a missing parent costs nothing", []string{
			user(1, "a", "", "one"), `{"uuid":"b","parentUuid":"a","type":"assis`, user(3, "c", "b", "two"),
		}, "session s\n! line 2: it is cut off\n" +
			"! c parentUuid: the row that it names is missing; the row before it in the file was taken\nuser: one\nuser: two\n"},
		{"the first row of a part of a file", []string{user(1, "a", "elsewhere", "one")}, "session s\nuser: one\n"},
		{"rows that are their own ancestors", []string{
			user(1, "a", "c", "one"), user(2, "b", "a", "two"), user(3, "c", "b", "three"), user(4, "d", "c", "four"),
		}, "session s\n! b parentUuid: the row is its own ancestor\nuser: two\nuser: three\nuser: four\n"},
		{"a row that comes again replaces the first", []string{
			user(1, "a", "", "one"), user(2, "b", "a", "two"), user(1, "a", "", "one, better"),
		}, "session s\nuser: one, better\nuser: two\n"},

		{"rows of one message are one turn, with calls side by side and their results", []string{
			user(1, "a", "", "go"), answer(2, "b", "a", "m1", `{"type":"thinking","thinking":"hm","signature":"xyz"}`),
			answer(3, "c", "b", "m1", call("t1", "one")), answer(4, "d", "c", "m1", call("t2", "two")),
			returned(5, "e", "c", "t1", "1"), returned(6, "f", "d", "t2", "2"), answer(7, "g", "f", "m2", text("done")),
		}, "session s\nuser: go\nassistant: (hm) | bash{\"command\":\"one\"} 1 | bash{\"command\":\"two\"} 2\nassistant: done\n"},
		{"results between the rows of a message", []string{
			answer(1, "b", "", "m1", call("t1", "one")), returned(2, "c", "b", "t1", "1"),
			answer(3, "d", "c", "m1", call("t2", "two")), returned(4, "e", "d", "t2", "2"),
		}, "session s\nassistant: bash{\"command\":\"one\"} 1 | bash{\"command\":\"two\"} 2\n"},
		{"results that fail, are refused, or are missing", []string{
			answer(1, "b", "", "m1", call("t1", "x")+","+call("t2", "y")+","+call("t3", "z")),
			line(2, "c", "b", `"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no"}]},`+
				`{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"The user doesn't want to proceed with this tool use. X"},{"type":"text","text":"stop"}]}`),
		}, "session s\nassistant: bash{\"command\":\"x\"} tool: no | bash{\"command\":\"y\"} denied: The user doesn't want to proceed with this tool use. X" +
			" | bash{\"command\":\"z\"} interrupted: the source has no result of this call\nuser: stop\n"},
		{
			"a result without a call",
			[]string{user(1, "a", "", "x"), returned(2, "b", "a", "t9", "1")},
			"session s\n! b tool_use_id: the call of the result is missing\nuser: x\n",
		},
		{"a tool that the provider runs", []string{
			answer(1, "b", "", "m1", `{"type":"server_tool_use","id":"w","name":"web_search","input":{"query":"q"}},`+
				`{"type":"web_search_tool_result","tool_use_id":"w","content":[{"type":"web_search_result","title":"T","url":"https://t"}]},`+text("so")),
		}, "session s\nassistant: websearch{\"query\":\"q\"} T⏎https://t | so\n"},

		{"subagents in the file of their session", []string{
			user(1, "a", "", "go"), line(2, "x", "", `"isSidechain":true,"type":"user","message":{"content":"task"}`),
			line(3, "y", "x", `"isSidechain":true,"type":"assistant","message":{"id":"m9","model":"claude-y","content":[`+text("did")+`]}`),
			line(9, "z", "", `"isSidechain":true,"agentId":"q1","type":"user","message":{"content":"other"}`),
			answer(5, "b", "a", "m1", text("ok")),
		}, "session s\nuser: go\nassistant: ok\nsession s/x of s\nuser: task\nassistant: did\nsession s/agent-q1 of s\nuser: other\n"},

		{"several sessions in a file, one that goes on and one that does not", []string{
			`{"uuid":"a","parentUuid":null,"sessionId":"r1","timestamp":"` + at(1) + `","type":"user","message":{"content":"one"}}`,
			`{"uuid":"a2","parentUuid":"a","sessionId":"r1","timestamp":"` + at(2) + `","type":"user","message":{"content":"abandoned"}}`,
			`{"uuid":"b","parentUuid":"a","sessionId":"r1","timestamp":"` + at(3) + `","type":"user","message":{"content":"two"}}`,
			`{"uuid":"c","parentUuid":"b","sessionId":"r2","timestamp":"` + at(4) + `","type":"user","message":{"content":"resumed"}}`,
			`{"uuid":"d","parentUuid":null,"sessionId":"r3","timestamp":"` + at(5) + `","type":"user","message":{"content":"alone"}}`,
		}, "session r2\nuser: one\nuser: two\nuser: resumed\nsession r3\nuser: alone\n"},
		{"a session that goes on beside the one that resumed it", []string{
			user(1, "a", "", "one"), user(9, "b", "a", "mine"),
			`{"uuid":"c","parentUuid":"a","sessionId":"r2","timestamp":"` + at(4) + `","type":"user","message":{"content":"theirs"}}`,
		}, "session s\nuser: one\nuser: mine\nsession r2\nuser: one\nuser: theirs\n"},

		{"titles", []string{
			`{"type":"summary","summary":"of another file","leafUuid":"zz"}`, `{"type":"summary","summary":"By leaf","leafUuid":"a"}`,
			user(1, "a", "", "x"),
		}, "session s \"By leaf\"\nuser: x\n"},
		{"a title that the user gave", []string{
			`{"type":"custom-title","customTitle":"Mine","sessionId":"s"}`, `{"type":"ai-title","aiTitle":"Its","sessionId":"s"}`,
			`{"type":"summary","summary":"By leaf","leafUuid":"a"}`, user(1, "a", "", "x"),
		}, "session s \"Mine\"\nuser: x\n"},

		{"a boundary with its summary", []string{
			user(1, "a", "", "one"), answer(2, "b", "a", "m1", text("x")),
			line(3, "c", "", `"logicalParentUuid":"b","type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"manual","preTokens":5}`),
			line(4, "d", "c", `"isCompactSummary":true,"type":"user","message":{"content":"The story so far"}`), user(5, "e", "d", "on"),
		}, "session s\nuser: one\nassistant: x\ncompaction: manual The story so far\nuser: on\n"},
		{"a boundary that names no row, without a summary", []string{
			user(1, "a", "", "one"), line(3, "c", "", `"type":"system","subtype":"compact_boundary","content":"Conversation compacted"`),
			user(5, "e", "c", "on"),
		}, "session s\nuser: one\nsystem: Conversation compacted\nuser: on\n"},
		{"a summary without a boundary", []string{
			user(1, "a", "", "one"), line(4, "d", "a", `"isCompactSummary":true,"type":"user","message":{"content":"So far"}`),
		}, "session s\nuser: one\ncompaction: auto So far\n"},

		{"commands of the program and the user's shell", []string{
			line(1, "a", "", `"isMeta":true,"type":"user","message":{"content":"Caveat: x"}`),
			user(2, "b", "a", "<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args>opus</command-args>"),
			user(3, "c", "b", "<local-command-stdout>Set model</local-command-stdout>"),
			user(4, "d", "c", "<bash-input>ls</bash-input>"), user(5, "e", "d", "<bash-stdout>a.go</bash-stdout><bash-stderr></bash-stderr>"),
			user(6, "f", "e", "<bash-input>pwd</bash-input>"), user(7, "g", "f", "[Request interrupted by user]"),
			line(8, "h", "g", `"type":"system","subtype":"local_command","content":"<command-name>/cost</command-name>"`),
		}, "session s\nsynthetic: Caveat: x\nuser: /model opus\nsynthetic: <local-command-stdout>Set model</local-command-stdout>\n" +
			"shell: $ ls -> a.go\nshell: $ pwd -> \nsynthetic: [Request interrupted by user]\nuser: /cost\n"},
		{"prompts that waited", []string{
			user(1, "a", "", "one"), line(2, "b", "a", `"type":"attachment","attachment":{"type":"queued_command","prompt":"also"}`),
			line(3, "c", "b", `"type":"attachment","attachment":{"type":"queued_command","prompt":"again","source_uuid":"a"}`),
			line(4, "d", "c", `"type":"attachment","attachment":{"type":"queued_command","prompt":"note","commandMode":"task-notification"}`),
		}, "session s\nuser: one\nuser: also\nsynthetic: note\n"},
		{"an error of the API, and answers that the program made up", []string{
			user(1, "a", "", "one"),
			line(2, "b", "a", `"type":"assistant","isApiErrorMessage":true,"message":{"id":"1","model":"<synthetic>","content":[`+text("API Error: 500")+`]}`),
			line(3, "c", "b", `"type":"assistant","message":{"id":"2","model":"<synthetic>","content":[`+text("No response requested.")+`]}`),
			line(4, "d", "c", `"type":"assistant","message":{"id":"3","model":"claude-x","content":[`+text("(no content)")+`]}`),
		}, "session s\nuser: one\nassistant: api: API Error: 500\n"},

		{"files", []string{
			line(1, "a", "", `"type":"user","message":{"content":[`+text("see")+`,{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}},`+
				`{"type":"document","title":"n","source":{"type":"text","data":"hi"}},{"type":"image","source":{"type":"url","url":"https://x"}},`+
				`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"??"}}]}`),
		}, "session s\n! a message.content[3]: its content is not in the source\n! a message.content[4]: its content is not valid base64\n" +
			"user: see [ data:image/png;base64,aGk=] [n data:text/plain;base64,aGk=]\n"},
		{"rows and fields that cannot be read", []string{
			`nonsense`, `[1]`, user(1, "a", "", "one"), `{"type":"new-kind","uuid":"k","parentUuid":"a"}`,
			line(2, "b", "k", `"type":"user","message":{"content":7}`), line(3, "c", "b", `"type":"assistant","message":{"id":"m","content":{}}`),
			line(4, "d", "c", `"type":"assistant","message":{"id":5,"usage":"many","model":[],"content":[{"type":"new"},7,`+text("kept")+`]}`),
			line(5, "e", "d", `"type":"user","message":{"content":[{"type":"new"}]}`),
		}, "session s\n! line 1: it is not a JSON object\n! line 2: it is not a JSON object\n! k type: the type of the row is unknown\n" +
			"! b message.content: it is neither a string nor a list\n! c message.content: it is neither a string nor a list\n" +
			"! d message.content[0]: the kind of content is unknown\n! e message.content[0]: the kind of content is unknown\n" +
			"user: one\nassistant: kept\n"},
		{"a file without a conversation", []string{`{"type":"summary","summary":"x","leafUuid":"a"}`}, ""},
		{"arguments that are not an object, and names that come twice", []string{
			answer(1, "a", "", "m1", `{"type":"tool_use","id":"t","name":"X","input":[1]},{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"a","file_path":"b\ud800","z":{"k":1,"k":2}}}`),
		}, "session s\nassistant: X{} interrupted: the source has no result of this call | " +
			"read{\"filePath\":\"b�\",\"z\":{\"k\":2}} interrupted: the source has no result of this call\n"},
		{"nesting that is too deep", []string{
			user(1, "a", "", "x"), line(2, "b", "a", `"type":"user","x":`+strings.Repeat("[", 600)+strings.Repeat("]", 600)),
		}, "session s\n! line 2: it is nested too deeply\nuser: x\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := foreigntest.Outline(read(t, []byte(strings.Join(c.rows, "\n")+"\n"), "file.jsonl"))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
