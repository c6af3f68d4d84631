package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
	"github.com/cairn-dev/cairn/internal/tool"
)

// ShellRequest asks to run a command of the user's beside the conversation. Agent and Model are those that clients are told
// of; nobody is asked. A Model that is named is that of the next turn, too.
type ShellRequest struct {
	SessionID session.ID
	ID        session.MessageID // "" makes one
	Command   string
	Agent     string
	Model     *session.ModelRef
}

// maxShellTime is what a command of the user may take, in milliseconds: the longest that the tool allows.
const maxShellTime = 600_000

// Shell runs a command of the user's in a session that rests, and returns it when it has ended: how does not matter, the
// conversation has what it printed. It is recorded before it starts. Nobody is asked: the user has said what to run. While it
// runs the session is at work; an interrupt ends it. Ending ctx ends the wait only.
func (e *Engine) Shell(ctx context.Context, r ShellRequest) (*session.Shell, error) {
	if err := e.accepting(); err != nil {
		return nil, err
	}
	if err := e.checkShell(&r); err != nil {
		return nil, err
	}
	s, err := e.session(ctx, r.SessionID)
	if err != nil {
		return nil, err
	}
	scope, release, err := e.locations.Scope(ctx, s.Location)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := scope.CheckSelection(r.Agent, r.Model); err != nil {
		return nil, err
	}
	started, err := e.shellOf(r, s, scope)
	if err != nil {
		return nil, err
	}
	facts := []session.EventData{started}
	if r.Model != nil && (s.Model == nil || !s.Model.Equal(*r.Model)) {
		facts = []session.EventData{&session.ModelSwitched{MessageID: e.messageID(), Model: *r.Model}, started}
	}
	var sh *session.Shell
	rested, err := e.coordinator.occupy(ctx, s.ID, func(ctx context.Context) (err error) {
		sh, err = e.runShell(ctx, s.ID, scope, facts)
		return err
	})
	if !rested && err == nil {
		err = session.Conflict("session", string(s.ID), "is at work: wait or stop it first")
	}
	if err != nil {
		return nil, err
	}
	return sh, nil
}

func (e *Engine) checkShell(r *ShellRequest) error {
	switch {
	case strings.TrimSpace(r.Command) == "":
		return session.Errorf(session.CodeInvalid, "the command is empty").At("command")
	case len(r.Command) > e.limits.PromptBytes:
		return session.Errorf(session.CodeTooLarge, "the command has %d bytes, the limit is %d", len(r.Command), e.limits.PromptBytes).At("command")
	case r.ID != "":
		return session.CheckID("messageID", session.PrefixMessage, string(r.ID))
	}
	r.ID = e.messageID()
	return nil
}

func (e *Engine) shellOf(r ShellRequest, s *session.Session, scope *location.Scope) (*session.ShellStarted, error) {
	as := session.ShellAs{AnswerID: e.messageID(), NoteID: e.partID(), PartID: e.partID(), Agent: r.Agent, Model: r.Model}
	if as.Agent == "" {
		as.Agent = scope.FindAgent(s.Agent).ID
	}
	if as.Model == nil {
		m, err := scope.ResolveModel(s.Model, scope.FindAgent(as.Agent))
		if err != nil {
			return nil, err
		}
		as.Model = &m.Ref
	}
	return &session.ShellStarted{MessageID: r.ID, CallID: string(as.AnswerID), Command: strings.ToValidUTF8(r.Command, "\uFFFD"), ShellAs: as}, nil
}

// runShell records the command, which is the last of the facts, runs it, and records what it printed.
func (e *Engine) runShell(ctx context.Context, id session.ID, scope *location.Scope, facts []session.EventData) (*session.Shell, error) {
	started := facts[len(facts)-1].(*session.ShellStarted)
	clean := context.WithoutCancel(ctx)
	e.statuses.set(e, id, Status{Type: StatusBusy})
	events, err := e.log.Append(clean, id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		if _, ok, err := store.FindInput(tx, started.MessageID); err != nil || ok {
			return nil, firstError(err, session.Conflict("message", string(started.MessageID), "was used for a prompt"))
		}
		if owner, _, err := tx.Message(started.MessageID); err != nil || owner != "" {
			return nil, firstError(err, session.Conflict("message", string(started.MessageID), "is used already"))
		}
		return journal.RequireSession(id, facts...)(tx)
	})
	if err != nil {
		return nil, err
	}
	sh := session.Begin(started, events[len(events)-1].Seq).(*session.Shell)
	ended := &session.ShellEnded{CallID: sh.CallID, Output: e.printed(ctx, id, scope, sh)}
	if err := e.fact(clean, id, ended); err != nil {
		return nil, err
	}
	sh.Output, sh.Time.Completed = ended.Output, ended.Timestamp
	return sh, nil
}

// printed runs the command with the tool that runs those of the model, and returns what it printed.
func (e *Engine) printed(ctx context.Context, id session.ID, scope *location.Scope, sh *session.Shell) string {
	p := slot{pool: e.tools}
	if err := p.Acquire(ctx, func() {}); err != nil {
		return aborted("", err)
	}
	defer p.Release()
	input, err := json.Marshal(map[string]any{"command": sh.Command, "timeout": maxShellTime}, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	shown := e.journal.NewProgress(id, journal.Call{MessageID: sh.AnswerID, ID: sh.CallID, PartID: sh.PartID})
	s := scope.Tools.TakeSnapshot(nil).Settle(ctx, tool.Call{
		SessionID: id, MessageID: sh.AnswerID, PartID: sh.PartID, CallID: sh.CallID, Agent: sh.Agent, Name: "bash", Input: input,
		Ask: func(context.Context, tool.Request) error { return nil }, Progress: shown.Show,
	})
	output := outputOf(s.Output)
	switch {
	case s.Error != nil && ctx.Err() != nil:
		return aborted(output, context.Cause(ctx))
	case s.Error != nil:
		return output + s.Error.Message
	default:
		return output
	}
}

// outputOf is what a command printed, without what the model is told beside.
func outputOf(o tool.Output) string {
	var said struct {
		Output string `json:"output"`
	}
	if json.Unmarshal(o.Structured, &said) != nil || said.Output == "(no output)" {
		return ""
	}
	return said.Output
}

// aborted says behind what a command printed that it was ended before its end.
func aborted(output string, why error) string {
	who := "User aborted the command"
	if errors.Is(why, cause.ErrShutdown) {
		who = "cairn was stopped during the command"
	}
	return output + "\n\n<metadata>\n" + who + "\n</metadata>"
}
