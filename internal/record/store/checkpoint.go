package store

import "github.com/cairn-dev/cairn/internal/session"

// CheckpointSeq returns the seq that a store keeps with a message put through a seq: checkpoints after it may
// change the message. It is 0 if no checkpoint can.
func CheckpointSeq(m session.Message, through int64) int64 {
	if a, ok := m.(*session.Assistant); ok && a.IsStreaming() {
		return through
	}
	return 0
}

// ApplyCheckpoints applies to a stored turn the checkpoints after the seq through which it was put.
func ApplyCheckpoints(r EventReader, id session.ID, a *session.Assistant, through int64) error {
	rows, err := r.Events(id, through, 0, session.KindItemCheckpointed)
	if err != nil {
		return err
	}
	cs := make([]*session.ItemCheckpointed, 0, len(rows))
	for _, row := range rows {
		d, err := session.DecodeData(row.Kind, row.Version, row.Data)
		if err != nil {
			return &Damage{SessionID: id, Seq: row.Seq, Detail: err.Error()}
		}
		if c, ok := d.(*session.ItemCheckpointed); ok {
			cs = append(cs, c)
		}
	}
	a.Checkpoint(cs...)
	return nil
}
