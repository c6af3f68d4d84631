package plugin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/redact"
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
	responses responses
	life      context.Context // ends with the location
	end       context.CancelFunc
	working   sync.WaitGroup // goroutines that start and end programs

	mu       sync.Mutex // guards the rest
	location Location
	child    *child    // nil if none runs
	attempt  *attempt  // nil if none starts
	starts   int       // since the last long life
	began    time.Time // of the last start
	failure  error     // of the last start
	isClosed bool
	calls    map[callKey]runningCall   // of tools
	logins   map[string]jsontext.Value // what LoadAuth was asked for, by provider
	active   int                       // calls that run
	usedAt   time.Time
}

// callKey names a call of a tool: the id of its request to one program.
type callKey struct {
	peer *peer
	id   int64
}

// runningCall is what a plugin may ask of cairn during a call of its tool.
type runningCall struct {
	ask      func(program context.Context, r tool.Request) error // ends with the call, and with program
	progress func(tool.Output)                                   // nil if nothing shows it
}

// attempt is a start of the program.
type attempt struct {
	done  chan struct{} // closed at its end
	child *child
	err   error
}

// The program is started again after it has ended, at most maxStarts times until one start has lasted steadyTime.
const (
	maxStarts  = 4
	steadyTime = 5 * time.Minute
)

// errClosed is the error of calls after the end of the location.
var errClosed = fmt.Errorf("%w with its location", errEnded)

// child is one run of the program.
type child struct {
	*process.Child
	*peer
	state  State          // set once, with the mutex of its Set, when the plugins are loaded
	config jsontext.Value // as the plugins left it; set with state
}

func newSet(p *Pool, l Location) *Set {
	life, end := context.WithCancel(context.Background())
	return &Set{
		pool: p, location: l, life: life, end: end, calls: map[callKey]runningCall{}, logins: map[string]jsontext.Value{},
		usedAt: time.Now(),
	}
}

// isFor reports whether the plugins are those of the location. What its configuration says beside them counts, because
// plugins get it.
func (s *Set) isFor(l Location) bool {
	own := s.place()
	return reflect.DeepEqual(own.Plugins, l.Plugins) && string(own.Config) == string(l.Config) &&
		own.Worktree == l.Worktree && reflect.DeepEqual(own.Environment, l.Environment)
}

// place returns the location as it was opened last.
func (s *Set) place() Location {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.location
}

// reopen gives the plugins the forms and the functions of an equal location.
func (s *Set) reopen(l Location) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.location = l
}

