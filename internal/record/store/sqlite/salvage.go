package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlstore"
	"github.com/cairn-dev/cairn/internal/session"
)

// SalvageReport is the result of Salvage.
type SalvageReport struct {
	Sessions int // with at least one event
	Events   int
	Lost     []store.Loss
}

// Salvage copies the readable data of the damaged database in the folder from to a new one in the folder to, which
// must not have a database: the events of every session up to the first missing or damaged one, the spend of
// deleted sessions, and saved approvals. Rows made from events are not copied; project makes them again for each
// event before it is inserted. An event for which project fails counts as damaged. Nothing in from is changed.
func Salvage(
	ctx context.Context, from, to string, project func(store.Tx, store.EventRow) error,
) (*SalvageReport, error) {
	// Check both folders before anything is written.
	src, err := findHome(Config{Dir: from, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	if dst, err := findHome(Config{Dir: to}); err != nil || dst.exists() {
		return nil, errors.Join(err, fmt.Errorf("salvage: %s must be a folder without a database", to))
	}
	// Open what is left. The database is read from a copy, so that SQLite repairs nothing in place.
	scratch := filepath.Join(to, "salvaging")
	defer func() { _ = os.RemoveAll(scratch) }() // a copy
	record := readCommitRecord(src.dir)          // before the rows: a process that owns the folder may commit meanwhile
	conn, err := src.openDamaged(scratch, record)
	if err != nil {
		return nil, fmt.Errorf("salvage %s: %w; %s", src.path, err, src.listBackups())
	}
	defer conn.Close()
	// Copy into a new database, and report what is lost.
	out, err := Open(ctx, Config{Dir: to, Version: "salvage"})
	if err != nil {
		return nil, err
	}
	s := &salvage{
		from: conn, to: out, project: project, found: map[session.ID][]eventPosition{}, kept: map[session.ID]bool{},
	}
	if _, err := record.findMissing(conn, src.dir); errors.Is(err, store.ErrDamaged) {
		s.addLoss(store.Loss{FromSeq: -1, Detail: err.Error()})
	}
	err = s.run(ctx)
	return &s.report, errors.Join(err, out.Close())
}

type salvage struct {
	from     dbConn
	to       *Store
	project  func(store.Tx, store.EventRow) error
	found    map[session.ID][]eventPosition
	kept     map[session.ID]bool // those with at least one event
	projects []store.Project     // that were copied
	report   SalvageReport
}

// eventPosition is the seq and the position of a readable event.
type eventPosition struct {
	seq, position int64
	creates       bool // the session
}

func (s *salvage) run(ctx context.Context) error {
	s.scan(ctx)
	s.reportMissing()
	if err := s.copyProjects(ctx); err != nil {
		return err
	}
	ids := make([]session.ID, 0, len(s.found))
	for id := range s.found {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b session.ID) int { // in the order in which they began
		return int(min(max(s.found[a][0].position-s.found[b][0].position, -1), 1))
	})
	for _, id := range ids {
		if err := s.copySession(ctx, id); err != nil {
			return err
		}
	}
	if err := s.dropIncompleteForks(ctx); err != nil {
		return fmt.Errorf("salvage: %w", err)
	}
	return s.copyRest(ctx)
}

// incompleteForks are the salvaged sessions that do not have all messages that they copied from another one.
const incompleteForks = `SELECT session_id FROM event AS created
	WHERE kind = 'session.created' AND coalesce(json_extract(data, '$.copied'), 0) <> (
		SELECT coalesce(sum(json_array_length(data, '$.messages')), 0) FROM event
		WHERE session = created.session AND kind = 'session.next.messages.copied')`

// dropIncompleteForks removes forks that lost messages which they copied: nothing that follows these can be salvaged,
// and the source may still have them.
func (s *salvage) dropIncompleteForks(ctx context.Context) error {
	c, err := s.to.pool.acquireConn(ctx)
	if err != nil {
		return err
	}
	var ids []session.ID
	err = query(c, incompleteForks, func(r row) { ids = append(ids, session.ID(r.Text(0))) })
	s.to.pool.releaseConn(c)
	for _, id := range ids {
		if err != nil {
			return err
		}
		s.addLoss(store.Loss{SessionID: id, FromSeq: 0, Detail: "the messages that it copied from another session cannot be read"})
		delete(s.kept, id)
		s.report.Sessions--
		err = s.to.Update(ctx, store.Durable, func(tx store.Tx) error {
			events, err := tx.Events(id, -1, 0)
			s.report.Events -= len(events)
			return errors.Join(err, tx.DeleteSession(id))
		})
	}
	return err
}

// scan finds the readable events by position and skips pages that cannot be read.
func (s *salvage) scan(ctx context.Context) {
	last, gap := int64(0), int64(0)
	end, err := queryInt(s.from, "SELECT coalesce(max(position), 0) FROM event NOT INDEXED")
	if err != nil {
		end = 1 << 40 // unknown; the growing steps below reach the end soon
	}
	for last+gap < end && ctx.Err() == nil {
		next, rows, err := s.scanPage(last + gap)
		switch {
		case next > last+gap:
			last, gap = next, 0
		case err == nil && rows == 0:
			return // the end
		default:
			gap += max(1, gap/64) // single positions first, then growing steps across wide damage
		}
	}
}

// reportMissing reports events that an index still has but that cannot be read, and sessions without a readable
// event.
func (s *salvage) reportMissing() {
	_ = query(s.from, `SELECT session_id, newest FROM (SELECT session, max(seq) AS newest FROM event GROUP BY session)
		JOIN numbered ON number = session`, func(r row) { // best effort
		id, head := session.ID(r.Text(0)), r.Int(1)
		last := int64(-1)
		for _, p := range s.found[id] {
			last = max(last, p.seq)
		}
		if last < head {
			s.addLoss(store.Loss{
				SessionID: id, FromSeq: last + 1, Detail: fmt.Sprintf("events up to %d cannot be read", head),
			})
		}
	})
	_ = query(s.from, `SELECT id FROM session`, func(r row) {
		if id := session.ID(r.Text(0)); s.found[id] == nil {
			s.addLoss(store.Loss{SessionID: id, FromSeq: 0, Detail: "no event can be read"})
		}
	})
}

const salvagePage = `SELECT position, id, session_id, seq, kind, version, crc, data, private FROM event NOT INDEXED
	WHERE position > ?1 ORDER BY position LIMIT 64`

// scanPage records the events after the position. It returns the last reliable position and the number of rows.
func (s *salvage) scanPage(position int64) (int64, int, error) {
	st, err := s.from.Prepare(salvagePage)
	if err != nil {
		return position, 0, err
	}
	rows := 0
	st.BindInt(1, position)
	err = forEachRow(st, func(row) {
		rows++
		e := salvagedEvent(st)
		if sqlstore.Checksum(&e) != st.Int(6) || e.SessionID == "" {
			s.addLoss(store.Loss{SessionID: e.SessionID, FromSeq: e.Seq, Detail: "an event does not match its checksum"})
			return
		}
		position = max(position, e.Position)
		if e.Kind == session.KindDeleted {
			return // of a deleted session
		}
		s.found[e.SessionID] = append(s.found[e.SessionID], eventPosition{e.Seq, e.Position, e.Kind == session.KindCreated})
	})
	return position, rows, err
}

func salvagedEvent(st sqlstore.Stmt) store.EventRow {
	bytes := func(col int) []byte {
		if st.Len(col) == 0 {
			return nil
		}
		b := make([]byte, st.Len(col))
		st.Bytes(col, b)
		return b
	}
	return store.EventRow{
		Position: st.Int(0), ID: session.EventID(st.Text(1)), SessionID: session.ID(st.Text(2)), Seq: st.Int(3),
		Kind: session.Kind(st.Text(4)), Version: int(st.Int(5)), Data: bytes(7), Private: bytes(8),
	}
}

func (s *salvage) addLoss(l store.Loss) {
	const most = 10_000
	if len(s.report.Lost) < most && !slices.Contains(s.report.Lost, l) {
		s.report.Lost = append(s.report.Lost, l)
	}
}

// copySession copies the events up to the first gap, in transactions of a few hundred.
func (s *salvage) copySession(ctx context.Context, id session.ID) error {
	// Find the events before the first gap.
	positions := s.found[id]
	slices.SortFunc(positions, func(a, b eventPosition) int { return int(min(max(a.seq-b.seq, -1), 1)) })
	whole, first := 0, int64(0)
	if positions[0].creates {
		first = positions[0].seq
	}
	for whole < len(positions) && positions[whole].seq == first+int64(whole) {
		whole++
	}
	if whole < len(positions) {
		s.addLoss(store.Loss{
			SessionID: id, FromSeq: first + int64(whole), Readable: len(positions) - whole, Detail: "an event is missing",
		})
	}
	// Copy them, up to the first one that cannot be copied.
	kept := 0
	for page := range slices.Chunk(positions[:whole], 256) {
		n, why, err := s.copyPage(ctx, page)
		if err != nil {
			return fmt.Errorf("salvage session %s: %w", id, err)
		}
		kept += n
		if why != nil {
			s.addLoss(store.Loss{SessionID: id, FromSeq: first + int64(kept), Readable: whole - kept - 1, Detail: why.Error()})
			break
		}
	}
	if kept > 0 {
		s.report.Sessions++
		s.kept[id] = true
	}
	s.report.Events += kept
	return nil
}

// copyPage copies the events up to the first one that cannot be copied, and returns why.
func (s *salvage) copyPage(ctx context.Context, page []eventPosition) (kept int, why, err error) {
	kept = len(page)
	for {
		var bad error
		err := s.to.Update(ctx, store.Relaxed, func(tx store.Tx) error {
			bad = nil
			for i, p := range page[:kept] {
				if bad = s.copyEvent(tx, p); bad != nil {
					kept = i
					return bad
				}
			}
			return nil
		})
		if bad == nil {
			return kept, why, err
		}
		if errors.Is(bad, store.ErrUnavailable) && !errors.Is(bad, store.ErrDamaged) {
			return 0, nil, bad
		}
		why = bad // retry without it
	}
}

const salvageEvent = `SELECT position, id, session_id, seq, kind, version, crc, data, private FROM event NOT INDEXED
	WHERE position = ?1`

func (s *salvage) copyEvent(tx store.Tx, p eventPosition) error {
	st, err := s.from.Prepare(salvageEvent)
	if err != nil {
		return err
	}
	st.BindInt(1, p.position)
	var e store.EventRow
	if err := forEachRow(st, func(row) { e = salvagedEvent(st) }); err != nil {
		return err
	}
	if err := s.project(tx, e); err != nil {
		return err
	}
	_, err = tx.InsertEvent(e)
	return err
}

// copyProjects copies the records of projects, which the sessions name. Those of a database from before records, or of
// damaged pages, are made when their directories are opened.
func (s *salvage) copyProjects(ctx context.Context) error {
	projects, err := sqlstore.NewReader(s.from).Projects(store.ProjectQuery{})
	if err != nil {
		return nil
	}
	s.projects = projects
	return s.to.Update(ctx, store.Durable, func(tx store.Tx) error {
		for _, p := range projects {
			if err := tx.PutProject(p); err != nil {
				return err
			}
		}
		return nil
	})
}

// restoreRecords gives the sessions the records that they had, which is not always the one that their events name.
func (s *salvage) restoreRecords(tx store.Tx) error {
	records := map[session.ID]session.RecordID{}
	// What cannot be read keeps the record of its events.
	_ = query(s.from, `SELECT id, record_id FROM session WHERE record_id <> ''`, func(r row) {
		if id := session.ID(r.Text(0)); s.kept[id] {
			records[id] = session.RecordID(r.Text(1))
		}
	})
	for id, record := range records {
		found, ok, err := tx.Session(id)
		if err != nil {
			return err
		}
		if !ok || found.RecordID == record {
			continue
		}
		found.RecordID = record
		if err := tx.PutSession(found); err != nil {
			return err
		}
	}
	return nil
}

// copyRest copies data that is not made from the copied events.
func (s *salvage) copyRest(ctx context.Context) error {
	r := sqlstore.NewReader(s.from)
	spent := s.readOrphanedSpend(r)
	approvals, err := r.Approvals("")
	if err != nil {
		s.addLoss(store.Loss{FromSeq: -1, Detail: "saved approvals cannot be read; their actions are asked for again"})
	}
	return s.to.Update(ctx, store.Durable, func(tx store.Tx) error {
		for _, line := range spent {
			if err := tx.AddSpend(line); err != nil {
				return err
			}
		}
		if err := s.restoreRecords(tx); err != nil {
			return err
		}
		for _, p := range s.projects {
			if err := tx.AdoptSessions(p, p.Path); err != nil {
				return err
			}
		}
		for _, a := range approvals {
			if err := tx.PutApproval(a); err != nil {
				return err
			}
		}
		return nil
	})
}

// readOrphanedSpend returns the spend of sessions that no longer exist. The spend of the others was made again from
// the copied events; a line of a lost event would belong to a turn that the log does not have and would block the
// next event with its seq.
func (s *salvage) readOrphanedSpend(r *sqlstore.Reader) []store.Spend {
	lines, err := r.Spent("", 0)
	if err != nil && !s.isSpendRebuilt() {
		s.addLoss(store.Loss{
			FromSeq: -1, Detail: "the spend cannot be read; the costs of deleted sessions are lost",
		})
	}
	return slices.DeleteFunc(lines, func(l store.Spend) bool { return s.kept[l.SessionID] })
}

// isSpendRebuilt reports whether the spend of an unreleased layout, which is not read, only has lines of copied
// sessions.
func (s *salvage) isSpendRebuilt() bool {
	all := true
	err := query(
		s.from, `SELECT DISTINCT session_id FROM spend`, func(r row) { all = all && s.kept[session.ID(r.Text(0))] },
	)
	return err == nil && all
}
