package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/terminal"

	"github.com/cairn-dev/cairn/internal/session"
)

// handleAsk puts a request to the person, or reports how it was answered.
func (r *runner) handleAsk(d session.EventData) {
	switch d := d.(type) {
	case *session.PermissionAsked:
		switch {
		case r.settledAsks[d.Ask.ID]:
		case r.terminal != nil:
			if ans, ok := r.terminal.AnswerApproved(d.Ask); ok {
				r.answers = append(r.answers, ans)
				return
			}
			r.terminal.Add(d.Ask)
		case r.terminalGone:
			r.answers = append(r.answers, follow.DenialAnswer(d.Ask, terminalGoneMessage))
		case r.plan.openCode && r.plan.asks == "":
			what := terminal.FirstLine(d.Ask.Action, 60) + " (" + terminal.FirstLine(strings.Join(d.Ask.Resources, ", "), 200) + ")"
			r.view.ShowNote("permission requested: " + what + "; auto-rejecting")
			r.answers = append(r.answers, follow.Answer{Ask: d.Ask, Reply: session.ReplyReject})
		case strings.HasPrefix(string(r.plan.asks), "wait:"):
			r.view.ShowNote("waiting for " + describe.DescribePending(d.Ask))
		}
	case *session.PermissionReplied:
		r.settledAsks[d.AskID] = true
		if r.terminal != nil {
			r.terminal.Remove(d.AskID, string(d.By))
		}
		if r.headless && d.By == "policy" && len(r.progress.denials) > 0 {
			r.noteOnce("no terminal is available, so permission requests are denied; see --ask")
		}
	}
}

// handleTasks shows the asks of tasks, and counts the denials.
func (r *runner) handleTasks(events ...follow.TaskEvent) {
	for _, e := range events {
		if r.tasks.AcceptEvent(e) {
			r.progress.applyAsk(e.Data)
			r.handleAsk(e.Data)
			if r.live != nil {
				r.live.NoteEvent(e.SessionID, e.Data)
			}
		}
	}
}

// terminalLines returns the channel of typed lines, nil without a terminal.
func (r *runner) terminalLines() <-chan string {
	if r.terminal == nil {
		return nil
	}
	return r.terminal.Lines
}

// terminalGoneMessage tells the model that a request was denied because the terminal is closed.
const terminalGoneMessage = "permission denied: the terminal was closed"

// onTerminalLine handles a line from the terminal. Once the terminal is closed, requests are denied as if there had
// been no terminal.
func (r *runner) onTerminalLine(text string, ok bool) {
	if !ok {
		for _, a := range r.terminal.Pending {
			r.answers = append(r.answers, follow.DenialAnswer(a, terminalGoneMessage))
		}
		r.terminal.Close()
		r.terminal, r.terminalGone = nil, true
		r.view.ShowNote("the terminal was closed, so permission requests are denied; see --ask")
		return
	}
	if ans, ok := r.terminal.AnswerLine(text); ok {
		r.answers = append(r.answers, ans)
	}
}

// deliver sends the answers. Those that cannot be sent now are kept for the next connection.
func (r *runner) deliver(ctx context.Context) error {
	for len(r.answers) > 0 {
		a := r.answers[0]
		err := follow.SendAnswer(ctx, r.conn.API, a)
		if err != nil && !errors.Is(err, &session.Error{Code: session.CodeConflict}) &&
			!errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			return fmt.Errorf("answer the ask %s: %w", a.Ask.ID, err)
		}
		r.settledAsks[a.Ask.ID] = true
		r.answers = r.answers[1:]
		if r.terminal != nil {
			showNextAsk(ctx, r.conn.API, &r.terminal.AskQueue, a)
		}
	}
	return nil
}

// settlePendingAsks handles requests that were pending before this prompt, which would keep the session from it. A
// person is asked, a policy of the command line decides, and a run without either fails. With --queue they are left to
// others.
func (r *runner) settlePendingAsks(ctx context.Context) error {
	if !r.plan.existing {
		return nil
	}
	asks, err := follow.PendingAsks(ctx, r.conn.API, r.plan.id)
	if err != nil {
		return err
	}
	for _, a := range asks {
		switch {
		case r.terminal != nil:
			r.terminal.Add(a)
		case r.plan.delivery == session.Queue:
			r.view.ShowNote("the session waits for " + describe.DescribePending(a))
		case r.headless:
			return cli.NewExitError(
				cli.ExitDenied, errors.New("the session waits for "+describe.DescribePending(a)),
				"Answer it first, or use --ask=deny, --ask=allow or --queue",
			)
		case r.plan.asks == "allow" && a.Firm:
			r.answers = append(
				r.answers,
				follow.DenialAnswer(a, "a budget is used up or only a person may allow it, which --ask=allow does not override"),
			)
		case r.plan.asks == "allow" && !a.IsQuestion():
			r.answers = append(r.answers, follow.Answer{Ask: a, Reply: session.ReplyOnce})
		case r.plan.asks == "allow", r.plan.asks == "deny":
			r.answers = append(r.answers, follow.DenialAnswer(a, "asks are denied in this run (--ask=deny)"))
		case r.plan.asks == "fail":
			r.answers = append(r.answers, follow.Answer{Ask: a, Reply: session.ReplyReject})
		default:
			r.view.ShowNote("the session waits for " + describe.DescribePending(a))
		}
	}
	return nil
}
