package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// A process writes the log of a transaction frame by frame, so that a kill leaves a beginning of it. firstCuts returns
// the beginnings of the log that end in its first transaction, each with its length, and the whole transaction last.
func firstCuts(t *testing.T, log []byte) (cuts [][]byte) {
	t.Helper()
	const frame = frameHeaderSize + pageSize
	step := 1
	if testing.Short() || raceEnabled {
		step = 9
	}
	cuts = append(cuts, log[:logHeaderSize/2], log[:logHeaderSize])
	for i, at := 0, logHeaderSize; at+frame <= len(log); i, at = i+1, at+frame {
		if binary.BigEndian.Uint32(log[at+4:]) != 0 { // a commit
			return append(cuts, log[:at+frameHeaderSize], log[:at+frame-1], log[:at+frame])
		}
		if i%step == 0 {
			cuts = append(cuts, log[:at+frameHeaderSize], log[:at+frame/2], log[:at+frame])
		}
	}
	t.Fatal("the log has no commit")
	return nil
}

// readLog returns the log of the open database in the folder.
func readLog(t *testing.T, dir string) []byte {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(dir, dbName+logSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// cutHome returns the folder of a home whose process was killed when its log had these bytes. Of the other files it has
// those with the names, as they are in from.
func cutHome(t *testing.T, from string, log []byte, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := copyFile(filepath.Join(from, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, dbName+logSuffix), log, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// openUndamaged opens the home, which must be writable and complete.
func openUndamaged(t *testing.T, dir string) *Store {
	t.Helper()
	s := open(t, dir)
	if s.DegradedError() != nil || s.DescribeUnchecked() != "" {
		t.Fatalf("degraded: %v, unchecked: %q", s.DegradedError(), s.DescribeUnchecked())
	}
	return s
}

// A home whose creation was cut off, by a kill or a power cut, opens as a new one.
func TestCutOffCreation(t *testing.T) {
	created := t.TempDir()
	open(t, created)
	cuts := firstCuts(t, readLog(t, created))
	whole := cuts[len(cuts)-1]
	for _, n := range []int{0, 5, 20} { // a power cut can take any page that was not synced
		torn := bytes.Clone(whole)
		clear(torn[logHeaderSize+n*(frameHeaderSize+pageSize):][:frameHeaderSize+pageSize])
		cuts = append(cuts, torn)
	}
	for i, log := range cuts {
		t.Run(fmt.Sprintf("%d, %d bytes", i, len(log)), func(t *testing.T) {
			dir := cutHome(t, created, log, dbName)
			r, err := Open(t.Context(), Config{Dir: dir, ReadOnly: true})
			if err == nil { // a log that is whole has the tables
				err = errors.Join(r.Close(), errors.New("it is open"))
			}
			isWhole := bytes.Equal(log, whole)
			if !isWhole && (!errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrDamaged) ||
				!strings.Contains(err.Error(), "was not completed")) {
				t.Errorf("opening it for reading only: %v", err)
			}
			s := openUndamaged(t, dir)
			fill(t, s, 2, 3)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again := openUndamaged(t, dir)
			if n := len(eventsOf(t, again, "ses_1")); n != 3 || again.ID() != s.ID() {
				t.Errorf("%d events in store %s, want 3 in %s", n, again.ID(), s.ID())
			}
		})
	}
}

// A store that was opened once is never taken for a new one: its log is damaged if the schema is missing.
func TestDamagedLogIsNoCutOffCreation(t *testing.T) {
	created := t.TempDir()
	fill(t, open(t, created), 2, 3)
	cuts := firstCuts(t, readLog(t, created))
	for _, proof := range []string{markerName, committedName} {
		for _, log := range [][]byte{cuts[2], cuts[len(cuts)-2]} {
			t.Run(fmt.Sprintf("%s, %d bytes", proof, len(log)), func(t *testing.T) {
				dir := cutHome(t, created, log, dbName, proof)
				for _, readOnly := range []bool{true, false} {
					_, err := Open(t.Context(), Config{Dir: dir, ReadOnly: readOnly})
					if !errors.Is(err, store.ErrDamaged) {
						t.Errorf("read-only %v: error is %v", readOnly, err)
					}
				}
				if now := readLog(t, dir); !bytes.Equal(now, log) {
					t.Errorf("the log has %d bytes, had %d", len(now), len(log))
				}
			})
		}
	}
}

// A copy of the database and its log alone is not taken for a new store if the log has more commits than a creation.
func TestDamagedLogWithoutMarker(t *testing.T) {
	created := t.TempDir()
	fill(t, open(t, created), 2, 3)
	log := readLog(t, created)
	log[17] ^= 4 // in the header, so that SQLite reads no frame
	dir := cutHome(t, created, log, dbName)
	if _, err := Open(t.Context(), Config{Dir: dir}); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("error is %v", err)
	}
	if now := readLog(t, dir); !bytes.Equal(now, log) {
		t.Errorf("the log has %d bytes, had %d", len(now), len(log))
	}
}

// The record of a store that was removed, as advised, does not make a cut-off creation in its folder look like damage.
func TestCutOffCreationAfterAnotherStore(t *testing.T) {
	created, dir := t.TempDir(), t.TempDir()
	fill(t, open(t, created), 2, 3)
	if err := copyFile(filepath.Join(created, committedName), filepath.Join(dir, committedName)); err != nil {
		t.Fatal(err)
	}
	h, err := findHome(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.prepare(); err != nil {
		t.Fatal(err)
	}
	cuts := firstCuts(t, readLog(t, created))
	db, err := os.ReadFile(filepath.Join(created, dbName))
	if err := errors.Join(
		err, os.WriteFile(h.path, db, 0o600), os.WriteFile(h.path+logSuffix, cuts[len(cuts)-2], 0o600),
	); err != nil {
		t.Fatal(err)
	}
	openUndamaged(t, dir)
}

// A migration that was cut off by a kill leaves the old schema or the new one, and all events.
func TestCutOffMigration(t *testing.T) {
	// Make a home of the schema before the newest.
	dir := t.TempDir()
	h, err := findHome(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	all, err := fs.Glob(migrationFiles, "migration/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	older := fstest.MapFS{}
	for _, name := range all[:len(all)-1] {
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
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	// Let its migration fail, which leaves the other files as they are during a migration.
	last := all[len(all)-1]
	older[last] = &fstest.MapFile{Data: []byte("CREATE TABLE event (x)")}
	_, err = openWritable(t.Context(), h, Config{Version: "test", Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Fatalf("a failing migration: %v", err)
	}
	before := copyHome(t, dir)
	// Migrate it, and cut that off.
	migrated := open(t, dir)
	for _, log := range firstCuts(t, readLog(t, dir)) {
		t.Run(fmt.Sprintf("%d bytes", len(log)), func(t *testing.T) {
			s := openUndamaged(t, cutHome(t, before, log, dbName, markerName, committedName))
			n := countEvents(t, s, map[session.ID]int{"ses_0": 0})
			if n != 6 || s.ID() != migrated.ID() {
				t.Errorf("%d events in store %s, want 6 in %s", n, s.ID(), migrated.ID())
			}
		})
	}
}
