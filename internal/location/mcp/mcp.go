// Package mcp connects a location with the MCP servers of its configuration: their tools, resources and prompts, over
// stdio, streamable HTTP and SSE.
//
// A Pool holds the servers of all locations. The servers of a location start beside its first turn and are shared by
// its sessions. Their tools join and leave at the boundaries of turns (Tools.Sync), so that a request never changes
// while it is made. A server runs outside of the sandbox and bears the mark of tools (tool/process).
package mcp

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// Status is the state of a server, in OpenCode's words where it has one.
type Status string

// The states of a server.
const (
	Connecting              Status = "connecting"
	Connected               Status = "connected"
	Failed                  Status = "failed" // and is tried again; State.Error says why
	NeedsAuth               Status = "needs_auth"
	NeedsClientRegistration Status = "needs_client_registration" // the user must register cairn by hand
	Disabled                Status = "disabled"                  // by the configuration, or by a person
	Untrusted               Status = "untrusted"                 // the project's files configure it and are not trusted
)

// State is the state of a server and what it offers.
type State struct {
	Name      string
	Status    Status
	Error     string // why it failed, or what to do; of a connected one, what was left out of its offer
	Tools     []ToolInfo
	Prompts   []Prompt
	Resources []Resource
}

// Options are what the servers of a process share.
type Options struct {
	Version    string   // of cairn, which servers are told
	Supervisor []string // process.Spec.Supervisor
	Log        *slog.Logger
	// Login returns what authorises requests to a remote server; nil if requests need no login.
	Login func(server string, c config.MCP) auth.OAuthHandler
	// LoginStamp returns a text that changes when a login is stored or deleted, also by another process.
	LoginStamp func() string
	// OnChange is called when the state or the offer of a server of the directory has changed, with listed because the
	// server announced that a list did. It must not block.
	OnChange func(directory, server string, listed bool)
	// Approvals remembers the descriptions of tools that were allowed; nil remembers nothing.
	Approvals *Approvals
	// Offers remembers what servers offered; nil remembers nothing.
	Offers *OfferCache
	// WrapTransport changes the transport to remote servers; nil leaves it.
	WrapTransport func(http.RoundTripper) http.RoundTripper
}

// Pool holds the servers of the locations of a process. Safe for concurrent use.
type Pool struct {
	options Options
	ending  sync.WaitGroup // of servers that the configuration has no more

	mu     sync.Mutex // guards the rest
	sets   map[string]*Set
	added  map[string]map[string]config.MCP // by people (Set.Add), by directory and name
	closed bool
}

// NewPool returns an empty pool.
func NewPool(o Options) *Pool {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.OnChange == nil {
		o.OnChange = func(string, string, bool) {}
	}
	if o.LoginStamp == nil {
		o.LoginStamp = func() string { return "" }
	}
	return &Pool{options: o, sets: map[string]*Set{}, added: map[string]map[string]config.MCP{}}
}

// Location says what servers a directory has.
type Location struct {
	Directory string
	Servers   map[string]config.MCP
	Untrusted []string // names of servers that wait for trust
	// Environment is what servers get besides their own variables.
	Environment process.Environment
	Timeout     time.Duration // of servers that set none; 0 is a default
}

// Open returns the servers of a location: those of its configuration and those that people added. Those that the
// location had before and whose configuration is the same stay connected; others are closed. Nothing starts before
// Set.Start, and nothing at all after Close.
func (p *Pool) Open(l Location) *Set {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sets[l.Directory]
	if s == nil {
		s = &Set{pool: p, directory: l.Directory, servers: map[string]*server{}, closed: p.closed}
		p.sets[l.Directory] = s
	}
	want := maps.Clone(l.Servers)
	if want == nil {
		want = map[string]config.MCP{}
	}
	maps.Copy(want, p.added[l.Directory])
	s.configure(l, want)
	return s
}

// Find returns the servers of a directory as they were opened last, nil if they were not.
func (p *Pool) Find(directory string) *Set {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sets[directory]
}

// CloseLocation ends the servers of a directory that is no longer used, in the background. Open returns others at once.
// The returned function waits for their end.
func (p *Pool) CloseLocation(directory string) (wait func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := make(chan struct{})
	s := p.sets[directory]
	if s == nil || p.closed {
		return func() {}
	}
	delete(p.sets, directory)
	p.ending.Go(func() {
		defer close(ended)
		s.close()
	})
	return func() { <-ended }
}

