package plugin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// Set is the plugins of a location. Safe for concurrent use.
type Set struct {
	pool      *Pool
	users     int // Pool.mu guards it
	responses responses
	life      context.Context // ends with the location
	end       context.CancelFunc
	working   sync.WaitGroup // goroutines that start and end programs

	mu       sync.Mutex // guards the rest
	location Location
	child    *child    // nil if none runs
	attempt  *attempt  // the last one; nil before the first
	starts   int       // since the last long life
	began    time.Time // of the last start
	isClosed bool
	noEvents bool                      // others have taken the place of the plugins
	calls    map[callKey]runningCall   // of tools
	logins   map[string]jsontext.Value // what LoadAuth was asked for, by provider
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

// attempt is a start of the plugin host.
type attempt struct {
	done  chan struct{} // closed at its end
	child *child        // valid then
	err   error         // valid then
}

// isUnderWay reports whether the attempt has not ended.
func (a *attempt) isUnderWay() bool {
	if a == nil {
		return false
	}
	select {
	case <-a.done:
		return false
	default:
		return true
	}
}

// The program is started again after it has ended, at most maxStarts times until one start has lasted steadyTime.
const (
	maxStarts  = 4
	steadyTime = 5 * time.Minute
)

// errClosed is the error of calls after the end of the location.
var errClosed = fmt.Errorf("%w with its location", errEnded)

// child is one run of the plugin host.
type child struct {
	process *process.Child
	peer    *peer
	state   State          // set once, with the mutex of its Set, when the plugins are loaded
	config  jsontext.Value // as the plugins left it; set with state
}

func newSet(p *Pool, l Location) *Set {
	life, end := context.WithCancel(context.Background())
	return &Set{
		pool: p, location: l, life: life, end: end, calls: map[callKey]runningCall{}, logins: map[string]jsontext.Value{},
	}
}

// isFor reports whether the plugins are those of the location. What its configuration says beside them counts, because
// plugins get it.
func (s *Set) isFor(l Location) bool {
	own := s.currentLocation()
	return reflect.DeepEqual(own.Plugins, l.Plugins) && string(own.Config) == string(l.Config) &&
		own.Worktree == l.Worktree && reflect.DeepEqual(own.Environment, l.Environment)
}

// currentLocation returns the location as it was opened last.
func (s *Set) currentLocation() Location {
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

// connect returns the running plugin host with its plugins loaded. If none runs it starts one, in LoadTime, however long
// the caller waits.
func (s *Set) connect(ctx context.Context) (*child, error) {
	s.mu.Lock()
	if c := s.findRunning(); c != nil {
		s.mu.Unlock()
		return c, nil
	}
	// Start it, unless another caller does.
	a := s.attempt
	if !a.isUnderWay() {
		if err := s.checkStart(time.Now()); err != nil {
			s.mu.Unlock()
			return nil, err
		}
		a = &attempt{done: make(chan struct{})}
		s.attempt = a
		s.working.Go(func() { s.runAttempt(a) })
	}
	s.mu.Unlock()
	select {
	case <-a.done:
		return a.child, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// runAttempt starts the plugin host for those who wait for the attempt.
func (s *Set) runAttempt(a *attempt) {
	ctx, cancel := context.WithTimeout(s.life, LoadTime)
	defer cancel()
	c, err := s.start(ctx)
	s.mu.Lock()
	if err == nil && s.isClosed {
		err = errClosed
	}
	a.child, a.err = c, err
	noEvents := s.noEvents
	if err == nil {
		s.child = c
	}
	s.mu.Unlock()
	close(a.done)
	if noEvents {
		s.stopEvents()
	}
	if err != nil && c != nil {
		c.process.CloseWithin(0)
	}
}

// findRunning returns the plugin host if it runs, and ends the rest of one that has ended. mu is held.
func (s *Set) findRunning() *child {
	if s.child == nil {
		return nil
	}
	select {
	case <-s.child.peer.done: // its pipe ends before it is known to have ended
		ended, directory := s.child, s.location.Directory
		s.child = nil
		s.working.Go(func() {
			ended.process.CloseWithin(0)
			s.pool.options.Logger.Warn("the plugin host has ended", "directory", directory,
				"errors", string(redact.MaskText([]byte(ended.process.ReadErrors()))))
		})
	default:
	}
	return s.child
}

// checkStart returns why the plugin host is not started now. mu is held.
func (s *Set) checkStart(now time.Time) error {
	again := s.began.Add(steadyTime)
	if s.isClosed {
		return errClosed
	}
	if s.starts < maxStarts || now.After(again) {
		return nil
	}
	why := errEnded
	if s.attempt.err != nil {
		why = s.attempt.err
	}
	return fmt.Errorf("cairn does not start the plugins again before %s: %w", again.Format(time.TimeOnly), why)
}

// noteStart counts a start.
func (s *Set) noteStart(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.began) > steadyTime {
		s.starts = 0
	}
	s.starts++
	s.began = now
}

// start starts the program and loads the plugins, if they are what was resolved.
func (s *Set) start(ctx context.Context) (*child, error) {
	l := s.currentLocation()
	for _, spec := range l.Plugins {
		if err := spec.check(); err != nil {
			return nil, err
		}
	}
	runtime, err := findRuntime(ctx)
	if err != nil {
		return nil, err
	}
	file, err := writeScripts(s.pool.options.Scripts)
	if err != nil {
		return nil, err
	}
	// Start it below a supervisor, with a prefix that its lines begin with. It goes to the location's directory itself, since
	// Bun runs what a bunfig.toml names in the directory where it starts, and reads variables from .env there.
	prefix := rand.Text()
	environment := l.Environment
	environment.Pass = slices.Concat(environment.Pass, networkVariables)
	p, err := process.StartChild(process.Spec{
		Argv: append(runtime, file, prefix), Dir: filepath.Dir(file), Env: environment.List(),
		Supervisor: s.pool.options.Supervisor, Processes: process.MaxProcesses,
	})
	if err != nil {
		return nil, fmt.Errorf("the plugin host could not be started: %w", err)
	}
	s.noteStart(time.Now())
	c := &child{process: p, peer: newPeer(p.In, prefix)}
	address := s.pool.options.ServerURL()
	proxy := &apiProxy{set: s, child: c, address: address, streams: map[int64]context.CancelFunc{}}
	c.peer.handle, c.peer.handleNotification, c.peer.print = proxy.handle, proxy.handleNotification, proxy.print
	go func() { // ends with its output
		err := c.peer.read(context.Background(), p.Out)
		s.responses.endAll(c.peer, errEnded)
		if err != nil {
			s.stop(c, err)
		}
	}()
	go c.peer.write() // ends with its pipe
	go s.watchMemory(c)
	// Load the plugins.
	var loaded struct {
		State
		Config jsontext.Value `json:"config"`
	}
	err = c.peer.call(ctx, "init", map[string]any{
		"directory": l.Directory, "worktree": l.Worktree, "project": l.Project,
		"serverUrl": address, "shared": s.pool.options.Shared, "config": l.Config,
		"plugins": l.Plugins,
	}, &loaded, nil)
	if err == nil {
		err = c.peer.call(ctx, "start", nil, nil, nil)
	}
	if err != nil {
		c.process.CloseWithin(0)
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("they did not load within %v (cairn plugin list shows them)", LoadTime)
		}
		return nil, fmt.Errorf("the plugins could not be loaded: %w%s", err, lastLine(c.process.ReadErrors()))
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
		if err := c.peer.call(ctx, "auth/load", object{"provider": provider, "info": info}, nil, nil); err != nil {
			s.pool.options.Logger.Warn("a plugin does not log in any more", "provider", provider, "error", err)
		}
	}
}

// restartPause is how long a program that ended is left alone, if nothing but events needs it.
const restartPause = time.Second

// keepEvents starts the program again when it has ended, if a plugin follows events: nothing else may need it for long.
func (s *Set) keepEvents(c *child) {
	follows := slices.ContainsFunc(c.state.Plugins, func(o Offer) bool { return o.hasHook("event") })
	<-c.peer.done
	if !follows {
		return
	}
	select {
	case <-time.After(restartPause):
	case <-s.life.Done():
		return
	}
	s.mu.Lock()
	noEvents := s.noEvents
	s.mu.Unlock()
	if noEvents {
		return
	}
	if _, err := s.connect(s.life); err != nil && s.life.Err() == nil {
		s.pool.options.Logger.Warn("the plugins see no events any more", "directory", s.currentLocation().Directory, "error", err)
	}
}

// stopEvents ends the events that the plugins see, also of a program that starts later.
func (s *Set) stopEvents() {
	s.mu.Lock()
	s.noEvents = true
	c := s.findRunning()
	s.mu.Unlock()
	if c != nil {
		_ = c.peer.notify("events/stop", nil) // it has ended
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
		_ = c.peer.call(ctx, "dispose", nil, nil, nil) // it may have ended
		_ = c.process.Close()
	}
	s.end()
	s.working.Wait()
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
		case <-c.process.Done():
			return
		case <-tick.C:
			if c.process.Memory() > maxMemory {
				s.stop(c, errors.New("it used more than 2 GiB of memory"))
				return
			}
		}
	}
}

