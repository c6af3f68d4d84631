package v1

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// ptyHandlers runs programs in terminals.
type ptyHandlers struct{ *dependencies }

// ptyIn is a request about one terminal of a location.
type ptyIn struct {
	locationIn
	PtyID string `path:"ptyID" id:"pty"`
}

// terminal describes a terminal.
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

func newTerminal(i pty.Info) terminal {
	t := terminal{
		ID: i.ID, Title: i.Title, Command: i.Command, Args: i.Args, Cwd: i.Cwd, Status: i.Status, PID: i.PID,
	}
	if i.Status == pty.Exited {
		t.ExitCode = &i.ExitCode
	}
	return t
}

func (h ptyHandlers) list(_ context.Context, in locationIn) ([]terminal, error) {
	out := []terminal{}
	for _, i := range h.Terminals.List(in.Location.Directory) {
		out = append(out, newTerminal(i))
	}
	return out, nil
}

// terminalRequest is the body of pty.create. Its values override those of the location.
type terminalRequest struct {
	Command string            `json:"command,omitzero"`
	Args    []string          `json:"args,omitzero"`
	Cwd     string            `json:"cwd,omitzero"`
	Title   string            `json:"title,omitzero"`
	Env     map[string]string `json:"env,omitzero"`
}

func (h ptyHandlers) create(ctx context.Context, in struct {
	locationIn
	Body terminalRequest `body:"optional"`
},
) (terminal, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return terminal{}, err
	}
	o, err := l.Terminal()
	if err != nil {
		return terminal{}, err
	}
	if in.Body.Command != "" {
		o.Command = in.Body.Command
	}
	o.Args, o.Cwd, o.Title = in.Body.Args, in.Body.Cwd, in.Body.Title
	if o.Env, err = overrideEnv(o.Env, in.Body.Env); err != nil {
		return terminal{}, err
	}
	// What extensions set for the directory in which the program starts comes after the caller's.
	directory := o.Cwd
	if !filepath.IsAbs(directory) {
		directory = filepath.Join(o.Directory, directory)
	}
	overlay, err := l.Overlay(ctx, directory)
	if err != nil {
		return terminal{}, err
	}
	if o.Env, err = overrideEnv(o.Env, overlay); err != nil {
		return terminal{}, err
	}
	i, err := h.Terminals.Open(o)
	return newTerminal(i), httpio.WithPart("body", err)
}

// overrideEnv returns the environment with the variables set.
func overrideEnv(env []string, with map[string]string) ([]string, error) {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, overridden := with[name]
		return overridden
	})
	for name, value := range with {
		if name == "" || strings.Contains(name, "=") {
			return nil, httpio.NewInvalid("body", "env", "%q is not a valid name of a variable", session.ClipText(name, 40))
		}
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}

func (h ptyHandlers) get(_ context.Context, in ptyIn) (terminal, error) {
	i, err := h.Terminals.Get(in.Location.Directory, in.PtyID)
	return newTerminal(i), err
}

// terminalPatch is the body of pty.update.
type terminalPatch struct {
	Title string        `json:"title,omitzero"`
	Size  *terminalSize `json:"size,omitzero"`
}

type terminalSize struct {
	Rows int `json:"rows"`
	Cols int `json:"cols"`
}

func (h ptyHandlers) update(_ context.Context, in struct {
	ptyIn
	Body terminalPatch `body:"required"`
},
) (terminal, error) {
	i, err := h.Terminals.Update(in.Location.Directory, in.PtyID, in.Body.Title, (*pty.Size)(in.Body.Size))
	return newTerminal(i), httpio.WithPart("body", err)
}

func (h ptyHandlers) remove(_ context.Context, in ptyIn) (bool, error) {
	return true, h.Terminals.Remove(in.Location.Directory, in.PtyID)
}

// token lets its bearer connect to one terminal once.
type token struct {
	Ticket    string `json:"ticket"`
	ExpiresIn int    `json:"expires_in"` // seconds
}

