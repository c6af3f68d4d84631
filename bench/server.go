//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// home is a CAIRN_HOME whose configuration has only the scripted model.
type home struct {
	dir  string
	env  []string
	work string
}

func (b *bench) newHome(name string) *home { return b.newHomeWithLimits(name, `{"streams":2000}`) }

// newHomeWithLimits also sets the process limits.
func (b *bench) newHomeWithLimits(name, limits string) *home {
	h := &home{dir: filepath.Join(b.dir, name), work: b.work}
	b.model.path = filepath.Join(b.work, "a.txt")
	config := fmt.Sprintf(
		`{"model":"mock/m","small_model":"mock/m","permission":{"*":"allow"},"limits":%s,"provider":{"mock":{
		"npm":"@ai-sdk/openai-compatible","name":"Mock","options":{"baseURL":%q,"apiKey":"x"},
		"models":{"m":{"name":"m","tool_call":true,"limit":{"context":1000000000,"output":8192}}}}}}`,
		limits,
		b.model.url,
	)
	h.env = []string{
		"HOME=" + h.dir,
		"PATH=" + os.Getenv("PATH"),
		"CAIRN_HOME=" + h.dir,
		"CAIRN_CONFIG_CONTENT=" + config,
		"NO_COLOR=1",
	}
	for _, name := range []string{"GODEBUG", "GOGC", "GOMEMLIMIT", "CAIRN_LOG"} { // to measure the effect of a setting
		if v, ok := os.LookupEnv(name); ok {
			h.env = append(h.env, name+"="+v)
		}
	}
	return h
}

func (h *home) dataDir() string { return filepath.Join(h.dir, "data") }

func (h *home) newCommand(ctx context.Context, binary string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, binary, args...)
	c.Env, c.Dir = h.env, h.work
	return c
}

// server is a running cairn serve.
type server struct {
	cmd    *exec.Cmd
	client *api.Client
	http   *http.Client
	url    string
	secret string
	ready  time.Duration // from the start to the first good answer
}

// serve starts a server and returns after its first response.
func (b *bench) serve(ctx context.Context, h *home) (*server, error) {
	cmd := h.newCommand(ctx, b.binary, "serve", "--port", "0")
	var trouble strings.Builder
	cmd.Stderr = &trouble
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Process.Kill()
		return nil, fmt.Errorf("cairn serve: %w: %s", err, trouble.String())
	}
	s := &server{cmd: cmd, url: line[strings.Index(line, "http://") : len(line)-1]}
	if s.secret, err = readSecret(h); err == nil {
		s.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
		s.client = &api.Client{HTTP: s.http, Base: s.url, Auth: api.Auth{Secret: s.secret}, Directory: b.work}
		_, err = s.client.Health(ctx)
	}
	s.ready = time.Since(start)
	if err != nil {
		_ = cmd.Process.Kill()
		return nil, fmt.Errorf("cairn serve: %w: %s", err, trouble.String())
	}
	return s, nil
}

func readSecret(h *home) (string, error) {
	raw, err := os.ReadFile(filepath.Join(h.dataDir(), "server.json"))
	if err != nil {
		return "", err
	}
	var found struct {
		Secret string `json:"secret"`
	}
	return found.Secret, json.Unmarshal(raw, &found)
}

func (s *server) pid() int { return s.cmd.Process.Pid }

func (s *server) stop() {
	s.http.CloseIdleConnections()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	_ = s.cmd.Wait() // the status of a server that was stopped may not be 0
}

// begin creates a session. It has a title, so that no turn generates one.
func (s *server) begin(ctx context.Context) (session.ID, error) {
	made, err := s.client.Create(ctx, api.CreateSession{Title: "bench"})
	if err != nil {
		return "", err
	}
	return made.ID, nil
}

// turnTimes has the times of one prompt.
type turnTimes struct {
	toRequest time.Duration // from the prompt to the model's first request
	outside   time.Duration // from the prompt to idle, without the model's time
	wall      time.Duration
	requests  int
	posted    time.Time
	exchanges []exchange
}

// runTurn sends a prompt and waits until the session is idle.
func (b *bench) runTurn(ctx context.Context, s *server, id session.ID, o order) (t turnTimes, err error) {
	o.id = fmt.Sprintf("%s-%d", id, time.Now().UnixNano())
	t.posted = time.Now()
	if _, err := s.client.Prompt(ctx, id, api.PromptRequest{Prompt: &session.Prompt{Text: o.String()}}); err != nil {
		return t, err
	}
	if err := s.client.Wait(ctx, id); err != nil {
		return t, err
	}
	t.wall = time.Since(t.posted)
	t.exchanges = b.model.takeExchanges(o.id)
	t.requests = len(t.exchanges)
	if want := o.calls + min(o.tasks, 1) + 1; t.requests != want {
		return t, fmt.Errorf("the model was asked %d times, not %d", t.requests, want)
	}
	t.toRequest, t.outside = t.exchanges[0].arrived.Sub(t.posted), t.wall
	for _, e := range t.exchanges {
		t.outside -= e.last.Sub(e.arrived)
	}
	return t, nil
}

// get fetches a path and returns the body.
func (s *server) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	resp, err := s.open(ctx, s.http, path, query)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

func (s *server) open(ctx context.Context, c *http.Client, path string, query url.Values) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.secret)
	req.Header.Set("X-Opencode-Directory", url.PathEscape(s.client.Directory))
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // the status says enough without it
		return nil, errors.Join(fmt.Errorf("GET %s: %s: %s", path, resp.Status, body), resp.Body.Close())
	}
	return resp, nil
}

// countEntries counts the values of a list by their first bytes, without decoding them, and returns the end of the
// object from its cursor on as an object of its own.
func countEntries(body []byte) (int, []byte) {
	n := bytes.Count(body, []byte(`{"id":"ses_`)) + bytes.Count(body, []byte(`{"id":"msg_`))
	if i := bytes.LastIndex(body, []byte(`"cursor":{`)); i >= 0 {
		return n, append([]byte("{"), body[i:]...)
	}
	return n, []byte("{}")
}
