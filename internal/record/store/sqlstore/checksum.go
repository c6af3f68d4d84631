package sqlstore

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// The canonical bytes of a row are its table's name and key fields, then the stored bytes of its data. Texts are
// preceded by their length; numbers have eight bytes, little-endian.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendText[S ~string](b []byte, s S) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s)))
	return append(b, s...)
}

func appendInt(b []byte, v int64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(v)) }

func checksumOf(key []byte, data ...[]byte) int64 {
	c := crc32.Update(0, castagnoli, key)
	for _, d := range data {
		c = crc32.Update(c, castagnoli, d)
	}
	return int64(c)
}

// Checksum returns the CRC32C of an event: over its session, seq, kind, version, id, data and private part.
func Checksum(row *store.EventRow) int64 {
	var r Reader
	return r.sumEvent(row)
}

func (r *Reader) sumEvent(e *store.EventRow) int64 {
	k := appendText(r.key[:0], "event")
	k = appendText(k, e.SessionID)
	k = appendInt(k, e.Seq)
	k = appendText(k, e.Kind)
	k = appendInt(k, int64(e.Version))
	k = appendText(k, e.ID)
	r.key = appendInt(k, int64(len(e.Data)))
	return checksumOf(r.key, e.Data, e.Private)
}

func (r *Reader) sumSession(id session.ID, data []byte) int64 {
	r.key = appendText(appendText(r.key[:0], "session"), id)
	return checksumOf(r.key, data)
}

func (r *Reader) sumMessage(id session.ID, m *store.RawMessage, through int64) int64 {
	k := appendText(appendText(r.key[:0], "message"), id)
	k = appendInt(k, m.Seq)
	k = appendText(k, m.ID)
	k = appendText(k, m.Type)
	r.key = appendInt(k, through)
	return checksumOf(r.key, m.Data)
}

func (r *Reader) sumInput(id session.MessageID, data []byte) int64 {
	r.key = appendText(appendText(r.key[:0], "input"), id)
	return checksumOf(r.key, data)
}

func (r *Reader) sumAsk(id session.AskID, data []byte) int64 {
	r.key = appendText(appendText(r.key[:0], "ask"), id)
	return checksumOf(r.key, data)
}

func (r *Reader) sumEpoch(id session.ID, e *store.Epoch) int64 {
	k := appendText(appendText(r.key[:0], "epoch"), id)
	k = appendInt(appendInt(k, e.BaselineSeq), e.Revision)
	r.key = appendText(k, e.Baseline)
	return checksumOf(r.key, e.Snapshot)
}

func (r *Reader) sumApproval(a *store.Approval) int64 {
	k := appendText(appendText(r.key[:0], "approval"), a.ID)
	k = appendText(appendText(appendText(k, a.RecordID), a.Action), a.Resource)
	k = appendInt(k, a.Time)
	if a.Lifetime != session.LifetimeProject { // a row from before lifetimes keeps its checksum
		k = appendText(appendText(k, a.Lifetime), a.Holder)
	}
	r.key = k
	return checksumOf(r.key)
}

func (r *Reader) sumProject(id session.RecordID, data []byte) int64 {
	r.key = appendText(appendText(r.key[:0], "project"), id)
	return checksumOf(r.key, data)
}

func (r *Reader) sumSpend(id session.ID, seq int64, data []byte) int64 {
	r.key = appendInt(appendText(appendText(r.key[:0], "spend"), id), seq)
	return checksumOf(r.key, data)
}
