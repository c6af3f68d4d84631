package share

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/changes"
	"github.com/cairn-dev/cairn/internal/transfer/redaction"
)

// The bounds of an upload.
const (
	maxEvents = 5000    // whose changes are sent one by one; after more events, the whole session is sent
	maxItems  = 500     // of a request
	maxBytes  = 1 << 20 // of a request with more than one item
	maxItem   = 8 << 20 // a larger item is left out
)

// push uploads what has changed in the session after SyncedSeq, up to head. It returns the new SyncedSeq.
func (o *Outbox) push(ctx context.Context, s *Share, head int64) (synced int64, err error) {
	// Find what has changed: everything, if the server has nothing, or more than a store that was restored.
	change := changes.NewWhole(s.SessionID)
	if s.SyncedSeq >= 0 && s.SyncedSeq <= head {
		rows, err := store.Query(ctx, o.Store, func(r store.Reader) ([]store.EventRow, error) {
			return r.Events(s.SessionID, s.SyncedSeq, maxEvents)
		})
		if err != nil {
			return s.SyncedSeq, err
		}
		if n := len(rows); n > 0 && n < maxEvents {
			change, head = changes.Collect(rows)[0], rows[n-1].Seq
		}
	}
	// Upload it without the secrets that are known now.
	current, err := store.ReadSession(ctx, o.Store, s.SessionID)
	if err != nil {
		return s.SyncedSeq, err
	}
	secrets, err := o.Owner.ListSecrets(ctx, current)
	if err != nil {
		return s.SyncedSeq, err
	}
	p := &pusher{outbox: o, share: s, filter: &redaction.Filter{Known: secrets}}
	if err = p.pushChange(ctx, change); err == nil {
		err = p.flush(ctx)
	}
	if err != nil {
		return s.SyncedSeq, err
	}
	return head, nil
}

// pusher collects items and sends them in requests of bounded size.
type pusher struct {
	outbox *Outbox
	share  *Share
	filter *redaction.Filter
	items  []Item
	bytes  int
}

// pushChange adds the items of a change: the session, its diff, messages with their parts, and models.
func (p *pusher) pushChange(ctx context.Context, c *changes.Change) error {
	// The session, and the diff of its files.
	v := p.outbox.Store
	s, err := store.ReadSession(ctx, v, p.share.SessionID)
	if err == nil && c.Whole {
		err = c.ReadDiff(ctx, v)
	}
	if err == nil {
		err = p.add(ctx, "session", opencode.SessionOf(s))
	}
	if err == nil && c.Diff != nil {
		err = p.add(ctx, "session_diff", opencode.FileDiffsOf(c.Diff.Session))
	}
	if err != nil {
		return err
	}
	// The messages, and the models that prompts used.
	models := map[session.ModelRef]bool{}
	err = c.Render(ctx, v, s, func(m opencode.Message) error {
		if u, ok := m.Info.(*opencode.User); ok {
			models[session.ModelRef{ProviderID: u.Model.ProviderID, ID: u.Model.ModelID}] = true
		}
		if err := p.add(ctx, "message", m.Info); err != nil {
			return err
		}
		for _, part := range m.Parts {
			if err := p.add(ctx, "part", part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(models) == 0 {
		return err
	}
	return p.add(ctx, "model", p.outbox.Owner.ListModels(ctx, s, models))
}

// add adds an item without secrets. It sends the collected items if there are enough.
func (p *pusher) add(ctx context.Context, kind string, v any) error {
	raw, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		raw, err = p.filter.JSON(raw)
	}
	if err != nil {
		return err
	}
	if len(raw) > maxItem {
		p.outbox.Logger.Warn("a part of a shared session is too large and is left out",
			"session", p.share.SessionID, "type", kind, "bytes", len(raw))
		return nil
	}
	if len(p.items) >= maxItems || len(p.items) > 0 && p.bytes+len(raw) > maxBytes {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	p.items, p.bytes = append(p.items, Item{kind, raw}), p.bytes+len(raw)
	return nil
}

// flush sends the collected items.
func (p *pusher) flush(ctx context.Context) error {
	if len(p.items) == 0 {
		return nil
	}
	items, to := p.items, p.outbox.targetOf(p.share)
	p.items, p.bytes = nil, 0
	err := to.send(ctx, p.share, items)
	if !hasStatus(err, http.StatusRequestEntityTooLarge) {
		return err
	}
	// The request is too large for the server: send each item alone, and leave out those that are too large still.
	for _, item := range items {
		err := to.send(ctx, p.share, []Item{item})
		if hasStatus(err, http.StatusRequestEntityTooLarge) {
			p.outbox.Logger.Warn("a part of a shared session is too large for its server and is left out", "session", p.share.SessionID, "type", item.Type)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
