// Package pty is terminals: programs behind pseudo terminals that people open through a server, watch and type into.
//
//	open -> running -> exited, or removed: then it is gone
//
// A terminal belongs to a directory, and is found there only. Its program leads a session of its own, and everything in
// that session ends with the program, which ends at the latest when the terminal is removed or its Terminals are
// closed: no program outlives its server. The newest output is kept, so that whoever attaches sees what was there; a
// reader that is slow loses the oldest of it and is told where it goes on. Who is attached when the program ends reads
// to the end. Nothing here is stored.
//
// Who may open one is decided before: whoever may runs what they like. What a directory's files say of it must have
// been decided before, too.
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

// The bounds.
const (
	maxRunning = 32     // terminals at once
	maxSize    = 10_000 // rows, and columns
)

// Prefix is that of the ids of terminals.
const Prefix session.Prefix = "pty"

// Status says whether the program runs.
type Status string

// The statuses.
const (
	Running Status = "running"
	Exited  Status = "exited"
)

// Info is what is known of a terminal.
type Info struct {
	ID        string
	Directory string            // to which it belongs
	Project   session.ProjectID // of the directory
	Title     string
	Command   string
	Args      []string
	Cwd       string
	Status    Status
	PID       int
	ExitCode  int // once exited; 128 and the signal if one ended it
}

// Order is a terminal to open.
type Order struct {
	Directory string // absolute
	Project   session.ProjectID
	Title     string   // "" names it by its id
	Command   string   // a path, or a name to look for
	Args      []string // beside the mark of a login that shells get
	Cwd       string   // "" is the directory; a relative one is below it
	Env       []string // NAME=value: all that the program gets, besides TERM
}

// ChangeKind is what happened to a terminal.
type ChangeKind string

// The kinds of changes.
const (
	Created   ChangeKind = "created"
	Updated   ChangeKind = "updated"
	HasExited ChangeKind = "exited"
	Deleted   ChangeKind = "deleted"
)

// Change is something that happened to a terminal.
type Change struct {
	Kind ChangeKind
	Info Info
}

// Terminals are the terminals of a process. Make them with New. Safe for concurrent use.
type Terminals struct {
	ids     *session.IDs
	tell    func(Change)
	tickets tickets

	pumps sync.WaitGroup // one of each terminal

	mu     sync.Mutex // guards the rest
	list   []*terminal
	closed bool
}

// New returns none yet. tell is called for every change, never under a lock; it must not block.
func New(ids *session.IDs, tell func(Change)) *Terminals {
	return &Terminals{ids: ids, tell: tell}
}

// Open starts a program.
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
		return Info{}, session.Errorf(session.CodeInvalid, "there is no directory %s", info.Cwd).At("cwd")
	}
	if strings.ContainsRune(strings.Join(info.Args, "")+strings.Join(o.Env, ""), 0) {
		return Info{}, session.Errorf(session.CodeInvalid, "arguments and variables cannot hold a zero byte").At("args")
	}
	term, err := t.start(info, terminalEnvironment(o.Env))
	if err != nil {
		return Info{}, err
	}
	info = term.Info()
	t.tell(Change{Created, info})
	go func() { // ends with the program, which ends with the terminal; Close waits
		defer t.pumps.Done()
		t.copyOutput(term)
	}()
	return info, nil
}

// start runs the program if there may be one more.
func (t *Terminals) start(info Info, env []string) (*terminal, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch running := len(t.list); {
	case t.closed:
		return nil, session.Errorf(session.CodeUnavailable, "cairn is shutting down")
	case running >= maxRunning:
		return nil, session.Errorf(session.CodeTooMany, "%d terminals are open, which is the limit; close one", running)
	}
	term, err := startTerminal(info, env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%s cannot be run: %v", info.Command, err).At("command")
	}
	t.pumps.Add(1)
	t.list = append(t.list, term)
	return term, nil
}

// loginArgs adds the mark by which shells know that they begin a session, as OpenCode does.
func loginArgs(command string, args []string) []string {
	args = append([]string{}, args...)
	switch strings.TrimSuffix(filepath.Base(command), ".exe") {
	case "bash", "dash", "fish", "ksh", "sh", "zsh":
		args = append(args, "-l")
	}
	return args
}

// terminalEnvironment adds what every terminal says of itself.
func terminalEnvironment(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "TERM=") || strings.HasPrefix(kv, "OPENCODE_TERMINAL=")
	})
	return append(env, "TERM=xterm-256color", "OPENCODE_TERMINAL=1")
}

// copyOutput keeps what the program writes until it is over. Then the terminal is gone, and that is told once.
func (t *Terminals) copyOutput(term *terminal) {
	info := term.waitExit()
	if t.removeFromList(term) {
		t.tell(Change{HasExited, info})
	}
}

// removeFromList takes the terminal from the list and reports whether it was there.
func (t *Terminals) removeFromList(term *terminal) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.list)
	t.list = slices.DeleteFunc(t.list, func(x *terminal) bool { return x == term })
	return len(t.list) < n
}

// List returns the directory's, the oldest first.
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

// Get returns a terminal of the directory.
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

// Size is how large a terminal's screen is.
type Size struct{ Rows, Cols int }

// Update changes the title, unless it is "", and the size, unless it is nil.
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

// Remove ends the program and everything in its session, and forgets the terminal.
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

// Close ends all terminals and waits for their programs. None can be opened from then on.
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
