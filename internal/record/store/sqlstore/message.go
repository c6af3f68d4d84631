package sqlstore

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

const messageColumns = `SELECT id, place & 4294967295, type, through, crc, data`

const getMessage = messageColumns + `, place >> 32 FROM message WHERE id = ?1`

// Message implements store.MessageReader.
func (r *Reader) Message(m session.MessageID) (owner session.ID, found session.Message, err error) {
	c := r.prepare(getMessage)
	c.bindText(string(m))
	if c.nextRow() {
		if owner, c.err = r.findSession(c.st.Int(6)); c.err == nil && owner != "" {
			var row store.RawMessage
			if c.err = r.readMessage(&c, owner, &row); c.err == nil {
				found, c.err = row.Message()
			}
		}
	}
	return owner, found, c.endCall("read message", m)
}

// Messages are selected by their place, or by type or call, which an index carries. Assistant messages are the most by
// far and are in no index by type: every commit of a turn would write one more page.
const (
	fromMessages = messageColumns + ` FROM message WHERE `
	ofSession    = `place >= ?1 << 32 AND place < (?1 + 1) << 32`
	between      = `place > (?1 << 32) + ?2 AND place < (?1 << 32) + ?3`
	ofType       = `place >> 32 = ?1 AND type = ?5 AND type <> 'assistant'
		AND +place > (?1 << 32) + ?2 AND +place < (?1 << 32) + ?3`
	ofCall      = ofType + ` AND call_id = ?6`
	ofAssistant = between + ` AND type = ?5`
	fromOldest  = ` ORDER BY place LIMIT ?4 + 0`
	fromNewest  = ` ORDER BY place DESC LIMIT ?4 + 0`
)

// messagesSQL returns the statement of the query.
func messagesSQL(q store.MessageQuery) string {
	switch {
	case q.CallID != "" && q.Newest:
		return fromMessages + ofCall + fromNewest
	case q.CallID != "":
		return fromMessages + ofCall + fromOldest
	case q.Type == session.TypeAssistant && q.Newest:
		return fromMessages + ofAssistant + fromNewest
	case q.Type == session.TypeAssistant:
		return fromMessages + ofAssistant + fromOldest
	case q.Type != "" && q.Newest:
		return fromMessages + ofType + fromNewest
	case q.Type != "":
		return fromMessages + ofType + fromOldest
	case q.Newest:
		return fromMessages + between + fromNewest
	default:
		return fromMessages + between + fromOldest
	}
}

// RawMessages implements store.MessageReader.
func (r *Reader) RawMessages(id session.ID, q store.MessageQuery, f func(*store.RawMessage) error) error {
	before := q.Before
	if before == 0 {
		before = seqs
	}
	// Bind in the order of the conditions that messagesSQL writes.
	c := r.prepareFor(messagesSQL(q), id)
	c.bindSeq(q.After)
	c.bindSeq(before)
	c.bindLimit(q.Limit)
	if q.CallID != "" {
		q.Type = session.TypeShell
	}
	if q.Type != "" {
		c.bindText(string(q.Type))
	}
	if q.CallID != "" {
		c.bindText(q.CallID)
	}
	// Visit the rows in the same memory.
	var row store.RawMessage
	read := messageScan{after: q.After, before: before}
	for c.nextRow() {
		if c.err = r.readMessage(&c, id, &row); c.err == nil {
			read.add(&row)
			c.err = f(&row)
		}
	}
	// Check that no row is missing in the range that was read. With a type that cannot be known.
	if err := c.endCall("read messages of", id); err != nil || q.Type != "" {
		return err
	}
	if q.Limit > 0 && read.rows == q.Limit {
		read.endAt(row.Seq, q.Newest)
	}
	return r.checkMessages(id, read)
}

// messageScan is the result of a scan of a session's messages between two seqs.
type messageScan struct {
	after, before int64
	rows          int
	indexed       int64 // rows that message_by_type holds too
}

func (m *messageScan) add(row *store.RawMessage) {
	m.rows++
	if row.Type != session.TypeAssistant {
		m.indexed++
	}
}

// endAt ends the range at the last row, where the limit ended the scan.
func (m *messageScan) endAt(seq int64, newest bool) {
	if newest {
		m.after = seq - 1
	} else {
		m.before = seq + 1
	}
}

const countIndexed = `SELECT count(*) FROM message INDEXED BY message_by_type
	WHERE place >> 32 = ?1 AND type IN (SELECT value FROM json_each(?4)) AND type <> 'assistant'
		AND place > (?1 << 32) + ?2 AND place < (?1 << 32) + ?3`

// indexedTypes are the types of messages in message_by_type.
const indexedTypes = `["user","synthetic","system","shell","agent-switched","model-switched","compaction"]`

