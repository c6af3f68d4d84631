package sqlstore

import (
	"fmt"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

const (
	spendColumns = `SELECT session_id, place & 4294967295, crc, data FROM spend JOIN numbered ON number = place >> 32 `

	spentOf  = spendColumns + `WHERE ` + ofSession + ` AND time >= ?2 ORDER BY time, place`
	spentAll = spendColumns + `WHERE ?1 = 0 AND time >= ?2 ORDER BY time, session_id, place`
)

// Spent implements store.SpendReader.
func (r *Reader) Spent(id session.ID, since int64) ([]store.Spend, error) {
	sql := spentOf
	if id == "" {
		sql = spentAll
	}
	c := r.prepareFor(sql, id)
	c.bindInt(since)
	out := []store.Spend{}
	for c.nextRow() {
		owner, seq, data := session.ID(c.st.Text(0)), c.st.Int(1), r.copyScratch(&c, 3)
		if c.st.Int(2) != r.sumSpend(owner, seq, data) {
			if id == "" {
				continue
			}
			c.err = newDamage(owner, seq, "a line of the spend")
			break
		}
		s, err := decode[store.Spend](data)
		if err != nil {
			c.err = err
			break
		}
		out = append(out, *s)
	}
	if err := c.endCall("read spend of", id); err != nil {
		return nil, err
	}
	return out, nil
}

const addSpend = `INSERT INTO spend (place, time, crc, data) VALUES ((?1 << 32) + ?2, ?3, ?4, ?5)
	ON CONFLICT (place) DO NOTHING`

// AddSpend implements store.SpendWriter.
func (t *Tx) AddSpend(s store.Spend) error {
	data, err := encode(s)
	if err != nil {
		return fmt.Errorf("add spend of %s: %w", s.SessionID, err)
	}
	c := t.prepareInsert(addSpend, s.SessionID)
	c.bindPlace(s.Seq)
	c.bindInt(s.Time)
	c.bindInt(t.sumSpend(s.SessionID, s.Seq, data))
	c.bindJSON(data)
	_, err = c.run("add spend of", s.SessionID)
	return err
}
