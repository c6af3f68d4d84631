package sqlstore

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

const head = `SELECT seq FROM event WHERE session = ?1 ORDER BY seq DESC LIMIT 1`

// Head implements store.EventReader.
func (r *Reader) Head(id session.ID) (int64, error) {
	if id == "" {
		return r.lastPosition()
	}
	c := r.prepareFor(head, id)
	seq := int64(-1)
	if c.nextRow() {
		seq = c.st.Int(0)
	}
	return seq, c.endCall("read head of", id)
}

const eventColumns = `SELECT position, id, session_id, seq, kind, version, crc, data, private FROM event `

const events = eventColumns + `WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3 + 0`

const eventsOfKinds = eventColumns +
	`WHERE session = ?1 AND seq > ?2 AND kind IN (SELECT value FROM json_each(?4)) ORDER BY seq LIMIT ?3 + 0`

// changesOfKinds reads only the events of kindsOfChanges, which are in an index of their own.
const changesOfKinds = eventColumns + `INDEXED BY event_of_changes WHERE session = ?1 AND seq > ?2 AND (
	kind = 'session.next.files.writing' OR kind = 'session.next.tree.captured' OR
	kind = 'session.next.tree.changed' OR kind = 'session.next.tool.failed'
) AND kind IN (SELECT value FROM json_each(?4)) ORDER BY seq LIMIT ?3 + 0`

var kindsOfChanges = []session.Kind{
	session.KindFilesWriting, session.KindTreeCaptured, session.KindTreeChanged, session.KindToolFailed,
}

// Events implements store.EventReader. A missing event of a session is damage too.
func (r *Reader) Events(id session.ID, after int64, limit int, kinds ...session.Kind) ([]store.EventRow, error) {
	// Read the rows.
	c := r.selectEvents(id, kinds)
	c.bindInt(after)
	c.bindLimit(limit)
	if len(kinds) > 0 {
		set, err := json.Marshal(kinds)
		if err != nil {
			return nil, err
		}
		c.bindText(string(set))
	}
	rows, err := r.readEvents(&c, id, after)
	if err != nil || id == "" || len(kinds) > 0 {
		return rows, err
	}
	// All kinds of one session have consecutive seqs; a gap is damage. A fork begins at its first event.
	want := max(after, -1) + 1
	if len(rows) > 0 && rows[0].Kind == session.KindCreated {
		want = rows[0].Seq
	}
	for i := range rows {
		if rows[i].Seq != want {
			return nil, &store.Damage{
				SessionID: id, Seq: want, Detail: fmt.Sprintf("the event is missing, seq %d follows", rows[i].Seq),
			}
		}
		want++
	}
	// A full page says nothing of the end; else the head must be reached.
	if limit > 0 && len(rows) == limit {
		return rows, nil
	}
	return rows, r.checkEnd(id, want)
}

// checkEnd returns a *store.Damage if the log goes on at or after a seq where a read came to its end: a damaged index
// can end a scan early. The newest event is found from the other end of the index.
func (r *Reader) checkEnd(id session.ID, next int64) error {
	newest, err := r.Head(id)
	if err == nil && newest >= next {
		err = &store.Damage{
			SessionID: id, Seq: next, Detail: fmt.Sprintf("the event is missing, the log ends at seq %d", newest),
		}
	}
	return err
}

const (
	feed        = eventColumns + `WHERE position > ?1 ORDER BY position LIMIT ?2 + 0`
	feedOfKinds = eventColumns +
		`WHERE position > ?1 AND kind IN (SELECT value FROM json_each(?3)) ORDER BY position LIMIT ?2 + 0`
	// feedOfEnds reads only events that outlive their session, whose session number is -position: they are few.
	feedOfEnds = eventColumns + `INDEXED BY event_by_session
		WHERE session < -?1 AND kind IN (SELECT value FROM json_each(?3)) ORDER BY session DESC LIMIT ?2 + 0`
)

func (r *Reader) selectEvents(id session.ID, kinds []session.Kind) stmtCall {
	others := func(k session.Kind) bool { return !slices.Contains(kindsOfChanges, k) }
	staysPart := func(k session.Kind) bool { return !k.OutlivesSession() }
	switch {
	case id == "" && len(kinds) > 0 && !slices.ContainsFunc(kinds, staysPart):
		return r.prepare(feedOfEnds)
	case id == "" && len(kinds) > 0:
		return r.prepare(feedOfKinds)
	case id == "":
		return r.prepare(feed)
	case len(kinds) == 0:
		return r.prepareFor(events, id)
	case slices.ContainsFunc(kinds, others):
		return r.prepareFor(eventsOfKinds, id)
	default:
		return r.prepareFor(changesOfKinds, id)
	}
}

