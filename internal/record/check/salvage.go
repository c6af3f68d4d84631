package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Salvage reports the recovered and the lost parts of a damaged store.
type Salvage struct {
	Home     string            `json:"home"` // the new one, to be used as CAIRN_HOME
	Events   int               `json:"events"`
	Sessions []SalvagedSession `json:"sessions"`
	Lost     []string          `json:"lost"` // what belongs to no session that is known
}

// SalvagedSession reports the recovered part of a session: its events up to the first that is lost.
type SalvagedSession struct {
	SessionID session.ID `json:"sessionID"`
	Title     string     `json:"title,omitzero"`
	Events    int        `json:"events"` // kept
	Lost      []string   `json:"lost"`
}

// IsComplete reports whether nothing was lost.
func (s *Salvage) IsComplete() bool {
	for _, one := range s.Sessions {
		if len(one.Lost) > 0 {
			return false
		}
	}
	return len(s.Lost) == 0
}

// NewSalvage says what was salvaged into a store and lost of each session.
func NewSalvage(ctx context.Context, s store.Store, losses []store.Loss) (*Salvage, error) {
	events, err := countSalvaged(ctx, s)
	if err != nil {
		return nil, err
	}
	lost := map[session.ID][]string{}
	for _, l := range losses {
		lost[l.SessionID] = append(lost[l.SessionID], describeLoss(l))
		if l.SessionID != "" {
			events[l.SessionID] += 0
		}
	}
	out := &Salvage{Sessions: []SalvagedSession{}, Lost: append([]string{}, lost[""]...)}
	for id, n := range events {
		one := SalvagedSession{SessionID: id, Events: n, Lost: append([]string{}, lost[id]...)}
		if n > 0 {
			if one.Title, err = titleOf(ctx, s, id); err != nil {
				return nil, fmt.Errorf("read session %s: %w", id, err)
			}
		}
		out.Events += one.Events
		out.Sessions = append(out.Sessions, one)
	}
	slices.SortFunc(out.Sessions, func(a, b SalvagedSession) int {
		return strings.Compare(string(a.SessionID), string(b.SessionID))
	})
	return out, nil
}

func describeLoss(l store.Loss) string {
	if l.FromSeq < 0 {
		return l.Detail
	}
	text := fmt.Sprintf("from event %d on: %s", l.FromSeq, l.Detail)
	if l.Readable > 0 {
		text += fmt.Sprintf("; %d later events can be read but not be salvaged", l.Readable)
	}
	return text
}

// feedPage bounds the events that one read transaction returns.
const feedPage = 256

// countSalvaged returns the number of events of each session that has some.
func countSalvaged(ctx context.Context, s store.Store) (map[session.ID]int, error) {
	counts := map[session.ID]int{}
	for after, more := int64(0), true; more; {
		err := s.View(ctx, func(r store.Reader) error {
			rows, err := r.Events("", after, feedPage)
			more = len(rows) == feedPage
			for _, row := range rows {
				if after = row.Position; row.Kind != session.KindDeleted {
					counts[row.SessionID]++
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return counts, nil
}

func titleOf(ctx context.Context, s store.Store, id session.ID) (title string, err error) {
	err = s.View(ctx, func(r store.Reader) error {
		row, ok, err := r.Session(id)
		if ok {
			title = row.Title
		}
		return err
	})
	return title, err
}
