package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
)

const slashHelp = `/new               begin another session
/sessions [N]      list the sessions of this directory, or continue one
/agents [NAME]     list the agents, or choose the one for the next prompts
/models [MODEL]    list the models, or choose the one for the next prompts
/compact [TEXT]    summarise the history that the model sees; TEXT says what to keep
/context           show what the next request takes of the model's window
/abort             interrupt the work, also that of other clients
/quit              leave, like Ctrl-D
/NAME ARGUMENTS    run a command of this directory; cairn command list shows them
Any other line is a prompt. While the session works, prompts are queued.`

// conversationCommands are the commands that runCommand handles itself.
var conversationCommands = []string{
	"help", "?", "quit", "exit", "q", "abort", "new", "sessions", "agents", "models",
	"compact", "context",
}

// slashCommand is a typed line that begins with a slash.
type slashCommand struct{ name, arguments string }

func (t *conversation) runCommand(ctx context.Context, c slashCommand) {
	switch c.name {
	case "help", "?":
		for l := range strings.Lines(slashHelp) {
			t.showText(strings.TrimSuffix(l, "\n"))
		}
	case "quit", "exit", "q":
		t.done = true
	case "abort":
		if t.working {
			t.stopWork(ctx, true)
		}
	case "new":
		t.closeSession()
		t.showText("the next prompt begins a session")
	case "sessions":
		t.chooseSession(ctx, c.arguments)
	case "agents":
		t.chooseAgent(ctx, c.arguments)
	case "models":
		t.chooseModel(ctx, c.arguments)
	case "compact":
		t.compactHistory(ctx, c.arguments)
	case "context":
		t.showContext(ctx)
	default:
		t.expandCommand(ctx, c)
	}
}

// maxListed bounds what a list shows.
const maxListed = 30

// showList shows names with numbers, by which they can be chosen.
func (t *conversation) showList(names, lines []string) {
	t.listed = names
	for i, l := range lines[:min(len(lines), maxListed)] {
		t.showText(fmt.Sprintf("%3d  %s", i+1, l))
	}
	if more := len(lines) - maxListed; more > 0 {
		t.showText(fmt.Sprintf("     and %d more", more))
	}
	if len(lines) == 0 {
		t.showText("the list is empty")
	}
}

// resolveName returns the name that is meant by a name, or by its number in the last list.
func (t *conversation) resolveName(name string) string {
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(t.listed) {
		return t.listed[n-1]
	}
	return name
}

func (t *conversation) chooseSession(ctx context.Context, name string) {
	if name != "" {
		var s *session.Session
		find := func(ctx context.Context) (err error) {
			s, err = t.api.Session(ctx, session.ID(t.resolveName(name)))
			return err
		}
		if t.callAPI(ctx, find) {
			if err := t.openSession(ctx, s, -1); err != nil {
				t.showNote(err.Error())
			}
		}
		return
	}
	t.callAPI(ctx, func(ctx context.Context) error {
		root := session.ID("")
		page, err := t.api.Sessions(ctx, api.SessionQuery{Directory: t.api.Directory, Parent: &root, Limit: 100})
		if err != nil {
			return err
		}
		var names, lines []string
		for _, s := range page.Data {
			names, lines = append(names, string(s.ID)), append(lines, string(s.ID)+"  "+describe.SessionMark(s))
		}
		t.showList(names, lines)
		return nil
	})
}

func (t *conversation) chooseAgent(ctx context.Context, name string) {
	t.callAPI(ctx, func(ctx context.Context) error {
		agents, err := t.api.Agents(ctx)
		if err != nil {
			return err
		}
		var names []string
		for _, x := range agents.Data {
			if x.Mode != session.ModeSubagent && !x.Hidden {
				names = append(names, x.ID)
			}
		}
		if name == "" {
			t.showList(names, names)
			return nil
		}
		t.agent, err = t.chooseName("agent", name, names)
		return err
	})
}

func (t *conversation) chooseModel(ctx context.Context, name string) {
	t.callAPI(ctx, func(ctx context.Context) error {
		models, err := t.api.Models(ctx)
		if err != nil {
			return err
		}
		var names []string
		for _, m := range models.Data {
			names = append(names, m.Ref().String())
		}
		if name == "" {
			t.showList(names, names)
			return nil
		}
		full, err := t.chooseName("model", name, names)
		if err != nil {
			return err
		}
		t.model, err = cli.ParseModel(full)
		return err
	})
}

// chooseName returns the name if it is in the list, and shows that it is chosen.
func (t *conversation) chooseName(kind, name string, names []string) (string, error) {
	name = t.resolveName(name)
	if !slices.Contains(names, name) {
		return "", session.NotFound(kind, name, spelling.FindNearest(name, names, 3)...)
	}
	t.showText("from the next prompt on: " + name)
	return name, nil
}

// expandedCommand is the prompt of a command for a session, or why it cannot be sent.
type expandedCommand struct {
	id     session.ID
	prompt session.Prompt
	err    error
}

// expandCommand sends the prompt of a command of this directory, once what its template runs is allowed.
func (t *conversation) expandCommand(ctx context.Context, c slashCommand) {
	q := api.ExpandRequest{Command: c.name, Arguments: c.arguments, Agent: t.agent}
	if t.session == nil {
		var x api.Expansion
		denied := false
		expand := func(ctx context.Context) (err error) {
			x, err = t.api.Expand(ctx, q)
			if denied = errors.Is(err, &session.Error{Code: session.CodeDenied}); denied {
				return nil
			}
			return err
		}
		if !t.callAPI(ctx, expand) {
			return
		}
		if !denied {
			t.sendPrompt(ctx, x.Prompt)
			return
		}
		if !t.createSession(ctx) { // to ask in
			return
		}
	}
	q.SessionID = t.session.ID
	t.background.Go(func() {
		x, err := t.api.Expand(ctx, q)
		sendOrDone(ctx, t.expanded, expandedCommand{q.SessionID, x.Prompt, err})
	})
}

// onExpanded sends the prompt of a command, unless another session is open now.
func (t *conversation) onExpanded(ctx context.Context, x expandedCommand) {
	switch {
	case x.err != nil:
		t.showNote(x.err.Error())
	case t.session == nil || t.session.ID != x.id:
		t.showNote("the command of session " + string(x.id) + " was not sent: another session is open")
	default:
		t.sendPrompt(ctx, x.prompt)
	}
}
