package host

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/session"
)

// tableOf is the model table of an environment, in which servers of this machine offer what is found.
func tableOf(t *testing.T, found map[string][]provider.Found, content string, env map[string]string) *locationModels {
	t.Helper()
	home := t.TempDir()
	write(t, filepath.Join(home, "project", ".keep"), "")
	write(t, filepath.Join(home, "config", "cairn.jsonc"), content)
	o := cli.Options{Dir: filepath.Join(home, "project"), Version: "test", Env: func(name string) string {
		return map[string]string{"CAIRN_HOME": home, "HOME": home}[name] + env[name]
	}}
	cfg, err := Host{}.Config(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		t.Fatal(err)
	}
	table := newModelTable(dirs, o, http.DefaultTransport)
	now := time.Now()
	table.locals.asked, table.locals.changed, table.locals.found = now, now, found
	m, err := table.of(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func listed(t *testing.T, m *locationModels, id string) (names []string) {
	t.Helper()
	list, err := m.list()
	if err != nil {
		t.Fatal(err)
	}
	for _, model := range list {
		if model.ProviderID == id {
			names = append(names, model.ID)
		}
	}
	return names
}

func TestLocals(t *testing.T) {
	found := map[string][]provider.Found{"ollama": {{ID: "qwen3:8b", Context: 40960}}}
	m := tableOf(t, found, `{}`, nil)
	if got := listed(t, m, "ollama"); len(got) != 1 || got[0] != "qwen3:8b" {
		t.Errorf("listed are %q", got)
	}
	if _, err := m.Resolve(session.ModelRef{ProviderID: "ollama", ID: "qwen3:8b"}, session.Agent{}); err != nil {
		t.Error(err)
	}
	if ref, err := m.Default(); err != nil || ref.ProviderID != "cairn" {
		t.Errorf("nobody chose %v, %v", ref, err)
	}
	if !m.fresh() {
		t.Error("nothing changed")
	}
	m.table.locals.found, m.table.locals.changed = nil, time.Now().Add(time.Second)
	if m.fresh() {
		t.Error("the server has gone and that changes nothing")
	}
	m = tableOf(t, found, `{"provider": {"ollama": {"options": {"baseURL": "http://gpu.example:11434/v1"}, "models": {"mine": {}}}}}`, nil)
	for _, name := range listed(t, m, "ollama") {
		if name == "qwen3:8b" {
			t.Error("what is configured is mixed with what was found")
		}
	}
	for content, want := range map[string]string{
		`{"provider": {"ollama": {"name": "Mine", "options": {"timeout": 1000, "topP": 0.5}}}}`: "qwen3:8b",
		`{"provider": {"ollama": {"whitelist": ["none"]}}}`:                                     "",
		`{"provider": {"ollama": {"blacklist": ["qwen3:8b"]}}}`:                                 "",
	} {
		m := tableOf(t, found, content, nil)
		if got := strings.Join(listed(t, m, "ollama"), " "); got != want {
			t.Errorf("%s: listed are %q, want %q", content, got, want)
		}
		if ref, err := m.Default(); err != nil || ref.ProviderID != "cairn" {
			t.Errorf("%s: nobody chose %v, %v", content, ref, err)
		}
	}
	if got := listed(t, tableOf(t, found, `{}`, map[string]string{"CAIRN_DISABLE_DISCOVERY": "1"}), "ollama"); len(got) > 0 {
		t.Errorf("listed are %q", got)
	}
}

// TestAmbientCredentials: those that are there for other work make models usable, and nobody's default.
func TestAmbientCredentials(t *testing.T) {
	ambient := map[string]string{"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": probeKey, "GITHUB_TOKEN": "ghp_1"}
	m := tableOf(t, nil, `{}`, ambient)
	if ref, err := m.Default(); err != nil || ref.ProviderID != "cairn" {
		t.Errorf("nobody chose %v, %v", ref, err)
	}
	for _, id := range []string{"github-copilot", "github-models"} {
		if got := listed(t, m, id); len(got) > 0 {
			t.Errorf("%s has %q by a token for something else", id, got)
		}
	}
	if spoken := provider.Converse.Spoken(); spoken != (len(listed(t, m, "amazon-bedrock")) > 0) {
		t.Errorf("Bedrock's protocol: %v, its models: %v", spoken, listed(t, m, "amazon-bedrock"))
	}
	for _, secret := range m.secretNames() {
		if secret == "GITHUB_TOKEN" || secret == "AWS_REGION" || secret == "GOOGLE_VERTEX_PROJECT" {
			t.Errorf("commands are not shown %s, which they may need", secret)
		}
	}
	m = tableOf(t, nil, `{}`, map[string]string{"AWS_BEARER_TOKEN_BEDROCK": probeKey})
	if ref, err := m.Default(); err != nil || ref.ProviderID != "amazon-bedrock" && provider.Converse.Spoken() {
		t.Errorf("a key of Bedrock's own chooses it, not %v, %v", ref, err)
	}
}
