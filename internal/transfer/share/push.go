package share

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer"
	"github.com/cairn-dev/cairn/internal/transfer/changes"
)

// The bounds of what is sent at once.
const (
	maxEvents = 5000    // of which the changes are looked for; after more, the whole session is sent
	maxItems  = 500     // of one request
	maxBytes  = 1 << 20 // of one request, if it has more than one item
	maxItem   = 8 << 20 // a larger item is left out
)

// push sends what has changed of the session since the share was synced, up to head. It returns up to which seq the
// server has the session.
func (o *Outbox) push(ctx context.Context, s *Share, head int64) (synced int64, err error) {
	change := changes.NewWhole(s.SessionID)
	if s.SyncedSeq >= 0 {
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
	there, err := store.ReadSession(ctx, o.Store, s.SessionID)
	if err != nil {
		return s.SyncedSeq, err
	}
	secrets, err := o.ListSecrets(ctx, there)
	if err != nil {
		return s.SyncedSeq, err
	}
	p := &pusher{outbox: o, share: s, filter: &transfer.Export{Known: secrets}}
	if err = p.pushChange(ctx, change); err == nil {
		err = p.flush(ctx)
	}
	if err != nil {
		return s.SyncedSeq, err
	}
	return head, nil
}

// pusher gathers items and sends them.
type pusher struct {
	outbox *Outbox
	share  *Share
	filter *transfer.Export
	items  []Item
	bytes  int
}

func (p *pusher) pushChange(ctx context.Context, c *changes.Change) error {
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
	return p.add(ctx, "model", p.outbox.ListModels(ctx, s, models))
}

// add adds an item without secrets, and sends what was gathered if it is much.
func (p *pusher) add(ctx context.Context, kind string, v any) error {
	raw, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		raw, err = p.filter.CleanValue(raw)
	}
	if err != nil {
		return err
	}
	if len(raw) > maxItem {
		p.outbox.Logger.Warn("a part of a shared session is too large, and not sent",
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

func (p *pusher) flush(ctx context.Context) error {
	if len(p.items) == 0 {
		return nil
	}
	items, to := p.items, p.outbox.targetOf(p.share)
	p.items, p.bytes = nil, 0
	err := to.send(ctx, p.share, items)
	if status, ok := errors.AsType[*statusError](err); !ok || status.status != http.StatusRequestEntityTooLarge {
		return err
	}
	// The server takes less at once: one item a request, and none that is too large for it.
	for _, item := range items {
		err := to.send(ctx, p.share, []Item{item})
		if status, ok := errors.AsType[*statusError](err); ok && status.status == http.StatusRequestEntityTooLarge {
			p.outbox.Logger.Warn("a part of a shared session is too large for its server", "session", p.share.SessionID, "type", item.Type)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}
