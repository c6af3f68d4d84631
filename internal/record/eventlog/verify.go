package eventlog

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// verifiedSet holds the sessions whose log was verified before the first append of this process. The zero value is
// ready for use.
type verifiedSet struct {
	mu  sync.Mutex // guards ids
	ids map[session.ID]struct{}
}

// maxVerified bounds the set. Sessions dropped from it are verified once more.
const maxVerified = 4096

func (l *verifiedSet) contains(id session.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.ids[id]
	return ok
}

func (l *verifiedSet) add(id session.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ids == nil || len(l.ids) >= maxVerified {
		l.ids = map[session.ID]struct{}{}
	}
	l.ids[id] = struct{}{}
}

// lookBack is the number of the newest events that are read before the first append.
const lookBack = 16

// VerifyTail verifies once, at bounded cost, that the session's log ends as it was written: a reader that is at its end
// has read all events. It returns a *store.Damage otherwise.
func (l *Log) VerifyTail(r store.Reader, id session.ID) error {
	if l.verified.contains(id) {
		return nil
	}
	head, err := r.Head(id)
	if err != nil {
		return err
	}
	return l.verifyTail(r, id, head)
}

// verifyTail is VerifyTail, called before the first append, so that nothing is appended after damage. Older damage is
// found by the reads that encounter it (store.DamageTracker).
func (l *Log) verifyTail(r store.Reader, id session.ID, head int64) error {
	if l.verified.contains(id) {
		return nil
	}
	if head < 0 {
		if _, ok, err := r.Session(id); err != nil || ok {
			return cmp.Or(err, error(&store.Damage{SessionID: id, Seq: 0, Detail: "all events are missing"}))
		}
	} else {
		if _, err := DecodeAll(r.Events(id, head-lookBack, 0)); err != nil {
			return err
		}
		if err := checkRowsBeyondHead(r, id, head); err != nil {
			return err
		}
	}
	l.verified.add(id)
	return nil
}

// checkRowsBeyondHead returns a *store.Damage if rows of the session belong to events after its newest event: these
// events are lost.
func checkRowsBeyondHead(r store.Reader, id session.ID, head int64) error {
	lost := func(seq int64, what string) error {
		return &store.Damage{
			SessionID: id, Seq: seq, Detail: fmt.Sprintf("the log ends at seq %d, before %s", head, what),
		}
	}
	// Each kind of row names the event that made it. Messages:
	ms, err := store.ReadRawMessages(r, id, store.MessageQuery{After: head, Limit: 1})
	if err != nil {
		return err
	}
	if len(ms) > 0 {
		return lost(ms[0].Seq, "the newest message")
	}
	// Prompts that wait:
	ins, err := store.PendingInputs(r, id, "", 0)
	if err != nil {
		return err
	}
	for _, in := range ins {
		if in.AdmittedSeq > head {
			return lost(in.AdmittedSeq, "the newest prompt")
		}
	}
	// Asks that wait:
	asks, err := r.Asks(store.AskQuery{SessionID: id, Pending: true})
	if err != nil {
		return err
	}
	for _, a := range asks {
		if a.Seq > head {
			return lost(a.Seq, "the newest ask")
		}
	}
	return checkTurnEnd(r, id, lost)
}

// checkTurnEnd returns a *store.Damage if the newest turn has ended but the log has no event for its end.
func checkTurnEnd(r store.Reader, id session.ID, lost func(int64, string) error) error {
	m, ok, err := store.NewestMessage(r, id, session.TypeAssistant)
	if err != nil || !ok {
		return err
	}
	if a, ok := m.(*session.Assistant); !ok || a.Open() {
		return nil
	}
	seq := m.Meta().Seq
	ends, err := r.Events(id, seq-1, 1, session.KindStepEnded, session.KindStepFailed, session.KindMessageImported,
		session.KindMessagesCopied)
	if err == nil && len(ends) == 0 {
		err = lost(seq, "the newest turn ended")
	}
	return err
}
