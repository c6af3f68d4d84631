package v1_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	v1 "github.com/cairn-dev/cairn/internal/server/v1"
)

// What a TUI asks for at its start is answered as the document has it, the four calls first without which it ends.
func TestStartOfATUI(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "alpha\n"})
	for _, path := range []string{
		"/config", "/config/providers", "/provider", "/agent",
		"/path", "/project/current", "/experimental/capabilities", "/experimental/console", "/command", "/lsp", "/mcp",
		"/experimental/resource", "/formatter", "/provider/auth", "/vcs", "/experimental/workspace",
		"/experimental/workspace/status",
	} {
		if a := w.ask(t, http.MethodGet, path, ""); a.status != 200 {
			t.Errorf("GET %s: %d %s", path, a.status, a.body)
		}
		if a := w.ask(t, http.MethodGet, path+"?directory=/nonexistent/place", ""); a.status != 200 && a.status != 400 {
			t.Errorf("GET %s elsewhere: %d %s", path, a.status, a.body)
		}
	}
}

// Every operation answers in the contract's shapes, with a body that fits and with ones that do not.
func TestEveryOperationAnswersWithinTheContract(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "alpha\n"})
	ids := strings.NewReplacer(
		"{sessionID}",
		"ses_1",
		"{messageID}",
		"msg_1",
		"{partID}",
		"prt_1",
		"{providerID}",
		"mock",
		"{projectID}",
		"p",
		"{ptyID}",
		"pty_1",
		"{name}",
		"n",
		"{id}",
		"wrk_1",
		"{permissionID}",
		"per_1",
	)
	for _, r := range v1.ListOperations() {
		path := ids.Replace(r.Path)
		if strings.HasPrefix(path, "/question/") {
			path = strings.Replace(path, "{requestID}", "que_1", 1)
		}
		path = strings.Replace(path, "{requestID}", "per_1", 1)
		if streams(path) {
			continue
		}
		for _, body := range []string{
			"", "{}", "[]", `"x"`, `{"a":`, `{"type":5,"name":[],"sessionID":{},"key":null}`,
			"\xff\xfe",
		} {
			if r.Method == http.MethodGet && body != "" {
				continue
			}
			a := w.ask(t, r.Method, path, body)
			if a.status >= 500 || a.header.Get("Content-Type") == "text/html" {
				t.Errorf("%s %s %q: %d %s", r.Method, path, body, a.status, a.body)
			}
		}
	}
}

// streams reports whether the answer of the path does not end by itself.
func streams(path string) bool {
	return path == "/event" || path == "/global/event" || path == "/tui/control/next"
}

func TestAgents(t *testing.T) {
	w := newWorld(
		t,
		`, "agent": {"helper": {"mode": "subagent", "prompt": "Help.", "temperature": 0.3, "color": "#ff0000", "model": "mock/main"}}, "permission": {"bash": "ask"}`,
		nil,
	)
	list := get[[]struct {
		Name        string         `json:"name"`
		Native      bool           `json:"native"`
		Hidden      bool           `json:"hidden"`
		Temperature jsontext.Value `json:"temperature"`
		Prompt      string         `json:"prompt"`
		Permission  []jsontext.Value
	}](t, w, "/agent")
	var names []string
	for _, a := range list {
		names = append(names, a.Name)
	}
	if got := strings.Join(names, " "); got != "build compaction explore general helper plan summary title" {
		t.Error(got)
	}
	if h := list[4]; h.Native || string(h.Temperature) != "0.3" || h.Prompt != "Help." {
		t.Errorf("%+v", h)
	}
	if !list[0].Native || !list[1].Hidden {
		t.Errorf("%+v", list[:2])
	}
	if a := w.ask(t, http.MethodGet, "/agent", ""); !strings.Contains(
		a.body,
		`{"permission":"bash","pattern":"*","action":"ask"}`,
	) {
		t.Error(a.body)
	}
}

func TestProviders(t *testing.T) {
	w := newWorld(t, "", nil)
	type provider struct {
		ID     string                    `json:"id"`
		Source string                    `json:"source"`
		Models map[string]jsontext.Value `json:"models"`
	}
	usable := get[struct {
		Providers []provider        `json:"providers"`
		Default   map[string]string `json:"default"`
	}](t, w, "/config/providers")
	if p := usable.Providers; len(p) != 2 || p[0].ID != "mock" || p[0].Source != "config" ||
		p[0].Models["main"] == nil ||
		p[1].ID != "cairn" ||
		usable.Default["mock"] != "main" {
		t.Errorf("%+v", usable)
	}
	all := get[struct {
		All       []provider `json:"all"`
		Connected []string   `json:"connected"`
	}](t, w, "/provider")
	if len(all.All) < 3 || strings.Join(all.Connected, " ") != "mock cairn" {
		t.Errorf("%d, %v", len(all.All), all.Connected)
	}
	if a := w.ask(t, http.MethodPatch, "/config", `{"enabled_providers":["mock"]}`); a.status != 200 {
		t.Fatal(a)
	}
	if a := w.ask(t, http.MethodGet, "/provider", ""); !strings.Contains(a.body, `"connected":["mock","cairn"]`) ||
		strings.Contains(a.body, `"id":"openai"`) ||
		!strings.Contains(a.body, `"options":{"baseURL":"http://127.0.0.1:1"}`) ||
		!strings.Contains(a.body, `"variants":{}`) {
		t.Error(a.body)
	}
	for _, path := range []string{"/config/providers", "/provider", "/config", "/global/config"} {
		if a := w.ask(t, http.MethodGet, path, ""); strings.Contains(a.body, "k-e-y") {
			t.Errorf("%s shows a key", path)
		}
	}
}

func TestCommandsAndSkills(t *testing.T) {
	w := newWorld(t, `, "command": {"sum": {"template": "Sum $2 and $1: $ARGUMENTS", "description": "Sums"}}`, nil)
	w.put(t, w.home+"/config/skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies up.\n---\nTidy.\n")
	if a := w.ask(t, http.MethodGet, "/command", ""); !strings.Contains(
		a.body,
		`{"name":"sum","description":"Sums","source":"command","template":"Sum $2 and $1: $ARGUMENTS","hints":["$1","$2","$ARGUMENTS"]}`,
	) ||
		!strings.Contains(a.body, `{"name":"tidy","description":"Tidies up.","source":"skill","template":`) {
		t.Error(a.body)
	}
	if a := w.ask(t, http.MethodGet, "/skill", ""); !strings.Contains(a.body, `"name":"tidy"`) {
		t.Error(a.body)
	}
}

func TestTools(t *testing.T) {
	w := newWorld(t, "", nil)
	if ids := strings.Join(get[[]string](t, w, "/experimental/tool/ids"), " "); !strings.Contains(ids, "bash") ||
		!strings.Contains(ids, "skill") {
		t.Error(ids)
	}
	if a := w.ask(t, http.MethodGet, "/experimental/tool?provider=mock&model=main", ""); a.status != 200 {
		t.Error(a)
	}
	if a := w.ask(t, http.MethodGet, "/experimental/tool", ""); a.status != 400 ||
		!strings.Contains(a.body, `provider is missing\n  at [\"provider\"]","kind":"Query"`) {
		t.Error(a)
	}
}
