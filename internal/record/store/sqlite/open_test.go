package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// fill puts sessions ses_0 … with n events each, their rows and a message into s.
func fill(t *testing.T, s *Store, sessions, n int) {
	t.Helper()
	err := s.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		for i := range sessions {
			id := session.ID(fmt.Sprintf("ses_%d", i))
			if err := tx.PutSession(&session.Session{ID: id, Title: "title of " + string(id)}); err != nil {
				return err
			}
			head, err := tx.Head(id)
			if err != nil {
				return err
			}
			for j := range int64(n) {
				if _, err := tx.InsertEvent(testEvent(id, head+1+j)); err != nil {
					return err
				}
			}
			m := &session.User{
				Head: session.Head{ID: session.MessageID("msg_" + id), Type: session.TypeUser, Seq: 0},
				Text: string(id),
			}
			if err := tx.PutMessage(id, m, nil, 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func testEvent(id session.ID, seq int64) store.EventRow {
	return store.EventRow{
		ID: session.EventID(
			fmt.Sprintf("evt_%s_%d", id, seq),
		), SessionID: id, Seq: seq, Kind: session.KindRenamed, Version: 1,
		Data: fmt.Appendf(nil, `{"timestamp":%d,"sessionID":%q,"title":%q}`, seq, id, strings.Repeat("x", int(seq*37%400))),
	}
}

func eventsOf(t *testing.T, s store.Store, id session.ID) []store.EventRow {
	t.Helper()
	var rows []store.EventRow
	err := s.View(t.Context(), func(r store.Reader) (err error) {
		rows, err = r.Events(id, -1, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestMissingDatabaseIsNotReplaced(t *testing.T) {
	for _, tt := range []struct {
		name string
		harm func(path string) error
	}{
		{"missing", os.Remove},
		{"empty", func(path string) error { return os.Truncate(path, 0) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			backup := filepath.Join(dir, backupDir, "old.db")
			if err := errors.Join(
				os.Mkdir(filepath.Dir(backup), 0o700), s.Backup(t.Context(), backup), s.Close(),
				tt.harm(filepath.Join(dir, dbName)),
			); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), Config{Dir: dir})
			if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), backup) || !strings.Contains(
				err.Error(), "missing or empty",
			) {
				t.Errorf("error is %v", err)
			}
			if info, err := os.Stat(filepath.Join(dir, dbName)); err == nil && info.Size() > 0 {
				t.Error("a database was made")
			}
			if err := os.Rename(backup, filepath.Join(dir, dbName)); err != nil { // as advised
				t.Fatal(err)
			}
			if got := open(t, dir); got.ID() != s.ID() {
				t.Errorf("id is %s, was %s", got.ID(), s.ID())
			}
		})
	}
}

func TestMarkerOfAnotherStoreIsRefused(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	if err := errors.Join(
		open(t, a).Close(), open(t, b).Close(), os.Rename(filepath.Join(b, dbName), filepath.Join(a, dbName)),
	); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Config{Dir: a})
	if err == nil || !strings.Contains(err.Error(), "is that of store") {
		t.Errorf("error is %v", err)
	}
	if err := os.Remove(filepath.Join(a, markerName)); err != nil {
		t.Fatal(err)
	}
	open(t, a)
}

func TestForeignFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, dbName)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, _ := findHome(Config{Dir: dir})
	c, err := h.openWriter()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Exec("CREATE TABLE theirs (x)"), c.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "not one of cairn") {
		t.Errorf("another program's database: %v", err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Config{Dir: dir})
	d, typed := errors.AsType[*store.Damage](err)
	if !typed || !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "backups") {
		t.Errorf("no database at all: %v, %v", err, d)
	}
	if err := errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Dir: dir}); err == nil {
		t.Error("a symbolic link was followed")
	}
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(t.Context(), Config{Dir: dir, ReadOnly: true}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("opening nothing: %v", err)
	}
	w := open(t, dir)
	fill(t, w, 2, 3)
	check := func(when string) {
		t.Helper()
		r, err := Open(t.Context(), Config{Dir: dir, ReadOnly: true})
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		defer r.Close()
		if got := eventsOf(t, r, "ses_1"); len(got) != 3 {
			t.Errorf("%s: %d events", when, len(got))
		}
		err = r.Update(t.Context(), store.Durable, func(store.Tx) error { return nil })
		if !errors.Is(err, store.ErrReadOnly) || !errors.Is(err, store.ErrUnavailable) || r.DegradedError() == nil {
			t.Errorf("%s: update: %v", when, err)
		}
	}
	check("beside a writer")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	check("alone")
	before, _ := os.ReadDir(dir)
	check("again")
	after, _ := os.ReadDir(dir)
	if len(before) != len(after) {
		t.Errorf("files were left: %v", after)
	}
}

