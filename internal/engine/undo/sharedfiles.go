package undo

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// The bounds of the search for sessions that change the same files.
const (
	sharedAge     = 7 * 24 * time.Hour // since a session last changed
	maxSearched   = 128                // sessions that are looked at, the newest ones
	maxSharing    = 32                 // of these, sessions that changed files, which are compared
	maxShared     = 32                 // files that are named of one session
	maxSharedPath = 256                // bytes of a path that is named
	maxSharedName = 80                 // bytes of a title
)

// recordShared names the files that the session and another one of its project have both changed, to both of them. They
// work in one directory or in two worktrees of the project. A change that builds on the other one's, or makes the same of
// the file, does not count.
func (r *ChangeRecorder) recordShared(ctx context.Context, id session.ID) error {
	s, others, err := r.listNeighbours(ctx, id)
	if err != nil || len(others) == 0 {
		return err
	}
	mine, err := r.copyChanges(ctx, id)
	if err != nil || len(mine) == 0 {
		return err
	}
	// A session that cannot be read leaves the others as they are.
	var failed []error
	for _, other := range others {
		theirs, err := r.copyChanges(ctx, other.ID)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if files := listDiverged(mine, theirs); len(files) > 0 {
			now := r.journal.Now().UnixMilli()
			failed = append(failed, r.nameShared(ctx, s.ID, other, files, 0), r.nameShared(ctx, other.ID, s, files, now))
		}
	}
	return errors.Join(failed...)
}

// listNeighbours returns the session, and the newest others of its project that changed files. What subagents change
// counts for the sessions that they work for: they have no neighbours, and are not among those of others.
func (r *ChangeRecorder) listNeighbours(
	ctx context.Context, id session.ID,
) (s *session.Session, others []*session.Session, err error) {
	err = r.journal.Store.View(ctx, func(rd store.Reader) error {
		if s, err = store.FindSession(rd, id); err != nil || s.RecordID == "" || s.ParentID != "" {
			return err
		}
		others, err = store.ReadSessions(rd, store.SessionQuery{
			RecordID: s.RecordID, ParentID: new(session.ID), Recent: true, Limit: maxSearched,
			Since: r.journal.Now().Add(-sharedAge).UnixMilli(),
		})
		return err
	})
	others = slices.DeleteFunc(others, func(o *session.Session) bool {
		return o.ID == id || o.Changes == nil || o.Changes.Files == 0
	})
	return s, others[:min(len(others), maxSharing)], err
}

// copyChanges returns what is recorded of the session and its subagents.
func (r *ChangeRecorder) copyChanges(ctx context.Context, id session.ID) (found []CallChange, err error) {
	err = r.useLedger(ctx, id, func(l *Ledger) {
		found = slices.Clone(l.SelectChanges(func(CallChange) bool { return true }))
	})
	return found, err
}

// listDiverged returns the paths that both have changed, each from a state that the other one did not leave, to
// different states. What a fork has copied is no change of either.
func listDiverged(mine, theirs []CallChange) (paths []session.FilePath) {
	type key struct {
		call   string
		change session.FileChange
	}
	sumOwn := func(found, others []CallChange) map[session.FilePath]session.FileChange {
		copied := map[key]bool{}
		for _, c := range others {
			copied[key{c.CallID, c.FileChange}] = true
		}
		return sumChanges(slices.DeleteFunc(slices.Clone(found), func(c CallChange) bool {
			return copied[key{c.CallID, c.FileChange}]
		}))
	}
	other := sumOwn(theirs, mine)
	for _, a := range dropUnchanged(sumOwn(mine, theirs)) {
		b, both := other[a.Path]
		if both && b.Before != b.After && a.Before != b.After && b.Before != a.After && a.After != b.After {
			paths = append(paths, a.Path)
		}
	}
	return paths
}

// nameShared adds the files to those that the session shares with the other one, as far as it does not have them. added is
// the time if the work of the other one added them, else 0.
func (r *ChangeRecorder) nameShared(
	ctx context.Context, id session.ID, other *session.Session, files []session.FilePath, added int64,
) error {
	_, err := r.journal.Log.Append(context.WithoutCancel(ctx), id, store.Relaxed,
		func(tx store.Tx) ([]eventlog.Draft, error) {
			s, err := store.FindSession(tx, id)
			if err != nil {
				return nil, err
			}
			list, at := addShared(session.ReadSharedFiles(s.Entries), other, files)
			if list[at].Added == 0 {
				return nil, nil
			}
			list[at].Time = max(list[at].Time, added)
			entry := session.ContextEntry{Key: session.KeySharedFiles}
			entry.Value, err = json.Marshal(list, json.Deterministic(true))
			if err != nil || len(entry.Value) > session.MaxEntry { // enough is named
				return nil, err
			}
			return eventlog.NewDrafts(&session.ContextEntrySet{ContextEntry: entry}), nil
		})
	return err
}

// addShared returns the list with the files that the other session changed as well, and the index of that session. Its
// Added is 0 if that is no other list.
func addShared(
	list []session.SharedFiles, other *session.Session, files []session.FilePath,
) (out []session.SharedFiles, at int) {
	at = slices.IndexFunc(list, func(f session.SharedFiles) bool { return f.SessionID == other.ID })
	if at < 0 {
		at, list = len(list), append(list, session.SharedFiles{SessionID: other.ID})
	}
	for i := range list {
		list[i].Added = 0
	}
	for _, path := range files {
		if len(list[at].Files) < maxShared && len(path) <= maxSharedPath && !slices.Contains(list[at].Files, path) {
			list[at].Files = append(list[at].Files, path)
			list[at].Added++
		}
	}
	list[at].Title, list[at].Directory = session.ClipText(other.Title, maxSharedName), other.Location.Directory
	return list, at
}
