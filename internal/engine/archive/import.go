package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/logfile"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Result is what an import did.
type Result struct {
	Sessions []session.ID // those of the file, the first one first
	Here     []session.ID // those that were here with the same events, and stay as they are
	Deleted  []session.ID // those that were deleted here, and stay deleted
	Known    bool         // nothing changed: no session of the file is missing here
	Grants   int          // events that lost rights
	Missing  int          // contents of files that the export did not have
}

// importFile imports the sessions of a file that are missing here: all of these, or none. The same file again changes
// nothing, also after the sessions went on here. A session that is here with other events is a conflict.
func (a *Archive) importFile(ctx context.Context, from io.ReadSeeker, l session.Location) (*Result, error) {
	ctx = context.WithoutCancel(ctx)
	in, err := verify(from)
	if err != nil {
		return nil, err
	}
	out, err := a.findMissing(ctx, from, in)
	if err != nil || out.Known {
		return out, err
	}
	scope, release, err := a.Locations.Scope(ctx, l)
	if err != nil {
		return nil, err
	}
	defer release()
	// Store what is outside of the log first: without the events nothing refers to it.
	defer a.Files.Hold()()
	created, err := a.storeFiles(from, in)
	if err == nil {
		err = a.Journal.Log.ImportLogs(ctx, func(w *eventlog.LogWriter) error { return a.insert(ctx, w, from, in, scope) })
	}
	if err != nil && !errors.Is(err, store.ErrUncertain) {
		return nil, errors.Join(err, a.removeOutputs(created))
	}
	return out, err
}

// findMissing sets in.missing. A session is left out if the events of the file are the first ones of the session here,
// or if it was deleted here after it had costs, with the subagents that it started. Other events here are a conflict,
// and so is a file whose sessions were all deleted.
func (a *Archive) findMissing(ctx context.Context, from io.ReadSeeker, in *contents) (*Result, error) {
	out := &Result{Sessions: in.sessions}
	err := a.Journal.Store.View(ctx, func(r store.Reader) error {
		// A view may run again; what it found then does not count.
		in.missing, out.Here, out.Deleted = nil, nil, nil
		for _, id := range in.sessions { // parents come before their subagents
			head, err := r.Head(id)
			if err != nil {
				return err
			}
			spent, err := r.Spent(id, 0)
			if err != nil {
				return err
			}
			switch {
			case head >= 0:
				out.Here = append(out.Here, id)
			case len(spent) > 0 || slices.Contains(out.Deleted, in.first[id].parent):
				out.Deleted = append(out.Deleted, id)
			default:
				in.missing = append(in.missing, id)
			}
		}
		return nil
	})
	if err == nil && len(out.Deleted) == len(in.sessions) {
		err = deletedError(in.sessions[0])
	}
	if err == nil && len(out.Here) > 0 {
		err = a.compareEvents(ctx, from, out.Here)
	}
	if err != nil {
		return nil, err
	}
	out.Known = len(in.missing) == 0
	if !out.Known {
		out.Missing = in.trailer.Missing
	}
	for _, id := range in.missing {
		out.Grants += in.grants[id]
	}
	return out, nil
}

// compareEvents returns a conflict unless the events of the file are the first ones of the sessions here.
func (a *Archive) compareEvents(ctx context.Context, from io.ReadSeeker, here []session.ID) error {
	stored := &storedEvents{archive: a}
	_, err := forEachLine(from, func(_ *logfile.Reader, item logfile.Item) error {
		if item.Event == nil || !slices.Contains(here, item.Event.SessionID) {
			return nil
		}
		same, err := stored.hasNext(ctx, item.Event)
		if err == nil && !same {
			id := string(item.Event.SessionID)
			return session.Conflict("session", id, fmt.Sprintf("exists and is not the imported one "+
				"(line %d of the file differs); it can be imported in another home (CAIRN_HOME)", item.Line))
		}
		return err
	})
	return err
}

// storedEvents reads the events of sessions here, to compare them with those of a file.
type storedEvents struct {
	archive *Archive
	id      session.ID
	rows    []store.EventRow // that were read and not compared yet
}

// hasNext reports whether the next event of the session is the imported one, with or without its grants: the file may
// have been exported here.
func (s *storedEvents) hasNext(ctx context.Context, row *store.EventRow) (bool, error) {
	if s.id != row.SessionID {
		s.id, s.rows = row.SessionID, nil
	}
	if len(s.rows) == 0 {
		rows, err := store.Query(ctx, s.archive.Journal.Store, func(r store.Reader) ([]store.EventRow, error) {
			return r.Events(s.id, row.Seq-1, page)
		})
		if err != nil || len(rows) == 0 {
			return false, err
		}
		s.rows = rows
	}
	have := s.rows[0]
	s.rows = s.rows[1:]
	without, _, err := dropGrants(*row)
	return isSame(have, *row) || err == nil && isSame(have, without), err
}

func isSame(a, b store.EventRow) bool {
	return a.ID == b.ID && a.SessionID == b.SessionID && a.Seq == b.Seq && a.Kind == b.Kind && a.Version == b.Version &&
		bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Private, b.Private)
}

