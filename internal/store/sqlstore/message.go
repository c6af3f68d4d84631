package sqlstore

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

const messageColumns = `SELECT id, place & 4294967295, type, through, crc, data FROM message `

const getMessage = messageColumns + `WHERE id = ?2 AND place >> 32 = ?1`

// Message implements store.MessageReader.
func (r *Reader) Message(id session.ID, m session.MessageID) (session.Message, bool, error) {
	c := r.callOf(getMessage, id)
	c.text(string(m))
	return r.oneMessage(&c, id)
}

// Assistant messages are the most by far, and in no index by type: every commit of a turn would write one more page.
const (
	newestOf        = messageColumns + `WHERE place >> 32 = ?1 AND type = ?2 AND type <> 'assistant' ORDER BY place DESC LIMIT 1`
	newestAssistant = messageColumns + `WHERE ` + ofSession + ` AND type = ?2 ORDER BY place DESC LIMIT 1`
)

// NewestOf implements store.MessageReader.
func (r *Reader) NewestOf(id session.ID, t session.MessageType) (session.Message, bool, error) {
	sql := newestOf
	if t == session.TypeAssistant {
		sql = newestAssistant
	}
	c := r.callOf(sql, id)
	c.text(string(t))
	return r.oneMessage(&c, id)
}

const messageOwner = `SELECT session_id FROM message JOIN numbered ON number = place >> 32 WHERE id = ?1`

// MessageOwner implements store.MessageReader.
func (r *Reader) MessageOwner(m session.MessageID) (session.ID, bool, error) {
	c := r.call(messageOwner)
	c.text(string(m))
	var id session.ID
	if c.next() {
		id = session.ID(c.st.Text(0))
	}
	return id, id != "", c.end("find owner of message", string(m))
}

const shellByCall = messageColumns + `WHERE place >> 32 = ?1 AND type = 'shell' AND type <> 'assistant' AND call_id = ?2 ORDER BY place DESC LIMIT 1`

// ShellByCall implements store.MessageReader.
func (r *Reader) ShellByCall(id session.ID, callID string) (*session.Shell, bool, error) {
	c := r.callOf(shellByCall, id)
	c.text(callID)
	m, ok, err := r.oneMessage(&c, id)
	sh, _ := m.(*session.Shell)
	return sh, ok && sh != nil, err
}

func (r *Reader) oneMessage(c *call, id session.ID) (session.Message, bool, error) {
	var found session.Message
	err := r.eachMessage(c, id, func(row *store.RawMessage) (err error) {
		found, err = opened(row)
		return err
	})
	return found, found != nil, err
}

func opened(row *store.RawMessage) (session.Message, error) {
	m, err := session.DecodeMessageOf(row.Type, row.Data)
	if err != nil {
		return nil, err
	}
	m.Meta().Seq = row.Seq
	return m, nil
}

// eachMessage reads the rows of messageColumns. The row is valid during f only.
func (r *Reader) eachMessage(c *call, id session.ID, f func(*store.RawMessage) error) error {
	var types interned
	var row store.RawMessage
	for c.next() {
		row = store.RawMessage{
			ID: session.MessageID(c.st.Text(0)), Seq: c.st.Int(1), Type: session.MessageType(types.text(c, 2)), Data: r.scratch(c, 5),
		}
		through := c.st.Int(3)
		if c.st.Int(4) != r.sumMessage(id, &row, through) {
			c.err = damaged(id, row.Seq, "message")
			break
		}
		if through > 0 {
			if c.err = r.catchUp(id, &row, through); c.err != nil {
				break
			}
		}
		if c.err = f(&row); c.err != nil {
			break
		}
	}
	return c.end("read messages of", id)
}

// catchUp brings a turn that streams up to date with its checkpoints.
func (r *Reader) catchUp(id session.ID, row *store.RawMessage, through int64) error {
	a, err := decode[session.Assistant](row.Data)
	if err != nil {
		return err
	}
	if err := store.CatchUp(r, id, a, through); err != nil {
		return err
	}
	row.Data, err = encode(a)
	return err
}

const (
	ofSession   = `place >= ?1 << 32 AND place < (?1 + 1) << 32`
	between     = `place > (?1 << 32) + ?2 AND place < (?1 << 32) + ?3`
	messagesOld = messageColumns + `WHERE ` + between + ` ORDER BY place LIMIT ?4 + 0`
	messagesNew = messageColumns + `WHERE ` + between + ` ORDER BY place DESC LIMIT ?4 + 0`
)

func (r *Reader) selectMessages(id session.ID, q store.MessageQuery) call {
	sql := messagesOld
	if q.Newest {
		sql = messagesNew
	}
	before := q.Before
	if before == 0 {
		before = seqs
	}
	c := r.callOf(sql, id)
	c.seq(q.After)
	c.seq(before)
	c.limit(q.Limit)
	return c
}

