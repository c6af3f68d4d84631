package tui

import (
	"context"
	"strings"

	"github.com/cairn-dev/cairn/internal/peer"
	"github.com/cairn-dev/cairn/internal/session"
)

// room is what is known of the session at hand.
type room struct {
	id     string
	unseen bool            // what was said in it before is not on the screen yet
	family map[string]bool // it and the sessions below it, whose asks are its own
	roles  map[string]string
	parts  map[string]*part
	mine   []mine          // prompts that were sent and not heard of
	own    map[string]bool // messages that are such a prompt
	asks   []session.PendingAsk
	over   map[string]bool // asks that were answered: a look that was taken before may tell of them still
	given  [][]string      // answers to the questions of the first ask, as far as they go
	busy   bool            // as the server says
	owed   bool            // a prompt was sent, and no work was heard of since
	looks  int             // for that work
}

// mine is a prompt that was typed here. A command's has another text than what was typed.
type mine struct {
	text string
	any  bool
}

func newRoom(id string) room {
	return room{
		id: id, family: map[string]bool{id: id != ""}, roles: map[string]string{}, parts: map[string]*part{}, own: map[string]bool{},
		over: map[string]bool{},
	}
}

func (r *room) atWork() bool { return r.busy || r.owed }

// begin finds the session that is to be gone on with. A new one is made with the first prompt: who only looks leaves none.
func (t *talk) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	t.room = newRoom("")
	b := t.Begin
	var s peer.Session
	var err error
	switch {
	case b.Session != "":
		s, err = t.Client.Session(ctx, b.Session)
	case b.Last:
		if s, err = t.Client.Newest(ctx); err == nil && s.ID == "" {
			err = ErrNoSession
		}
	default:
		return nil
	}
	if err == nil && b.Fork {
		s, err = t.Client.Fork(ctx, s.ID)
	}
	if err != nil {
		return err
	}
	t.room = newRoom(s.ID)
	t.unseen = true
	t.Client.Directory = s.Directory
	t.Screen.Line(s.Title + "  " + s.ID)
	return nil
}

// prompt puts a prompt behind those that are to be sent.
func (t *talk) prompt(p peer.Prompt, text string) {
	if t.Person && (!t.quiet() || !t.up) {
		t.Screen.Line("queued: " + text)
	}
	t.waiting = append(t.waiting, p)
}

// send sends the next prompt, if none is being sent and its answer can be heard; in pipes when the one before is done.
func (t *talk) send(ctx context.Context) {
	if !t.up || t.unseen || t.sending || len(t.waiting) == 0 || !t.Person && t.atWork() {
		return
	}
	p := t.waiting[0]
	t.waiting = t.waiting[1:]
	t.sending = true
	if t.id == "" {
		t.create(ctx, p)
		return
	}
	t.put(ctx, p)
}

// create makes the session that the prompt is for.
func (t *talk) create(ctx context.Context, p peer.Prompt) {
	var s peer.Session
	build := func(ctx context.Context) (err error) {
		s, err = t.Client.Create(ctx, peer.NewSession{Permission: t.Begin.Rules})
		return err
	}
	t.try(ctx, build, func(ctx context.Context, err error) {
		if err != nil {
			t.sending = false
			t.trouble(err)
			t.fail(err)
			return
		}
		t.room = newRoom(s.ID)
		t.put(ctx, p)
	})
}

// put sends the prompt to the session. A command is answered when its work is done, a message when it was taken.
func (t *talk) put(ctx context.Context, p peer.Prompt) {
	id := t.id
	p.Agent, p.Model = t.agent, nil
	if t.model != nil {
		p.Model = t.model
		if p.Command != "" {
			p.Model = t.model.ProviderID + "/" + t.model.ModelID
		}
	}
	t.owed, t.looks = true, 0
	t.mine = append(t.mine, mine{text: textOf(p), any: p.Command != ""})
	t.aside(ctx, func(ctx context.Context) func(context.Context) {
		var err error
		if p.Command != "" {
			err = t.Client.Prompt(ctx, id, p)
		} else {
			err = t.Client.Start(ctx, id, p)
		}
		return func(context.Context) { t.taken(id, err) }
	})
	if p.Command != "" {
		t.sending = false
	}
}

// taken is what follows a prompt that the server has, or refused.
func (t *talk) taken(id string, err error) {
	t.sending = false
	if id != t.id {
		return
	}
	if err != nil {
		t.owed, t.mine = false, nil
		t.trouble(err)
		t.fail(err)
		return
	}
	if t.owed {
		t.doubtful()
	}
}

func (t *talk) fail(err error) { t.failure = err.Error() }

func textOf(p peer.Prompt) string {
	var b strings.Builder
	for _, part := range p.Parts {
		b.WriteString(part.Text)
	}
	return b.String()
}
