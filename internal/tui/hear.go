package tui

import (
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/peer"
)

// hear takes in what the server tells. It returns the error after which nothing more will come.
func (t *talk) hear(ctx context.Context, h heard) error {
	switch {
	case h.fatal:
		return h.err
	case h.err != nil:
		if !t.lost {
			t.Screen.Note("the connection is lost; trying again")
		}
		t.lost, t.up = true, false
		for _, p := range t.parts {
			p.torn = p.torn || !p.done
		}
	case h.event.Type == "server.connected":
		if t.lost {
			t.Screen.Note("connected again")
		}
		t.lookAgain(ctx)
		t.lost, t.up = false, true
	default:
		t.event(ctx, h.event)
	}
	return nil
}

// event is one of the bus. Those of other sessions are passed over.
func (t *talk) event(ctx context.Context, e peer.Event) {
	var p struct {
		SessionID string         `json:"sessionID"`
		RequestID string         `json:"requestID"`
		Info      jsontext.Value `json:"info"`
		Part      jsontext.Value `json:"part"`
		PartID    string         `json:"partID"`
		Field     string         `json:"field"`
		Delta     string         `json:"delta"`
		Status    peer.Status    `json:"status"`
		Error     jsontext.Value `json:"error"`
	}
	if e.Read(&p) != nil {
		return
	}
	here := t.id != "" && p.SessionID == t.id
	switch e.Type {
	case "session.created", "session.updated":
		t.relative(p.Info)
	case "permission.asked", "question.asked":
		t.wanted(ctx, e)
	case "permission.replied", "question.replied", "question.rejected":
		t.settled(p.RequestID)
	case "message.part.updated":
		t.part(p.Part)
	case "message.part.delta":
		if here && p.Field == "text" {
			t.delta(p.PartID, p.Delta)
		}
	}
	if !here {
		return
	}
	switch e.Type {
	case "message.updated":
		t.message(p.Info)
	case "session.status":
		t.status(p.Status)
	case "session.idle":
		t.status(peer.Status{Type: "idle"})
	case "session.error":
		t.broke(p.Error)
	case "session.deleted":
		t.Screen.Note("this session was deleted; the next prompt begins another one")
		t.room = newRoom("")
	}
}

// relative notes a session that is below the one at hand.
func (t *talk) relative(info jsontext.Value) {
	var s peer.Session
	if read(info, &s) && t.family[s.ParentID] {
		t.family[s.ID] = true
	}
}

// message notes whose a message is.
func (t *talk) message(info jsontext.Value) {
	var m peer.MessageInfo
	if read(info, &m) {
		t.roles[m.ID] = m.Role
	}
}

func (t *talk) status(s peer.Status) {
	switch s.Type {
	case "idle":
		t.busy = false
	case "retry":
		t.busy, t.owed = true, false
		t.Screen.Note(s.Message + "; it is tried again")
	default:
		t.busy, t.owed = true, false
	}
}

// broke tells what went wrong with the work.
func (t *talk) broke(raw jsontext.Value) {
	t.owed = false
	var e struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
		} `json:"data"`
	}
	if !read(raw, &e) {
		return
	}
	switch {
	case e.Name == "MessageAbortedError":
		t.Screen.Note("stopped")
		return
	case e.Data.Message == "":
		e.Data.Message = "the work failed"
	}
	t.failure = e.Data.Message
	t.Screen.Note(e.Data.Message)
}

// patience is how long nothing may be heard of a prompt that was taken, before the server is asked.
const patience = 3 * time.Second

func (t *talk) doubtful() { t.doubt = time.After(patience) }

// known is what a look at a session tells.
type known struct {
	status   peer.Status
	messages []peer.Message
	children []peer.Session
	asks     []peer.Ask
	wanted   []peer.Enquiry
}

// newestMessages is how many are looked at.
const newestMessages = 50

// lookAgain asks how the session is: at first, after a stream broke, and when nothing was heard of a prompt.
func (t *talk) lookAgain(ctx context.Context) {
	id := t.id
	if id == "" {
		return
	}
	var k known
	see := func(ctx context.Context) (err error) { k, err = look(ctx, t.Client, id); return err }
	t.try(ctx, see, func(ctx context.Context, err error) {
		switch {
		case id != t.id:
		case err != nil:
			t.unseen = false
			t.trouble(err)
		default:
			t.learn(ctx, k)
		}
	})
}

func look(ctx context.Context, c *peer.Client, id string) (k known, err error) {
	if k.messages, err = c.Messages(ctx, id, newestMessages); err != nil {
		return k, err
	}
	if k.children, err = c.Children(ctx, id); err != nil {
		return k, err
	}
	if k.asks, err = c.Asks(ctx); err != nil {
		return k, err
	}
	if k.wanted, err = c.Enquiries(ctx); err != nil {
		return k, err
	}
	all, err := c.Statuses(ctx) // last: what has ended by now is among the messages, or will be told
	k.status = all[id]
	return k, err
}

// learn brings what is known up to date, and shows what was not yet.
func (t *talk) learn(ctx context.Context, k known) {
	if t.unseen {
		t.unseen = false
		k.messages = k.messages[t.pass(k.messages):]
	}
	for _, m := range k.messages {
		t.roles[m.Info.ID] = m.Info.Role
		for _, raw := range m.Parts {
			t.part(raw)
			t.tear(raw)
		}
	}
	for _, s := range k.children {
		t.family[s.ID] = true
	}
	for _, a := range k.asks {
		t.want(ctx, permission(a))
	}
	for _, q := range k.wanted {
		t.want(ctx, enquiry(q))
	}
	t.busy = k.status.Type != "" && k.status.Type != "idle"
	switch {
	case t.busy || t.owed && !t.sending && (k.answered() || t.looks == mostLooks):
		t.owed = false
	case t.owed && !t.sending:
		t.looks++
		t.doubtful()
	}
}

// mostLooks is how often the server is asked about a prompt of which nothing is heard.
const mostLooks = 20

// answered reports that the last that was said is the model's.
func (k known) answered() bool {
	n := len(k.messages)
	return n > 0 && k.messages[n-1].Info.Role == "assistant"
}

// pass notes the messages that are not to be shown, and returns how many they are.
func (t *talk) pass(all []peer.Message) int {
	n := max(0, len(all)-t.Begin.History)
	if t.Begin.History < 0 {
		n = 0
		for i, m := range slices.Backward(all) {
			if m.Info.Role == "user" {
				n = i
				break
			}
		}
	}
	for _, m := range all[:n] {
		t.roles[m.Info.ID] = m.Info.Role
		for _, raw := range m.Parts {
			t.skip(raw)
		}
	}
	return n
}