// createTicket returns a ticket to a caller that may connect without one. Pages of other sites cannot send the header
// without a preflight request.
func (h ptyHandlers) createTicket(ctx context.Context, in struct {
	ptyIn
	Ticket string `header:"X-Opencode-Ticket"`
	Origin string `header:"Origin"`
},
) (token, error) {
	if in.Ticket != "1" {
		refused := taggedError{Tag: "PtyForbiddenError", Message: "PTY connect token request rejected"}
		return token{}, &statusError{http.StatusForbidden, refused}
	}
	holder := pty.Holder{Caller: caller.FromContext(ctx), Origin: in.Origin}
	ticket, err := h.Terminals.IssueTicket(in.Location.Directory, in.PtyID, holder)
	return token{ticket, int(pty.TicketLife.Seconds())}, err
}

// protocolTicket returns the ticket among the WebSocket protocols that a client offers, such as "cairn.terminal,
// ticket.TICKET". Unlike the query, no history and no log of a proxy keeps it.
func protocolTicket(offered string) (ticket string, ok bool) {
	for name := range strings.SplitSeq(offered, ",") {
		if ticket, ok = strings.CutPrefix(strings.TrimSpace(name), "ticket."); ok {
			return ticket, true
		}
	}
	return "", false
}

// connect shows a terminal over a WebSocket. A ticket that the request bears must be valid.
func (h ptyHandlers) connect(_ context.Context, in struct {
	ptyIn
	Cursor string  `query:"cursor"`
	Ticket *string `query:"ticket"`
	Origin string  `header:"Origin"`

	Protocols string `header:"Sec-WebSocket-Protocol"`
},
) (operation.Func[bool], error) {
	cursor := pty.FromStart
	if s := in.Cursor; s != "" {
		var err error
		if cursor, err = strconv.ParseInt(s, 10, 64); err != nil || cursor < pty.FromEnd {
			return nil, httpio.NewInvalid(
				"query",
				"cursor",
				"cursor must be a whole number, or -1 for the end, got %q",
				session.ClipText(s, 40),
			)
		}
	}
	// Attach before the ticket is redeemed: a ticket for a terminal that is gone stays.
	attached, err := h.Terminals.Attach(in.Location.Directory, in.PtyID, cursor)
	if err != nil {
		return nil, session.NotFound("terminal", in.PtyID) // OpenCode has another envelope than for pty.get here
	}
	ticket, given := protocolTicket(in.Protocols)
	if in.Ticket != nil {
		ticket, given = *in.Ticket, true
	}
	if given {
		holder, ok := h.Terminals.RedeemTicket(ticket, in.Location.Directory, in.PtyID)
		if !ok || holder.Origin != in.Origin {
			return nil, caller.Refuse(
				caller.ReasonWrong,
				"the ticket is for another terminal or page, was used already or has expired",
			)
		}
	}
	// A shutdown of the server ends the stream.
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx, end := h.long.Start(r.Context(), "")
		defer end()
		return httpio.ServeTerminal(ctx, w, r, attached)
	}, nil
}

// The properties of the events of terminals.
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

// TerminalChanged tells the streams of the terminal's directory about a change.
func (d *dependencies) TerminalChanged(c pty.Change) {
	var properties any = terminalInfo{newTerminal(c.Info)}
	switch c.Kind {
	case pty.HasExited:
		properties = terminalExit{c.Info.ID, c.Info.ExitCode}
	case pty.Deleted:
		properties = terminalID{c.Info.ID}
	}
	d.notices.Send(notice{c.Info.Directory, c.Info.Project, "pty." + string(c.Kind), properties})
}

// shell is a program that a terminal can run.
type shell struct {
	Path       string `json:"path"`
	Name       string `json:"name"`
	Acceptable bool   `json:"acceptable"`
}

// listShells lists the common shells that are installed.
func (h ptyHandlers) listShells(context.Context, locationIn) ([]shell, error) {
	out := []shell{}
	for _, path := range []string{"/bin/sh", "/bin/bash", "/usr/bin/bash", "/bin/zsh", "/usr/bin/zsh", "/usr/bin/fish"} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			out = append(out, shell{path, filepath.Base(path), true})
		}
	}
	return out, nil
}
