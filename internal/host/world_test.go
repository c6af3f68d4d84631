package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/sandboxtest"
)

// TestMain is also the process that a test kills: it owns the home of childHome, prompts once and waits.
func TestMain(m *testing.M) {
	sandboxtest.RestartWithoutNamespaces()
	// With the argument of supervisors alone: a process that the impostor starts, such as a trial of the sandbox, has its
	// environment and is none.
	if home := os.Getenv(impostorHome); home != "" && len(os.Args) == 2 {
		fmt.Println(actAsTool(home))
		os.Exit(1)
	}
	if code, ok := RunSupervisor(os.Args[1:]); ok {
		syscall.Exit(code) // the race detector would wait a second in os.Exit
	}
	if len(os.Args) == 4 && os.Args[1] == attackWord {
		os.Exit(attack(os.Args[2], os.Args[3]))
	}
	if role := os.Getenv(takenRole); role != "" {
		fmt.Println(playTaken(role))
		os.Exit(1)
	}
	if home := os.Getenv(dyingHome); home != "" {
		fmt.Fprintln(os.Stderr, deleteAndDie(home))
		os.Exit(1)
	}
	if home := os.Getenv(childHome); home != "" {
		fmt.Fprintln(os.Stderr, ownAndWait(home))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const childHome = "HOST_TEST_HOME"

func ownAndWait(home string) error {
	c, err := Host{}.Open(context.Background(), optionsOf(home))
	if err != nil {
		return err
	}
	s, err := c.API.Create(context.Background(), api.CreateSession{Title: "Work"})
	if err != nil {
		return err
	}
	if _, err := c.API.Prompt(context.Background(), s.ID, say("go")); err != nil {
		return err
	}
	if err := c.API.Wait(context.Background(), s.ID); err != nil {
		return err
	}
	return lookAround(c.API)
}

// lookAround asks for everything that a location offers, and for commands that do not exist.
func lookAround(c *api.Client) error {
	ctx := context.Background()
	_, agents := c.Agents(ctx)
	_, skills := c.Skills(ctx)
	_, models := c.Models(ctx)
	_, providers := c.Providers(ctx)
	_, settings := c.Explain(ctx, "")
	list, commands := c.Commands(ctx)
	for _, name := range []string{"go", "evil", "sub/evil"} {
		if x, err := c.Expand(ctx, api.ExpandRequest{Command: name}); err == nil {
			commands = errors.Join(commands, fmt.Errorf("%s is a command: %s", name, x.Prompt.Text))
		}
	}
	if x, err := c.Expand(ctx, api.ExpandRequest{Command: "evil-skill"}); err == nil && len(x.Prompt.Files) > 0 {
		commands = errors.Join(commands, fmt.Errorf("a skill attaches %v", x.Prompt.Files))
	}
	if len(list.Data) == 0 {
		commands = errors.Join(commands, errors.New("there are no commands at all"))
	}
	return errors.Join(agents, skills, models, providers, settings, commands)
}

func optionsOf(home string) client.Options {
	env := func(name string) string {
		return map[string]string{
			"CAIRN_HOME": home, "HOME": home,
			"CAIRN_DISABLE_MODELS_FETCH": "1", "CAIRN_DISABLE_DISCOVERY": "1", "CAIRN_DISABLE_KEYRING": "1",
			"HOST_SECRET": hostSecret,
		}[name]
	}
	return client.Options{Dir: filepath.Join(home, "project"), Env: env, Version: "test"}
}

func say(text string) api.PromptRequest {
	return api.PromptRequest{Prompt: &session.Prompt{Text: text}}
}

// hostSecret is in the environment and in a file of the user's; it must never be sent.
const hostSecret = "s3cr3t-c4n4ry"

// vendor is a provider that answers each request with "Hello." once it may.
type vendor struct {
	*httptest.Server
	asked    atomic.Int64
	arrived  chan struct{} // one for each request
	released chan struct{} // closed when answers may come

	mu   sync.Mutex // guards said
	said []string   // the requests, whole
}

// newHome makes a home whose model is served by the vendor.
func newHome(t *testing.T) (string, *vendor) {
	t.Helper()
	v := &vendor{arrived: make(chan struct{}, 100), released: make(chan struct{})} // 100: more than any test asks
	v.Server = httptest.NewServer(v)
	t.Cleanup(v.Close)
	home := t.TempDir()
	write(t, filepath.Join(home, "config", "cairn.json"), fmt.Sprintf(`{
  "model": "mock/main",
  "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": %q, "apiKey": "k"}, "models": {"main": {"name": "Main"}}}}
}`, v.URL))
	if err := os.MkdirAll(filepath.Join(home, "project"), 0o700); err != nil {
		t.Fatal(err)
	}
	return home, v
}

func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.asked.Add(1)
	raw, _ := httputil.DumpRequest(r, true) // who sends less has said less
	v.mu.Lock()
	v.said = append(v.said, string(raw))
	v.mu.Unlock()
	v.arrived <- struct{}{}
	select {
	case <-v.released:
	case <-r.Context().Done():
		return
	}
	answer := "Hello."
	if strings.Contains(string(raw), "Write notes of the conversation") {
		answer = "## Goal\\n- Hello."
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(
		w,
		`data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"`+answer+`"}}]}`+"\n\n"+
			`data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n",
	)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	err := errors.Join(
		os.MkdirAll(filepath.Dir(path), 0o700),
		os.WriteFile(path+".new", []byte(text), 0o600),
		os.Rename(path+".new", path),
	)
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, o client.Options) *client.Connection {
	t.Helper()
	c, err := Host{}.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func closeIt(t *testing.T, c *client.Connection) {
	t.Helper()
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func create(t *testing.T, c *client.Connection, title string) session.ID {
	t.Helper()
	s, err := c.API.Create(t.Context(), api.CreateSession{Title: title})
	if err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// prompt starts work and returns when the vendor was asked.
func prompt(t *testing.T, c *client.Connection, v *vendor, id session.ID) {
	t.Helper()
	if _, err := c.API.Prompt(t.Context(), id, say("go")); err != nil {
		t.Fatal(err)
	}
	<-v.arrived
}

// answer returns what the session's newest message says, once its work is done.
func answer(t *testing.T, c *client.Connection, id session.ID) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.API.Wait(ctx, id); err != nil {
		t.Fatal(err)
	}
	page, err := c.API.Messages(ctx, id, api.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for _, m := range page.Data {
		if a, ok := m.(*session.Assistant); ok {
			for _, content := range a.Content {
				if text, ok := content.(*session.Text); ok {
					said.WriteString(text.Text)
				}
			}
		}
	}
	return said.String()
}

// killed leaves a home whose owner was killed while the vendor worked on its prompt, and the session.
func killed(t *testing.T) (string, *vendor, session.ID) {
	t.Helper()
	home, v := newHome(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childHome+"="+home)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-v.arrived
	c := open(t, optionsOf(home))
	page, err := c.API.Sessions(t.Context(), api.SessionQuery{})
	if err != nil || len(page.Data) != 1 {
		t.Fatalf("sessions of the other process: %v, %v", page.Data, err)
	}
	closeIt(t, c)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	return home, v, page.Data[0].ID
}
