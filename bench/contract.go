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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// serverProgram is a program that implements OpenCode's V1 API: cairn, or the real OpenCode. Both are measured by the
// same code in the same run.
type serverProgram struct {
	name    string
	command func(context.Context, ...string) *exec.Cmd
	secret  func() (string, error)
}

// newServers returns cairn and, if it is installed, OpenCode, each with a home of that name.
func (b *bench) newServers(name string) ([]*serverProgram, error) {
	h := b.newHome(name)
	all := []*serverProgram{{
		name:    "cairn",
		command: func(ctx context.Context, args ...string) *exec.Cmd { return h.newCommand(ctx, b.binary, args...) },
		secret:  func() (string, error) { return readSecret(h) },
	}}
	if b.opencode == "" {
		return all, nil
	}
	env, err := b.openCodeHome(filepath.Join(b.dir, name+"-opencode"))
	if err != nil {
		return nil, err
	}
	return append(all, &serverProgram{
		name: "OpenCode",
		command: func(ctx context.Context, args ...string) *exec.Cmd {
			c := exec.CommandContext(ctx, filepath.Join(b.opencode, "node_modules/.bin/opencode"), args...)
			c.Env, c.Dir = env, b.work
			return c
		},
		secret: func() (string, error) { return "", nil },
	}), nil
}

// openCodeHome creates a home for OpenCode with the scripted model and everything that it would otherwise fetch at its
// first start. Snapshots are disabled because cairn has none yet.
func (b *bench) openCodeHome(dir string) (env []string, err error) {
	config := filepath.Join(dir, ".config/opencode")
	if err := os.MkdirAll(config, 0o700); err != nil {
		return nil, err
	}
	text := fmt.Sprintf(
		`{"model":"mock/m","small_model":"mock/m","autoupdate":false,"share":"disabled","snapshot":false,
		"permission":{"*":"allow"},"provider":{"mock":{"npm":"@ai-sdk/openai-compatible","name":"Mock","options":{"baseURL":%q,"apiKey":"x"},
		"models":{"m":{"name":"m","tool_call":true,"limit":{"context":1000000000,"output":8192}}}}}}`,
		b.model.url,
	)
	err = os.WriteFile(filepath.Join(config, "opencode.json"), []byte(text), 0o600)
	for _, name := range []string{"node_modules", "package.json"} {
		if _, there := os.Lstat(filepath.Join(config, name)); err == nil && there != nil {
			err = os.Symlink(filepath.Join(b.opencode, name), filepath.Join(config, name))
		}
	}
	return []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "XDG_CONFIG_HOME=" + dir + "/.config",
		"XDG_DATA_HOME=" + dir + "/.local/share",
		"XDG_CACHE_HOME=" + dir + "/.cache", "XDG_STATE_HOME=" + dir + "/.local/state", "NO_COLOR=1",
		"npm_config_registry=http://127.0.0.1:1/",
		"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
	}, err
}

// v1Server is a running serverProgram.
type v1Server struct {
	*serverProgram
	cmd   *exec.Cmd
	url   string
	auth  string
	work  string
	http  *http.Client
	ready time.Duration // from the start to the first successful response
}

// start returns when the server has listed its sessions once, so that the time includes everything that it opens for
// that.
func (p *serverProgram) start(ctx context.Context, work string) (*v1Server, error) {
	cmd := p.command(ctx, "serve", "--port", "0", "--hostname", "127.0.0.1")
	var trouble strings.Builder
	cmd.Stderr = &trouble
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &v1Server{
		serverProgram: p,
		cmd:           cmd,
		work:          work,
		http:          &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}},
	}
	lines := bufio.NewReader(out)
	for s.url == "" && err == nil {
		var line string
		line, err = lines.ReadString('\n')
		if i := strings.Index(line, "http://"); i >= 0 {
			s.url = strings.TrimSpace(line[i:])
		}
	}
	if err == nil {
		s.auth, err = p.secret()
	}
	if err == nil {
		_, err = s.get(ctx, "/session", nil)
	}
	s.ready = time.Since(begun)
	if err != nil {
		_ = cmd.Process.Kill()
		return nil, fmt.Errorf("%s serve: %w: %s", p.name, err, trouble.String())
	}
	return s, nil
}

