package searchindex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cairn-dev/cairn/internal/record/follower"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// titleSeq is the place of a session's title, before its messages.
const titleSeq = -1

// change says what of a session must be indexed again.
type change struct {
	id       session.ID
	whole    bool // everything
	title    bool
	first    int64 // messages from this seq to last; -1: none
	last     int64
	messages []session.MessageID // that are complete now
	calls    []string            // of shell commands that have ended
}

// collectChanges returns what the events change, one for each session, in the order of their first events.
func collectChanges(events []store.EventRow) (out []*change) {
	by := map[session.ID]*change{}
	for i := range events {
		e := &events[i]
		c := by[e.SessionID]
		if c == nil {
			c = &change{id: e.SessionID, first: -1}
			by[e.SessionID] = c
			out = append(out, c)
		}
		c.add(e)
	}
	return out
}

// add adds what an event changes. Only the kinds that matter are decoded.
func (c *change) add(e *store.EventRow) {
	switch e.Kind {
	case session.KindCreated, session.KindRenamed, session.KindImported:
		c.title = true
	case session.KindPrompted, session.KindMessageImported, session.KindCompactionEnded:
		c.addRange(e.Seq, e.Seq)
	case session.KindStepEnded, session.KindStepFailed, session.KindShellEnded, session.KindMessageEdited,
		session.KindPartEdited, session.KindPartRemoved, session.KindMessagesCopied:
		d, err := session.DecodeData(e.Kind, e.Version, e.Data)
		if err != nil {
			c.whole = true
			return
		}
		c.addDecoded(d)
	case session.KindRevertCommitted, session.KindMessageRemoved, session.KindCompactionUndone, session.KindDeleted:
		c.whole = true
	}
}

func (c *change) addDecoded(d session.EventData) {
	switch d := d.(type) {
	case *session.ShellEnded:
		c.calls = append(c.calls, d.CallID)
	case *session.MessageEdited:
		c.messages = append(c.messages, d.MessageID)
	case *session.MessagesCopied:
		c.addRange(d.First, d.First+int64(len(d.Messages))-1)
	case session.TurnEvent:
		c.messages = append(c.messages, d.Turn().AssistantMessageID)
	}
}

func (c *change) addRange(first, last int64) {
	if c.first < 0 {
		c.first, c.last = first, last
	}
	c.first, c.last = min(c.first, first), max(c.last, last)
}

// Apply implements follower.Consumer.
func (x *Index) Apply(ctx context.Context, events []store.EventRow) error {
	isBuilt, err := x.Open(ctx)
	if err == nil && isBuilt {
		err = x.apply(ctx, events)
	}
	if x.discard(ctx, err) || err == nil && !isBuilt {
		return follower.ErrLost
	}
	return err
}

