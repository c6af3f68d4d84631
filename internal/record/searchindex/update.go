package searchindex

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	zs "zombiezen.com/go/sqlite"

	"github.com/cairn-dev/cairn/internal/record/follower"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// titleSeq is the seq of a session's title, which comes before its messages.
const titleSeq = -1

// Apply implements follower.Consumer.
func (x *Index) Apply(ctx context.Context, events []store.EventRow) error {
	exists, err := x.Open(ctx)
	if err != nil {
		return err
	}
	if !exists {
		return follower.ErrLost
	}
	err = x.use(ctx, func(c *zs.Conn) error {
		return transact(c, func() error {
			for _, change := range collectChanges(events) {
				if err := x.applyChange(ctx, c, change); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if x.discard(ctx, err) {
		return follower.ErrLost
	}
	return err
}

// sessionsAtOnce are indexed in one transaction by a rebuild.
const sessionsAtOnce = 32

// Rebuild implements follower.Consumer. The sessions are indexed in the order of their creation; the progress is the last one.
func (x *Index) Rebuild(ctx context.Context, progress string, save func(string) error) error {
	// Go on behind the progress, or begin with an empty index.
	q := store.SessionQuery{Archived: true, Oldest: true, Limit: sessionsAtOnce, After: &store.SessionAnchor{}}
	exists, err := x.Open(ctx)
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(progress, "%d %s", &q.After.Created, &q.After.ID); err != nil || !exists {
		q.After = nil
		if err := x.create(); err != nil {
			return err
		}
	}
	// Index some sessions at a time.
	for saved := time.Now(); ; {
		rows, err := store.Query(ctx, x.Store, func(r store.Reader) ([]store.RawSession, error) { return r.RawSessions(q) })
		if err != nil || len(rows) == 0 {
			return err
		}
		err = x.use(ctx, func(c *zs.Conn) error {
			return transact(c, func() error {
				for _, row := range rows {
					if err := x.applyChange(ctx, c, &change{id: row.ID, whole: true, first: -1}); err != nil {
						return err
					}
				}
				return nil
			})
		})
		if x.discard(ctx, err) || err != nil {
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

// applyChange indexes what of a session has changed. A session that is gone or damaged leaves the index.
func (x *Index) applyChange(ctx context.Context, c *zs.Conn, change *change) error {
	if change.purge {
		if err := execute(c, "UPDATE meta SET purge = ?1", purgeWanted); err != nil {
			return err
		}
	}
	s, err := store.Query(ctx, x.Store, func(r store.Reader) (*session.Session, error) {
		s, _, err := r.Session(change.id)
		return s, err
	})
	if err != nil && !isDamage(err) {
		return err
	}
	found, err := queryInts(c, "SELECT number FROM session WHERE id = ?1", string(change.id))
	if err != nil {
		return err
	}
	w := &sessionWriter{conn: c, store: x.Store, session: s}
	switch {
	case s == nil && len(found) == 0:
		return nil
	case s == nil:
		if err := removeDocuments(c, "session = ?1", found[0]); err != nil {
			return err
		}
		return execute(c, "DELETE FROM session WHERE number = ?1", found[0])
	case len(found) == 0:
		err = execute(c, "INSERT INTO session (id) VALUES (?1)", string(change.id))
		w.number = c.LastInsertRowID()
	default:
		w.number = found[0]
		if change.whole {
			err = removeDocuments(c, "session = ?1", w.number)
		}
	}
	if err != nil {
		return err
	}
	if change.whole || change.title {
		if err := w.putDocuments(titleSeq, []document{documentOfTitle(s)}); err != nil {
			return err
		}
	}
	return w.putMessages(ctx, change)
}

func isDamage(err error) bool { return errors.Is(err, store.ErrDamaged) }

// removeDocuments removes the documents for which a condition holds.
func removeDocuments(c *zs.Conn, condition string, args ...any) error {
	err := execute(c, "DELETE FROM entry WHERE rowid IN (SELECT id FROM document WHERE "+condition+")", args...)
	if err != nil {
		return err
	}
	return execute(c, "DELETE FROM document WHERE "+condition, args...)
}

// sessionWriter indexes documents of one session.
type sessionWriter struct {
	conn    *zs.Conn
	store   store.Viewer
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
	// Read the messages that are named by id, or by the call of a shell command.
	var found []session.Message
	err := w.store.View(ctx, func(r store.Reader) error {
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

// putRange indexes the messages with after < seq < before; a before of 0 is the end. Damaged messages and those of a newer
// version are left out.
func (w *sessionWriter) putRange(ctx context.Context, after, before int64) error {
	for {
		var found []session.Message
		next, more := after, false
		err := w.store.View(ctx, func(r store.Reader) error {
			found, next, more = found[:0], after, false
			q := store.MessageQuery{After: after, Before: before, Limit: messagesAtOnce}
			return r.RawMessages(w.session.ID, q, func(row *store.RawMessage) error {
				next, more = row.Seq, true
				if m, err := row.Message(); err == nil {
					found = append(found, m)
				}
				return nil
			})
		})
		if d, ok := errors.AsType[*store.Damage](err); ok && d.Seq > next {
			err, next, more = nil, d.Seq, true // go on behind it
		} else if ok {
			err, more = nil, false
		}
		if err == nil {
			err = w.putAll(found)
		}
		if err != nil || !more {
			return err
		}
		after = next
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

// putDocuments puts the documents of a message, or of the title, in the place of those that the index has.
func (w *sessionWriter) putDocuments(seq int64, documents []document) error {
	if err := removeDocuments(w.conn, "session = ?1 AND seq = ?2", w.number, seq); err != nil {
		return err
	}
	for i := range documents {
		d := &documents[i]
		if d.text == "" {
			continue
		}
		err := execute(w.conn, "INSERT INTO document (session, seq, part, kind, time, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
			w.number, seq, d.part, kindNumber(d.kind), d.time, d.digest())
		if err != nil {
			return err
		}
		err = execute(w.conn, "INSERT INTO entry (rowid, words, marks) VALUES (?1, ?2, ?3)",
			w.conn.LastInsertRowID(), normalize(clipText(d.text)), strings.Join(d.markDocument(w.session), " "))
		if err != nil {
			return err
		}
	}
	return nil
}

// digest returns a number by which a changed text is told from the one that was indexed.
func (d *document) digest() int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(d.text)) // it never fails
	return int64(h.Sum64())
}
