package admit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// ShellRequest asks to run a shell command of the user, without the model. Clients show Agent and Model beside it. A
// Model that is set is also that of the next turn.
type ShellRequest struct {
	SessionID session.ID
	ID        session.MessageID // "" makes one
	Command   string
	Agent     string
	Model     *session.ModelRef
}

// maxShellTime bounds a command of the user, in milliseconds: the most that the tool allows.
const maxShellTime = 600_000

// RunShell runs a shell command of the user in an idle session and returns it when it has ended, whatever its exit
// code. The command is recorded before it starts, and runs without permission asks: the user chose it. While it runs
// the session is at work; an interrupt ends it. If ctx ends, only the wait does.
func (c *Commands) RunShell(ctx context.Context, r ShellRequest) (*session.Shell, error) {
	if err := c.checkNewWork(); err != nil {
		return nil, err
	}
	if err := c.checkShell(&r); err != nil {
		return nil, err
	}
	// Check the request against the session and its location.
	s, err := c.journal.ReadSession(ctx, r.SessionID)
	if err != nil {
		return nil, err
	}
	scope, moved, release, err := scope.OpenForWork(ctx, c.locations, s)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := scope.CheckSelection(r.Agent, r.Model); err != nil {
		return nil, err
	}
	started, err := c.startShell(r, s, scope)
	if err != nil {
		return nil, err
	}
	// A command without an ask is on the audit trail before it runs.
	what := fmt.Sprintf("shell command of %s: %s", s.ID, r.Command)
	if err := c.journal.Audit.AddEntry(ctx, audit.KindApproval, what); err != nil {
		return nil, err
	}
	// Another model is switched to in the same transaction.
	facts := []session.EventData{started}
	if r.Model != nil && (s.Model == nil || !s.Model.Equal(*r.Model)) {
		facts = []session.EventData{
			&session.ModelSwitched{MessageID: c.journal.NewMessageID(), Model: *r.Model},
			started,
		}
	}
	// Run it as the work of the idle session.
	var sh *session.Shell
	idle, err := c.scheduler.RunIdle(ctx, s.ID, func(ctx context.Context) (err error) {
		c.scheduler.ShowBusy(s.ID)
		if moved {
			if err := c.FollowProject(ctx, s, scope); err != nil {
				return err
			}
			s.Location = scope.Location
		}
		sh, err = c.runShell(ctx, s, scope, facts)
		return err
	})
	if !idle && err == nil {
		err = session.Conflict("session", string(s.ID), "is working; wait until it is idle, or interrupt it")
	}
	if err != nil {
		return nil, err
	}
	return sh, nil
}

func (c *Commands) checkShell(r *ShellRequest) error {
	switch {
	case strings.TrimSpace(r.Command) == "":
		return session.Errorf(session.CodeInvalid, "the command is empty").At("command")
	case len(r.Command) > c.limits.PromptBytes:
		return session.Errorf(session.CodeTooLarge,
			"the command has %d bytes, the limit is %d", len(r.Command), c.limits.PromptBytes).At("command")
	case r.ID != "":
		return session.CheckID("messageID", session.PrefixMessage, string(r.ID))
	}
	r.ID = c.journal.NewMessageID()
	return nil
}

// startShell returns the event that starts the command.
func (c *Commands) startShell(
	r ShellRequest, s *session.Session, scope *scope.Scope,
) (*session.ShellStarted, error) {
	as := session.ShellAs{
		AnswerID: c.journal.NewMessageID(), NoteID: c.journal.NewPartID(), PartID: c.journal.NewPartID(),
		Agent: r.Agent, Model: r.Model,
	}
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
	return &session.ShellStarted{
		MessageID: r.ID, CallID: string(as.AnswerID), Command: strings.ToValidUTF8(r.Command, "\uFFFD"), ShellAs: as,
	}, nil
}

// runShell records the command, which is the last of the facts, runs it, and records what it printed.
func (c *Commands) runShell(
	ctx context.Context, s *session.Session, scope *scope.Scope, facts []session.EventData,
) (*session.Shell, error) {
	id := s.ID
	// Commit a staged revert, and record the command before it has an effect.
	if s.Revert != nil && s.Revert.Phase != session.RevertDone {
		if err := c.CompleteRevert(ctx, id); err != nil {
			return nil, err
		}
	}
	started := facts[len(facts)-1].(*session.ShellStarted)
	events, err := c.journal.Log.Append(context.WithoutCancel(ctx), id, store.Durable,
		func(tx store.Tx) ([]eventlog.Draft, error) {
			if err := checkFreeID(tx, started.MessageID); err != nil {
				return nil, err
			}
			drafts, err := commitReverted(tx, id)
			return append(drafts, eventlog.NewDrafts(facts...)...), err
		})
	if err != nil {
		return nil, err
	}
	// Run it. Its changes of files belong to a step of their own.
	sh := session.Begin(started, events[len(events)-1].Seq).(*session.Shell)
	step := c.changes.NewStep(scope.Files, id, sh.ID)
	ended := &session.ShellEnded{CallID: sh.CallID}
	ended.Output, ended.ShellEnd = c.runBash(ctx, s, scope, sh, step)
	if err := c.journal.AppendFacts(ctx, id, ended); err != nil {
		return nil, err
	}
	step.UpdateDiff(ctx)
	sh.Apply(ended)
	return sh, nil
}