// connect returns the running program with its plugins loaded. If none runs it starts one, in LoadTime, however long the
// caller waits.
func (s *Set) connect(ctx context.Context) (*child, error) {
	if c := s.running(); c != nil {
		return c, nil
	}
	s.mu.Lock()
	a := s.attempt
	if a == nil {
		if err := s.noteStart(time.Now()); err != nil {
			s.mu.Unlock()
			return nil, err
		}
		a = &attempt{done: make(chan struct{})}
		s.attempt = a
		s.working.Go(func() { s.try(a) })
	}
	s.mu.Unlock()
	select {
	case <-a.done:
		return a.child, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// try starts the program for those who wait for the attempt.
func (s *Set) try(a *attempt) {
	ctx, cancel := context.WithTimeout(s.life, LoadTime)
	defer cancel()
	c, err := s.start(ctx)
	s.mu.Lock()
	if err == nil && s.isClosed {
		err = errClosed
	}
	a.child, a.err = c, err
	s.attempt, s.failure = nil, err
	if err == nil {
		s.child = c
	}
	s.mu.Unlock()
	close(a.done)
	if err != nil && c != nil {
		c.CloseWithin(0)
	}
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
		ended, directory := s.child, s.location.Directory
		s.child = nil
		s.working.Go(func() {
			ended.CloseWithin(0)
			s.pool.options.Logger.Warn("the program of the plugins has ended", "directory", directory,
				"errors", string(redact.MaskText([]byte(ended.ReadErrors()))))
		})
	default:
	}
	return s.child
}

// noteStart notes that the program starts, or returns why it does not. mu is held.
func (s *Set) noteStart(now time.Time) error {
	switch {
	case s.isClosed:
		return errClosed
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

// start starts the program and loads the plugins, if they are what was resolved.
func (s *Set) start(ctx context.Context) (*child, error) {
	l := s.place()
	for _, spec := range l.Plugins {
		if err := spec.check(); err != nil {
			return nil, err
		}
	}
	runtime, err := findRuntime(ctx)
	if err != nil {
		return nil, err
	}
	file, err := writeScript(s.pool.options.Scripts)
	if err != nil {
		return nil, err
	}
	// Start it below a supervisor, with a word that its lines begin with. It goes to the location's directory itself, since
	// Bun runs what a bunfig.toml names in the directory where it starts, and reads variables from .env there.
	word := rand.Text()
	p, err := process.StartChild(process.Spec{
		Argv: append(runtime, file, word), Dir: filepath.Dir(file), Env: l.Environment.List(),
		Supervisor: s.pool.options.Supervisor, Processes: process.MaxProcesses,
	})
	if err != nil {
		return nil, fmt.Errorf("the program of the plugins could not be started: %w", err)
	}
	c := &child{Child: p, peer: newPeer(p.In, word)}
	address := s.pool.options.ServerURL()
	answers := &answers{set: s, child: c, address: address, streams: map[int64]context.CancelFunc{}}
	c.handle, c.notify, c.print = answers.handle, answers.notify, answers.print
	go func() { // ends with the program
		c.read(context.Background(), p.Out)
		s.responses.endAll(c.peer, errEnded)
	}()
	go c.write() // ends with its pipe
	go s.watchMemory(c)
	// Load the plugins.
	var loaded struct {
		State
		Config jsontext.Value `json:"config"`
	}
	err = c.call(ctx, "init", map[string]any{
		"directory": l.Directory, "worktree": l.Worktree, "project": l.Project,
		"serverUrl": address, "shared": s.pool.options.Shared, "config": l.Config,
		"plugins": l.Plugins,
	}, &loaded, nil)
	if err == nil {
		err = c.call(ctx, "start", nil, nil, nil)
	}
	if err != nil {
		c.CloseWithin(0)
		return nil, fmt.Errorf("the plugins could not be loaded: %w%s", err, lastLine(c.ReadErrors()))
	}
	s.mu.Lock()
	c.state, c.config = loaded.State, loaded.Config
	s.mu.Unlock()
	s.loadLogins(ctx, c)
	go s.keepEvents(c)
	return c, nil
}

// loadLogins asks a new program for what the one before was asked: it sends the requests to these providers.
func (s *Set) loadLogins(ctx context.Context, c *child) {
	s.mu.Lock()
	logins := maps.Clone(s.logins)
	s.mu.Unlock()
	for provider, info := range logins {
		if err := c.call(ctx, "auth/load", object{"provider": provider, "info": info}, nil, nil); err != nil {
			s.pool.options.Logger.Warn("a plugin does not log in any more", "provider", provider, "error", err)
		}
	}
}

// restartPause is how long a program that ended is left alone, if nothing but events needs it.
const restartPause = time.Second

// keepEvents starts the program again when it has ended, if a plugin follows events: nothing else may need it for long.
func (s *Set) keepEvents(c *child) {
	follows := slices.ContainsFunc(c.state.Plugins, func(o Offer) bool { return o.hasHook("event") })
	<-c.done
	if !follows {
		return
	}
	select {
	case <-time.After(restartPause):
	case <-s.life.Done():
		return
	}
	if _, err := s.connect(s.life); err != nil && s.life.Err() == nil {
		s.pool.options.Logger.Warn("the plugins see no events any more", "directory", s.place().Directory, "error", err)
	}
}

// lastLine returns the last line of a text behind a separator, "" for none.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	if text = text[strings.LastIndexByte(text, '\n')+1:]; text == "" {
		return ""
	}
	return "; it printed: " + session.ClipText(text, 300)
}

// close ends the program, also one that starts, and returns when it has ended. Plugins have a moment to end what they do.
func (s *Set) close() {
	s.mu.Lock()
	c := s.child
	s.child, s.isClosed = nil, true
	s.mu.Unlock()
	if c != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.call(ctx, "dispose", nil, nil, nil) // it may have ended
		_ = c.Close()
	}
	s.end()
	s.working.Wait()
}

// Times of a retired Set: it is closed when nothing has used it for a while, so that turns that began with it end with it.
const (
	retiredIdle = 30 * time.Second
	retiredPoll = 5 * time.Second
	maxRetired  = 10 * time.Minute
)

// retire closes the Set when the turns that use it have ended.
func (s *Set) retire() {
	tick := time.NewTicker(retiredPoll)
	defer tick.Stop()
	limit := time.After(maxRetired)
	for {
		s.mu.Lock()
		isIdle := s.isClosed || s.active == 0 && time.Since(s.usedAt) > retiredIdle
		s.mu.Unlock()
		if isIdle {
			break
		}
		select {
		case <-tick.C:
			continue
		case <-limit:
		case <-s.life.Done():
		}
		break
	}
	s.close()
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
	s.pool.options.Logger.Warn("the program of the plugins is ended", "directory", s.place().Directory, "error", why)
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
func (s *Set) call(ctx context.Context, method string, params, out any, number func(*peer, int64)) error {
	s.countCalls(1)
	defer s.countCalls(-1)
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

// countCalls notes that calls have begun, or ended.
func (s *Set) countCalls(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active, s.usedAt = s.active+n, time.Now()
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
