package tui

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/peer"
	"github.com/cairn-dev/cairn/internal/session"
)

func permission(a peer.Ask) session.PendingAsk {
	return session.PendingAsk{
		ID: session.AskID(a.ID), SessionID: session.ID(a.SessionID), Action: a.Permission, Resources: a.Patterns, Save: a.Always, Metadata: a.Metadata,
	}
}

func enquiry(e peer.Enquiry) session.PendingAsk {
	return session.PendingAsk{ID: session.AskID(e.ID), SessionID: session.ID(e.SessionID), Questions: e.Questions}
}

// wanted takes in that something is asked.
func (t *talk) wanted(ctx context.Context, e peer.Event) {
	var a peer.Ask
	var q peer.Enquiry
	pending := session.PendingAsk{}
	if e.Type == "permission.asked" && e.Read(&a) == nil {
		pending = permission(a)
	} else if e.Read(&q) == nil && len(q.Questions) > 0 {
		pending = enquiry(q)
	}
	t.want(ctx, pending)
}

// want puts an ask to the person, now or when those before it are answered. Where nobody is, it is refused.
func (t *talk) want(ctx context.Context, a session.PendingAsk) {
	known := slices.ContainsFunc(t.asks, func(b session.PendingAsk) bool { return b.ID == a.ID })
	if a.ID == "" || known || t.over[string(a.ID)] || !t.family[string(a.SessionID)] {
		return
	}
	switch {
	case t.Auto && !a.IsQuestion():
		t.reply(ctx, a, peer.Reply{Reply: string(session.ReplyOnce)})
	case !t.Person:
		t.refuse(ctx, a)
	default:
		if t.asks = append(t.asks, a); len(t.asks) == 1 {
			t.showAsk()
		}
	}
}

// refuse answers what nobody is there to answer.
func (t *talk) refuse(ctx context.Context, a session.PendingAsk) {
	if a.IsQuestion() {
		t.Screen.Note("a question is dismissed, as nobody is there to answer: " + a.Questions[0].Question)
		t.dismiss(ctx, a)
		return
	}
	t.denied++
	t.Screen.Note("permission requested: " + a.Action + " (" + strings.Join(a.Resources, ", ") + "); rejected, as nobody is there to answer")
	t.reply(ctx, a, peer.Reply{Reply: string(session.ReplyReject)})
}

// settled takes an ask off that was answered, here or elsewhere.
func (t *talk) settled(id string) {
	t.over[id] = true
	i := slices.IndexFunc(t.asks, func(a session.PendingAsk) bool { return string(a.ID) == id })
	if i < 0 {
		return
	}
	t.asks = slices.Delete(t.asks, i, i+1)
	if i == 0 {
		t.given = nil
		t.Screen.Line("answered elsewhere")
		t.showAsk()
	}
}

// The answers to an ask for a permission, by their numbers.
const (
	once   = "1"
	always = "2"
	reject = "3"
)

// showAsk puts the first ask on the screen, or its next question.
func (t *talk) showAsk() {
	if len(t.asks) == 0 {
		return
	}
	a := t.asks[0]
	if a.IsQuestion() {
		q := a.Questions[len(t.given)]
		t.Screen.Questioned(q)
	} else {
		t.Screen.Asked(a)
		t.Screen.Line(ways(a))
	}
	t.asked.Add(1)
}

// ways are the answers to an ask for a permission.
func ways(a session.PendingAsk) string {
	w := once + ": once"
	if len(a.Save) > 0 {
		w += ", " + always + ": always for " + a.Action + " " + strings.Join(a.Save, ", ")
	}
	return w + ", " + reject + ": no, and stop, " + reject + " REASON: no, and go on"
}

// answer takes a line as the answer to the first ask, and reports whether it was one.
func (t *talk) answer(ctx context.Context, text string) bool {
	a := t.asks[0]
	if a.IsQuestion() {
		t.answerQuestion(ctx, a, text)
		return true
	}
	word, why, _ := strings.Cut(strings.TrimSpace(text), " ")
	r := peer.Reply{}
	switch {
	case word == once && why == "":
		r.Reply = string(session.ReplyOnce)
	case word == always && why == "" && len(a.Save) > 0:
		r.Reply = string(session.ReplyAlways)
	case word == reject:
		r.Reply, r.Message = string(session.ReplyReject), strings.TrimSpace(why)
	default:
		t.Screen.Line(ways(a))
		return false
	}
	t.next()
	t.reply(ctx, a, r)
	return true
}

func (t *talk) answerQuestion(ctx context.Context, a session.PendingAsk, text string) {
	if strings.TrimSpace(text) == "!" {
		t.next()
		t.dismiss(ctx, a)
		return
	}
	chosen, err := a.Questions[len(t.given)].Chosen(strings.TrimSpace(text))
	if err != nil {
		t.Screen.Line(err.Error())
		return
	}
	if t.given = append(t.given, chosen); len(t.given) < len(a.Questions) {
		t.showAsk()
		return
	}
	answers := t.given
	t.next()
	t.close(ctx, a, func(ctx context.Context) error { return t.Client.Answer(ctx, string(a.ID), answers) })
}

// next takes the first ask off, and shows the one behind it.
func (t *talk) next() {
	t.asks, t.given = t.asks[1:], nil
	t.showAsk()
}

func (t *talk) reply(ctx context.Context, a session.PendingAsk, r peer.Reply) {
	t.close(ctx, a, func(ctx context.Context) error { return t.Client.Respond(ctx, string(a.ID), r) })
}

func (t *talk) dismiss(ctx context.Context, a session.PendingAsk) {
	t.close(ctx, a, func(ctx context.Context) error { return t.Client.Dismiss(ctx, string(a.ID)) })
}

// close sends an answer. If it does not reach the server, the ask waits again.
func (t *talk) close(ctx context.Context, a session.PendingAsk, send func(context.Context) error) {
	t.over[string(a.ID)] = true
	t.try(ctx, send, func(ctx context.Context, err error) {
		if err == nil {
			return
		}
		t.trouble(err)
		if _, ok := errors.AsType[*peer.Error](err); !ok {
			delete(t.over, string(a.ID))
			t.want(ctx, a)
		}
	})
}