// checkMessages returns a *store.Damage if the index has another number of messages in the range than the table: SQLite
// skips the rows of a damaged page without an error. Answers are in no index, and their loss alone is not noticed.
func (r *Reader) checkMessages(id session.ID, read messageScan) error {
	c := r.prepareFor(countIndexed, id)
	c.bindSeq(read.after)
	c.bindSeq(read.before)
	c.bindText(indexedTypes)
	var want int64
	if c.nextRow() {
		want = c.st.Int(0)
	}
	err := c.endCall("count messages of", id)
	if err == nil && want != read.indexed {
		err = &store.Damage{
			SessionID: id, Seq: max(read.after, -1) + 1,
			Detail: fmt.Sprintf("the index has %d messages that are no answers, the table %d", want, read.indexed),
		}
	}
	return err
}

// readMessage reads a row of messageColumns and applies the checkpoints that belong to it. The data is valid until
// the next row.
func (r *Reader) readMessage(c *stmtCall, id session.ID, row *store.RawMessage) error {
	*row = store.RawMessage{
		ID: session.MessageID(c.st.Text(0)), Seq: c.st.Int(1), Type: session.MessageType(r.types.readText(c, 2)),
		Data: r.copyScratch(c, 5),
	}
	through := c.st.Int(3)
	if c.st.Int(4) != r.sumMessage(id, row, through) {
		return newDamage(id, row.Seq, "message")
	}
	if through == 0 {
		return nil
	}
	a, err := decode[session.Assistant](row.Data)
	if err != nil {
		return err
	}
	if err := store.ApplyCheckpoints(r, id, a, through); err != nil {
		return err
	}
	row.Data, err = encode(a)
	return err
}

const updateMessage = `UPDATE message SET call_id = ?5, through = ?6, crc = ?7, data = ?8
	WHERE id = ?3 AND place = (?1 << 32) + ?2 AND type = ?4`

const ownerOfMessage = `SELECT session_id FROM message JOIN numbered ON number = place >> 32 WHERE id = ?1`

const insertMessage = `INSERT INTO message (place, id, type, call_id, through, crc, data)
	VALUES ((?1 << 32) + ?2, ?3, ?4, ?5, ?6, ?7, ?8)
	ON CONFLICT DO NOTHING`

// messageRow is a message with the columns that select it.
type messageRow struct {
	store.RawMessage
	callID  string
	through int64
}

func newMessageRow(m session.Message, stored []byte, through int64) *messageRow {
	head := m.Meta()
	row := &messageRow{
		store.RawMessage{ID: head.ID, Seq: head.Seq, Type: head.Type, Data: stored}, "", store.CheckpointSeq(m, through),
	}
	if sh, ok := m.(*session.Shell); ok {
		row.callID = sh.CallID
	}
	return row
}

// PutMessage implements store.MessageWriter.
func (t *Tx) PutMessage(id session.ID, m session.Message, stored jsontext.Value, through int64) (err error) {
	if stored == nil {
		if stored, err = session.EncodeMessage(m); err != nil {
			return fmt.Errorf("put: %w", err)
		}
	}
	row := newMessageRow(m, stored, through)
	if through == row.Seq { // it is likely new
		if inserted, err := t.putMessage(insertMessage, id, row); err != nil || inserted {
			return err
		}
	}
	updated, err := t.putMessage(updateMessage, id, row)
	if err != nil || updated {
		return err
	}
	inserted, err := t.putMessage(insertMessage, id, row)
	if err != nil || inserted {
		return err
	}
	return t.checkMessageID(id, m.Meta())
}

// checkMessageID returns why a message cannot be inserted: its id is used, by another session or in this one with
// another seq or type, or its seq.
func (t *Tx) checkMessageID(id session.ID, head *session.Head) error {
	c := t.prepare(ownerOfMessage)
	c.bindText(string(head.ID))
	var owner session.ID
	used := c.nextRow()
	if used {
		owner = session.ID(c.st.Text(0))
	}
	if err := c.endCall("put message", head.ID); err != nil {
		return err
	}
	if used && owner != id {
		return session.Conflict("message", string(head.ID), "is used by another session")
	}
	return fmt.Errorf("put message %s: the id or the seq %d is that of another message", head.ID, head.Seq)
}

func (t *Tx) putMessage(sql string, id session.ID, row *messageRow) (bool, error) {
	c := t.prepareInsert(sql, id)
	c.bindPlace(row.Seq)
	c.bindText(string(row.ID))
	c.bindText(string(row.Type))
	c.bindText(row.callID)
	c.bindInt(row.through)
	c.bindInt(t.sumMessage(id, &row.RawMessage, row.through))
	c.bindJSON(row.Data)
	return c.run("put message", row.ID)
}

const deleteMessages = `DELETE FROM message WHERE ` + between

// DeleteMessages implements store.MessageWriter.
func (t *Tx) DeleteMessages(id session.ID, after, before int64) error {
	if before == 0 {
		before = seqs
	}
	c := t.prepareFor(deleteMessages, id)
	c.bindSeq(after)
	c.bindSeq(before)
	_, err := c.run("delete messages of", id)
	return err
}
