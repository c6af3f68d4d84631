package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/printer"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// askDesk puts what sessions ask to the person at the terminal, or answers it by the policy of the command line. One
// goroutine owns it.
type askDesk struct {
	terminal *TerminalAsks // nil without a terminal
	policy   session.AskPolicy
	headless bool // requests are denied because there is no terminal
	openCode bool // requests that no policy decides are rejected, as OpenCode's run does
	leaves   bool // the end of the terminal's input ends the conversation; else it denies requests
	note     func(string)

	gone     bool            // the terminal was closed
	hasNoted bool            // that requests are denied without a terminal
	answers  []follow.Answer // not known to be delivered
	settled  map[session.AskID]bool
	problems map[string]bool // of plugins, as they were noted
}

func newAskDesk(policy session.AskPolicy, note func(string)) *askDesk {
	return &askDesk{policy: policy, note: note, settled: map[session.AskID]bool{}, problems: map[string]bool{}}
}

// noteProblem says once why a plugin does not run.
func (d *askDesk) noteProblem(plugin, problem string) {
	if text := plugin + ": " + problem; !d.problems[text] {
		d.problems[text] = true
		d.note(terminal.FirstLine(text, 400))
	}
}

// openTerminal prepares for asking a person, if the printer prints text and there is a terminal. It reports whether
// there is.
func (d *askDesk) openTerminal(inv *cli.Invocation, v printer.Printer) bool {
	text, ok := v.(*printer.Text)
	if !ok || inv.Terminal == nil || !inv.Err.Terminal {
		return false
	}
	tty, err := inv.Terminal()
	if err != nil {
		return false
	}
	d.askAt(NewTerminalAsks(tty, inv.Marks, inv.Err.Color), text)
	return true
}

// askAt has requests asked at the terminal. Events are shown after them, by the printer.
func (d *askDesk) askAt(q *TerminalAsks, v *printer.Text) {
	if v.Live != nil {
		discard := q.BeforeShow
		q.BeforeShow = func() { v.Live.Clear(); discard() }
	}
	d.terminal, v.IsAsking = q, d.isAsking
}

// isAsking reports whether a request is on the screen.
func (d *askDesk) isAsking() bool { return d.terminal != nil && len(d.terminal.Pending) > 0 }

// close gives the terminal back.
func (d *askDesk) close() { d.terminal.Close() }

// handle puts a request to the person, or reports how it was answered. Other events are ignored.
func (d *askDesk) handle(e session.EventData) {
	switch e := e.(type) {
	case *session.PermissionAsked:
		if !d.settled[e.Ask.ID] {
			d.handleAsk(e.Ask)
		}
	case *session.PermissionReplied:
		d.settled[e.AskID] = true
		if d.terminal != nil {
			d.terminal.Remove(e.AskID, string(e.By))
		}
	}
}

func (d *askDesk) handleAsk(a session.PendingAsk) {
	switch {
	case d.terminal != nil:
		if ans, ok := d.terminal.AnswerApproved(a); ok {
			d.answers = append(d.answers, ans)
			return
		}
		d.terminal.Add(a)
	case d.gone:
		d.answers = append(d.answers, follow.DenialAnswer(a, terminalGoneMessage))
	case d.openCode && d.policy == "":
		what := terminal.FirstLine(a.Action, 60) + " (" + terminal.FirstLine(strings.Join(a.Resources, ", "), 200) + ")"
		d.note("permission requested: " + what + "; auto-rejecting")
		d.answers = append(d.answers, follow.Answer{Ask: a, Reply: session.ReplyReject})
	case strings.HasPrefix(string(d.policy), "wait:"):
		d.note("waiting for " + describe.DescribePending(a))
	}
}

// noteDenied says, once, why requests are denied without a person.
func (d *askDesk) noteDenied() {
	if d.headless && !d.hasNoted {
		d.hasNoted = true
		d.note("no terminal is available, so permission requests are denied; see --ask")
	}
}

