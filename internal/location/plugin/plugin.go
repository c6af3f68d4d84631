// Package plugin runs OpenCode's plugins: JavaScript and TypeScript modules whose functions look at the work of a session
// and change it, and whose tools models call.
//
//	plugin.go    the plugins of all locations, and those of one
//	child.go     the program that runs them, under Bun or Node
//	host/        what it does, in JavaScript
//	rpc.go       JSON-RPC over its pipes
//	points.go    the plugins as extensions of the engine: OpenCode's hooks at its points
//	tool.go      their tools
//	auth.go      their logins at providers, and the requests of those
//	apiproxy.go  their requests to the API
//	store.go     the packages that are installed
//
// The plugins of a location share one program, which starts when the location is first used and ends with it. It runs
// with the rights of the user, outside of the sandbox, in a clean environment and below a supervisor. It bears the mark
// of tools, so that the server refuses its connections; the client that a plugin gets speaks through the pipe, with the
// rights of an extension.
package plugin

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// Forms converts values of the points to OpenCode's forms, which plugins get, and back. Location is the directory.
type Forms interface {
	// Prompt returns the message and the parts of a prompt, and Apply reads the parts back into it.
	Prompt(v *extension.Prompt) (message jsontext.Value, parts []jsontext.Value, err error)
	ApplyPrompt(v *extension.Prompt, message jsontext.Value, parts []jsontext.Value) error
	// Messages returns {info, parts} of each message, and ParseMessages the messages of such values.
	Messages(id session.ID, messages []session.Message) ([]jsontext.Value, error)
	ParseMessages(values []jsontext.Value) ([]session.Message, error)
	// Model returns the model and its provider; null for one that does not exist.
	Model(ref session.ModelRef) (model, provider jsontext.Value)
	// Permission returns the request for a permission.
	Permission(v *extension.Permission) jsontext.Value
}

// Options are what the plugins of a process share.
type Options struct {
	Supervisor []string // process.Spec.Supervisor
	Logger     *slog.Logger
	Scripts    string // the directory of the program's script, which commands of models do not write
	Shared     string // the directory whose packages all plugins can import
	// ServerURL returns what plugins are told; requests to it by their client go to API.
	ServerURL func() string
	API       http.RoundTripper // answers the requests of plugins
}

// Pool holds the plugins of the locations of a process. Safe for concurrent use.
type Pool struct {
	options Options

	mu      sync.Mutex // guards the rest
	sets    map[string]*Set
	retired map[*Set]bool // those that are used, and whose place others have taken
	closed  bool
	ending  sync.WaitGroup
}

// NewPool returns an empty pool.
func NewPool(o Options) *Pool {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.ServerURL == nil {
		o.ServerURL = func() string { return "http://cairn.localhost" }
	}
	if o.API == nil {
		o.API = noServer{}
	}
	return &Pool{options: o, sets: map[string]*Set{}, retired: map[*Set]bool{}}
}

// noServer refuses requests.
type noServer struct{}

func (noServer) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("these plugins have no connection to cairn: they were loaded alone, by cairn plugin info")
}

// Location says what plugins a directory has.
type Location struct {
	Directory   string
	Worktree    string         // "/" outside of a repository, as OpenCode has it
	Project     jsontext.Value // in OpenCode's form
	Config      jsontext.Value // in OpenCode's form
	Plugins     []Spec
	Environment process.Environment
	Forms       Forms
	// Credential returns what is stored for a provider, in OpenCode's form.
	Credential func(provider string) (jsontext.Value, error)
	MayAllow   func(id string) bool // whether the user lets the plugin allow what a person would be asked
}

// Spec is a plugin that can be loaded.
type Spec struct {
	ID      string         `json:"id"`               // such as plugin/opencode-dcp
	File    string         `json:"file,omitzero"`    // of a local one, absolute; "" for a package
	Package string         `json:"package,omitzero"` // the directory of the package; "" for a file
	Options jsontext.Value `json:"options,omitzero"`
	IsTool  bool           `json:"isTool,omitzero"` // the file exports tools instead of plugins
	Name    string         `json:"-"`               // of a package that is installed; "" for a local one
	Digest  string         `json:"-"`               // the SHA-256 of its files
	trusted *trust.Claim   // what one of a project may load; nil for others
}

