package plugin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

//go:embed host.mjs
var script []byte

// Set is the plugins of a location. Safe for concurrent use.
type Set struct {
	pool      *Pool
	location  Location
	responses responses

	connecting sync.Mutex // held while the program starts

	mu       sync.Mutex // guards the rest
	child    *child     // nil if none runs
	starts   int        // since the last long life
	began    time.Time  // of the last start
	failure  error      // of the last start
	isClosed bool
	calls    map[int64]tool.Call // of tools, by the id of the request
}

// The program is started again after it has ended, at most maxStarts times in steadyTime.
const (
	maxStarts  = 4
	steadyTime = 5 * time.Minute
)

// child is one run of the program.
type child struct {
	*process.Child
	*peer
	state  State
	config jsontext.Value // as the plugins left it
}

func newSet(p *Pool, l Location) *Set {
	return &Set{pool: p, location: l, calls: map[int64]tool.Call{}}
}

// isFor reports whether the plugins are those of the location. What its configuration says beside them counts, because
// plugins get it.
func (s *Set) isFor(l Location) bool {
	return reflect.DeepEqual(s.location.Plugins, l.Plugins) && string(s.location.Config) == string(l.Config) &&
		s.location.Worktree == l.Worktree && reflect.DeepEqual(s.location.Environment, l.Environment)
}

// connect returns the running program with its plugins loaded, and starts it if none runs.
func (s *Set) connect(ctx context.Context) (*child, error) {
	if c := s.running(); c != nil {
		return c, nil
	}
	s.connecting.Lock()
	defer s.connecting.Unlock()
	if c := s.running(); c != nil {
		return c, nil
	}
	if err := s.noteStart(time.Now()); err != nil {
		return nil, err
	}
	c, err := s.start(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.isClosed {
		go c.CloseWithin(0)
		err = errEnded
	}
	s.failure = err
	if err != nil {
		return nil, err
	}
	s.child = c
	return c, nil
}

// running returns the program if it runs.
func (s *Set) running() *child {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == nil {
		return nil
	}
	select {
	case <-s.child.peer.done: // its pipe ends before it is known to have ended
		ended := s.child
		s.child = nil
		go func() {
			ended.CloseWithin(0)
			s.pool.options.Logger.Warn("the program of the plugins has ended", "directory", s.location.Directory,
				"errors", ended.ReadErrors())
		}()
	default:
	}
	return s.child
}

// noteStart notes that the program starts, or returns why it does not.
func (s *Set) noteStart(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.isClosed:
		return errEnded
	case now.Sub(s.began) > steadyTime:
		s.starts = 0
	case s.starts >= maxStarts:
		return fmt.Errorf("the program of the plugins ended %d times and is started again at %s: %w",
			s.starts, s.began.Add(steadyTime).Format(time.TimeOnly), errors.Join(errEnded, s.failure))
	}
	s.starts++
	s.began = now
	return nil
}

// start starts the program and loads the plugins.
func (s *Set) start(ctx context.Context) (*child, error) {
	runtime, err := findRuntime(ctx)
	if err != nil {
		return nil, err
	}
	file, err := writeScript(s.pool.options.Cache)
	if err != nil {
		return nil, err
	}
	// Start it below a supervisor, with a word that its lines begin with. It goes to the location's directory itself, since
	// Bun runs what a bunfig.toml names in the directory where it starts, and reads variables from .env there.
	word := rand.Text()
	p, err := process.StartChild(process.Spec{
		Argv: append(runtime, file, word), Dir: filepath.Dir(file), Env: s.location.Environment.List(),
		Supervisor: s.pool.options.Supervisor, Processes: process.MaxProcesses,
	})
	if err != nil {
		return nil, fmt.Errorf("the program of the plugins could not be started: %w", err)
	}
	c := &child{Child: p, peer: &peer{in: p.In, word: word, waiting: map[int64]chan message{}, done: make(chan struct{})}}
	address := s.pool.options.ServerURL()
	answers := &answers{set: s, peer: c.peer, address: address, streams: map[int64]context.CancelFunc{}}
	c.handle, c.notify, c.print = answers.handle, answers.notify, answers.print
	go func() { // ends with the program
		c.read(context.Background(), p.Out)
		s.responses.endAll(errEnded)
	}()
	go s.watchMemory(c)
	// Load the plugins.
	var loaded struct {
		State
		Config jsontext.Value `json:"config"`
	}
	err = c.call(ctx, "init", map[string]any{
		"directory": s.location.Directory, "worktree": s.location.Worktree, "project": s.location.Project,
		"serverUrl": address, "shared": s.pool.options.Shared, "config": s.location.Config,
		"plugins": s.location.Plugins,
	}, &loaded, nil)
	if err == nil {
		err = c.call(ctx, "start", nil, nil, nil)
	}
	if err != nil {
		c.CloseWithin(0)
		return nil, fmt.Errorf("the plugins could not be loaded: %w%s", err, lastLine(c.ReadErrors()))
	}
	c.state, c.config = loaded.State, loaded.Config
	return c, nil
}