// stop ends a program that fails without ending.
func (s *Set) stop(c *child, why error) {
	s.pool.options.Logger.Warn("the plugin host is stopped", "directory", s.currentLocation().Directory, "error", why)
	c.process.NoteFailure(why)
	c.process.CloseWithin(0)
}

// pingTime is how long the program has to answer after a call did not end in time. One that does not is ended: a plugin
// keeps it busy.
const pingTime = 5 * time.Second

// killIfUnresponsive ends the plugin host if it does not answer any more.
func (s *Set) killIfUnresponsive(c *child) {
	ctx, cancel := context.WithTimeout(context.Background(), pingTime)
	defer cancel()
	if err := c.peer.call(ctx, "ping", nil, nil, nil); errors.Is(err, context.DeadlineExceeded) {
		s.stop(c, errors.New("it does not answer"))
	}
}

// call calls a method of the program, which starts if it does not run.
func (s *Set) call(ctx context.Context, method string, params, out any, number func(*peer, int64)) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	err = c.peer.call(ctx, method, params, out, number)
	if errors.Is(err, context.DeadlineExceeded) {
		go s.killIfUnresponsive(c)
	}
	if errors.Is(err, errEnded) {
		if why := c.process.Failure(); why != nil {
			return fmt.Errorf("%w: %w", errEnded, why)
		}
		return fmt.Errorf("%w%s", err, lastLine(c.process.ReadErrors()))
	}
	return err
}
