package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/logfile"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// page is the number of events that are held at once.
const page = 256

// Export is an export that can be written.
type Export struct {
	archive  *Archive
	sessions []exported
}

// exported is a session of an export, with the seq of the last event that is part of it.
type exported struct {
	id   session.ID
	last int64
}

// OpenExport finds the sessions, each followed by its descendants, oldest first, and where their logs end. A session
// that is at work, or has work that its process left unfinished, is a conflict: no store could import it at rest.
func (a *Archive) OpenExport(ctx context.Context, ids []session.ID) (*Export, error) {
	out := &Export{archive: a}
	err := a.Journal.Store.View(ctx, func(r store.Reader) error {
		// A view may run again; what it found then does not count.
		out.sessions = nil
		unfinished, err := r.Unfinished(0)
		if err != nil {
			return err
		}
		atWork, seen := map[session.ID]bool{}, map[session.ID]bool{}
		for _, id := range unfinished {
			atWork[id] = true
		}
		// Add each named session with its descendants, once.
		for _, id := range ids {
			if _, err := store.FindSession(r, id); err != nil {
				return err
			}
			family, err := listFamily(r, id)
			if err != nil {
				return err
			}
			for _, id := range family {
				if seen[id] {
					continue
				}
				seen[id] = true
				last, err := findEnd(r, id, atWork[id])
				if err != nil {
					return err
				}
				out.sessions = append(out.sessions, exported{id, last})
			}
		}
		return nil
	})
	return out, err
}

// listFamily returns the session and its descendants, oldest first.
func listFamily(r store.Reader, id session.ID) ([]session.ID, error) {
	below, err := store.ReadSessions(r, store.SessionQuery{Ancestor: id, Archived: true, Oldest: true})
	ids := []session.ID{id}
	for _, s := range below {
		ids = append(ids, s.ID)
	}
	return ids, err
}

// findEnd returns the seq of the last event that is exported: the newest one but for the end of an import.
func findEnd(r store.Reader, id session.ID, atWork bool) (int64, error) {
	asks, err := r.Asks(store.AskQuery{SessionID: id, Pending: true})
	if err != nil {
		return 0, err
	}
	if atWork || len(asks) > 0 {
		return 0, session.Conflict("session", string(id), "is at work or has work left to do, and a log is exported "+
			"at rest; wait until it is idle; work that was cut off goes on with the next prompt: cairn run -s "+string(id))
	}
	head, err := r.Head(id)
	if err != nil {
		return 0, err
	}
	newest, err := eventlog.DecodeAll(r.Events(id, head-1, 1))
	if err != nil {
		return 0, err
	}
	if len(newest) == 1 {
		if d, ok := newest[0].Data.(*session.Imported); ok && d.Log != nil {
			head--
		}
	}
	return head, nil
}

// Write writes the export. Between its pages the sessions may go on: what comes after the end is not part of it.
func (x *Export) Write(ctx context.Context, to io.Writer) error {
	h := logfile.Header{Cairn: x.archive.Version}
	for _, s := range x.sessions {
		h.Sessions = append(h.Sessions, s.id)
	}
	w, err := logfile.NewWriter(to, h)
	if err != nil {
		return err
	}
	// The events, and the names of the contents that they need.
	var contents contentList
	for _, s := range x.sessions {
		if err := x.writeEvents(ctx, w, s, &contents); err != nil {
			return fmt.Errorf("export session %s: %w", s.id, err)
		}
	}
	// What is stored outside of the log.
	missing := 0
	for _, id := range contents.ids {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		content, err := x.archive.Files.ReadContent(id)
		if err != nil { // removed to free space, too large, or damaged
			missing++
			continue
		}
		if err := w.WriteFile(logfile.ChunkContent, id, int64(len(content)), bytes.NewReader(content)); err != nil {
			return err
		}
	}
	for _, s := range x.sessions {
		for _, name := range x.archive.Files.ListOutputs(s.id) {
			if err := x.writeOutput(ctx, w, name); err != nil {
				return err
			}
		}
	}
	return w.Close(missing)
}

// writeEvents writes the events of a session up to its end.
func (x *Export) writeEvents(ctx context.Context, w *logfile.Writer, s exported, contents *contentList) error {
	for after := int64(-1); after < s.last; {
		rows, err := store.Query(ctx, x.archive.Journal.Store, func(r store.Reader) ([]store.EventRow, error) {
			return r.Events(s.id, after, page)
		})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return session.NotFound("session", string(s.id)) // it was deleted meanwhile
		}
		for i := range rows {
			row := &rows[i]
			if after = row.Seq; row.Seq > s.last {
				return nil
			}
			if err := w.WriteEvent(row); err != nil {
				return err
			}
			if !namesContents(row.Kind) {
				continue
			}
			e, err := eventlog.Decode(*row)
			if err != nil {
				return err
			}
			contents.add(listContents(e.Data))
		}
	}
	return nil
}

// namesContents reports whether events of the kind name contents.
func namesContents(k session.Kind) bool {
	return k == session.KindFilesWriting || k == session.KindTreeChanged || k == session.KindRevertStaged
}

// writeOutput writes an output file. One that is removed meanwhile, since it is old, is left out.
func (x *Export) writeOutput(ctx context.Context, w *logfile.Writer, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f, size, err := x.archive.Files.OpenOutput(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return w.WriteFile(logfile.ChunkOutput, name, size, f)
}
