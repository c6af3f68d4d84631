package sqlite

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// A changed row is damage of its session; others can be read and written.
func TestChangedRowIsDamage(t *testing.T) {
	for _, tt := range []struct{ name, sql string }{
		{
			"event data",
			`UPDATE event SET data = replace(data, 'title', 'tilte') WHERE session_id = 'ses_1' AND seq = 2`,
		},
		{"event seq", `UPDATE event SET seq = 900 WHERE session_id = 'ses_1' AND seq = 2`},
		{"event owner", `UPDATE event SET session_id = 'ses_2' WHERE session_id = 'ses_1' AND seq = 2`},
		{"event private", `UPDATE event SET private = '{}' WHERE session_id = 'ses_1' AND seq = 2`},
		{"event gone", `DELETE FROM event WHERE session_id = 'ses_1' AND seq = 2`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, t.TempDir())
			fill(t, s, 3, 5)
			tamper(t, s, tt.sql)
			err := s.View(t.Context(), func(r store.Reader) error {
				_, err := r.Events("ses_1", -1, 0)
				return err
			})
			d, ok := errors.AsType[*store.Damage](err)
			if !ok || d.SessionID != "ses_1" || d.Seq < 2 || !errors.Is(err, store.ErrDamaged) || !errors.Is(
				err, store.ErrUnavailable,
			) {
				t.Errorf("error is %v", err)
			}
			fill(t, s, 1, 1)
			if n := len(eventsOf(t, s, "ses_0")); n != 6 {
				t.Errorf("the other session has %d events", n)
			}
		})
	}
}

func TestChangedProjectionIsDamage(t *testing.T) {
	s := open(t, t.TempDir())
	fill(t, s, 2, 1)
	tamper(t, s, `UPDATE session SET data = replace(data, 'title of', 'tilte of') WHERE id = 'ses_1'`)
	tamper(
		t, s,
		`UPDATE message SET data = replace(data, 'user', 'used')
			WHERE place >> 32 = (SELECT number FROM numbered WHERE session_id = 'ses_1')`,
	)
	err := s.View(t.Context(), func(r store.Reader) error {
		if _, _, err := r.Session("ses_1"); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("session: %v", err)
		}
		if _, err := store.ReadRawMessages(r, "ses_1", store.MessageQuery{
			After: -1,
		}); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("messages: %v", err)
		}
		list, err := store.ReadSessions(r, store.SessionQuery{})
		if len(list) != 1 || list[0].ID != "ses_0" {
			t.Errorf("the list is %v", list)
		}
		raw, rawErr := r.RawSessions(store.SessionQuery{Recent: true})
		raw, damaged := store.WithoutDamaged(raw)
		if len(raw) != 1 || raw[0].ID != "ses_0" || damaged != 1 {
			t.Errorf("the list of what changed last is %v, and %d damaged", raw, damaged)
		}
		return errors.Join(err, rawErr)
	})
	if err != nil {
		t.Error(err)
	}
}

// A transcript is never shorter without an error where the table lost prompts: the index still has them.
func TestLostMessagesAreDamage(t *testing.T) {
	s := open(t, t.TempDir())
	fill(t, s, 3, 1)
	// without the index in the schema, a deletion leaves its rows
	tamper(t, s, `PRAGMA writable_schema = ON;
		CREATE TEMP TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'message_by_type';
		DELETE FROM sqlite_schema WHERE name = 'message_by_type';
		PRAGMA writable_schema = RESET;
		DELETE FROM message WHERE place >> 32 = (SELECT number FROM numbered WHERE session_id = 'ses_1');
		PRAGMA writable_schema = ON;
		INSERT INTO sqlite_schema SELECT * FROM kept;
		PRAGMA writable_schema = RESET`)
	for _, q := range []store.MessageQuery{{After: -1}, {After: -1, Newest: true, Limit: 5}, {After: -1, Before: 9}} {
		err := s.View(t.Context(), func(r store.Reader) error {
			if _, err := store.ReadRawMessages(r, "ses_0", q); err != nil {
				t.Errorf("%+v of the other session: %v", q, err)
			}
			_, err := store.ReadRawMessages(r, "ses_1", q)
			return err
		})
		if d, ok := errors.AsType[*store.Damage](err); !ok || d.SessionID != "ses_1" {
			t.Errorf("%+v: %v, want damage", q, err)
		}
	}
}

