package v1

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/pty"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

func ptyRoutes() []Route {
	return []Route{
		{get, "/pty", "pty.list", (*API).listTerminals},
		{post, "/pty", "pty.create", (*API).openTerminal},
		{get, "/pty/shells", "pty.shells", (*API).shells},
		{get, "/pty/{ptyID}", "pty.get", (*API).terminal},
		{put, "/pty/{ptyID}", "pty.update", (*API).changeTerminal},
		{del, "/pty/{ptyID}", "pty.remove", (*API).removeTerminal},
		{get, connectPath, "pty.connect", (*API).connectTerminal},
		{post, "/pty/{ptyID}/connect-token", "pty.connectToken", (*API).ticket},
	}
}

const connectPath = "/pty/{ptyID}/connect"

// terminal is one as clients see it.
type terminal struct {
	ID       string     `json:"id"`
	Title    string     `json:"title"`
	Command  string     `json:"command"`
	Args     []string   `json:"args"`
	Cwd      string     `json:"cwd"`
	Status   pty.Status `json:"status"`
	PID      int        `json:"pid"`
	ExitCode *int       `json:"exitCode,omitzero"` // once exited
}

func terminalOf(i pty.Info) terminal {
	t := terminal{ID: i.ID, Title: i.Title, Command: i.Command, Args: i.Args, Cwd: i.Cwd, Status: i.Status, PID: i.PID}
	if i.Status == pty.Exited {
		t.ExitCode = &i.ExitCode
	}
	return t
}

func (a *API) listTerminals(w http.ResponseWriter, r *http.Request) error {
	l, err := a.locate(r)
	if err != nil {
		return err
	}
	out := []terminal{}
	for _, i := range a.terminals.List(l.Directory) {
		out = append(out, terminalOf(i))
	}
	return write(w, out)
}

// newTerminal is what a client says of a terminal to open.
type newTerminal struct {
	Command string            `json:"command,omitzero"`
	Args    []string          `json:"args,omitzero"`
	Cwd     string            `json:"cwd,omitzero"`
	Title   string            `json:"title,omitzero"`
	Env     map[string]string `json:"env,omitzero"`
}

// openTerminal starts a program; what the client says goes before what the location has.
func (a *API) openTerminal(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.DecodeOptional[newTerminal](r)
	if err != nil {
		return err
	}
	o, err := found(a, r, a.places.Terminal)
	if err != nil {
		return err
	}
	if b.Command != "" {
		o.Command = b.Command
	}
	o.Args, o.Cwd, o.Title = b.Args, b.Cwd, b.Title
	if o.Env, err = overlaid(o.Env, b.Env); err != nil {
		return err
	}
	i, err := a.terminals.Open(o)
	if err != nil {
		return httpio.WithPart("body", err)
	}
	return write(w, terminalOf(i))
}

// overlaid returns the environment with the variables set.
func overlaid(env []string, with map[string]string) ([]string, error) {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, again := with[name]
		return again
	})
	for name, value := range with {
		if name == "" || strings.Contains(name, "=") {
			return nil, httpio.Invalid("body", "env", "%q cannot be the name of a variable", httpio.Clip(name, 40))
		}
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}

func (a *API) terminal(w http.ResponseWriter, r *http.Request) error {
	l, err := a.locate(r)
	if err != nil {
		return err
	}
	i, err := a.terminals.Get(l.Directory, r.PathValue("ptyID"))
	if err != nil {
		return err
	}
	return write(w, terminalOf(i))
}

// terminalChange is what a client wants of a terminal to be otherwise.
type terminalChange struct {
	Title string        `json:"title,omitzero"`
	Size  *terminalSize `json:"size,omitzero"`
}

type terminalSize struct {
	Rows int `json:"rows"`
	Cols int `json:"cols"`
}

func (a *API) changeTerminal(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[terminalChange](r)
	if err != nil {
		return err
	}
	l, err := a.locate(r)
	if err != nil {
		return err
	}
	i, err := a.terminals.Update(l.Directory, r.PathValue("ptyID"), b.Title, (*pty.Size)(b.Size))
	if err != nil {
		return httpio.WithPart("body", err)
	}
	return write(w, terminalOf(i))
}