// Close ends all servers and returns when their processes have ended.
func (p *Pool) Close() {
	p.mu.Lock()
	for _, s := range p.sets {
		p.ending.Go(s.close)
	}
	p.sets, p.closed = map[string]*Set{}, true
	p.mu.Unlock()
	p.ending.Wait()
}

// Set is the servers of a location. Safe for concurrent use.
type Set struct {
	pool      *Pool
	directory string

	mu        sync.Mutex // guards the rest
	location  Location
	servers   map[string]*server
	untrusted []string
	started   bool
	closed    bool           // no server starts any more
	ending    sync.WaitGroup // servers that are being closed
}

// configure makes the servers those of want. The pool's mu is held.
func (s *Set) configure(l Location, want map[string]config.MCP) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.location, s.untrusted = l, l.Untrusted
	for name, old := range s.servers {
		if c, ok := want[name]; !ok || !reflect.DeepEqual(c, old.config) {
			delete(s.servers, name)
			s.ending.Go(old.close)
		}
	}
	for name, c := range want {
		if s.servers[name] == nil {
			s.servers[name] = newServer(s, name, c)
			if s.started {
				s.servers[name].start()
			}
		}
	}
}

// Start begins to connect the servers that are enabled, in the background. Later calls try those again that wait for a
// login, if one was stored since.
func (s *Set) Start() {
	s.mu.Lock()
	first := !s.started
	s.started = true
	s.mu.Unlock()
	for _, one := range s.list() {
		if first {
			one.start()
		} else {
			one.retryLogin()
		}
	}
}

// AwaitRequired waits for the first attempt to connect the servers that a turn waits for (config.MCP.Wait).
func (s *Set) AwaitRequired(ctx context.Context) {
	for _, one := range s.list() {
		if one.config.Wait {
			one.awaitAttempt(ctx)
		}
	}
}

// attemptTime bounds the wait of clients for a server that is being connected, from the beginning of the attempt.
const attemptTime = 10 * time.Second

// AwaitAll starts the servers and waits for the first attempts to connect those that are enabled, for each until
// attemptTime after it began: a server that hangs does not delay every call.
func (s *Set) AwaitAll(ctx context.Context) {
	s.Start()
	for _, one := range s.list() {
		one.awaitAttemptWithin(ctx, attemptTime)
	}
}

// Await starts a server and waits for the first attempt to connect it. Without such a server it does nothing.
func (s *Set) Await(ctx context.Context, name string) {
	if one := s.find(name); one != nil {
		one.start()
		one.awaitAttempt(ctx)
	}
}

// Config returns the configuration of a server.
func (s *Set) Config(name string) (config.MCP, error) {
	one, err := s.lookUp(name)
	if err != nil {
		return config.MCP{}, err
	}
	return one.config, nil
}

// maxAdded bounds the servers that people add to one location.
const maxAdded = 100