// readEvents reads rows of eventColumns: of the session, or, leaving out damaged rows, of all sessions (""). Those of
// all sessions are after the position and in order, else a damaged page would let a reader of pages go in circles.
func (r *Reader) readEvents(c *stmtCall, id session.ID, position int64) ([]store.EventRow, error) {
	out := []store.EventRow{}
	var kinds stringPool
	for c.nextRow() {
		e := store.EventRow{Position: c.st.Int(0), ID: session.EventID(c.st.Text(1)), SessionID: id, Seq: c.st.Int(3)}
		stored := c.st.Text(2)
		if id == "" {
			if e.SessionID = session.ID(stored); e.Position <= position {
				c.err = &store.Damage{Seq: -1, Detail: fmt.Sprintf("position %d follows %d", e.Position, position)}
				break
			}
			position = e.Position
		}
		e.Kind, e.Version = session.Kind(kinds.readText(c, 4)), int(c.st.Int(5))
		e.Data, e.Private = c.copyBytes(7), c.copyBytes(8)
		if c.st.Int(6) != r.sumEvent(&e) || stored != string(e.SessionID) {
			if id == "" {
				continue
			}
			c.err = newDamage(e.SessionID, e.Seq, "event")
			break
		}
		out = append(out, e)
	}
	if err := c.endCall("read events of", cmp.Or(id, "all sessions")); err != nil {
		return nil, err
	}
	return out, nil
}

const feedHead = `SELECT ` + lastPosition

func (r *Reader) lastPosition() (int64, error) {
	c := r.prepare(feedHead)
	var head int64
	if c.nextRow() {
		head = c.st.Int(0)
	}
	return head, c.endCall("read head of", "all sessions")
}

// The newest events may have been deleted with their session: meta keeps their position.
const lastPosition = `max(coalesce((SELECT max(position) FROM event), 0),
	(SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'position'))`

// No AUTOINCREMENT: its counter is one more page to write per commit.
const lastEvent = `SELECT ` + lastPosition + `, coalesce((SELECT max(seq) FROM event WHERE session = ?1), -1)`

// INSERT ... SELECT of the table itself, and RETURNING, would copy the row to a temporary table first.
const insertEvent = `INSERT INTO event (session, id, position, seq, session_id, kind, version, crc, data, private)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`

// InsertEvent implements store.EventWriter.
func (t *Tx) InsertEvent(e store.EventRow) (position int64, err error) {
	// Sessions have small numbers in the store. An event that outlives its session has none.
	var number int64
	if !e.Kind.OutlivesSession() {
		if number, err = t.ensureNumber(e.SessionID); err != nil {
			return 0, err
		}
	}
	// The position follows the newest of all events, the seq the newest of the session.
	last, err := t.findLastEvent(number)
	if err != nil {
		return 0, fmt.Errorf("insert event %s: %w", e.ID, err)
	}
	position = last.position + 1
	if number == 0 {
		number = -position // an event that outlives its session belongs to no session number
	} else if e.Seq != last.seq+1 && !(last.seq < 0 && e.Kind == session.KindCreated) {
		return 0, fmt.Errorf("insert event %s: seq is %d, must be %d", e.ID, e.Seq, last.seq+1)
	}
	// Insert it with a checksum over everything that is stored of it.
	c := t.prepareNumber(insertEvent, number, nil)
	c.bindText(string(e.ID))
	c.bindInt(position)
	c.bindInt(e.Seq)
	c.bindText(string(e.SessionID))
	c.bindText(string(e.Kind))
	c.bindInt(int64(e.Version))
	c.bindInt(t.sumEvent(&e))
	c.bindJSON(e.Data)
	c.bindJSON(e.Private)
	if _, err := c.run("insert event", e.ID); err != nil {
		return 0, err
	}
	t.inserted = eventLocation{number, position, e.Seq}
	return position, nil
}

// eventLocation is the position of an event in the log, and its seq in the session with the number.
type eventLocation struct {
	number, position, seq int64
}

// findLastEvent returns the newest position, and the newest seq of the session; -1 if it has no events. Events that one
// transaction inserts follow one another, so that only the first needs a search.
func (t *Tx) findLastEvent(number int64) (eventLocation, error) {
	if number > 0 && number == t.inserted.number {
		return t.inserted, nil
	}
	out := eventLocation{number: number, seq: -1}
	c := t.prepareNumber(lastEvent, number, nil)
	if c.nextRow() {
		out.position, out.seq = c.st.Int(0), c.st.Int(1)
	}
	return out, c.endCall("read the newest event of", number)
}

// stringPool shares one string among equal column values.
type stringPool struct {
	strings map[string]string
	buf     []byte
}

func (k *stringPool) readText(c *stmtCall, col int) string {
	n := c.st.Len(col)
	if cap(k.buf) < n {
		k.buf = make([]byte, max(n, 64))
	}
	k.buf = k.buf[:n]
	c.st.Bytes(col, k.buf)
	if s, ok := k.strings[string(k.buf)]; ok {
		return s
	}
	if k.strings == nil {
		k.strings = map[string]string{}
	}
	s := string(k.buf)
	k.strings[s] = s
	return s
}
