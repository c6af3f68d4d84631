package mcp

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// Each server of a file is converted by itself. What is lost of it is named with the server, and no secret is.
func TestConvertServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, server, want, note string }{
		{
			"scalars", `{"command": "c", "args": ["-p", 80, true], "env": {"N": 3, "B": false}}`,
			`{"type":"local","command":["c","-p","80","true"],"environment":{"B":"false","N":"3"}}`, "",
		},
		{
			"null", `{"command": "c", "env": {"N": null, "A": "b"}}`,
			`{"type":"local","command":["c"],"environment":{"A":"b"}}`, "lacks env.N, which is not a text",
		},
		{
			"default", `{"command": "c", "args": ["${U:-x}"]}`,
			`{"type":"local","command":["c","{env:U}"]}`, "has ${U:-x} in args, whose default is not taken over",
		},
		{
			"env-file", `{"command": "c", "envFile": ".env", "alwaysAllow": []}`,
			`{"type":"local","command":["c"]}`, "has members that are not taken over: alwaysAllow, envFile",
		},
		{"timeout", `{"command": "c", "timeout": 90000}`, `{"type":"local","command":["c"],"timeout":90000}`, ""},
		{"seconds", `{"command": "c", "timeout": 90}`, `{"type":"local","command":["c"]}`, "not taken over: timeout"},
		{
			"oauth", `{"url": "https://x.example", "oauth": {"clientId": "a", "callbackPort": 80, "more": 1}}`,
			`{"type":"remote","url":"https://x.example","oauth":{"callbackPort":80,"clientId":"a"}}`,
			"has oauth.more, which is not taken over",
		},
		{
			"no-login", `{"url": "https://x.example", "oauth": false}`,
			`{"type":"remote","url":"https://x.example","oauth":false}`, "",
		},
		{"local-login", `{"command": "c", "oauth": {}}`, `{"type":"local","command":["c"]}`, "not taken over: oauth"},
		{
			"off", `{"command": "c", "disabled": true, "enabled": true}`,
			`{"type":"local","command":["c"],"enabled":false}`, "",
		},
		{"a.b-c_D", `{"command": ["c", "d"]}`, `{"type":"local","command":["c","d"]}`, ""},
		{"a b", `{"command": "c"}`, "", "cannot be the name of a server"},
		{"q\"", `{"command": "c"}`, "", "cannot be the name of a server"},
		{"", `{"command": "c"}`, "", "cannot be the name of a server"},
		{"list", `[]`, "", "it is not an object"},
		{"neither", `{}`, "", "it has neither a command nor a url"},
		{"blank", `{"command": " "}`, "", "the command is empty"},
		{"socket", `{"type": "ws"}`, "", "cairn does not speak over web sockets"},
		{"ftp", `{"url": "ftp://u:pass@x.example"}`, "", "its url is not an address of http or https"},
		{"address", `{"command": "https://u:pass@x.example"}`, "", "an address of https is not a command"},
		{
			"file", `{"url": "https://x.example", "headers": {"A": "{file:~/key}"}}`, "",
			"it has {file:~/key}, which cairn would replace",
		},
	} {
		name, _ := json.Marshal(c.name)
		text := `{"mcpServers": {` + string(name) + `: ` + c.server + `, "good": {"command": "x"}}} // a comment`
		found, notes, err := convertServers([]byte(text))
		if err != nil || found["good"].Type != "local" {
			t.Errorf("%q: the other server is not found: %v", c.name, err)
		}
		got := ""
		if s, ok := found[c.name]; ok {
			b, _ := json.Marshal(s, json.Deterministic(true))
			got = string(b)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.name, diff)
		}
		all := strings.Join(notes, "\n")
		if c.note == "" && all != "" || !strings.Contains(all, c.note) || strings.Contains(all, "pass") {
			t.Errorf("%q: the notes are %s, want %q", c.name, all, c.note)
		}
	}
}

// A file that is no list of servers is described in words of JSON.
func TestConvertServersOfOtherFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`:                      "it is not a JSON object with servers",
		`7`:                       "it is not a JSON object with servers",
		`{"mcpServers": []}`:      "mcpServers is not an object",
		`{"mcp": {"servers": 7}}`: "mcp.servers is not an object",
		`{"mcp": "x"}`:            "mcp is not an object",
		`{"mcpServers": {"a": `:   "it is not JSON: line 2, column 1",
		``:                        "it is not JSON",
	} {
		_, _, err := convertServers([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
			continue
		}
		for _, word := range []string{"Go ", "map[", "struct", "hujson", "json:"} {
			if strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v has %s", text, err, word)
			}
		}
	}
}