// Open returns the plugins of a location, nil without any. Those of an equal Location that is open stay. Others end, when
// nothing uses them any more; they see no events until then.
func (p *Pool) Open(l Location) *Set {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.sets[l.Directory]
	if old != nil && old.isFor(l) {
		old.reopen(l)
		return old
	}
	if old != nil {
		delete(p.sets, l.Directory)
		if p.retired[old] = true; old.users == 0 {
			p.end(old)
		} else {
			old.stopEvents()
		}
	}
	if len(l.Plugins) == 0 || p.closed {
		return nil
	}
	s := newSet(p, l)
	p.sets[l.Directory] = s
	return s
}

// Use keeps the plugins until release, also if others take their place. It is false if they have ended. A nil Set can
// always be used.
func (s *Set) Use() (release func(), ok bool) {
	if s == nil {
		return func() {}, true
	}
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sets[s.currentLocation().Directory] != s && !p.retired[s] {
		return nil, false
	}
	s.users++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if s.users--; s.users == 0 && p.retired[s] {
			p.end(s)
		}
	}), true
}

// end ends a retired Set in the background. The returned function waits for its end. mu is held.
func (p *Pool) end(s *Set) (wait func()) {
	delete(p.retired, s)
	ended := make(chan struct{})
	p.ending.Go(func() {
		defer close(ended)
		s.close()
	})
	return func() { <-ended }
}

// CloseLocation ends all plugins of a directory in the background. The returned function waits for their end.
func (p *Pool) CloseLocation(directory string) (wait func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ending []func()
	if s := p.sets[directory]; s != nil {
		delete(p.sets, directory)
		p.retired[s] = true
	}
	for s := range p.retired {
		if s.currentLocation().Directory == directory {
			ending = append(ending, p.end(s))
		}
	}
	return func() {
		for _, wait := range ending {
			wait()
		}
	}
}

// Close ends all plugins and returns when they have ended.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, s := range p.sets {
		p.retired[s] = true
	}
	clear(p.sets)
	for s := range p.retired {
		p.end(s)
	}
	p.mu.Unlock()
	p.ending.Wait()
}

// State says how the plugins of a location are.
type State struct {
	Runtime string  `json:"runtime"` // such as "bun 1.3.3"; "" if none runs
	Error   string  `json:"error,omitzero"`
	Plugins []Offer `json:"plugins"`
}

// Offer is what one plugin offers.
type Offer struct {
	ID    string   `json:"id"`
	Error string   `json:"error,omitzero"` // why it, or a part of it, could not be loaded
	Hooks []string `json:"hooks"`
	Tools []struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Schema      jsontext.Value `json:"schema"`
	} `json:"tools"`
	Auths  []Auth   `json:"auths,omitzero"`
	Models []string `json:"models,omitzero"` // providers for which it has models
}

// ToolNames returns the names of its tools.
func (o *Offer) ToolNames() (out []string) {
	for _, t := range o.Tools {
		out = append(out, t.Name)
	}
	return out
}

// hasHook reports whether the plugin has the hook.
func (o *Offer) hasHook(name string) bool { return slices.Contains(o.Hooks, name) }

// LoadTime bounds the wait for plugins to load.
const LoadTime = 20 * time.Second

// Await starts the plugins and waits until they are loaded, for LoadTime at most. It returns what they offer, and the
// configuration that they made of the location's. A nil Set offers nothing.
func (s *Set) Await(ctx context.Context) (State, jsontext.Value) {
	if s == nil {
		return State{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, LoadTime)
	defer cancel()
	c, err := s.connect(ctx)
	if err != nil {
		return State{Error: err.Error()}, nil
	}
	return c.state, c.config
}