// Messages implements store.MessageReader.
func (r *Reader) Messages(id session.ID, q store.MessageQuery) ([]session.Message, error) {
	c := r.selectMessages(id, q)
	out := []session.Message{}
	err := r.eachMessage(&c, id, func(row *store.RawMessage) error {
		m, err := opened(row)
		out = append(out, m)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// RawMessages implements store.MessageReader.
func (r *Reader) RawMessages(id session.ID, q store.MessageQuery) ([]store.RawMessage, error) {
	c := r.selectMessages(id, q)
	out := []store.RawMessage{}
	var mem arena
	err := r.eachMessage(&c, id, func(row *store.RawMessage) error {
		m := *row
		m.Data = mem.clone(row.Data)
		out = append(out, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// arena clones small byte slices into shared blocks, so that a page of rows is few allocations. The first block is small, for
// pages of one row.
type arena struct {
	free  []byte
	block int // the size of the newest
}

const (
	leastBlock = 2 << 10
	mostBlock  = 32 << 10
)

func (a *arena) clone(b []byte) []byte {
	if len(b) > mostBlock/4 {
		return append([]byte(nil), b...)
	}
	if len(a.free) < len(b) {
		a.block = max(leastBlock, min(2*a.block, mostBlock), len(b))
		a.free = make([]byte, a.block)
	}
	c := a.free[:len(b):len(b)]
	a.free = a.free[len(b):]
	copy(c, b)
	return c
}

const updateMessage = `UPDATE message SET call_id = ?5, through = ?6, crc = ?7, data = ?8
	WHERE id = ?3 AND place = (?1 << 32) + ?2 AND type = ?4
	RETURNING 1`

const ownerOfMessage = `SELECT session_id FROM message JOIN numbered ON number = place >> 32 WHERE id = ?1`

const insertMessage = `INSERT INTO message (place, id, type, call_id, through, crc, data) VALUES ((?1 << 32) + ?2, ?3, ?4, ?5, ?6, ?7, ?8)`

// messageRow is a message and its columns that are for finding it.
type messageRow struct {
	store.RawMessage
	callID  string
	through int64
}

func rowOf(m session.Message, through int64) (*messageRow, error) {
	head := m.Meta()
	data, err := encode(m)
	if err != nil {
		return nil, fmt.Errorf("put message %s: %w", head.ID, err)
	}
	row := &messageRow{store.RawMessage{ID: head.ID, Seq: head.Seq, Type: head.Type, Data: data}, "", store.Behind(m, through)}
	if sh, ok := m.(*session.Shell); ok {
		row.callID = sh.CallID
	}
	return row, nil
}

// PutMessage implements store.MessageWriter.
func (t *Tx) PutMessage(id session.ID, m session.Message, through int64) error {
	row, err := rowOf(m, through)
	if err != nil {
		return err
	}
	updated, err := t.putMessage(updateMessage, id, row)
	if err != nil || updated {
		return err
	}
	if err := t.freeMessageID(id, m.Meta()); err != nil {
		return err
	}
	_, err = t.putMessage(insertMessage, id, row)
	return err
}

// freeMessageID returns an error if the id is used: by another session, or here with another seq or type.
func (t *Tx) freeMessageID(id session.ID, head *session.Head) error {
	c := t.call(ownerOfMessage)
	c.text(string(head.ID))
	var owner session.ID
	used := c.next()
	if used {
		owner = session.ID(c.st.Text(0))
	}
	if err := c.end("put message", head.ID); err != nil || !used {
		return err
	}
	if owner != id {
		return session.Conflict("message", string(head.ID), "is used by another session")
	}
	return fmt.Errorf("put message %s: seq %d or type %s is not that of the stored message", head.ID, head.Seq, head.Type)
}

func (t *Tx) putMessage(sql string, id session.ID, row *messageRow) (bool, error) {
	c := t.callFor(sql, id)
	c.place(row.Seq)
	c.text(string(row.ID))
	c.text(string(row.Type))
	c.text(row.callID)
	c.int(row.through)
	c.int(t.sumMessage(id, &row.RawMessage, row.through))
	c.json(row.Data)
	return c.run("put message", row.ID)
}

const deleteMessages = `DELETE FROM message WHERE place > (?1 << 32) + ?2 AND place < (?1 + 1) << 32`

// DeleteMessages implements store.MessageWriter.
func (t *Tx) DeleteMessages(id session.ID, after int64) error {
	c := t.callOf(deleteMessages, id)
	c.seq(after)
	_, err := c.run("delete messages of", id)
	return err
}

const deleteMessage = `DELETE FROM message WHERE id = ?1`

// DeleteMessage implements store.MessageWriter.
func (t *Tx) DeleteMessage(m session.MessageID) error {
	c := t.call(deleteMessage)
	c.text(string(m))
	_, err := c.run("delete message", m)
	return err
}
