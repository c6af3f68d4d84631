// Package pty runs programs on pseudo terminals that people open through a server, watch and type into.
//
//	open -> running -> exited, or removed
//
// A terminal belongs to a directory and is found only there. Its program leads a session; everything in that session
// ends with the program, at the latest when the terminal is removed or its Terminals are closed, so that no program
// outlives the server. The newest output is kept for readers that attach later; a slow reader loses the oldest output
// and gets the position at which it continues. Readers that are attached when the program ends read to the end. Nothing
// is stored.
//
// The caller decides who may open a terminal, because its user may run anything, and whether a project's settings apply
// to it.
package pty

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/session"
)

// Limits.
const (
	maxRunning = 32     // open terminals
	maxSize    = 10_000 // rows, and columns
)

// Prefix is the prefix of terminal IDs.
const Prefix session.Prefix = "pty"

// Status is the state of a terminal's program.
type Status string

// The states.
const (
	Running Status = "running"
	Exited  Status = "exited"
)

// Info describes a terminal.
type Info struct {
	ID        string
	Directory string            // the Location it belongs to
	Project   session.ProjectID // of Directory
	Title     string
	Command   string
	Args      []string
	Cwd       string
	Status    Status
	PID       int
	ExitCode  int // set once exited; 128 plus the signal number if a signal ended the program
}

// Order describes a terminal to open.
type Order struct {
	Directory string // absolute
	Project   session.ProjectID
	Title     string   // default: the ID
	Command   string   // a path, or a name in PATH
	Args      []string // in addition to the login flag of shells
	Prefix    []string // of the command line, which confines the command
	Cwd       string   // default: Directory; a relative path is below it
	Env       []string // NAME=value: the whole environment, without TERM
}

// ChangeKind is the kind of a Change.
type ChangeKind string

// The kinds of changes.
const (
	Created   ChangeKind = "created"
	Updated   ChangeKind = "updated"
	HasExited ChangeKind = "exited"
	Deleted   ChangeKind = "deleted"
)

// Change is an event of a terminal.
type Change struct {
	Kind ChangeKind
	Info Info
}

// Terminals holds the terminals of a process. Use New. Safe for concurrent use.
type Terminals struct {
	ids     *session.IDs
	tell    func(Change)
	tickets tickets

	pumps sync.WaitGroup // one for each terminal

	mu     sync.Mutex // guards the rest
	list   []*terminal
	closed bool
}

// New returns an empty Terminals. It calls tell for every change, without holding a lock; tell must not block.
func New(ids *session.IDs, tell func(Change)) *Terminals {
	return &Terminals{ids: ids, tell: tell}
}

// Open starts a program on a new terminal.
func (t *Terminals) Open(o Order) (Info, error) {
	id := t.ids.New(Prefix)
	info := Info{
		ID: id, Directory: o.Directory, Project: o.Project, Title: cmp.Or(o.Title, "Terminal "+id[len(id)-4:]),
		Command: o.Command, Args: loginArgs(o.Command, o.Args), Cwd: o.Cwd, Status: Running,
	}
	if info.Cwd == "" || !filepath.IsAbs(info.Cwd) {
		info.Cwd = filepath.Join(o.Directory, info.Cwd)
	}
	if s, err := os.Stat(info.Cwd); err != nil || !s.IsDir() {
		return Info{}, session.Errorf(session.CodeInvalid, "directory %s not found", info.Cwd).At("cwd")
	}
	if strings.ContainsRune(strings.Join(info.Args, "")+strings.Join(o.Env, ""), 0) {
		return Info{}, session.Errorf(session.CodeInvalid, "arguments and variables must not contain a NUL byte").
			At("args")
	}
	term, err := t.start(info, o)
	if err != nil {
		return Info{}, err
	}
	info = term.Info()
	t.tell(Change{Created, info})
	go func() { // ends with the program; Close waits for it
		defer t.pumps.Done()
		t.copyOutput(term)
	}()
	return info, nil
}