func (s *v1Server) pid() int { return s.cmd.Process.Pid }

func (s *v1Server) stop() {
	s.http.CloseIdleConnections()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	_ = s.cmd.Wait() // a stopped server may have a non-zero status
}

// request is an HTTP request about the project.
type request struct {
	path  string
	query url.Values
	post  []byte // nil: a GET
}

// send sends a request and returns the response, whose status is 2xx.
func (s *v1Server) send(ctx context.Context, c *http.Client, r request) (*http.Response, error) {
	method := http.MethodGet
	if r.post != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+r.path+"?"+r.query.Encode(), bytes.NewReader(r.post))
	if err != nil {
		return nil, err
	}
	if s.auth != "" {
		req.Header.Set("Authorization", "Bearer "+s.auth)
	}
	if r.post != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("X-Opencode-Directory", url.PathEscape(s.work))
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // the body is optional detail
		return nil, errors.Join(
			fmt.Errorf("%s: %s %s: %s: %s", s.name, method, r.path, resp.Status, said),
			resp.Body.Close(),
		)
	}
	return resp, nil
}

// fetchResult is a response with its times.
type fetchResult struct {
	body        []byte
	first, last time.Duration // until the first and the last byte
}

func (s *v1Server) get(ctx context.Context, path string, query url.Values) (f fetchResult, err error) {
	begun := time.Now()
	resp, err := s.send(ctx, s.http, request{path: path, query: query})
	if err != nil {
		return f, err
	}
	defer resp.Body.Close()
	head := make([]byte, 1)
	if _, err := io.ReadFull(resp.Body, head); err != nil {
		return f, err
	}
	f.first = time.Since(begun)
	rest, err := io.ReadAll(resp.Body)
	f.body, f.last = append(head, rest...), time.Since(begun)
	return f, err
}

// create creates a session and returns its id.
func (s *v1Server) create(ctx context.Context, title string) (string, error) {
	body, err := json.Marshal(map[string]string{"title": title})
	if err != nil {
		return "", err
	}
	resp, err := s.send(ctx, s.http, request{path: "/session", post: body})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var made struct {
		ID string `json:"id"`
	}
	return made.ID, json.UnmarshalRead(resp.Body, &made)
}

// createAll creates n sessions with numbered titles.
func (s *v1Server) createAll(ctx context.Context, n int) error {
	const clients = 8
	errs := make([]error, clients)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := c; i < n && errs[c] == nil; i += clients {
				_, errs[c] = s.create(ctx, "work on number "+strconv.Itoa(i))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// prompt sends the order and returns when the response is complete.
func (s *v1Server) prompt(ctx context.Context, id string, o order) error {
	body := fmt.Sprintf(`{"model":{"providerID":"mock","modelID":"m"},"parts":[{"type":"text","text":%q}]}`, o)
	resp, err := s.send(ctx, s.http, request{path: "/session/" + id + "/message", post: []byte(body)})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// follow opens an event stream per reader.
func (s *v1Server) follow(ctx context.Context, f *readerGroup, readers int) error {
	for range readers {
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
		resp, err := s.send(ctx, c, request{path: "/event"})
		if err != nil {
			return err
		}
		f.read(resp, `"delta":"`)
	}
	return nil
}

// export returns a session in the form of OpenCode's export command.
func (s *v1Server) export(ctx context.Context, id string) ([]byte, error) {
	info, err := s.get(ctx, "/session/"+id, nil)
	if err != nil {
		return nil, err
	}
	messages, err := s.get(ctx, "/session/"+id+"/message", nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]jsontext.Value{"info": info.body, "messages": messages.body})
}

// importSession imports an exported session into the store of a server that is not running.
func (p *serverProgram) importSession(ctx context.Context, exported []byte, file string) error {
	if err := os.WriteFile(file, exported, 0o600); err != nil {
		return err
	}
	out, err := p.command(ctx, "import", file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s import: %w: %s", p.name, err, out)
	}
	return nil
}