func (x *Index) apply(ctx context.Context, events []store.EventRow) error {
	return transact(x.writer, func() error {
		for _, c := range collectChanges(events) {
			if err := x.applyChange(ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// Rebuild implements follower.Consumer. The sessions are indexed in the order of their creation; the progress is the last one.
func (x *Index) Rebuild(ctx context.Context, progress string, save func(string) error) error {
	isBuilt, err := x.Open(ctx)
	if !isBuilt {
		progress = ""
	}
	if err == nil {
		err = x.rebuild(ctx, progress, save)
	}
	if x.discard(ctx, err) {
		return fmt.Errorf("the search index was damaged: %w", err) // and the next attempt makes another one
	}
	return err
}

// sessionsAtOnce are indexed in one transaction by a rebuild.
const sessionsAtOnce = 32

func (x *Index) rebuild(ctx context.Context, progress string, save func(string) error) error {
	// Begin with an empty index, or go on behind the progress.
	q := store.SessionQuery{Archived: true, Oldest: true, Limit: sessionsAtOnce}
	if progress != "" {
		q.After = &store.SessionAnchor{}
		if _, err := fmt.Sscanf(progress, "%d %s", &q.After.Created, &q.After.ID); err != nil {
			return fmt.Errorf("read the progress %q: %w", progress, err)
		}
	} else if err := x.clear(); err != nil {
		return err
	}
	// Index some sessions at a time.
	for saved := time.Now(); ; {
		rows, err := store.Query(ctx, x.Store, func(r store.Reader) ([]store.RawSession, error) { return r.RawSessions(q) })
		if err != nil || len(rows) == 0 {
			return err
		}
		err = transact(x.writer, func() error {
			for _, row := range rows {
				if err := x.applyChange(ctx, &change{id: row.ID, whole: true, first: -1}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		last := rows[len(rows)-1]
		q.After = &store.SessionAnchor{Created: last.Created, ID: last.ID}
		if time.Since(saved) > time.Second {
			if err := save(fmt.Sprintf("%d %s", last.Created, last.ID)); err != nil {
				return err
			}
			saved = time.Now()
		}
	}
}

// clear removes everything, and notes that a rebuild has begun.
func (x *Index) clear() error {
	return transact(x.writer, func() error {
		for _, sql := range []string{
			"DELETE FROM text", "DELETE FROM session", "INSERT INTO entry (entry) VALUES ('delete-all')", "UPDATE meta SET begun = 1",
		} {
			if err := execute(x.writer, sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// Sync implements follower.Consumer.
func (x *Index) Sync(ctx context.Context) error {
	if x.writer == nil {
		return nil
	}
	if err := x.purge(ctx); err != nil {
		return err
	}
	return execute(x.writer, "PRAGMA wal_checkpoint(PASSIVE)")
}

// applyChange indexes what of a session has changed. A session that is gone or damaged leaves the index.
func (x *Index) applyChange(ctx context.Context, c *change) error {
	s, err := store.Query(ctx, x.Store, func(r store.Reader) (*session.Session, error) {
		s, _, err := r.Session(c.id)
		return s, err
	})
	if err != nil && !isDamage(err) {
		return err
	}
	number, err := x.findNumber(c.id)
	if err != nil {
		return err
	}
	switch {
	case s == nil:
		return x.removeSession(number)
	case number == 0:
		number, err = x.addNumber(c.id)
	case c.whole:
		err = x.removeTexts("session = ?1", number)
	}
	if err != nil {
		return err
	}
	w := &sessionWriter{index: x, session: s, number: number}
	if c.whole || c.title {
		if err := w.putDocuments(titleSeq, []document{{kind: Title, time: s.Time.Updated, text: s.Title}}); err != nil {
			return err
		}
	}
	return w.putMessages(ctx, c)
}

func isDamage(err error) bool { return errors.Is(err, store.ErrDamaged) }

func (x *Index) findNumber(id session.ID) (n int64, err error) {
	err = sqlitex.Execute(x.writer, "SELECT number FROM session WHERE id = ?1", &sqlitex.ExecOptions{
		Args: []any{string(id)}, ResultFunc: func(st *zs.Stmt) error { n = st.ColumnInt64(0); return nil },
	})
	return n, err
}

func (x *Index) addNumber(id session.ID) (int64, error) {
	err := execute(x.writer, "INSERT INTO session (id) VALUES (?1)", string(id))
	return x.writer.LastInsertRowID(), err
}

// removeSession removes a session's texts.
func (x *Index) removeSession(number int64) error {
	if number == 0 {
		return nil
	}
	if err := x.removeTexts("session = ?1", number); err != nil {
		return err
	}
	return execute(x.writer, "DELETE FROM session WHERE number = ?1", number)
}

// removeTexts removes the texts for which a condition holds.
func (x *Index) removeTexts(condition string, args ...any) error {
	if err := execute(x.writer, "DELETE FROM entry WHERE rowid IN (SELECT id FROM text WHERE "+condition+")", args...); err != nil {
		return err
	}
	if x.writer.Changes() > 0 {
		x.removed = true
	}
	return execute(x.writer, "DELETE FROM text WHERE "+condition, args...)
}

// sessionWriter indexes texts of one session.
type sessionWriter struct {
	index   *Index
	session *session.Session
	number  int64
}

// messagesAtOnce are read in one transaction of the store.
const messagesAtOnce = 200

// putMessages indexes the messages of a change.
func (w *sessionWriter) putMessages(ctx context.Context, c *change) error {
	if c.whole {
		return w.putRange(ctx, -1, 0)
	}
	if c.first >= 0 {
		if err := w.putRange(ctx, c.first-1, c.last+1); err != nil {
			return err
		}
	}
	var found []session.Message
	err := w.index.Store.View(ctx, func(r store.Reader) error {
		found = found[:0]
		for _, id := range c.messages {
			m, ok, err := store.FindMessage(r, w.session.ID, id)
			if err != nil && !isDamage(err) {
				return err
			}
			if ok && err == nil {
				found = append(found, m)
			}
		}
		for _, call := range c.calls {
			m, ok, err := store.FindShell(r, w.session.ID, call)
			if err != nil && !isDamage(err) {
				return err
			}
			if ok && err == nil {
				found = append(found, m)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.putAll(found)
}

// putRange indexes the messages with after < seq < before; a before of 0 is the end.
func (w *sessionWriter) putRange(ctx context.Context, after, before int64) error {
	for {
		var found []session.Message
		more := false
		err := w.index.Store.View(ctx, func(r store.Reader) error {
			found, more = found[:0], false
			q := store.MessageQuery{After: after, Before: before, Limit: messagesAtOnce}
			return r.RawMessages(w.session.ID, q, func(row *store.RawMessage) error {
				after, more = row.Seq, true
				if m, err := row.Message(); err == nil { // one of a newer version is left out
					found = append(found, m)
				}
				return nil
			})
		})
		if isDamage(err) { // what is behind the damage is left out
			err, more = nil, false
		}
		if err == nil {
			err = w.putAll(found)
		}
		if err != nil || !more {
			return err
		}
	}
}

func (w *sessionWriter) putAll(messages []session.Message) error {
	for _, m := range messages {
		if err := w.putDocuments(m.Meta().Seq, documentsOf(m)); err != nil {
			return err
		}
	}
	return nil
}

// putDocuments puts the texts of a message, or of the title, in the place of those that the index has.
func (w *sessionWriter) putDocuments(seq int64, documents []document) error {
	if err := w.index.removeTexts("session = ?1 AND seq = ?2", w.number, seq); err != nil {
		return err
	}
	for i := range documents {
		d := &documents[i]
		kind := kindNumber(d.kind)
		err := execute(w.index.writer, "INSERT INTO text (session, seq, part, kind, time) VALUES (?1, ?2, ?3, ?4, ?5)",
			w.number, seq, d.part, kind, d.time)
		if err != nil {
			return err
		}
		err = execute(w.index.writer, "INSERT INTO entry (rowid, words, marks) VALUES (?1, ?2, ?3)",
			w.index.writer.LastInsertRowID(), normalize(clipText(d.text)), strings.Join(d.markDocument(w.session), " "))
		if err != nil {
			return err
		}
	}
	return nil
}
