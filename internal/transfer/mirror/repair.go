package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/changes"
	"github.com/cairn-dev/cairn/internal/transfer/jsontree"
)

// Report is what a repair found.
type Report struct {
	Sessions int          // of the store
	Written  int          // files that were missing or different
	Removed  int          // files of what does not exist any more
	Damaged  []session.ID // sessions that cannot be read; their files stay
	Foreign  []string     // the first files that are not of the mirror; they stay
	Others   int          // number of all of them
}

// maxForeign bounds the files that a report names.
const maxForeign = 20

// Repair writes all sessions and removes what was deleted. Files that are not of the mirror stay and are named. Its
// result is durable: the cursor may be behind the events of what it wrote, so that nothing writes that again.
func (m *Mirror) Repair(ctx context.Context) (*Report, error) {
	report, err := m.repair(ctx, "", func(string) error { return nil })
	if err != nil {
		return nil, err
	}
	return report, m.Sync(ctx)
}

// repair goes on behind the session that an earlier call saved as its progress, "" without one, and saves its own.
func (m *Mirror) repair(ctx context.Context, progress string, save func(string) error) (*Report, error) {
	written, err := parseProgress(progress)
	if err == nil {
		err = m.open(ctx)
	}
	if err != nil {
		return nil, m.fail(err)
	}
	m.tree.IsBulk = true // until events are followed
	// Write the sessions, then find what does not belong to them.
	t := newTally()
	t.goesOn = written != nil
	o := &owned{sessions: map[string]bool{}, deleted: map[string]session.ID{}, tally: t}
	if err := m.syncAll(ctx, o, written, save); err != nil {
		return nil, m.fail(err)
	}
	if err := m.readDeleted(ctx, o); err != nil {
		return nil, m.fail(err)
	}
	r := &Report{}
	if err := m.examineFiles(ctx, o, r); err != nil {
		return nil, m.fail(err)
	}
	r.Sessions, r.Written, r.Removed, r.Damaged = t.sessions, t.written, t.removed, t.damaged
	return r, nil
}

// owned is what belongs to the mirror, by the names of files and folders.
type owned struct {
	sessions map[string]bool
	deleted  map[string]session.ID // sessions of the store that were deleted
	tally    *tally
}

// pageSize is the number of sessions, and of events, that are read at once.
const pageSize = 128

// saveInterval is the time between two saves of the progress, which wait for the disk.
const saveInterval = 5 * time.Second

// syncAll writes the sessions of the store that come after the written ones, in the order of their creation. A session
// is known even if it cannot be read.
func (m *Mirror) syncAll(ctx context.Context, o *owned, written *store.SessionAnchor, save func(string) error) error {
	saved := time.Now()
	q := store.SessionQuery{Oldest: true, Archived: true, Limit: pageSize}
	for {
		rows, err := store.Query(ctx, m.Store, func(r store.Reader) ([]store.RawSession, error) { return r.RawSessions(q) })
		if err != nil {
			return err
		}
		for _, row := range rows {
			// Count it, and write it unless that was done.
			if err := context.Cause(ctx); err != nil {
				return err
			}
			o.tally.sessions++
			o.sessions[jsontree.FileName(string(row.ID))] = true
			if written != nil && !isAfter(row, written) {
				continue
			}
			if err := m.syncSession(ctx, changes.NewWhole(row.ID), o.tally); err != nil {
				return err
			}
			// Save how far it is, from time to time.
			if time.Since(saved) < saveInterval {
				continue
			}
			if err := save(formatProgress(row)); err != nil {
				return err
			}
			saved = time.Now()
		}
		// The next page, if there is one.
		if len(rows) < q.Limit {
			return nil
		}
		last := rows[len(rows)-1]
		q.After = &store.SessionAnchor{Created: last.Created, ID: last.ID}
	}
}

// formatProgress returns the progress of a rebuild that has written a session, and those before it.
func formatProgress(row store.RawSession) string { return fmt.Sprintf("%d %s", row.Created, row.ID) }

func parseProgress(text string) (*store.SessionAnchor, error) {
	if text == "" {
		return nil, nil
	}
	created, id, _ := strings.Cut(text, " ")
	at, err := strconv.ParseInt(created, 10, 64)
	if err != nil || id == "" {
		return nil, fmt.Errorf("the progress %q of the rebuild is invalid", session.ClipText(text, 60))
	}
	return &store.SessionAnchor{Created: at, ID: session.ID(id)}, nil
}

// isAfter reports whether the session comes after the written one in the order of syncAll.
func isAfter(row store.RawSession, written *store.SessionAnchor) bool {
	return cmp.Or(cmp.Compare(row.Created, written.Created), cmp.Compare(row.ID, written.ID)) > 0
}