// checkFreeID refuses a message id that a prompt or a message has.
func checkFreeID(tx store.Tx, m session.MessageID) error {
	_, isPrompt, err := store.FindInput(tx, m)
	if err != nil {
		return err
	}
	if isPrompt {
		return session.Conflict("message", string(m), "was used for a prompt")
	}
	owner, _, err := tx.Message(m)
	if err != nil {
		return err
	}
	if owner != "" {
		return session.Conflict("message", string(m), "is used already")
	}
	return nil
}

// runBash runs the command with the tool bash, in a slot of a tool call, and returns what it printed and how it ended.
// It is confined as the commands of the model are.
func (c *Commands) runBash(
	ctx context.Context, in *session.Session, loc *scope.Scope, sh *session.Shell, step *undo.Step,
) (string, session.ShellEnd) {
	id, agent := in.ID, loc.FindAgent(sh.Agent)
	// Wait for a slot; without one the command has not run.
	if !c.tools.TryAcquire(1) {
		if err := c.tools.Acquire(ctx, 1); err != nil {
			return MarkAborted("", err), session.ShellEnd{Stopped: true}
		}
	}
	defer c.tools.Release(1)
	input, err := json.Marshal(map[string]any{"command": sh.Command, "timeout": maxShellTime}, json.Deterministic(true))
	if err != nil {
		return err.Error(), session.ShellEnd{Stopped: true}
	}
	// Show the output as it comes, and record what the command changes.
	progress := c.journal.NewOutputNotices(id, session.ToolProgress{
		TurnFact: session.OfTurn(sh.AnswerID), CallID: sh.CallID, PartID: sh.PartID,
	})
	defer progress.Flush() // no notice follows the end of the command
	var files tool.FileRecorder
	if step != nil {
		files = step.ForCall(sh.ID, sh.PartID, sh.CallID)
	}
	// Ask nothing, but confine it as the rules and the ancestors of the session demand.
	s := loc.Tools.TakeSnapshot(nil).Settle(ctx, tool.Call{
		SessionID: id, MessageID: sh.AnswerID, PartID: sh.PartID, CallID: sh.CallID, Agent: sh.Agent, Name: "bash",
		Input: input, Ask: func(context.Context, tool.Request) error { return nil }, Progress: progress.Show,
		Files: files, Environment: shellEnvironment(loc, sh, in.ID),
		Confine: func(ctx context.Context) (tool.Confinement, error) {
			layers := loc.RulesFor(agent, in)
			tight, _, err := ask.TightenSandbox(ctx, c.journal, c.locations, in)
			if err != nil {
				return tool.Confinement{}, err
			}
			c := loc.ChooseConfinement(agent, tight, true) // a person typed it
			c.AllowsEdit = scope.AllowEdits(layers, nil)
			return c, nil
		},
	})
	output, end := decodeResult(s.Output)
	switch {
	case s.Error != nil && ctx.Err() != nil:
		return MarkAborted(output, context.Cause(ctx)), end
	case s.Error != nil:
		return output + s.Error.Message, end
	default:
		return output, end
	}
}

// shellEnvironment returns what asks the extensions for variables of a user's command, nil if there are none.
func shellEnvironment(
	loc *scope.Scope, sh *session.Shell, id session.ID,
) func(context.Context, string) (map[string]string, error) {
	run := loc.Chain.Begin()
	if !run.HasEnvironment() {
		return nil
	}
	return func(ctx context.Context, directory string) (map[string]string, error) {
		v := extension.Environment{SessionID: id, CallID: sh.CallID, Directory: directory}
		_, err := run.Environment(ctx, &v)
		return v.Variables, err
	}
}

// decodeResult returns what the command printed, without what the tool adds for the model, and how it ended.
func decodeResult(o tool.Output) (output string, end session.ShellEnd) {
	var result struct {
		Output string `json:"output"`
		Exit   *int   `json:"exit"`
	}
	if json.Unmarshal(o.Structured, &result) != nil {
		return "", session.ShellEnd{Stopped: true}
	}
	if result.Output == "(no output)" {
		result.Output = ""
	}
	return result.Output, session.ShellEnd{Exit: result.Exit, Stopped: result.Exit == nil}
}

// MarkAborted adds a note to the output of a command that did not run to its end.
func MarkAborted(output string, why error) string {
	note := "User aborted the command"
	if errors.Is(why, turnlog.ErrShutdown) {
		note = "cairn was stopped during the command"
	}
	return output + "\n\n<metadata>\n" + note + "\n</metadata>"
}
