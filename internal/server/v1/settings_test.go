package v1_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// As recorded from OpenCode: a change of all directories is sent for each followed directory, and for all.
func TestAChangeOfAllDirectoriesIsTold(t *testing.T) {
	w := newWorld(t, "", map[string]string{"own/x": ""})
	here, all, elsewhere := w.follow(t, "/event"), w.follow(t, "/global/event"), w.follow(
		t,
		"/event?directory="+url.QueryEscape(w.work+"/own"),
	)
	for _, next := range []func() string{here, all, elsewhere} {
		if got := next(); got != "server.connected {}" {
			t.Fatal(got)
		}
	}
	if a := w.ask(t, http.MethodPatch, "/global/config", `{"username":5}`); a.status != 400 {
		t.Fatal(a) // and no event is sent
	}
	if a := w.ask(t, http.MethodPatch, "/global/config", `{"username":"zed"}`); a.status != 200 {
		t.Fatal(a)
	}
	disposed := func(directory string) string { return `server.instance.disposed {"directory":"` + directory + `"}` }
	for _, c := range []struct {
		next func() string
		want string
	}{
		{here, disposed(w.work)},
		{elsewhere, disposed(w.work + "/own")},
		{all, w.work + " " + disposed(w.work)},
		{all, "global global.disposed {}"},
	} {
		if got := c.next(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// In rules the last word counts: what is sent is kept in the order in which it was sent, and shown in it.
func TestRulesKeepTheirOrder(t *testing.T) {
	w := newWorld(t, "", nil)
	want := `"permission":{"edit":"ask","bash":{"git *":"allow","*":"ask","a *":"deny"}}`
	for _, method := range []string{http.MethodPatch, http.MethodGet} {
		if a := w.ask(t, method, "/global/config", `{`+want+`}`); a.status != 200 || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %s", method, a.status, a.body)
		}
	}
}

func TestConfigIsChanged(t *testing.T) {
	w := newWorld(
		t,
		`, "sandbox": {"enabled": false}, "compaction": {"buffer": 7000}, "permission": {"bash": {"*": "ask", "git *": "allow"}, "edit": "allow", "webfetch": "deny"}`,
		nil,
	)
	a := w.ask(t, http.MethodGet, "/config", "")
	for _, want := range []string{
		`"command":{}`, `"agent":{}`, `"mode":{}`, `"plugin":[]`,
		`"permission":{"bash":{"*":"ask","git *":"allow"},"edit":"allow","webfetch":"deny"}`, `"reserved":7000`,
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("no %s in %s", want, a.body)
		}
	}
	if strings.Contains(a.body, "sandbox") {
		t.Error("our own members are shown to clients that refuse them")
	}
	a = w.ask(t, http.MethodPatch, "/config", `{"username":"zed","provider":{"mock":{"models":{"m.1":{"name":"One"}}}}}`)
	if a.status != 200 || !strings.Contains(a.body, `"username":"zed"`) {
		t.Fatal(a)
	}
	a = w.ask(t, http.MethodGet, "/config", "")
	if !strings.Contains(a.body, `"username":"zed"`) || !strings.Contains(a.body, `"m.1":{"name":"One"}`) ||
		!strings.Contains(a.body, `"name":"Main"`) {
		t.Error(a.body)
	}
	if a = w.ask(t, http.MethodPatch, "/config", `{"bogus":1}`); a.status != 200 || a.body != `{}` {
		t.Error(a)
	}
	if a = w.ask(t, http.MethodPatch, "/global/config", `{"username":null}`); a.status != 200 ||
		strings.Contains(a.body, "zed") {
		t.Error(a)
	}
	for _, body := range []string{
		`{"shell":null}`, `{"username":null}`,
		`{"provider":{"mock":{"models":{"m.1":{"family":null}}},"none":{"name":null}}}`,
	} { // nothing to take out
		before := get[map[string]any](t, w, "/global/config")
		for _, path := range []string{"/config", "/global/config"} {
			if a = w.ask(t, http.MethodPatch, path, body); a.status != 200 {
				t.Errorf("%s %s: %d %s", path, body, a.status, a.body)
			}
		}
		if diff := cmp.Diff(before, get[map[string]any](t, w, "/global/config")); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	before, err := os.ReadFile(w.home + "/config/cairn.json")
	if err != nil {
		t.Fatal(err)
	}
	for body, field := range map[string]string{
		`{"username":"x","model":5}`:         "model",
		`{"provider":{"mock":{"models":5}}}`: "provider.mock.models", `5`: "", `{"provider":{"":1}}`: "",
	} {
		a := w.ask(t, http.MethodPatch, "/config", body)
		if a.status != 400 || !strings.Contains(a.body, `"name":"BadRequest"`) || !strings.Contains(a.body, field) {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	if after, err := os.ReadFile(w.home + "/config/cairn.json"); err != nil || string(after) != string(before) {
		t.Errorf("a refused change was half made: %v\n%s", err, after)
	}
}

// What GET shows can be sent back whole: the file stays byte for byte, and with one member changed gains only that.
func TestConfigRoundTrip(t *testing.T) {
	w := newWorld(
		t,
		`, "compaction": {"keep": {"tokens": 900}, "buffer": 800}, "permission": {"bash": {"*": "ask", "ls": "allow"}},
  "mcp": {"a": {"type": "remote", "url": "https://mcp.example", "headers": {"X-Key": "s-e-c", "X-Env": "{env:HOME}"}}}`,
		map[string]string{"opencode.json": `{"username": "ours"}`},
	)
	file := w.home + "/config/cairn.json"
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/config", "/global/config"} {
		shown := w.ask(t, http.MethodGet, path, "").body
		if !strings.Contains(shown, `"apiKey":"(hidden)"`) || !strings.Contains(shown, `"reserved":800`) {
			t.Fatal(shown)
		}
		if a := w.ask(t, http.MethodPatch, path, shown); a.status != 200 {
			t.Fatal(path, a)
		}
		if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
			t.Errorf("%s sent back changes the file: %v\n%s", path, err, cmp.Diff(string(before), string(after)))
		}
	}
	for path, name := range map[string]string{"/config": "One", "/global/config": "Two"} {
		shown := w.ask(t, http.MethodGet, path, "").body
		at := strings.Index(shown, `"main":{"name":"`) + len(`"main":{"name":"`)
		changed := shown[:at] + name + shown[at+strings.IndexByte(shown[at:], '"'):]
		if a := w.ask(t, http.MethodPatch, path, changed); a.status != 200 {
			t.Fatal(path, a)
		}
		want := strings.Replace(string(before), `"Main"`, `"`+name+`"`, 1)
		if after, err := os.ReadFile(file); err != nil || string(after) != want {
			t.Errorf("%s: %v\n%s", path, err, cmp.Diff(want, string(after)))
		}
		back := `{"provider":{"mock":{"models":{"main":{"name":"Main"}}}}}`
		if a := w.ask(t, http.MethodPatch, path, back); a.status != 200 {
			t.Fatal(a)
		}
	}
	a := w.ask(t, http.MethodPatch, "/config", `{"provider":{"new":{"options":{"apiKey":"(hidden)"}}}}`)
	if a.status != 400 || !strings.Contains(a.body, "stands for a secret") {
		t.Error(a)
	}
	if a = w.ask(t, http.MethodPut, "/auth/openai", `{"type":"api","key":"(hidden)"}`); a.status != 400 {
		t.Error(a)
	}
}

// OpenCode's clients tell their users that "always" holds until it is restarted.
func TestAlwaysHoldsForTheProcess(t *testing.T) {
	w := newWorld(t, "", nil)
	s := w.ask(t, http.MethodPost, "/session", `{"permission":[{"permission":"bash","pattern":"*","action":"ask"}]}`)
	id := s.body[strings.Index(s.body, "ses_"):][:30]
	for _, c := range []struct{ path, want string }{
		{"/permission/%s/reply", `"lifetime":"process","holder":`},
		{"/api/session/" + id + "/permission/%s/reply", `"lifetime":"project","time":`},
	} {
		asked := `{"action":"bash","resources":["` + c.path + `"],"save":["` + c.path + `"]}`
		a := w.ask(t, http.MethodPost, "/api/session/"+id+"/permission", asked)
		if a.status != 200 || !strings.Contains(a.body, `"effect":"ask"`) {
			t.Fatal(a)
		}
		ask := a.body[strings.Index(a.body, "per_"):][:30]
		if a = w.ask(t, http.MethodPost, strings.Replace(c.path, "%s", ask, 1), `{"reply":"always"}`); a.status >= 300 {
			t.Fatal(a)
		}
		a = w.ask(t, http.MethodGet, "/api/permission/saved?all=1", "")
		if !strings.Contains(a.body, `"resource":"`+c.path+`",`+c.want) {
			t.Errorf("%s: %s", c.path, a.body)
		}
	}
}

func TestKeysAreKept(t *testing.T) {
	w := newWorld(t, "", nil)
	if a := w.ask(t, http.MethodPut, "/auth/openai", `{"type":"api","key":"s-e-c-r-e-t"}`); a.status != 200 ||
		a.body != "true" {
		t.Fatal(a)
	}
	if a := w.ask(t, http.MethodGet, "/provider", ""); !strings.Contains(
		a.body,
		`"connected":["mock","openai","cairn"]`,
	) ||
		strings.Contains(a.body, "s-e-c-r-e-t") {
		t.Error(a.body[max(0, len(a.body)-300):])
	}
	if a := w.ask(t, http.MethodDelete, "/auth/openai", ""); a.body != "true" {
		t.Error(a)
	}
	if a := w.ask(t, http.MethodGet, "/config/providers", ""); strings.Contains(a.body, `"id":"openai"`) {
		t.Error("the key is still used")
	}
	for _, body := range []string{`{"type":"nope"}`, `{"type":"oauth"}`, `{"type":"api"}`, `{"key":"k"}`, `[]`} {
		if a := w.ask(t, http.MethodPut, "/auth/openai", body); a.status != 400 {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	if a := w.ask(t, http.MethodPut, "/auth/a%20b", `{"type":"api","key":"k"}`); a.status != 400 ||
		strings.Contains(a.body, `"k"`) {
		t.Error(a)
	}
	for path, status := range map[string]int{"https%3A%2F%2Fx.invalid": 400, "a/b": 404, "%2e%2e": 404} {
		if a := w.ask(t, http.MethodPut, "/auth/"+path, `{"type":"api","key":"k"}`); a.status != status {
			t.Errorf("PUT /auth/%s: %d %s, want %d", path, a.status, a.body, status)
		}
	}
	for _, id := range []string{"never-was", "a%20b", "%00", "%ff", "https%3A%2F%2Fx"} { // an unknown id succeeds
		if a := w.ask(t, http.MethodDelete, "/auth/"+id, ""); a.status != 200 || a.body != "true" {
			t.Errorf("DELETE /auth/%s: %d %s", id, a.status, a.body)
		}
	}
}

// An error in a file of the directory is reported with the file, the position and the expected value, by every
// operation that reads the file.
func TestAConfigurationThatIsWrong(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{
			"opencode.json", `{"permission": {"bash": 5}}`,
			`{"name":"ConfigInvalidError","data":{"path":"FILE","issues":[{"path":["permission","bash"],"message":"line 1, column 25: want \"allow\"`,
		},
		{
			"opencode.json", "{\n oops}",
			`{"name":"ConfigJsonError","data":{"path":"FILE","message":"line 2, column 2: invalid JSON (`,
		},
	} {
		w := newWorld(t, "", nil)
		file := filepath.Join(w.work, c.name)
		w.put(t, file, c.text)
		for _, op := range []string{"GET /config", "GET /agent", "GET /provider", "GET /file?path=.", "POST /session"} {
			method, path, _ := strings.Cut(op, " ")
			a := w.ask(t, method, path, "")
			if a.status != 400 || !strings.HasPrefix(strings.ReplaceAll(a.body, file, "FILE"), c.want) {
				t.Errorf("%s with %s: %d %s, want %s", op, c.name, a.status, a.body, c.want)
			}
		}
	}
}

// The logins with a browser that the command line has are offered here, too; what one gave elsewhere can be kept, and
// is shown nowhere.
func TestLoginsOfVendors(t *testing.T) {
	w := newWorld(t, "", nil)
	if a := w.ask(t, http.MethodGet, "/provider/auth", ""); !strings.Contains(
		a.body,
		`"openrouter":[{"type":"oauth","label":"Login with OpenRouter"},{"type":"api","label":"API key"}]`,
	) ||
		!strings.Contains(a.body, `"github-copilot":[{"type":"oauth"`) ||
		!strings.Contains(a.body, `"anthropic":[{"type":"api"`) {
		t.Error(a.body)
	}
	const token = "gho_a-very-secret-token"
	for _, c := range []struct {
		op, body string
		status   int
		says     string
	}{
		{"POST /provider/anthropic/oauth/authorize", `{"method":0}`, 400, "github-copilot openrouter"},
		{"POST /provider/github-copilot/oauth/authorize", `{"method":1}`, 400, "method"},
		{"POST /provider/github-copilot/oauth/authorize", `{}`, 400, "method is missing"},
		{"POST /provider/github-copilot/oauth/authorize", `{"method":0}`, 400, "options.clientId"},
		{"POST /provider/openrouter/oauth/callback", `{"method":0}`, 400, `"ProviderAuthOauthMissing"`},
		{"PUT /auth/github-copilot", `{"type":"oauth","refresh":"` + token + `","access":"","expires":0}`, 200, "true"},
		{"PUT /auth/github-copilot", `{"type":"oauth","access":"x","expires":0}`, 400, "refresh is missing"},
		{"PUT /auth/github-copilot", `{"type":"oauth","refresh":"x","access":"x"}`, 400, "expires"},
		{
			"PUT /auth/github-copilot", `{"type":"oauth","refresh":"x","access":"x","expires":0,"enterpriseUrl":"e"}`, 400,
			"enterpriseUrl",
		},
		{
			"PUT /auth/openai", `{"type":"oauth","refresh":"` + token + `","access":"a","expires":1}`, 400,
			"give an API key",
		},
		{"PUT /auth/org.example", `{"type":"wellknown","key":"K","token":"` + token + `"}`, 400, "cairn auth login"},
	} {
		method, path, _ := strings.Cut(c.op, " ")
		if a := w.ask(t, method, path, c.body); a.status != c.status || !strings.Contains(a.body, c.says) ||
			strings.Contains(a.body, token) {
			t.Errorf("%s %s: %d %s", c.op, c.body, a.status, a.body)
		}
	}
	if a := w.ask(t, http.MethodGet, "/provider", ""); !strings.Contains(a.body, `"github-copilot"`) ||
		strings.Contains(a.body, token) {
		t.Errorf("%.200s", a.body)
	}
	if b, err := os.ReadFile(filepath.Join(w.home, "data", "auth.json")); err != nil ||
		!strings.Contains(string(b), token) {
		t.Error("the token is not kept", err)
	}
}

// A project has a name and an icon, of which the global streams hear. What is not kept of a project is refused, not
// forgotten.
func TestProjectsAreNamed(t *testing.T) {
	w := newWorld(t, "", nil)
	id := get[map[string]any](t, w, "/project/current")["id"].(string)
	at := "/project/" + id
	all := w.follow(t, "/global/event")
	if got := all(); got != "server.connected {}" {
		t.Fatal(got)
	}
	for _, c := range []struct {
		body   string
		status int
		says   string
	}{
		{`{"name":"Mine"}`, 200, `"name":"Mine"`},
		{`{"icon":{"color":"pink"}}`, 200, `"icon":{"color":"pink"}`},
		{`{"name":"a\nb"}`, 400, "the name must be one line"},
		{`{"commands":{"start":"make"}}`, 200, `"commands":{"start":"make"}`},
		{`{"commands":{"start":"` + strings.Repeat("x", 20000) + `"}}`, 400, "the command has at most"},
		{`{"commands":{}}`, 200, `"name":"Mine"`},
		{`{}`, 200, `"name":"Mine"`},
	} {
		if a := w.ask(t, http.MethodPatch, at, c.body); a.status != c.status || !strings.Contains(a.body, c.says) {
			t.Errorf("%s: %d %s", c.body, a.status, a.body)
		}
	}
	if got := all(); !strings.HasPrefix(got, `global project.updated {"id":"`+id) || !strings.Contains(got, `"name":"Mine"`) {
		t.Error(got)
	}
	for _, path := range []string{"/project", "/project/current", "/api/project"} {
		a := w.ask(t, http.MethodGet, path, "")
		if !strings.Contains(a.body, `"id":"`+id+`"`) || !strings.Contains(a.body, `"name":"Mine"`) {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	if a := w.ask(t, http.MethodPatch, at, `{"name":""}`); a.status != 200 || strings.Contains(a.body, "Mine") {
		t.Error(a)
	}
	if a := w.ask(t, http.MethodPatch, "/project/none", `{"name":"Mine"}`); a.status != 404 {
		t.Error(a)
	}
	if a := w.ask(t, http.MethodPatch, "/api/project/"+id, `{"name":"Ours"}`); a.status != 200 || !strings.Contains(a.body, "Ours") {
		t.Error(a)
	}
	if a := w.ask(t, http.MethodDelete, "/api/project/prj_none", ""); a.status != 404 {
		t.Error(a)
	}
}
