package host

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/record/retention"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// ownerStorage is the v2.Storage of an owner.
type ownerStorage struct{ *owner }

// Prune implements v2.Storage. Sessions at work, with work to do or with an ask that waits stay, and so does one whose
// subagent does.
func (w ownerStorage) Prune(ctx context.Context, r api.PruneRequest) (out api.PruneResult, err error) {
	policy := retention.Policy{Age: time.Duration(r.Age) * time.Millisecond, Sessions: r.Sessions, Bytes: r.Bytes}
	switch {
	case min(r.Age, r.Bytes, int64(r.Sessions)) < 0:
		return out, session.Errorf(session.CodeInvalid, "age, sessions and bytes must not be negative")
	case policy.IsZero():
		policy = w.retention
	}
	if policy.IsZero() {
		why := "nothing says which sessions to delete: name an age, a number or bytes, or set storage.retention in your configuration"
		if len(w.leftOut) > 0 {
			why += " (" + strings.Join(w.leftOut, "; ") + ")"
		}
		return out, session.Errorf(session.CodeInvalid, "%s", why)
	}
	sessions, trees, err := w.listTrees(ctx, r.Project, policy.Bytes > 0)
	if err != nil {
		return out, err
	}
	out = api.PruneResult{Sessions: []api.PrunedSession{}, DryRun: r.DryRun}
	for _, c := range retention.Choose(trees, policy, time.Now()) {
		s := sessions[session.ID(c.ID)]
		one := api.PrunedSession{
			SessionID: s.ID, Title: s.Title, Directory: s.Location.Directory, Updated: c.Updated.UnixMilli(), Bytes: c.Bytes, Reason: c.Reason,
		}
		if !r.DryRun {
			if err := w.deleteUnchanged(ctx, c.Tree); err != nil {
				one.Error = err.Error()
			} else if err := audit.New(w.dirs.Data).AddEntry(ctx, audit.KindSettings, "prune "+c.ID+": "+c.Reason); err != nil {
				w.logger.Warn("the audit log could not be written", "error", err) // on a full disk, a deletion makes room
			}
		}
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		out.Sessions = append(out.Sessions, one)
	}
	failed := 0
	for _, s := range out.Sessions {
		if s.Error != "" {
			failed++
		}
	}
	out.Kept = len(trees) - len(out.Sessions) + failed
	if !r.DryRun && len(out.Sessions) > 0 {
		w.shrinkStore(ctx)
	}
	return out, nil
}