// A session is not missing or empty where only the index of ids or that of numbers lost it.
func TestLostIDIsDamage(t *testing.T) {
	for _, index := range []string{"sqlite_autoindex_session_1", "sqlite_autoindex_numbered_1"} {
		dir := t.TempDir()
		s := open(t, dir)
		fill(t, s, 3, 1)
		tamper(t, s, `PRAGMA writable_schema = ON;
			UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_ask_1')
				WHERE name = '`+index+`'`)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir)
		for id, want := range map[session.ID]error{"ses_1": store.ErrDamaged, "ses_9": nil} {
			err := s.View(t.Context(), func(r store.Reader) error {
				_, _, err := r.Session(id)
				_, readErr := store.ReadRawMessages(r, id, store.MessageQuery{After: -1})
				return cmp.Or(err, readErr)
			})
			if !errors.Is(err, want) {
				t.Errorf("%s, %s: %v, want %v", index, id, err, want)
			}
		}
	}
}

// tamper changes the database behind the store's back.
func tamper(t *testing.T, s *Store, sql string) {
	t.Helper()
	c, err := s.writer.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Exec(sql), c.Close()); err != nil {
		t.Fatal(err)
	}
}

// After an unclean end a damaged database is opened read-only; what is whole can be read and salvaged.
func TestUncleanEndIsChecked(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	fill(t, s, 40, 30)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, dbName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(b[len(b)/2 : len(b)/2+3*pageSize])
	if err := errors.Join(os.WriteFile(path, b, 0o600), os.WriteFile(path+"-wal", []byte("torn"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s, err = Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.DegradedError(); !errors.Is(err, store.ErrDamaged) || !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("degraded because of %v", err)
	}
	err = s.Update(t.Context(), store.Durable, func(store.Tx) error { return nil })
	if !errors.Is(err, store.ErrDamaged) {
		t.Errorf("update: %v", err)
	}
	whole := 0
	for i := range 40 {
		err := s.View(t.Context(), func(r store.Reader) error {
			rows, err := r.Events(session.ID(fmt.Sprintf("ses_%d", i)), -1, 0)
			if err == nil && len(rows) == 30 {
				whole++
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	to := filepath.Join(t.TempDir(), "new")
	report, err := Salvage(t.Context(), dir, to, unprojected)
	if err != nil {
		t.Fatal(err)
	}
	if whole < 20 || report.Sessions < whole || len(report.Lost) == 0 {
		t.Errorf(
			"%d sessions are whole; salvaged %d with %d events, lost %v", whole, report.Sessions, report.Events,
			report.Lost,
		)
	}
	checkSalvaged(t, open(t, to), report)
	if _, err := Salvage(t.Context(), dir, to, unprojected); err == nil {
		t.Error("salvaged into a folder that has a database")
	}
}

// unprojected makes no rows.
func unprojected(store.Tx, store.EventRow) error { return nil }

// checkSalvaged finds in s nothing but true prefixes, as many events as reported.
func checkSalvaged(t *testing.T, s *Store, report *SalvageReport) {
	t.Helper()
	n := 0
	for i := range 40 {
		rows := eventsOf(t, s, session.ID(fmt.Sprintf("ses_%d", i)))
		for seq, row := range rows {
			want := testEvent(row.SessionID, int64(seq))
			if row.ID != want.ID || !bytes.Equal(row.Data, want.Data) {
				t.Errorf("salvaged event %v", row.ID)
			}
		}
		n += len(rows)
	}
	if n != report.Events {
		t.Errorf("%d events, reported %d", n, report.Events)
	}
}

// Whatever happens to the file, nothing panics and no byte is served that was not stored (G10).
func TestMutatedFiles(t *testing.T) {
	images := times(1000)
	dir := t.TempDir()
	s := open(t, dir)
	fill(t, s, 40, 12)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, dbName))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seedOr(1), 2))
	refused, tried, served := 0, 0, 0
	for range images {
		dir := t.TempDir()
		image := mutate(rng, whole)
		if err := os.WriteFile(filepath.Join(dir, dbName), image, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), Config{Dir: dir})
		if err != nil {
			refused++
			continue
		}
		good := readAll(t, s)
		tried, served = tried+40, served+good
		if err := s.Close(); err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("soak: trials=%d failures=0", images) // a failure fails the test
	t.Logf("%d images: %d refused, %d of %d sessions served", images, refused, served, tried)
}

// mutate changes a few bytes of one page, or blanks a page, or cuts the end off.
func mutate(rng *rand.Rand, whole []byte) []byte {
	b := bytes.Clone(whole)
	page := rng.IntN(len(b)/pageSize) * pageSize
	switch rng.IntN(10) {
	case 0:
		return b[:rng.IntN(len(b))]
	case 1:
		clear(b[page : page+pageSize])
	case 2:
		copy(b[page:page+pageSize], whole[rng.IntN(len(b)-pageSize):])
	case 3: // a whole page is elsewhere
		copy(b[page:page+pageSize], whole[rng.IntN(len(b)/pageSize-1)*pageSize:])
	default:
		for range 1 + rng.IntN(8) {
			b[page+rng.IntN(pageSize)] = byte(rng.Uint32())
		}
	}
	return b
}

// readAll reads every session, and the feed in pages, and returns how many were served whole. What is served must be
// right, and the feed ends.
func readAll(t *testing.T, s *Store) (good int) {
	t.Helper()
	_ = s.View(t.Context(), func(r store.Reader) error {
		for after := int64(0); ; {
			rows, err := r.Events("", after, 50)
			if err != nil || len(rows) == 0 {
				return err
			}
			last := rows[len(rows)-1].Position
			if last <= after {
				t.Errorf("the feed goes back from %d to %d", after, last)
				return nil
			}
			after = last
		}
	})
	for i := range 40 {
		id := session.ID(fmt.Sprintf("ses_%d", i))
		_ = s.View(t.Context(), func(r store.Reader) error {
			rows, err := r.Events(id, -1, 0)
			for seq, row := range rows {
				if want := testEvent(id, int64(seq)); row.ID != want.ID || !bytes.Equal(
					row.Data, want.Data,
				) || row.Seq != want.Seq {
					t.Errorf("served a wrong event: %s %s", row.ID, row.Data)
				}
			}
			if head, headErr := r.Head(id); err == nil && headErr == nil && int64(len(rows)) <= head {
				t.Errorf("served %d events of %s, whose newest is %d", len(rows), id, head)
			}
			raw, rawErr := store.ReadRawMessages(r, id, store.MessageQuery{After: -1})
			for _, m := range raw {
				if want := fmt.Sprintf(
					`{"id":"msg_%s","time":{"created":0},"type":"user","text":"%s"}`, id, id,
				); string(m.Data) != want {
					t.Errorf("served a wrong message: %s, want %s", m.Data, want)
				}
			}
			if err == nil && rawErr == nil && len(rows) == 12 && len(raw) == 1 {
				good++
			}
			return nil
		})
		_ = s.View(t.Context(), func(r store.Reader) error {
			x, _, err := r.Session(id)
			if err == nil && x != nil && x.Title != "title of "+string(id) {
				t.Errorf("served a wrong session: %v", x)
			}
			return err
		})
	}
	return good
}

// While a process owns the home, salvage reads it in place; a home without an owner is copied.
func TestSalvageBesideOwner(t *testing.T) {
	dir := t.TempDir()
	lease, err := AcquireLease(dir, Owner{})
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	s := open(t, dir)
	fill(t, s, 2, 3)
	h, err := findHome(Config{Dir: dir})
	if err != nil || !h.isOwned() {
		t.Fatalf("the home has no owner: %v", err)
	}
	to := filepath.Join(t.TempDir(), "new")
	report, err := Salvage(t.Context(), dir, to, unprojected)
	if err != nil || report.Sessions != 2 || report.Events != 6 || len(report.Lost) > 0 {
		t.Errorf("%v, %v", report, err)
	}
	if err := lease.Release(); err != nil || h.isOwned() {
		t.Errorf("the home has an owner: %v", err)
	}
}

// A salvaged session has the record that it had, and not the one that its events name.
func TestSalvageKeepsRecords(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	fill(t, s, 2, 1)
	project := func(tx store.Tx, e store.EventRow) error {
		if e.Seq > 0 {
			return nil
		}
		return tx.PutSession(&session.Session{ID: e.SessionID, RecordID: "prj_first"})
	}
	err := s.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		for _, id := range []session.RecordID{"prj_first", "prj_second"} {
			if err := tx.PutProject(store.Project{ID: id, Path: "/" + string(id)}); err != nil {
				return err
			}
		}
		bound := &session.Session{ID: "ses_1", RecordID: "prj_second"}
		return errors.Join(tx.PutSession(&session.Session{ID: "ses_0", RecordID: "prj_first"}), tx.PutSession(bound))
	})
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "new")
	if _, err := Salvage(t.Context(), dir, to, project); err != nil {
		t.Fatal(err)
	}
	out := open(t, to)
	for id, want := range map[session.ID]session.RecordID{"ses_0": "prj_first", "ses_1": "prj_second"} {
		if got, err := store.ReadSession(t.Context(), out, id); err != nil || got.RecordID != want {
			t.Errorf("%s has the record %v, want %s, %v", id, got, want, err)
		}
	}
}
