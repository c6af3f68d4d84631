package share

import (
	"cmp"
	"context"
	"net/http"
	"slices"

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
	p := &pusher{
		outbox: o, share: s, filter: &redaction.Filter{Known: secrets},
		send: func(ctx context.Context, items []Item) error { return o.targetOf(s).send(ctx, s, items) },
	}
	if err = p.pushChange(ctx, change); err == nil {
		err = p.flush(ctx)
	}
	if err != nil {
		return s.SyncedSeq, err
	}
	if p.models != nil {
		s.Models, s.ModelsDue = p.models, p.isUnknown
	}
	return head, nil
}

// Preview passes the items of an upload of the whole session to f, as the filter leaves them.
func (o *Outbox) Preview(ctx context.Context, id session.ID, filter *redaction.Filter, f func([]Item) error) error {
	p := &pusher{
		outbox: o, share: &Share{SessionID: id}, filter: filter,
		send: func(_ context.Context, items []Item) error { return f(items) },
	}
	if err := p.pushChange(ctx, changes.NewWhole(id)); err != nil {
		return err
	}
	return p.flush(ctx)
}

// pusher collects items and sends them in requests of bounded size.
type pusher struct {
	outbox *Outbox
	share  *Share
	filter *redaction.Filter
	send   func(context.Context, []Item) error
	items  []Item
	bytes  int
	models []session.ModelRef // those of the list that the server gets; nil if it keeps its list
	// isUnknown says that models are unknown now, so that the list is sent with a later change.
	isUnknown bool
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
			models[session.ModelRef{ProviderID: u.Model.ProviderID, ID: u.Model.ModelID}] = u.Model.ModelID != ""
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
	if err != nil {
		return err
	}
	return p.addModels(ctx, s, c.Whole, models)
}

// maxModels bounds the models of a share that are remembered.
const maxModels = 1000

// addModels adds the list of models of the session, which replaces the one of the server: it has those of earlier uploads
// as well. used are those of this change. Without a new one the server keeps its list, and also as long as they are unknown
// because the configuration is invalid, or the directory of the session is gone.
func (p *pusher) addModels(ctx context.Context, s *session.Session, isWhole bool, used map[session.ModelRef]bool) error {
	var all []session.ModelRef
	if !isWhole {
		all = slices.Clone(p.share.Models)
	}
	before, isDue := len(all), p.share.ModelsDue
	for ref, isNamed := range used {
		if isNamed && !slices.Contains(all, ref) && len(all) < maxModels {
			all = append(all, ref)
		}
	}
	if len(all) == 0 || len(all) == before && !isDue {
		return nil
	}
	slices.SortFunc(all, func(a, b session.ModelRef) int {
		return cmp.Or(cmp.Compare(a.ProviderID, b.ProviderID), cmp.Compare(a.ID, b.ID))
	})
	infos, err := p.outbox.Owner.ListModels(ctx, s, all)
	if p.models, p.isUnknown = all, err != nil; p.isUnknown {
		p.outbox.Logger.Debug("the models of a shared session are unknown", "session", s.ID, "error", err)
		return nil
	}
	return p.add(ctx, "model", infos)
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
	items := p.items
	p.items, p.bytes = nil, 0
	err := p.send(ctx, items)
	if !hasStatus(err, http.StatusRequestEntityTooLarge) {
		return err
	}
	// The request is too large for the server: send each item alone, and leave out those that are too large still.
	for _, item := range items {
		err := p.send(ctx, []Item{item})
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
