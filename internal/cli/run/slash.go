package run

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
)

const slashHelp = `/new               begin another session
/sessions [N]      list the sessions of this repository, or continue one
/agents [NAME]     list the agents, or choose the one for the next prompts
/models [MODEL]    list the models, or choose the one for the next prompts
/compact [TEXT]    summarise the history that the model sees; TEXT says what to keep
/context           show what the next request takes of the model's window
/abort             interrupt the work of another client
/quit              leave, like Ctrl-D
/NAME ARGUMENTS    run a command of this directory; cairn command list shows them
Any other line is a prompt.`

// slashCommand is a command of the conversation, which a line with a slash and its name runs.
type slashCommand struct {
	run      func(ctx context.Context, arguments string) error
	headless bool // works without a terminal
}

// commands returns the commands of the conversation by name. Other names are those of commands of the directory.
func (t *conversation) commands() map[string]slashCommand {
	quit := slashCommand{func(context.Context, string) error { t.done = true; return nil }, true}
	help := slashCommand{func(context.Context, string) error {
		for l := range strings.Lines(slashHelp) {
			t.showText(strings.TrimSuffix(l, "\n"))
		}
		return nil
	}, false}
	begin := func(context.Context, string) error {
		t.session = nil
		if t.interactive {
			t.showText("the next prompt begins a session")
		}
		return nil
	}
	return map[string]slashCommand{
		"help": help, "?": help, "quit": quit, "exit": quit, "q": quit, "new": {begin, true},
		"abort": {t.abortWork, false}, "sessions": {t.chooseSession, false}, "agents": {t.chooseAgent, false},
		"models": {t.chooseModel, false}, "compact": {t.compactHistory, false}, "context": {t.showContext, false},
	}
}

// abortWork interrupts the session, which may work for another client.
func (t *conversation) abortWork(ctx context.Context, _ string) error {
	if t.session != nil {
		t.callAPI(ctx, func(ctx context.Context) error { return t.client.Interrupt(ctx, t.session.ID) })
	}
	return nil
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

// chooseSession lists the sessions of the repository, or continues the one that is named.
func (t *conversation) chooseSession(ctx context.Context, name string) error {
	// Continue the session that is named.
	if name != "" {
		var s *session.Session
		if !t.callAPI(ctx, func(ctx context.Context) (err error) {
			if s, err = t.client.Session(ctx, session.ID(t.resolveName(name))); err == nil {
				err = cli.CheckDirectory(ctx, t.client, s, t.inv.Note)
			}
			return err
		}) {
			return nil
		}
		return t.openSession(ctx, s, -1)
	}
	// List the sessions, those of other directories with their directory.
	t.callAPI(ctx, func(ctx context.Context) error {
		q, err := t.client.RepositorySessions(ctx, false)
		if err != nil {
			return err
		}
		q.Limit = 100
		page, err := t.client.Sessions(ctx, q)
		if err != nil {
			return err
		}
		var names, lines []string
		missing := t.client.FindMissingDirectories(ctx, page.Data)
		for _, s := range page.Data {
			line := string(s.ID) + "  " + describe.SessionMark(s)
			if dir := s.Location.Directory; dir != t.client.Directory {
				line += "  " + describe.MarkMissingDirectory(describe.FormatDirectory(dir, t.client.Directory), missing[dir])
			}
			names, lines = append(names, string(s.ID)), append(lines, line)
		}
		t.showList(names, lines)
		return nil
	})
	return nil
}

// chooseAgent lists the agents, or chooses one for the next prompts.
func (t *conversation) chooseAgent(ctx context.Context, name string) error {
	t.callAPI(ctx, func(ctx context.Context) error {
		agents, err := t.client.Agents(ctx)
		if err != nil {
			return err
		}
		var names []string
		for _, x := range agents.Data {
			if x.IsSelectable() {
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
	return nil
}

// chooseModel lists the models, or chooses one for the next prompts.
func (t *conversation) chooseModel(ctx context.Context, name string) error {
	t.callAPI(ctx, func(ctx context.Context) error {
		models, err := t.client.Models(ctx)
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
	return nil
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

// compactHistory summarises the session's history and shows how it comes out.
func (t *conversation) compactHistory(ctx context.Context, instructions string) error {
	if t.session == nil {
		t.printer.ShowNote("there is no history yet; send a prompt first")
		return nil
	}
	var o follow.Options
	if !t.callAPI(ctx, func(ctx context.Context) (err error) {
		if o.After, err = t.client.Head(ctx, t.session.ID); err == nil {
			_, err = t.client.Compact(ctx, t.session.ID, api.CompactRequest{Instructions: instructions})
		}
		return err
	}) {
		return nil
	}
	return t.showWork(ctx, o)
}

// showContext shows the size of the session's next request.
func (t *conversation) showContext(ctx context.Context, _ string) error {
	if t.session == nil {
		t.printer.ShowNote("there is no session yet; send a prompt first")
		return nil
	}
	t.callAPI(ctx, func(ctx context.Context) error {
		r, err := api.Contexts{Client: t.client}.NextRequest(ctx, t.session.ID, false)
		if err != nil {
			return err
		}
		for _, l := range describe.DescribeNextRequest(r) {
			t.showText(l)
		}
		t.showText("cairn context " + string(t.session.ID) + " shows it by source")
		return nil
	})
	return nil
}