// start starts the program unless the limit is reached.
func (t *Terminals) start(info Info, o Order) (*terminal, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch running := len(t.list); {
	case t.closed:
		return nil, session.Errorf(session.CodeUnavailable, "cairn is shutting down")
	case running >= maxRunning:
		return nil, session.Errorf(session.CodeTooMany, "%d terminals are open, which is the limit; close one", running)
	}
	term, err := startTerminal(info, o)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%s cannot be run: %v", info.Command, err).At("command")
	}
	t.pumps.Add(1)
	t.list = append(t.list, term)
	return term, nil
}

// loginArgs adds the login flag for shells, as OpenCode does.
func loginArgs(command string, args []string) []string {
	args = append([]string{}, args...)
	switch strings.TrimSuffix(filepath.Base(command), ".exe") {
	case "bash", "dash", "fish", "ksh", "sh", "zsh":
		args = append(args, "-l")
	}
	return args
}

// terminalEnvironment adds the variables that describe a terminal.
func terminalEnvironment(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "TERM=") || strings.HasPrefix(kv, "OPENCODE_TERMINAL=")
	})
	return append(env, "TERM=xterm-256color", "OPENCODE_TERMINAL=1")
}

// copyOutput keeps the program's output until the program has ended. Then it removes the terminal and reports that
// once.
func (t *Terminals) copyOutput(term *terminal) {
	info := term.waitExit()
	if t.removeFromList(term) {
		t.tell(Change{HasExited, info})
	}
}

// removeFromList removes the terminal and reports whether it was in the list.
func (t *Terminals) removeFromList(term *terminal) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.list)
	t.list = slices.DeleteFunc(t.list, func(x *terminal) bool { return x == term })
	return len(t.list) < n
}

// List returns the terminals of a directory, oldest first.
func (t *Terminals) List(directory string) []Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := []Info{}
	for _, term := range t.list {
		if info := term.Info(); info.Directory == directory {
			out = append(out, info)
		}
	}
	return out
}

// ListAll returns the terminals of all directories, oldest first.
func (t *Terminals) ListAll() []Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := []Info{}
	for _, term := range t.list {
		out = append(out, term.Info())
	}
	return out
}

// Get returns a terminal of a directory.
func (t *Terminals) Get(directory, id string) (Info, error) {
	term, err := t.findTerminal(directory, id)
	if err != nil {
		return Info{}, err
	}
	return term.Info(), nil
}

func (t *Terminals) findTerminal(directory, id string) (*terminal, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, term := range t.list {
		if info := term.Info(); info.ID == id && info.Directory == directory {
			return term, nil
		}
	}
	return nil, session.NotFound("pty", id)
}

// Size is the size of a terminal's screen.
type Size struct{ Rows, Cols int }

// Update changes the title unless it is "", and the size unless it is nil.
func (t *Terminals) Update(directory, id, title string, size *Size) (Info, error) {
	term, err := t.findTerminal(directory, id)
	if err != nil {
		return Info{}, err
	}
	if size != nil {
		if min(size.Rows, size.Cols) < 1 || max(size.Rows, size.Cols) > maxSize {
			return Info{}, session.Errorf(
				session.CodeInvalid, "size.rows and size.cols must be from 1 to %d", maxSize,
			).At("size")
		}
		term.resize(*size)
	}
	info := term.setTitle(title)
	t.tell(Change{Updated, info})
	return info, nil
}

// Remove ends the program and everything in its session, and removes the terminal.
func (t *Terminals) Remove(directory, id string) error {
	term, err := t.findTerminal(directory, id)
	if err != nil {
		return err
	}
	if !t.removeFromList(term) {
		return session.NotFound("pty", id)
	}
	term.stopAll()
	t.tell(Change{Deleted, term.Info()})
	return nil
}

// Close ends all terminals and waits for their programs. No terminal can be opened afterwards.
func (t *Terminals) Close() {
	t.mu.Lock()
	t.closed = true
	list := t.list
	t.list = nil
	t.mu.Unlock()
	var all sync.WaitGroup
	for _, term := range list {
		all.Go(term.stopAll)
	}
	all.Wait()
	t.pumps.Wait()
}
