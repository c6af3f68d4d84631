package changes

import (
	"context"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Render calls give with each message that the change is about, oldest first, up to the first error, which it returns.
// s is the session as it is now. Prompts that wait in the inbox are not among them.
func (c *Change) Render(
	ctx context.Context, v store.Viewer, s *session.Session, give func(opencode.Message) error,
) error {
	r := &renderer{store: v, session: s, change: c, give: give}
	if c.Whole {
		return r.renderFrom(ctx, 0, -1)
	}
	return r.renderChanged(ctx)
}

// renderer renders the messages of one session.
type renderer struct {
	store   store.Viewer
	session *session.Session
	change  *Change
	give    func(opencode.Message) error
}

// chunk is the number of messages that are read at once.
const chunk = 128

// maxHeld bounds the messages that wait for an answer. A prompt that is not answered within as many messages is given
// as one without an answer.
const maxHeld = 4 * chunk

// renderFrom gives the messages of the session with seq >= from. asked is the seq of the prompt before them, which
// is not given; -1 without one.
func (r *renderer) renderFrom(ctx context.Context, from, asked int64) error {
	// The first skip messages of held are not given: the newest prompt, which what follows depends on.
	var held []session.Message
	if asked >= 0 {
		prompt, err := r.read(ctx, store.MessageQuery{After: asked - 1, Limit: 1})
		if err != nil {
			return err
		}
		held = prompt
	}
	skip := len(held)
	for after, last := from-1, false; !last; {
		page, err := r.read(ctx, store.MessageQuery{After: after, Limit: chunk})
		if err != nil {
			return err
		}
		held = append(held, page...)
		ready := len(held)
		if last = len(page) < chunk; !last {
			after = page[len(page)-1].Meta().Seq
			ready = findReady(held)
		}
		if ready <= skip {
			continue
		}
		for _, v := range opencode.Render(r.session, held[:ready], false)[skip:] {
			if err := r.give(v); err != nil {
				return err
			}
		}
		// Go on with the newest prompt, and what waits.
		var next []session.Message
		if at := findPrompt(held[:ready]); at >= 0 {
			next = append(next, held[at])
		}
		skip, held = len(next), append(next, held[ready:]...)
	}
	return nil
}

// findReady returns how many of the first messages can be rendered: a prompt is shown with its answer, so those behind
// the newest answer wait.
func findReady(ms []session.Message) int {
	if len(ms) >= maxHeld {
		return len(ms)
	}
	for i := len(ms) - 1; i >= 0; i-- {
		if _, ok := ms[i].(*session.Assistant); ok {
			return i + 1
		}
	}
	return 0
}

// findPrompt returns the position of the newest prompt, -1 if there is none.
func findPrompt(ms []session.Message) int {
	for i := len(ms) - 1; i >= 0; i-- {
		if _, ok := ms[i].(*session.User); ok {
			return i
		}
	}
	return -1
}

func (r *renderer) read(ctx context.Context, q store.MessageQuery) (ms []session.Message, err error) {
	err = r.store.View(ctx, func(rd store.Reader) (err error) {
		ms, err = store.ReadMessages(rd, r.change.ID, q)
		return err
	})
	return ms, err
}

// renderChanged gives the messages that the events changed, and those that are new.
func (r *renderer) renderChanged(ctx context.Context) error {
	from := r.change.from
	asked, prompts := int64(-1), []int64(nil)
	err := r.store.View(ctx, func(rd store.Reader) error {
		asked, prompts = -1, nil
		oldest := func(seq int64) {
			if from < 0 || seq < from {
				from = seq
			}
		}
		// Find the changed turns and commands; a prompt is rendered by itself.
		for id := range r.change.messages {
			if id == "" {
				continue
			}
			found, ok, err := store.FindMessage(rd, r.change.ID, id)
			switch {
			case err != nil:
				return err
			case !ok:
			case found.Meta().Type == session.TypeUser || found.Meta().Type == session.TypeSynthetic:
				prompts = append(prompts, found.Meta().Seq)
			default:
				oldest(found.Meta().Seq)
			}
		}
		for _, call := range r.change.calls {
			if sh, ok, err := store.FindShell(rd, r.change.ID, call); err != nil {
				return err
			} else if ok {
				oldest(sh.Seq)
			}
		}
		if from < 0 {
			return nil
		}
		// What is rendered depends on the prompt before it.
		before, err := store.ReadMessages(rd, r.change.ID, store.MessageQuery{
			After: -1, Before: from, Type: session.TypeUser, Newest: true, Limit: 1,
		})
		if len(before) > 0 {
			asked = before[0].Meta().Seq
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, seq := range prompts {
		if from >= 0 && seq >= from {
			continue
		}
		if err := r.renderPrompt(ctx, seq); err != nil {
			return err
		}
	}
	if from < 0 {
		return nil
	}
	return r.renderFrom(ctx, from, asked)
}

// renderPrompt gives one prompt, with what follows it up to an answer.
func (r *renderer) renderPrompt(ctx context.Context, seq int64) error {
	ms, err := r.read(ctx, store.MessageQuery{After: seq - 1, Limit: chunk})
	if err != nil || len(ms) == 0 {
		return err
	}
	for _, v := range opencode.Render(r.session, ms, false)[:1] {
		err = r.give(v)
	}
	return err
}

// ReadDiff finds the newest list of what the session changed.
func (c *Change) ReadDiff(ctx context.Context, v store.Viewer) error {
	for after := int64(-1); ; {
		var rows []store.EventRow
		err := v.View(ctx, func(rd store.Reader) (err error) {
			rows, err = rd.Events(c.ID, after, chunk, session.KindDiffUpdated)
			return err
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		newest := rows[len(rows)-1]
		after = newest.Seq
		d, err := session.DecodeData(newest.Kind, newest.Version, newest.Data)
		if err != nil {
			return &store.Damage{SessionID: c.ID, Seq: newest.Seq, Detail: err.Error()}
		}
		c.Diff, _ = d.(*session.DiffUpdated)
	}
}