func (a *API) removeTerminal(w http.ResponseWriter, r *http.Request) error {
	l, err := a.locate(r)
	if err != nil {
		return err
	}
	if err := a.terminals.Remove(l.Directory, r.PathValue("ptyID")); err != nil {
		return err
	}
	return yes(w)
}

// token lets its bearer connect to one terminal once.
type token struct {
	Ticket    string `json:"ticket"`
	ExpiresIn int    `json:"expires_in"` // seconds
}

// ticket gives one to who could connect anyway. The header is one that a page of another site cannot send unasked.
func (a *API) ticket(w http.ResponseWriter, r *http.Request) error {
	l, err := a.locate(r)
	if err != nil {
		return err
	}
	if r.Header.Get("X-Opencode-Ticket") != "1" {
		return writeStatus(w, http.StatusForbidden, tagged{Tag: "PtyForbiddenError", Message: "PTY connect token request rejected"})
	}
	word, err := a.terminals.IssueTicket(l.Directory, r.PathValue("ptyID"))
	if err != nil {
		return err
	}
	return write(w, token{word, int(pty.TicketLife.Seconds())})
}

// Admits reports whether the request connects to a terminal with a ticket that is good for it: it needs no other
// credentials then.
func (a *API) Admits(r *http.Request) bool {
	id, ok := strings.CutPrefix(r.URL.Path, "/pty/")
	if !ok || r.Method != get || a.terminals == nil {
		return false
	}
	id, ok = strings.CutSuffix(id, "/connect")
	return ok && a.terminals.IsTicketValid(r.URL.Query().Get("ticket"), id)
}

// connectTerminal shows a terminal over a WebSocket. A ticket, once given, must be good.
func (a *API) connectTerminal(w http.ResponseWriter, r *http.Request) error {
	l, err := a.locate(r)
	if err != nil {
		return err
	}
	q, id := r.URL.Query(), r.PathValue("ptyID")
	cursor := pty.FromStart
	if s := q.Get("cursor"); s != "" {
		if cursor, err = strconv.ParseInt(s, 10, 64); err != nil || cursor < pty.FromEnd {
			return httpio.Invalid("query", "cursor", "cursor must be a whole number, or -1 for the end, got %q", httpio.Clip(s, 40))
		}
	}
	attached, err := a.terminals.Attach(l.Directory, id, cursor)
	if err != nil {
		return session.NotFound("terminal", id) // which OpenCode tells in another envelope here
	}
	if q.Has("ticket") && !a.terminals.RedeemTicket(q.Get("ticket"), l.Directory, id) {
		return session.Errorf(session.CodeDenied, "the ticket is not good for this terminal, or no longer")
	}
	ctx, end := a.long.Start(r, "")
	defer end()
	return httpio.ServeTerminal(ctx, w, r, attached)
}

// The properties of events of terminals.
type (
	terminalInfo struct {
		Info terminal `json:"info"`
	}
	terminalExit struct {
		ID       string `json:"id"`
		ExitCode int    `json:"exitCode"`
	}
	terminalID struct {
		ID string `json:"id"`
	}
)

// TerminalChanged tells the streams of the terminal's directory.
func (a *API) TerminalChanged(c pty.Change) {
	var properties any = terminalInfo{terminalOf(c.Info)}
	switch c.Kind {
	case pty.HasExited:
		properties = terminalExit{c.Info.ID, c.Info.ExitCode}
	case pty.Deleted:
		properties = terminalID{c.Info.ID}
	}
	a.notices.tell(notice{c.Info.Directory, c.Info.Project, "pty." + string(c.Kind), properties})
}

// shell is a program that a terminal can run.
type shell struct {
	Path       string `json:"path"`
	Name       string `json:"name"`
	Acceptable bool   `json:"acceptable"`
}

// shells lists the usual ones that are installed.
func (a *API) shells(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.locate(r); err != nil {
		return err
	}
	out := []shell{}
	for _, path := range []string{"/bin/sh", "/bin/bash", "/usr/bin/bash", "/bin/zsh", "/usr/bin/zsh", "/usr/bin/fish"} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			out = append(out, shell{path, filepath.Base(path), true})
		}
	}
	return write(w, out)
}