// deleteUnchanged deletes a session, unless it or one of its subagents has changed since they were read.
func (w ownerStorage) deleteUnchanged(ctx context.Context, t retention.Tree) error {
	id := session.ID(t.ID)
	err := w.store.View(ctx, func(r store.Reader) error {
		s, err := store.FindSession(r, id)
		if err != nil {
			return err
		}
		below, err := r.RawSessions(store.SessionQuery{Ancestor: id, Archived: true})
		for _, one := range append(below, store.RawSession{ID: id, Updated: s.Time.Updated}) {
			if one.Updated > t.Updated.UnixMilli() || slices.Contains(w.engine.Active(), one.ID) {
				return errors.New("it was used meanwhile")
			}
		}
		return err
	})
	if errors.Is(err, &session.Error{Code: session.CodeNotFound}) { // it was deleted meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	return w.engine.Commands.DeleteSession(ctx, id)
}

// listTrees returns the first sessions of all trees, by id and as the retention sees them. measured counts their bytes.
func (w ownerStorage) listTrees(ctx context.Context, project string, measured bool) (
	sessions map[session.ID]*session.Session, trees []retention.Tree, err error,
) {
	// Find the first sessions, and when each other one changed last.
	sessions = map[session.ID]*session.Session{}
	parents, updated := map[session.ID]session.ID{}, map[session.ID]int64{}
	err = store.VisitSessions(ctx, w.store, store.SessionQuery{Archived: true}, func(row store.RawSession) error {
		s, err := row.Session()
		if err != nil {
			return nil //nolint:nilerr // a damaged one stays
		}
		parents[s.ID], updated[s.ID] = s.ParentID, s.Time.Updated
		if s.ParentID == "" && (project == "" || project == string(s.RecordID)) {
			sessions[s.ID] = s
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if err := w.countImports(ctx, updated); err != nil {
		return nil, nil, err
	}
	busy, err := store.Query(ctx, w.store, func(r store.Reader) (map[session.ID]bool, error) {
		return findBusy(r, w.engine.Active())
	})
	if err != nil {
		return nil, nil, err
	}
	// A tree has the newest time of its sessions.
	newest := map[session.ID]int64{}
	for id, at := range updated {
		root := id
		for range maxTreeDepth {
			if parents[root] == "" {
				break
			}
			root = parents[root]
		}
		newest[root] = max(newest[root], at)
	}
	for id, s := range sessions {
		t := retention.Tree{
			ID: string(id), Project: string(s.RecordID), Updated: time.UnixMilli(newest[id]), Keep: busy[id],
		}
		if measured {
			if t.Bytes, err = w.measureTree(ctx, id); err != nil {
				return nil, nil, err
			}
		}
		trees = append(trees, t)
	}
	return sessions, trees, nil
}

// sessionsAtOnce are looked at in one transaction.
const sessionsAtOnce = 500

// countImports sets the time of the import of sessions that were imported and not used since: it counts as a change, since
// sessions of another program would be deleted at once else, and come back with the next import.
func (w ownerStorage) countImports(ctx context.Context, updated map[session.ID]int64) error {
	for ids := range slices.Chunk(slices.Collect(maps.Keys(updated)), sessionsAtOnce) {
		err := w.store.View(ctx, func(r store.Reader) error {
			for _, id := range ids {
				at, err := readImportTime(r, id)
				if err != nil && !errors.Is(err, store.ErrDamaged) {
					return err
				}
				updated[id] = max(updated[id], at)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readImportTime returns when a session was imported if nothing was done in it since, else 0.
func readImportTime(r store.Reader, id session.ID) (int64, error) {
	head, err := r.Head(id)
	if err != nil || head < 0 {
		return 0, err
	}
	rows, err := r.Events(id, head-1, 1)
	if err != nil || len(rows) == 0 || rows[0].Kind != session.KindImported {
		return 0, err
	}
	var end session.Imported
	err = json.Unmarshal(rows[0].Data, &end)
	return end.At, err
}

// findBusy returns the first sessions of the trees in which something is to do.
func findBusy(r store.Reader, active []session.ID) (map[session.ID]bool, error) {
	unfinished, err := r.Unfinished(0)
	if err != nil {
		return nil, err
	}
	asks, err := r.Asks(store.AskQuery{Pending: true})
	if err != nil {
		return nil, err
	}
	ids := slices.Concat(active, unfinished)
	for _, a := range asks {
		ids = append(ids, a.SessionID)
	}
	out := map[session.ID]bool{}
	for _, id := range ids {
		root, err := store.FindRoot(r, id)
		if err != nil {
			return nil, err
		}
		out[root] = true
	}
	return out, nil
}

// maxTreeDepth bounds the way up to a first session.
const maxTreeDepth = 100

// measureTree returns the bytes of the messages of a session and its subagents.
func (w ownerStorage) measureTree(ctx context.Context, id session.ID) (n int64, err error) {
	err = w.store.View(ctx, func(r store.Reader) error {
		n = 0
		below, err := r.RawSessions(store.SessionQuery{Ancestor: id, Archived: true})
		if err != nil {
			return err
		}
		for _, one := range append(below, store.RawSession{ID: id}) {
			err := r.RawMessages(one.ID, store.MessageQuery{After: -1}, func(m *store.RawMessage) error {
				n += int64(len(m.Data))
				return nil
			})
			if err != nil && !errors.Is(err, store.ErrDamaged) {
				return err
			}
		}
		return nil
	})
	return n, err
}

// Vacuum implements v2.Storage.
func (w ownerStorage) Vacuum(ctx context.Context, r api.VacuumRequest) (out api.VacuumResult, err error) {
	before, err := w.store.MeasureSpace(ctx)
	if err != nil {
		return out, err
	}
	out = api.VacuumResult{Before: before.Bytes, Free: before.Free, After: before.Bytes}
	if r.DryRun {
		return out, nil
	}
	if err := w.store.Shrink(ctx, true); err != nil {
		return out, err
	}
	after, err := w.store.MeasureSpace(ctx)
	out.After = after.Bytes
	return out, err
}

// The share and the bytes of free space from which on it is given back without a request.
const (
	maxFreeShare = 4
	maxFreeBytes = 8 << 20
)

// shrinkStore gives free space back if there is much of it.
func (w *owner) shrinkStore(ctx context.Context) {
	space, err := w.store.MeasureSpace(ctx)
	if err == nil && space.Free > maxFreeBytes && space.Free > space.Bytes/maxFreeShare {
		err = w.store.Shrink(ctx, false)
	}
	if err != nil && ctx.Err() == nil {
		w.logger.Warn("free space of the sessions could not be given back", "error", err)
	}
}

// pruneSessions deletes what the configured retention excludes.
func (w *owner) pruneSessions(ctx context.Context) {
	if w.retention.IsZero() || w.store.DegradedError() != nil {
		return
	}
	out, err := ownerStorage{w}.Prune(ctx, api.PruneRequest{})
	for _, s := range out.Sessions {
		w.logger.Info("a session was deleted by storage.retention", "session", s.SessionID, "title", s.Title, "reason", s.Reason,
			"error", s.Error)
	}
	if err != nil && ctx.Err() == nil {
		w.logger.Warn("sessions could not be deleted by storage.retention", "error", err)
	}
}

// checkRoom returns an error if no new work may begin: the sessions have reached the quota, or the disk is nearly full.
func (w *owner) checkRoom() error {
	if free, ok := fileattr.FreeSpace(w.dirs.Data); ok && free < minFreeDisk {
		return session.Errorf(session.CodeConflict, "the disk of %s has only %d MiB left, so no new work begins; make room "+
			"(cairn storage shows what cairn takes)", w.dirs.Data, free>>20)
	}
	if w.quota == 0 {
		return nil
	}
	space, err := w.store.MeasureSpace(context.Background())
	if err != nil {
		return err
	}
	if used := space.Bytes - space.Free; used > w.quota {
		return session.Errorf(session.CodeConflict, "the sessions have %.1f MiB, more than the %.1f MiB of "+
			"storage.quota, so no new work begins; delete some (cairn session delete, cairn storage prune), or raise it",
			float64(used)/(1<<20), float64(w.quota)/(1<<20))
	}
	return nil
}

// minFreeDisk is what has to be left of the disk so that work under way can be recorded.
const minFreeDisk = 32 << 20