// storeFiles stores the contents, pins them for the missing sessions, and creates their output files, whose names it
// returns.
func (a *Archive) storeFiles(from io.ReadSeeker, in *contents) (created []string, err error) {
	var content []byte
	var output io.WriteCloser
	owner := 0
	_, err = forEachLine(from, func(_ *logfile.Reader, item logfile.Item) (err error) {
		// Contents are stored when their last chunk is here: their ids follow from all bytes.
		c := item.Chunk
		switch {
		case c == nil:
			return nil
		case c.Kind == logfile.ChunkContent:
			if content = append(content, c.Data...); !c.IsLast() {
				return nil
			}
			_, err = a.Files.PutContent(content)
			content = content[:0]
			return err
		}
		// Outputs are written chunk by chunk. Those of sessions that are here are not touched.
		for !isOutputOf(in.sessions[owner], c.Name) {
			owner++
		}
		if !slices.Contains(in.missing, in.sessions[owner]) {
			return nil
		}
		if c.Offset == 0 {
			if output, err = a.Files.CreateOutput(in.sessions[owner], c.Name); err != nil {
				return err
			}
			created = append(created, c.Name)
		}
		if _, err = output.Write(c.Data); err != nil || c.IsLast() {
			err = cmp.Or(err, output.Close())
			output = nil
		}
		return err
	})
	if output != nil {
		_ = output.Close() // the error before it counts
	}
	// Pin the contents before the events that name them are committed.
	for _, id := range in.missing {
		if ids := in.pins[id]; err == nil && len(ids) > 0 {
			err = a.Files.PinBlobs(string(id), ids)
		}
	}
	return created, err
}

// removeOutputs removes the outputs that storeFiles created. Its pins stay: a session of the same id may have been
// created meanwhile, with pins of its own. Pins of a session that does not exist end by themselves, and then their
// contents are removed.
func (a *Archive) removeOutputs(created []string) (err error) {
	for _, name := range created {
		err = errors.Join(err, a.Files.RemoveOutput(name))
	}
	return err
}

// insert inserts the events of the missing sessions, and ends each session's import. What the events mean must be what a store
// can have: the check of a whole store is made for each session before the commit.
func (a *Archive) insert(
	ctx context.Context, w *eventlog.LogWriter, from io.ReadSeeker, in *contents, scope *scope.Scope,
) error {
	for _, id := range in.missing {
		if err := checkFree(w.Tx, id); err != nil {
			return err
		}
	}
	_, err := forEachLine(from, func(_ *logfile.Reader, item logfile.Item) error {
		if item.Event == nil || !slices.Contains(in.missing, item.Event.SessionID) {
			return nil
		}
		row, _, err := dropGrants(*item.Event)
		if err != nil {
			return err
		}
		return describeFailure(item.Line, w.Insert(row))
	})
	if err != nil {
		return err
	}
	for _, id := range in.missing {
		if err := a.endImport(ctx, w, id, in, scope); err != nil {
			return err
		}
	}
	return nil
}

// checkFree returns an error unless a session with the id can be created.
func checkFree(tx store.Tx, id session.ID) error {
	head, err := tx.Head(id)
	if err != nil {
		return err
	}
	spent, err := tx.Spent(id, 0)
	switch {
	case err != nil:
		return err
	case head >= 0:
		return session.Conflict("session", string(id), "exists already")
	case len(spent) > 0:
		return deletedError(id)
	}
	return nil
}

// deletedError returns the conflict of a session that was deleted here after it had costs.
func deletedError(id session.ID) error {
	return session.Conflict("session", string(id), "was used by a deleted session, whose cost is stored under this id; "+
		"it stays deleted")
}

// describeFailure adds the line to the error of an event that cannot follow those before it.
func describeFailure(line int64, err error) error {
	if err == nil || errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code == session.CodeConflict {
		at := *e
		at.Message = fmt.Sprintf("line %d: %s", line, e.Message)
		return &at
	}
	return &logfile.FormatError{Line: line, What: fmt.Sprintf("the event cannot follow those before it: %v", err)}
}

// endImport appends the event that gives the session its place here, and checks that the session is whole and at rest.
func (a *Archive) endImport(
	ctx context.Context, w *eventlog.LogWriter, id session.ID, in *contents, scope *scope.Scope,
) error {
	if err := w.Flush(); err != nil {
		return err
	}
	s, err := store.FindSession(w.Tx, id)
	if err != nil {
		return err
	}
	// A subagent keeps its parent if the file has it and it is here.
	parent := int64(-1)
	if slices.Contains(in.sessions, s.ParentID) {
		if parent, err = w.Tx.Head(s.ParentID); err != nil {
			return err
		}
	}
	// The place of the session is that of the import, whatever the log says.
	now := a.Journal.Now().UnixMilli()
	end := &session.Imported{Archived: s.Time.Archived, Updated: s.Time.Updated, At: now, Log: &session.LogImport{
		SHA256: in.trailer.SHA256, Location: scope.Location, ProjectID: scope.ProjectID, RecordID: scope.RecordID,
		Subpath: scope.Subpath, Sandbox: scope.ChooseNewSandbox(s.Sandbox, s.Agent),
		Detached: s.ParentID != "" && parent < 0,
	}}
	end.Timestamp = max(s.Time.Updated, 1)
	if err := w.Append(id, eventlog.Draft{Data: end}); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	// A session with work to do would begin it by itself.
	unfinished, err := w.Tx.Unfinished(0)
	if err != nil {
		return err
	}
	asks, err := w.Tx.Asks(store.AskQuery{SessionID: id, Pending: true})
	if err != nil {
		return err
	}
	if len(asks) > 0 || slices.Contains(unfinished, id) {
		return &logfile.FormatError{Line: in.lineOf(id, 0), What: fmt.Sprintf("the session %s was at work when it "+
			"was exported; export it again when it is idle", id)}
	}
	// What fsck would find is found before the commit.
	violations, err := check.CheckSession(ctx, w.Tx, id)
	if err != nil {
		return err
	}
	if len(violations) > 0 {
		v := violations[0]
		return &logfile.FormatError{Line: in.lineOf(id, v.Seq), What: fmt.Sprintf("session %s: %s; the file was changed: "+
			"export it again", id, v.Detail)}
	}
	return nil
}