func TestMigrationIsPrecededByABackup(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	fill(t, s, 1, 5)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all, known := map[string]*fstest.MapFile{}, 0
	released, _ := fs.Glob(migrationFiles, "migration/*.sql")
	for _, name := range released {
		sql, _ := migrationFiles.ReadFile(name)
		all[name] = &fstest.MapFile{Data: sql}
		known++
	}
	upgrade := func(sql string) (*Store, error) {
		h, err := findHome(Config{Dir: dir})
		if err != nil {
			return nil, err
		}
		all[fmt.Sprintf("migration/%04d_more.sql", known+1)] = &fstest.MapFile{Data: []byte(sql)}
		h.migrations = fstest.MapFS(all)
		return openWritable(t.Context(), h, Config{Version: "test", Logger: slog.New(slog.DiscardHandler)})
	}
	if _, err := upgrade(
		"CREATE TABLE more (x); CREATE TABLE event (x)",
	); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("a failing migration: %v", err)
	}
	open(t, dir).Close() // still of the version before

	s, err := upgrade("CREATE TABLE more (x); INSERT INTO more VALUES (1);")
	if err != nil {
		t.Fatal(err)
	}
	want := eventsOf(t, s, "ses_0")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Config{Dir: dir})
	if !errors.Is(err, ErrNewer) || !errors.Is(err, store.ErrUnavailable) || !strings.Contains(
		err.Error(), fmt.Sprintf("version %d, this cairn knows up to %d", known+1, known),
	) {
		t.Errorf("opening a newer database: %v", err)
	}
	backups, _ := filepath.Glob(filepath.Join(dir, backupDir, fmt.Sprintf("cairn-v%d-*.db", known)))
	if len(backups) != 2 {
		t.Fatalf("backups are %q", backups)
	}
	restored := t.TempDir()
	if err := os.Rename(backups[1], filepath.Join(restored, dbName)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, eventsOf(t, open(t, restored), "ses_0")); d != "" {
		t.Error(d)
	}
}

// Databases of every earlier schema are migrated by the steps between neighbours: all events stay, and a backup has the
// schema before.
func TestEverySchemaIsMigrated(t *testing.T) {
	all, _ := fs.Glob(migrationFiles, "migration/*.sql")
	for n := 1; n < len(all); n++ {
		// Make a home of the schema.
		dir := t.TempDir()
		h, err := findHome(Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		older := fstest.MapFS{}
		for _, name := range all[:n] {
			sql, _ := migrationFiles.ReadFile(name)
			older[name] = &fstest.MapFile{Data: sql}
		}
		h.migrations = older
		s, err := openWritable(t.Context(), h, Config{Version: "test", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Update(t.Context(), store.Durable, func(tx store.Tx) error {
			for seq := range int64(6) {
				if _, err := tx.InsertEvent(testEvent("ses_0", seq)); err != nil {
					return err
				}
			}
			return nil
		})
		want := eventsOf(t, s, "ses_0")
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		// Open it with the schema of today.
		if d := cmp.Diff(want, eventsOf(t, open(t, dir), "ses_0")); d != "" || len(want) != 6 {
			t.Errorf("schema %d: %s", n, d)
		}
		backups, _ := filepath.Glob(filepath.Join(dir, backupDir, fmt.Sprintf("cairn-v%d-*.db", n)))
		if len(backups) != 1 {
			t.Errorf("schema %d: the backups are %q", n, backups)
		}
	}
}

// What was written before there was an index of what changed last is listed by it.
func TestOlderSessionsAreListedByTheirLastChange(t *testing.T) {
	made := t.TempDir()
	s := open(t, made)
	err := s.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		for i, updated := range []int64{5 << 20, 9 << 20, 7 << 20} {
			x := &session.Session{
				ID: session.ID(fmt.Sprint("ses_", i)), ProjectID: "p", Time: session.SessionTime{Updated: updated},
			}
			if err := tx.PutSession(x); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := []session.ID{}
	err = open(t, olderCopy(t, filepath.Join(made, dbName))).View(t.Context(), func(r store.Reader) error {
		ss, err := store.ReadSessions(r, store.SessionQuery{Recent: true, Since: 6 << 20})
		for _, s := range ss {
			got = append(got, s.ID)
		}
		return err
	})
	if d := cmp.Diff([]session.ID{"ses_1", "ses_2"}, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

// olderCopy returns the directory of a database of the first version that has the sessions of the other one.
func olderCopy(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	h, err := findHome(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	first, _ := migrationFiles.ReadFile("migration/0001_init.sql")
	h.migrations = fstest.MapFS{"migration/0001_init.sql": {Data: first}}
	older, err := openWritable(t.Context(), h, Config{Version: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := older.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := h.openWriter()
	if err != nil {
		t.Fatal(err)
	}
	const columns = "id, project_id, parent_id, directory, subpath, title, time_created, time_updated, " +
		"time_archived, crc, data"
	err = c.Exec(
		"ATTACH '" + from + "' AS made; " +
			"INSERT INTO session (" + columns + ") SELECT " + columns + " FROM made.session; DETACH made",
	)
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBackupIsWhole(t *testing.T) {
	s := open(t, t.TempDir())
	fill(t, s, 3, 20)
	copied := t.TempDir()
	path := filepath.Join(copied, dbName)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Backup(ctx, path); err == nil {
		t.Error("a backup of an ended context")
	}
	if err := s.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), path); err == nil {
		t.Error("a backup replaced another")
	}
	fill(t, s, 3, 1) // later
	b := open(t, copied)
	if b.ID() != s.ID() {
		t.Errorf("id is %s, want %s", b.ID(), s.ID())
	}
	for i := range 3 {
		id := session.ID(fmt.Sprintf("ses_%d", i))
		if d := cmp.Diff(eventsOf(t, s, id)[:20], eventsOf(t, b, id)); d != "" {
			t.Error(d)
		}
	}
}
