package acp

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestForms: each update in both versions of the protocol; "" is none.
func TestForms(t *testing.T) {
	diff := func(kind, moved string) callUpdate {
		return callUpdate{id: "c", content: []callContent{{diff: &fileDiff{
			path: "/d/a", old: "x\n", new: "y\n", kind: kind, moved: moved, patch: "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n",
		}}}}
	}
	choices := sessionChoices{agents: []choice{{"build", "build", ""}}, agent: "build"}
	options1 := `"configOptions":[{"category":"mode","id":"mode","name":"Agent","type":"select","currentValue":"build","options":[{"name":"build","value":"build"}]}]`
	options2 := strings.Replace(options1, `"id"`, `"configId"`, 1)
	patch := func(before, after, from, to string) string {
		return `"patch":{"format":"git_patch","text":"diff --git ` + before + ` ` + after + `\n--- ` + from + `\n+++ ` + to + `\n@@ -1 +1 @@\n-x\n+y\n"}`
	}
	for _, tt := range []struct {
		name   string
		u      update
		v1, v2 string
	}{
		{
			"a prompt",
			userText{messageID: "m", content: []block{{text: "hi"}, {uri: "file:///d/a", mediaType: "text/plain"}}},
			`{"sessionUpdate":"user_message_chunk","messageId":"m","content":{"type":"text","text":"hi"}}` +
				`{"sessionUpdate":"user_message_chunk","messageId":"m","content":{"type":"resource_link","mimeType":"text/plain","uri":"file:///d/a","name":"a"}}`,
			`{"sessionUpdate":"user_message","messageId":"m","content":[{"type":"text","text":"hi"},{"type":"resource_link","mimeType":"text/plain","uri":"file:///d/a","name":"a"}]}`,
		},
		{"an own prompt", userText{messageID: "m", content: []block{{text: "hi"}}, isOwn: true}, "", `{"sessionUpdate":"user_message","messageId":"m","content":[{"type":"text","text":"hi"}]}`},
		{
			"a call",
			callUpdate{isNew: true, id: "c", title: "ls", tool: "bash", kind: "execute", status: statusPending, paths: []string{"/d"}},
			`{"sessionUpdate":"tool_call","kind":"execute","locations":[{"path":"/d"}],"name":"bash","status":"pending","title":"ls","toolCallId":"c"}`,
			`{"sessionUpdate":"tool_call_update","kind":"execute","locations":[{"path":"/d"}],"name":"bash","status":"pending","title":"ls","toolCallId":"c"}`,
		},
		{
			"a change", diff("update", ""),
			`{"sessionUpdate":"tool_call_update","content":[{"type":"diff","newText":"y\n","oldText":"x\n","path":"/d/a"}],"toolCallId":"c"}`,
			`{"sessionUpdate":"tool_call_update","content":[{"type":"diff","changes":[{"operation":"modify","path":"/d/a"}],` + patch("/d/a", "/d/a", "/d/a", "/d/a") + `}],"toolCallId":"c"}`,
		},
		{"a new file", diff("add", ""), "*", `{"sessionUpdate":"tool_call_update","content":[{"type":"diff","changes":[{"operation":"add","path":"/d/a"}],` + patch("/d/a", "/d/a", "/dev/null", "/d/a") + `}],"toolCallId":"c"}`},
		{"a deleted file", diff("delete", ""), "*", `{"sessionUpdate":"tool_call_update","content":[{"type":"diff","changes":[{"operation":"delete","path":"/d/a"}],` + patch("/d/a", "/d/a", "/d/a", "/dev/null") + `}],"toolCallId":"c"}`},
		{"a moved file", diff("move", "/d/b"), "*", `{"sessionUpdate":"tool_call_update","content":[{"type":"diff","changes":[{"operation":"move","oldPath":"/d/b","path":"/d/a"}],` + patch("/d/b", "/d/a", "/d/b", "/d/a") + `}],"toolCallId":"c"}`},
		{
			"a plan",
			plan{[]session.Todo{{Content: "x", Status: session.TodoCancelled, Priority: "high"}}},
			`{"sessionUpdate":"plan","entries":[{"content":"x","priority":"high","status":"completed"}]}`,
			`{"sessionUpdate":"plan_update","plan":{"type":"items","entries":[{"content":"x","priority":"high","status":"cancelled"}],"planId":"todos"}}`,
		},
		{
			"another agent",
			agentChanged{"build"},
			`{"sessionUpdate":"current_mode_update","currentModeId":"build"}{"sessionUpdate":"config_option_update",` + options1 + `}`,
			`{"sessionUpdate":"config_option_update",` + options2 + `}`,
		},
		{"another model", modelChanged{}, `{"sessionUpdate":"config_option_update",` + options1 + `}`, `{"sessionUpdate":"config_option_update",` + options2 + `}`},
		{"a title", titleChanged{"x"}, `{"sessionUpdate":"session_info_update","title":"x"}`, `{"sessionUpdate":"session_info_update","title":"x"}`},
		{"usage of a window that is not known", usage{used: 1}, "", ""},
		{
			"usage",
			usage{used: 1, size: 9, cost: session.Dollar / 2},
			`{"sessionUpdate":"usage_update","cost":{"amount":0.5,"currency":"USD"},"size":9,"used":1}`, `{"sessionUpdate":"usage_update","cost":{"amount":0.5,"currency":"USD"},"size":9,"used":1}`,
		},
		{"a notice", notice{"x", "y"}, `{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"\n[x] y\n"}}`, `{"sessionUpdate":"notice","description":"y","severity":"info","title":"x"}`},
		{"a notice without more", notice{title: "x"}, `{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"\n[x]\n"}}`, `{"sessionUpdate":"notice","severity":"info","title":"x"}`},
		{"work", stateChanged{state: stateRunning}, "", `{"sessionUpdate":"state_update","state":"running"}`},
		{"a snapshot of idle", stateChanged{state: stateIdle}, "", `{"sessionUpdate":"state_update","state":"idle"}`},
		{"the end", stateChanged{state: stateIdle, stop: stopEnd}, "", `{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}`},
		{"a failure", stateChanged{state: stateIdle, why: rpcErrorf(codeInternal, "x"), isOwn: true}, "", `{"sessionUpdate":"state_update","error":{"code":-32603,"message":"x"},"state":"idle","stopReason":"error"}`},
		{
			"a model without a key",
			stateChanged{state: stateIdle, why: rpcErrorf(codeAuthRequired, "x"), isOwn: true},
			"",
			`{"sessionUpdate":"state_update","error":{"code":-32000,"message":"x"},"state":"idle","stopReason":"error"}`,
		},
		{
			"an empty plan",
			plan{},
			`{"sessionUpdate":"plan","entries":[]}`, `{"sessionUpdate":"plan_update","plan":{"type":"items","entries":[],"planId":"todos"}}`,
		},
		{"a failure of another client's work", stateChanged{state: stateIdle, why: rpcErrorf(codeInternal, "x")}, `{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"\n[the work failed] x\n"}}`, "*"},
		{
			"commands",
			commandList{[]command{{"init", "x", "y"}, {"z", "w", ""}}},
			`{"sessionUpdate":"available_commands_update","availableCommands":[{"description":"x","input":{"hint":"y"},"name":"init"},{"description":"w","name":"z"}]}`,
			`{"sessionUpdate":"available_commands_update","availableCommands":[{"type":"command","description":"x","input":{"type":"text","hint":"y"},"name":"init"},{"type":"command","description":"w","name":"z"}]}`,
		},
	} {
		for version, want := range map[string]string{"1": tt.v1, "2": tt.v2} {
			var d dialect = dialect1{}
			if version == "2" {
				d = dialect2{}
			}
			got := ""
			for _, form := range d.update("s", tt.u, choices) {
				raw, err := encode(form)
				if err != nil {
					t.Fatal(err)
				}
				got += strings.TrimSuffix(strings.TrimPrefix(string(raw), `{"sessionId":"s","update":`), "}")
			}
			if want != "*" && !sameMembers(got, want) {
				t.Errorf("%s in version %s:\ngot  %s\nwant %s", tt.name, version, got, want)
			}
		}
	}
	if got := (dialect1{clientFeatures{notices: true}}).update("s", notice{"x", "y"}, choices); len(got) != 1 || !strings.Contains(describeForm(t, got[0]), `"notice"`) {
		t.Errorf("a notice for a client that shows notices: %v", got)
	}
}

func describeForm(t *testing.T, form any) string {
	raw, err := encode(form)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// sameMembers reports whether two texts of JSON values say the same; the order of members does not matter.
func sameMembers(a, b string) bool {
	canonical := func(text string) string {
		d := jsontext.NewDecoder(strings.NewReader(text))
		out := ""
		for {
			v, err := d.ReadValue()
			if err != nil {
				return out
			}
			if v = v.Clone(); v.Canonicalize() != nil {
				return "not JSON"
			}
			out += string(v)
		}
	}
	return canonical(a) == canonical(b)
}