// lines returns the channel of typed lines, nil without a terminal.
func (d *askDesk) lines() <-chan string {
	if d.terminal == nil {
		return nil
	}
	return d.terminal.Lines
}

// terminalGoneMessage tells the model that a request was denied because the terminal is closed.
const terminalGoneMessage = "permission denied: the terminal was closed"

// handleLine handles a line from the terminal; ok is false at its end. It reports whether the conversation ends. A run
// goes on: requests are denied as if there had been no terminal.
func (d *askDesk) handleLine(text string, ok bool) (ends bool) {
	if ok {
		if ans, ok := d.terminal.AnswerLine(text); ok {
			d.answers = append(d.answers, ans)
		}
		return false
	}
	if d.leaves {
		return true
	}
	pending := d.terminal.Pending
	d.terminal.Close()
	d.terminal = nil
	for _, a := range pending {
		d.answers = append(d.answers, follow.DenialAnswer(a, terminalGoneMessage))
	}
	d.gone = true
	d.note("the terminal was closed, so permission requests are denied; see --ask")
	return false
}

// deliver sends the answers. Those that no server takes until ctx ends are kept.
func (d *askDesk) deliver(ctx context.Context, c *api.Client) error {
	for len(d.answers) > 0 {
		a := d.answers[0]
		err := follow.RepeatUntilAnswered(ctx, func() error { return follow.SendAnswer(ctx, c, a) })
		if err != nil && ctx.Err() != nil {
			return nil // what ended ctx is handled next
		}
		if err != nil && !errors.Is(err, &session.Error{Code: session.CodeConflict}) &&
			!errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			return fmt.Errorf("answer the ask %s: %w", a.Ask.ID, err)
		}
		d.settled[a.Ask.ID] = true
		d.answers = d.answers[1:]
		if d.terminal != nil {
			d.showNext(ctx, c, a)
		}
	}
	return nil
}

// showNext shows the next ask after an answer was delivered. It first removes the session's asks that the same answer
// settled; if the pending asks cannot be read, it removes none.
func (d *askDesk) showNext(ctx context.Context, c *api.Client, sent follow.Answer) {
	var waits []session.PendingAsk
	var err error
	if len(d.terminal.Pending) > 0 {
		waits, err = follow.PendingAsks(ctx, c, sent.Ask.SessionID)
	}
	d.terminal.ShowNext(func(a session.PendingAsk) bool {
		return err == nil && a.SessionID == sent.Ask.SessionID &&
			!slices.ContainsFunc(waits, func(w session.PendingAsk) bool { return w.ID == a.ID })
	})
}

// settleEarlier handles a request that was pending before the prompt.
func (d *askDesk) settleEarlier(a session.PendingAsk, delivery session.Delivery) error {
	switch {
	case d.terminal != nil:
		d.terminal.Add(a)
	case delivery == session.Queue:
		d.note("the session waits for " + describe.DescribePending(a))
	case d.headless:
		return cli.NewExitError(
			cli.ExitDenied, errors.New("the session waits for "+describe.DescribePending(a)),
			"Answer it first, or use --ask=deny, --ask=allow or --queue",
		)
	case d.policy == "allow" && a.Firm:
		d.answers = append(d.answers, follow.DenialAnswer(
			a, "a budget is used up or only a person may allow it, which --ask=allow does not override",
		))
	case d.policy == "allow" && !a.IsQuestion():
		d.answers = append(d.answers, follow.Answer{Ask: a, Reply: session.ReplyOnce})
	case d.policy == "allow", d.policy == "deny":
		d.answers = append(d.answers, follow.DenialAnswer(a, "asks are denied in this run (--ask=deny)"))
	case d.policy == "fail":
		d.answers = append(d.answers, follow.Answer{Ask: a, Reply: session.ReplyReject})
	default:
		d.note("the session waits for " + describe.DescribePending(a))
	}
	return nil
}