// Add makes a server, in place of one of that name, part of the location until the process ends. It takes effect when
// the location is opened again, whose permission rules then know the server. isChanged is false if the location has
// this server already: it need not be opened again.
func (s *Set) Add(name string, c config.MCP) (isChanged bool, err error) {
	switch {
	case c.Type != "local" && c.Type != "remote":
		return false, session.Errorf(session.CodeInvalid, "the type must be local or remote").At("config.type")
	case c.Type == "local" && len(c.Command) == 0:
		return false, session.Errorf(session.CodeInvalid, "a local server needs a command").At("config.command")
	case c.Type == "remote" && c.URL == "":
		return false, session.Errorf(session.CodeInvalid, "a remote server needs an address").At("config.url")
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	added := s.pool.added[s.directory]
	if _, ok := added[name]; !ok && len(added) >= maxAdded {
		return false, session.Errorf(session.CodeInvalid, "%d MCP servers were added here; remove one first", maxAdded)
	}
	if added == nil {
		added = map[string]config.MCP{}
		s.pool.added[s.directory] = added
	}
	added[name] = c
	one := s.find(name)
	return one == nil || !reflect.DeepEqual(one.config, c), nil
}

// Remove undoes Add when the location is opened again. It reports whether the server was added.
func (s *Set) Remove(name string) bool {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	_, ok := s.pool.added[s.directory][name]
	delete(s.pool.added[s.directory], name)
	return ok
}

// Call calls a tool of a server for a person, by the server's name of the tool. isError reports that the tool failed. A
// question of the server is declined, which the output says. An error is a *session.Error.
func (s *Set) Call(
	ctx context.Context, name, toolName string, input jsontext.Value,
) (out tool.Output, isError bool, err error) {
	one, err := s.lookUp(name)
	if err != nil {
		return out, false, err
	}
	if len(input) == 0 {
		input = jsontext.Value(`{}`)
	}
	one.start()
	params := &sdk.CallToolParams{Name: toolName, Arguments: jsonBytes(input)}
	declined := make(chan string, 1) // the first question
	call := tool.Call{Question: func(_ context.Context, list []session.Question) ([][]string, error) {
		select {
		case declined <- list[0].Question:
		default:
		}
		return nil, &tool.Denial{Action: "question", ByPolicy: true}
	}}
	result, err := one.callTool(ctx, call, params)
	if err != nil {
		failed := session.Errorf(session.CodeUnavailable, "%s", one.describeFailure(err))
		failed.Kind = "mcp" // no other cairn would do better: the call must not be sent again
		return out, false, failed
	}
	out = convertResult(tool.Call{}, name, result)
	select {
	case question := <-declined:
		text := "(The server asked a question, which was declined because this call cannot ask it: " + question + ")"
		out.Content = append(out.Content, session.TextContent(text)...)
	default:
	}
	return out, result.IsError, nil
}

// Connect connects a server now, also one that is disabled, failed or disconnected, and waits for the attempt. Its
// error is that of lookUp; the server's state says how the attempt ended.
func (s *Set) Connect(ctx context.Context, name string) error {
	one, err := s.lookUp(name)
	if err != nil {
		return err
	}
	one.reconnect()
	one.awaitAttempt(ctx)
	return nil
}

// Disconnect ends the connection with a server until Connect. Its error is that of lookUp.
func (s *Set) Disconnect(name string) error {
	one, err := s.lookUp(name)
	if err != nil {
		return err
	}
	one.disconnect()
	return nil
}

// untrustedReason says why a server is Untrusted, and what to do.
const untrustedReason = "the project's files configure it; cairn trust shows them and lets them take effect"

// ReasonUntrusted is the reason of the error of lookUp for a server that waits for trust.
const ReasonUntrusted = "untrusted"

// States returns the states of the servers, sorted by name.
func (s *Set) States() (out []State) {
	for _, one := range s.list() {
		out = append(out, one.state())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.untrusted {
		if s.servers[name] == nil {
			out = append(out, State{Name: name, Status: Untrusted, Error: untrustedReason})
		}
	}
	slices.SortFunc(out, func(a, b State) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// FindTool returns the server of a tool that models know under the name, and what the server calls it.
func (s *Set) FindTool(name string) (server, remote string, ok bool) {
	for _, one := range s.States() {
		for _, t := range one.Tools {
			if t.Name == name {
				return one.Name, t.Remote, true
			}
		}
	}
	return "", "", false
}

// Actions returns patterns of the permission actions of all servers' tools.
func (s *Set) Actions() (out []string) {
	for _, one := range s.list() {
		out = append(out, toolPrefix(one.name)+"*")
	}
	return out
}

// list returns the servers sorted by name.
func (s *Set) list() []*server {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Collect(maps.Values(s.servers))
	slices.SortFunc(out, func(a, b *server) int { return strings.Compare(a.name, b.name) })
	return out
}

// lookUp returns a server. Its error is a *session.Error: the server waits for trust, or there is none of the name.
func (s *Set) lookUp(name string) (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch one := s.servers[name]; {
	case one != nil:
		return one, nil
	case slices.Contains(s.untrusted, name):
		refused := session.Errorf(session.CodeDenied, "the MCP server %s waits for trust: %s", name, untrustedReason)
		refused.Kind, refused.ID, refused.Reason = "mcp", name, ReasonUntrusted
		return nil, refused
	default:
		return nil, session.NotFound("mcp", name)
	}
}

// find returns a server, or nil.
func (s *Set) find(name string) *server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.servers[name]
}

// close ends the servers and returns when they have ended.
func (s *Set) close() {
	s.mu.Lock()
	s.closed = true
	for _, one := range s.servers {
		s.ending.Go(one.close)
	}
	s.mu.Unlock()
	s.ending.Wait()
}

// workDir returns the directory in which a local server runs.
func (s *Set) workDir(c config.MCP) string {
	switch {
	case c.Cwd == "":
		return s.directory
	case filepath.IsAbs(c.Cwd):
		return c.Cwd
	default:
		return filepath.Join(s.directory, c.Cwd)
	}
}