// readDeleted finds the sessions that were deleted from the store and do not exist again.
func (m *Mirror) readDeleted(ctx context.Context, o *owned) error {
	for after := int64(0); ; {
		rows, err := store.Query(ctx, m.Store, func(r store.Reader) ([]store.EventRow, error) {
			return r.Events("", after, pageSize, session.KindDeleted)
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			if name := jsontree.FileName(string(row.SessionID)); !o.sessions[name] {
				o.deleted[name] = row.SessionID
			}
			after = row.Position
		}
	}
}

// examineFiles goes through the tree: it removes what deleted sessions and killed processes left, and lists what is not
// of the mirror. Another process may write to the tree meanwhile.
func (m *Mirror) examineFiles(ctx context.Context, o *owned, r *Report) error {
	// Look at each file that was not written just now.
	gone := map[session.ID]bool{}
	err := fs.WalkDir(m.tree.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err != nil || e.IsDir() || o.tally.has(name) {
			return nil
		}
		isOurs, deleted := o.ownerOf(name)
		if deleted != "" {
			gone[deleted] = true
		}
		if !isOurs {
			isOurs, err = m.removeRest(ctx, o, name)
		}
		if err == nil && !isOurs {
			if r.Others++; len(r.Foreign) < maxForeign {
				r.Foreign = append(r.Foreign, name)
			}
		}
		return err
	})
	// Remove the sessions that were deleted.
	for id := range gone {
		if err == nil {
			err = m.syncSession(ctx, changes.NewWhole(id), o.tally)
		}
	}
	return err
}

// ownerOf reports whether the file, which is not of a part, is named as one of the mirror; deleted is the session that
// it is of if that was deleted. Files of a session that exists are of one that is damaged, or being written.
func (o *owned) ownerOf(name string) (isOurs bool, deleted session.ID) {
	f := strings.Split(name, "/")
	last, isJSON := strings.CutSuffix(f[len(f)-1], ".json")
	of, begins := last, ""
	switch {
	case len(f) == 2 && f[0] == storageDir:
		return f[1] == ".lock" || f[1] == markerName || f[1] == cursorName || f[1] == "migration", ""
	case len(f) == 4 && f[1] == "session", len(f) == 3 && (f[1] == "session_diff" || f[1] == "todo"):
	case len(f) == 4 && f[1] == "message":
		of, begins = f[2], "msg"
	default:
		return false, ""
	}
	if id := o.deleted[of]; id != "" && isJSON {
		return true, id
	}
	return o.sessions[of] && isJSON && strings.HasPrefix(last, begins), ""
}

// removeRest removes a file that a killed process left: one that it was writing, or a part of a session of the store
// whose message is gone. It reports whether the file is of the mirror.
func (m *Mirror) removeRest(ctx context.Context, o *owned, name string) (isOurs bool, err error) {
	err = m.tree.Change(ctx, func(c jsontree.Change) error {
		// A file that was being written.
		if isOurs, err = c.RemoveRest(name); isOurs || err != nil {
			return err
		}
		f := strings.Split(name, "/")
		last, isJSON := strings.CutSuffix(path.Base(name), ".json")
		if len(f) != 4 || f[1] != "part" || !isJSON {
			return nil
		}
		// The part says of which session it is. A message is written behind its parts, under the same lock.
		var p struct {
			SessionID session.ID `json:"sessionID"`
		}
		key := jsontree.Key{"part", f[2], last}
		text, err := c.Read(key)
		if err != nil || json.Unmarshal(text, &p) != nil {
			return nil
		}
		of := jsontree.FileName(string(p.SessionID))
		if isOurs = o.sessions[of] || o.deleted[of] != ""; !isOurs {
			return nil
		}
		// It goes if its message is gone.
		if _, err := c.Read(jsontree.Key{"message", of, f[2]}); !errors.Is(err, fs.ErrNotExist) {
			isOurs = strings.HasPrefix(last, "prt") || o.deleted[of] != ""
			return nil
		}
		removed, err := c.Remove(key)
		o.tally.noteRemoval(removed)
		return err
	})
	return isOurs, err
}

// Findings describes the report.
func (r *Report) Findings(dir string) []finding.Finding {
	const what = "mirror"
	out := []finding.Finding{{
		Level: finding.OK, What: what,
		Detail: fmt.Sprintf("%s has %d sessions; %d files were written again, %d removed", dir, r.Sessions, r.Written, r.Removed),
	}}
	for _, id := range r.Damaged {
		out = append(out, finding.Finding{
			Level: finding.Warning, What: what, Fix: "cairn fsck says what is damaged",
			Detail: fmt.Sprintf("session %s cannot be read; its files stay as they are", id),
		})
	}
	for _, name := range r.Foreign {
		out = append(out, finding.Finding{Level: finding.Note, What: what, Detail: name + " is not of the mirror; it stays"})
	}
	if more := r.Others - len(r.Foreign); more > 0 {
		out = append(out, finding.Finding{
			Level: finding.Note, What: what, Detail: fmt.Sprintf("%d more files are not of the mirror; they stay", more),
		})
	}
	return out
}
