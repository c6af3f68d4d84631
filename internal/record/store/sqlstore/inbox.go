package sqlstore

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

const inputColumns = `SELECT id, session_id, crc, data FROM input JOIN numbered ON number = session `

const getInput = inputColumns + `WHERE id = ?1`

// Two statements, because SQLite plans one with (?2 = ” OR …) again whenever ?2 changes.
const (
	pending = inputColumns + `WHERE session = ?1 AND promoted_seq IS NULL
	ORDER BY rank, admitted_seq, id LIMIT ?2 + 0`
	pendingOf = inputColumns + `WHERE session = ?1 AND promoted_seq IS NULL AND delivery = ?3
	ORDER BY rank, admitted_seq, id LIMIT ?2 + 0`
)

// Inputs implements store.InboxReader.
func (r *Reader) Inputs(q store.InputQuery) ([]*session.Input, error) {
	if q.ID != "" {
		c := r.prepare(getInput)
		c.bindText(string(q.ID))
		return r.readInputs(&c, q.ID)
	}
	sql := pending
	if q.Delivery != "" {
		sql = pendingOf
	}
	c := r.prepareFor(sql, q.SessionID)
	c.bindLimit(q.Limit)
	if q.Delivery != "" {
		c.bindText(string(q.Delivery))
	}
	return r.readInputs(&c, q.SessionID)
}

func (r *Reader) readInputs(c *stmtCall, about any) ([]*session.Input, error) {
	out := []*session.Input{}
	for c.nextRow() {
		id, data := session.MessageID(c.st.Text(0)), r.copyScratch(c, 3)
		if c.st.Int(2) != r.sumInput(id, data) {
			c.err = newDamage(session.ID(c.st.Text(1)), -1, "input "+string(id))
			break
		}
		in, err := decode[session.Input](data)
		if err != nil {
			c.err = err
			break
		}
		out = append(out, in)
	}
	if err := c.endCall("read inbox", about); err != nil {
		return nil, err
	}
	return out, nil
}

const upsertInput = `INSERT INTO input (session, id, delivery, admitted_seq, promoted_seq, rank, crc, data)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
	ON CONFLICT (id) DO UPDATE SET delivery = ?3, admitted_seq = ?4, promoted_seq = ?5, rank = ?6, crc = ?7, data = ?8
		WHERE session = ?1`

// PutInput implements store.InboxWriter.
func (t *Tx) PutInput(in *session.Input) error {
	data, err := encode(in)
	if err != nil {
		return fmt.Errorf("put input %s: %w", in.ID, err)
	}
	c := t.prepareInsert(upsertInput, in.SessionID)
	c.bindText(string(in.ID))
	c.bindText(string(in.Delivery))
	c.bindInt(in.AdmittedSeq)
	if in.PromotedSeq == nil {
		c.bindJSON(nil)
	} else {
		c.bindInt(*in.PromotedSeq)
	}
	c.bindInt(in.Order)
	c.bindInt(t.sumInput(in.ID, data))
	c.bindJSON(data)
	put, err := c.run("put input", in.ID)
	if err == nil && !put {
		return session.Conflict("input", string(in.ID), "is used by another session")
	}
	return err
}

const deleteInput = `DELETE FROM input WHERE id = ?1`

// DeleteInput implements store.InboxWriter.
func (t *Tx) DeleteInput(m session.MessageID) error {
	c := t.prepare(deleteInput)
	c.bindText(string(m))
	_, err := c.run("delete input", m)
	return err
}

const getEpoch = `SELECT baseline, baseline_seq, snapshot, revision, crc FROM epoch WHERE session = ?1`

// Epoch implements store.EpochReader.
func (r *Reader) Epoch(id session.ID) (*store.Epoch, bool, error) {
	c := r.prepareFor(getEpoch, id)
	var e *store.Epoch
	if c.nextRow() {
		e = &store.Epoch{
			Baseline: c.st.Text(0), BaselineSeq: c.st.Int(1), Snapshot: c.copyBytes(2), Revision: c.st.Int(3),
		}
		if c.st.Int(4) != r.sumEpoch(id, e) {
			c.err = newDamage(id, -1, "the context epoch")
		}
	}
	if err := c.endCall("read epoch of", id); err != nil {
		return nil, false, err
	}
	return e, e != nil, nil
}

const upsertEpoch = `INSERT INTO epoch (session, baseline, baseline_seq, snapshot, revision, crc)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6)
	ON CONFLICT (session) DO UPDATE SET baseline = ?2, baseline_seq = ?3, snapshot = ?4, revision = ?5, crc = ?6`

const deleteEpoch = `DELETE FROM epoch WHERE session = ?1`

// PutEpoch implements store.EpochWriter.
func (t *Tx) PutEpoch(id session.ID, e *store.Epoch) error {
	if e == nil {
		c := t.prepareFor(deleteEpoch, id)
		_, err := c.run("delete epoch of", id)
		return err
	}
	c := t.prepareInsert(upsertEpoch, id)
	c.bindText(e.Baseline)
	c.bindInt(e.BaselineSeq)
	c.bindJSON(e.Snapshot)
	c.bindInt(e.Revision)
	c.bindInt(t.sumEpoch(id, e))
	_, err := c.run("put epoch of", id)
	return err
}
