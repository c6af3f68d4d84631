package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// permission deals with the asks of the span: puts them to the person, or tells how they were answered.
func (r *runner) permission(d session.EventData) {
	switch d := d.(type) {
	case *session.PermissionAsked:
		switch {
		case r.done[d.Ask.ID]:
		case r.questions != nil:
			r.questions.add(d.Ask)
		case r.deaf:
			r.answers = append(r.answers, refusal(d.Ask, deafWords))
		case r.plan.openCode && r.plan.asks == "":
			what := line(d.Ask.Action, 60) + " (" + line(strings.Join(d.Ask.Resources, ", "), 200) + ")"
			r.view.note("permission requested: " + what + "; auto-rejecting")
			r.answers = append(r.answers, answer{ask: d.Ask, reply: session.ReplyReject})
		case strings.HasPrefix(string(r.plan.asks), "wait:"):
			r.view.note("waiting for " + waitingWords(d.Ask))
		}
	case *session.PermissionReplied:
		r.done[d.AskID] = true
		if r.questions != nil {
			r.questions.remove(d.AskID, string(d.By))
		}
		if r.headless && d.By == "policy" && len(r.span.denials) > 0 {
			r.once("there is no terminal to ask on, so what needs a permission is denied; see --ask")
		}
	}
}

func oneLine(a session.PendingAsk) string {
	if a.IsQuestion() {
		return line(a.Questions[0].Question, 200)
	}
	return line(a.Action+" "+strings.Join(a.Resources, ", "), 200)
}

// typed is where lines from the terminal come from; nil where nobody is asked.
func (r *runner) typed() <-chan string {
	if r.questions == nil {
		return nil
	}
	return r.questions.lines
}

// deafWords is what the model is told once nobody answers at the terminal any more.
const deafWords = "asks are denied: nobody answers at the terminal any more"

// heard takes a line from the terminal. Once that has ended, by Ctrl-D or because it went away, asks are denied as
// where there never was one.
func (r *runner) heard(text string, ok bool) {
	if !ok {
		for _, a := range r.questions.pending {
			r.answers = append(r.answers, refusal(a, deafWords))
		}
		r.questions.close()
		r.questions, r.deaf = nil, true
		r.view.note("nobody answers at the terminal any more, so what needs a permission is denied; see --ask")
		return
	}
	if ans, ok := r.questions.answerLine(text); ok {
		r.answers = append(r.answers, ans)
	}
}

// refusal is the answer where nobody is asked. A question stays unanswered; the model goes on with either.
func refusal(a session.PendingAsk, message string) answer {
	if a.IsQuestion() {
		return answer{ask: a, reply: session.ReplyOnce, answers: make([][]string, len(a.Questions))}
	}
	return answer{ask: a, reply: session.ReplyReject, message: message}
}

// deliver sends the answers. What cannot be delivered now is kept for the next connection.
func (r *runner) deliver(ctx context.Context) error {
	for len(r.answers) > 0 {
		a := r.answers[0]
		err := sendAnswer(ctx, r.conn.API, a)
		if err != nil && !errors.Is(err, &session.Error{Code: session.CodeConflict}) && !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			return fmt.Errorf("answer the ask %s: %w", a.ask.ID, err)
		}
		r.done[a.ask.ID] = true
		r.answers = r.answers[1:]
	}
	return nil
}

// sendAnswer delivers one answer.
func sendAnswer(ctx context.Context, c *api.Client, a answer) error {
	switch {
	case !a.ask.IsQuestion():
		return c.Reply(ctx, a.ask.SessionID, a.ask.ID, api.ReplyRequest{Reply: a.reply, Message: a.message})
	case a.reply == session.ReplyReject:
		return c.RejectQuestion(ctx, a.ask.SessionID, a.ask.ID)
	default:
		return c.AnswerQuestion(ctx, a.ask.SessionID, a.ask.ID, a.answers)
	}
}

// pendingAsks are the permissions and questions of a session that wait for an answer.
func pendingAsks(ctx context.Context, c *api.Client, id session.ID) ([]session.PendingAsk, error) {
	asks, err := c.Asks(ctx, id)
	if err != nil {
		return nil, err
	}
	questions, err := waitingQuestions(ctx, c, id)
	return append(asks, questions...), err
}

// unblock deals with asks that were there before our prompt: until they are answered the session does not come to it.
// A person is asked; a policy that was given on the command line decides; a run without either does not wait. With
// --queue the asks are left to whom they concern.
func (r *runner) unblock(ctx context.Context) error {
	if !r.plan.existing {
		return nil
	}
	asks, err := pendingAsks(ctx, r.conn.API, r.plan.id)
	if err != nil {
		return err
	}
	for _, a := range asks {
		switch {
		case r.questions != nil:
			r.questions.add(a)
		case r.plan.delivery == session.Queue:
			r.view.note("the session waits for " + waitingWords(a))
		case r.headless:
			return &exit{
				exitDenied, errors.New("the session waits for " + waitingWords(a)),
				"Answer it first, or say --ask=deny, --ask=allow or --queue",
			}
		case r.plan.asks == "allow" && a.Firm:
			r.answers = append(r.answers, refusal(a, "a rule may deny this, or a budget is used up: --ask=allow does not allow that"))
		case r.plan.asks == "allow" && !a.IsQuestion():
			r.answers = append(r.answers, answer{ask: a, reply: session.ReplyOnce})
		case r.plan.asks == "allow", r.plan.asks == "deny":
			r.answers = append(r.answers, refusal(a, "asks are denied in this run (--ask=deny)"))
		case r.plan.asks == "fail":
			r.answers = append(r.answers, answer{ask: a, reply: session.ReplyReject})
		default:
			r.view.note("the session waits for " + waitingWords(a))
		}
	}
	return nil
}