// lastLine returns the last line of a text behind a separator, "" for none.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	if text = text[strings.LastIndexByte(text, '\n')+1:]; text == "" {
		return ""
	}
	return "; it printed: " + session.ClipText(text, 300)
}

// close ends the program. Plugins have a moment to end what they do.
func (s *Set) close() {
	s.mu.Lock()
	c := s.child
	s.child, s.isClosed = nil, true
	s.mu.Unlock()
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.call(ctx, "dispose", nil, nil, nil) // it may have ended
	_ = c.Close()
}

// Bounds of the program's memory.
const (
	maxMemory      = 2 << 30 // bytes, with everything that it starts
	memoryInterval = 2 * time.Second
)

// watchMemory ends the program when it uses too much memory.
func (s *Set) watchMemory(c *child) {
	tick := time.NewTicker(memoryInterval)
	defer tick.Stop()
	for {
		select {
		case <-c.Done():
			return
		case <-tick.C:
			if c.Memory() > maxMemory {
				s.stop(c, errors.New("it used more than 2 GiB of memory"))
				return
			}
		}
	}
}

// stop ends a program that fails without ending.
func (s *Set) stop(c *child, why error) {
	s.pool.options.Logger.Warn("the program of the plugins is ended", "directory", s.location.Directory, "error", why)
	c.NoteFailure(why)
	c.CloseWithin(0)
}

// pingTime is how long the program has to answer after a call did not end in time. One that does not is ended: a plugin
// keeps it busy.
const pingTime = 5 * time.Second

// examine ends the program if it does not answer any more.
func (s *Set) examine(c *child) {
	ctx, cancel := context.WithTimeout(context.Background(), pingTime)
	defer cancel()
	if err := c.call(ctx, "ping", nil, nil, nil); errors.Is(err, context.DeadlineExceeded) {
		s.stop(c, errors.New("it does not answer"))
	}
}

// call calls a method of the program, which starts if it does not run.
func (s *Set) call(ctx context.Context, method string, params, out any, number func(int64)) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	err = c.call(ctx, method, params, out, number)
	if errors.Is(err, context.DeadlineExceeded) {
		go s.examine(c)
	}
	if errors.Is(err, errEnded) {
		if why := c.Failure(); why != nil {
			return fmt.Errorf("%w: %w", errEnded, why)
		}
		return fmt.Errorf("%w%s", errEnded, lastLine(c.ReadErrors()))
	}
	return err
}

// tell sends a notification to the program if it runs.
func (s *Set) tell(method string, params any) {
	if c := s.running(); c != nil {
		_ = c.tell(method, params) // it has ended
	}
}

// findRuntime returns the command line that runs a script: Bun, or Node that reads TypeScript.
func findRuntime(ctx context.Context) ([]string, error) {
	if path, err := exec.LookPath("bun"); err == nil {
		return []string{path, "--no-install"}, nil // packages are installed with cairn plugin add only
	}
	path, err := exec.LookPath("node")
	if err != nil {
		return nil, errors.New("plugins need Bun, or Node 22.15 or newer, and neither is on PATH")
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	version := strings.TrimSpace(string(out))
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, _ := strconv.Atoi(major)
	n, _ := strconv.Atoi(minor)
	if err != nil || m < 22 || m == 22 && n < 15 { // the first one with module.registerHooks
		return nil, fmt.Errorf("plugins need Bun, or Node 22.15 or newer; node on PATH is %s", version)
	}
	args := []string{path, "--no-warnings", "--max-old-space-size=1536"}
	if m == 22 && n < 18 {
		args = append(args, "--experimental-strip-types")
	}
	return args, nil
}

// writeScript returns the script as a file in the directory, which is written if it is missing.
func writeScript(dir string) (string, error) {
	sum := sha256.Sum256(script)
	file := filepath.Join(dir, "plugin-host-"+hex.EncodeToString(sum[:8])+".mjs")
	if old, err := os.ReadFile(file); err == nil && string(old) == string(script) {
		return file, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return file, statefile.Replace(file, script, 0o600)
}
