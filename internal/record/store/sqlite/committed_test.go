package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// killedHome returns the folder of a process that was killed after commits, half of them synced, and what its sessions
// hold.
func killedHome(t *testing.T) (dir string, events map[session.ID]int) {
	t.Helper()
	live := t.TempDir()
	s := open(t, live)
	events = map[session.ID]int{}
	for round := range 12 {
		fill(t, s, 1+round, 3)
		id := session.ID(fmt.Sprintf("ses_%d", round%6))
		err := s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
			head, err := tx.Head(id)
			if err == nil {
				_, err = tx.InsertEvent(testEvent(id, head+1))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		id := session.ID(fmt.Sprintf("ses_%d", i))
		events[id] = len(eventsOf(t, s, id))
	}
	return copyHome(t, live), events
}

func copyHome(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	for _, name := range []string{dbName, dbName + logSuffix, committedName, markerName} {
		err := copyFile(filepath.Join(from, name), filepath.Join(to, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return to
}

// countEvents returns how many events of the sessions can be read.
func countEvents(t *testing.T, s *Store, ids map[session.ID]int) (n int) {
	t.Helper()
	for id := range ids {
		n += len(eventsOf(t, s, id))
	}
	return n
}

func sumOf(events map[session.ID]int) (n int) {
	for _, k := range events {
		n += k
	}
	return n
}

// TestDamagedLog: a log that lost committed events is damage: the store is read-only, no file changes, and salvage
// reads what is behind the damage and says what is missing. Other changes of the log are harmless.
func TestDamagedLog(t *testing.T) {
	whole, events := killedHome(t)
	log, err := os.ReadFile(filepath.Join(whole, dbName+logSuffix))
	if err != nil {
		t.Fatal(err)
	}
	// Flips in a page of the schema, or in an inner page of the table of events, lose more than the rest of this test
	// allows. This seed has none; most others have some.
	rng := rand.New(rand.NewPCG(15, 15))
	frame := frameHeaderSize + pageSize
	harms := map[string]func([]byte) []byte{
		"half":    func(b []byte) []byte { return b[:len(b)/2] },
		"removed": func([]byte) []byte { return nil },
		"header":  func(b []byte) []byte { b[17] ^= 4; return b },
		"zeroes":  func(b []byte) []byte { clear(b[len(b)/3 : len(b)/3+2*frame]); return b },
	}
	for _, percent := range []int{2, 25, 50, 75, 95} {
		harms[fmt.Sprintf("%d%%", percent)] = func(b []byte) []byte { b[len(b)*percent/100] ^= 1; return b }
	}
	for i := range 30 {
		at, bit := rng.IntN(len(log)), byte(1<<rng.IntN(8))
		harms[fmt.Sprintf("flip %d", i)] = func(b []byte) []byte { b[at] ^= bit; return b }
	}
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			dir := copyHome(t, whole)
			path := filepath.Join(dir, dbName+logSuffix)
			damaged := harm(bytes.Clone(log))
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if damaged == nil {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			checkDamagedLog(t, dir, events, name)
			if now, err := os.ReadFile(path); !bytes.Equal(now, damaged) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the log has %d bytes, had %d", len(now), len(damaged))
			}
		})
	}
}

func checkDamagedLog(t *testing.T, dir string, events map[session.ID]int, name string) {
	t.Helper()
	s, err := Open(t.Context(), Config{Dir: dir})
	if err != nil && errors.Is(err, store.ErrDamaged) { // not even the schema can be read
		s = nil
	} else if err != nil {
		t.Fatal(err)
	}
	if s != nil {
		n := countEvents(t, s, events)
		if got := errors.Is(s.DegradedError(), store.ErrDamaged); got != (n < sumOf(events)) {
			t.Errorf("%d of %d events can be read, and the store is degraded by %v", n, sumOf(events), s.DegradedError())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if s.DegradedError() == nil {
			return
		}
	}
	to := filepath.Join(t.TempDir(), "new")
	report, err := Salvage(t.Context(), dir, to, unprojected)
	if err != nil {
		t.Fatal(err)
	}
	if report.Events < sumOf(events) && len(report.Lost) == 0 {
		t.Errorf("salvaged %d of %d events, and says nothing of it", report.Events, sumOf(events))
	}
	if min := sumOf(events) * 8 / 10; report.Events < min && name != "half" && name != "removed" && name != "zeroes" {
		t.Errorf("salvaged %d of %d events: %v", report.Events, sumOf(events), report.Lost)
	}
}

// TestCommitRecord: what a kill cannot lose is damage if it is missing; what a power cut may lose is not.
func TestCommitRecord(t *testing.T) {
	whole, events := killedHome(t)
	record := readCommitRecord(whole)
	if record == nil || record.committed != int64(sumOf(events)) || record.synced >= record.committed ||
		record.synced == 0 {
		t.Fatalf("the record is %+v, of %d events", record, sumOf(events))
	}
	for _, tt := range []struct {
		name    string
		change  func(*commitRecord)
		damaged bool
	}{
		{"as it is", func(*commitRecord) {}, false},
		{"an event is missing", func(r *commitRecord) { r.committed++ }, true},
		{"after a power cut", func(r *commitRecord) { r.committed, r.boot = r.committed+9, "another" }, false},
		{
			"a synced event is missing after a power cut",
			func(r *commitRecord) { r.synced, r.committed, r.boot = r.committed+1, r.committed+9, "another" }, true,
		},
		{"an unknown system", func(r *commitRecord) { r.committed, r.boot = r.committed+9, "" }, false},
		{"another store", func(r *commitRecord) { r.committed, r.store = r.committed+9, newID() }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, r := copyHome(t, whole), *record
			tt.change(&r)
			if err := os.WriteFile(filepath.Join(dir, committedName), r.encode(), 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, dir)
			if got := errors.Is(s.DegradedError(), store.ErrDamaged); got != tt.damaged {
				t.Errorf("degraded: %v", s.DegradedError())
			}
			if tt.damaged {
				return
			}
			fill(t, s, 1, 1)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if readCommitRecord(dir) != nil {
				t.Error("the record is there after Close")
			}
		})
	}
}

// TestTornCommitRecord: a record that is missing or that a power cut has torn blocks nothing, and is reported.
func TestTornCommitRecord(t *testing.T) {
	whole, _ := killedHome(t)
	b, err := os.ReadFile(filepath.Join(whole, committedName))
	if err != nil {
		t.Fatal(err)
	}
	for name, torn := range map[string][]byte{
		"removed": nil, "empty": nil, "short": b[:40], "zeroes": make([]byte, len(b)),
		"half": append(bytes.Clone(b[:50]), make([]byte, len(b)-50)...),
	} {
		dir := copyHome(t, whole)
		if err := os.WriteFile(filepath.Join(dir, committedName), torn, 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "removed" {
			if err := os.Remove(filepath.Join(dir, committedName)); err != nil {
				t.Fatal(err)
			}
		}
		reader, err := Open(t.Context(), Config{Dir: dir, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(reader.DescribeUnchecked(), "cannot be checked") {
			t.Errorf("%s: read-only: unchecked: %q", name, reader.DescribeUnchecked())
		}
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
		s := open(t, dir)
		if err := s.DegradedError(); err != nil || !strings.Contains(s.DescribeUnchecked(), "cannot be checked") {
			t.Errorf("%s: degraded: %v, unchecked: %q", name, err, s.DescribeUnchecked())
		}
	}
}

// TestCommitRecordIsChecked: a first start, a start after an end in order and one after a kill can be checked, also if
// the process wrote nothing; so can a store of an earlier version, which has no record.
func TestCommitRecordIsChecked(t *testing.T) {
	live := t.TempDir()
	for _, step := range []string{"first start", "after an end in order"} {
		s := open(t, live)
		err := s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error { // no event
			return tx.PutSession(&session.Session{ID: "ses_none"})
		})
		if err != nil || s.DescribeUnchecked() != "" {
			t.Errorf("%s: %q, %v", step, s.DescribeUnchecked(), err)
		}
		if killed := open(t, copyHome(t, live)); killed.DescribeUnchecked() != "" {
			t.Errorf("%s, then a kill: %s", step, killed.DescribeUnchecked())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	whole, _ := killedHome(t)
	h, err := findHome(Config{Dir: whole})
	if err != nil {
		t.Fatal(err)
	}
	c, err := h.openWriter()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = errors.Join(
		c.Exec("DELETE FROM meta WHERE key = '"+recordKey+"'"), os.Remove(filepath.Join(whole, committedName)),
	)
	if err != nil {
		t.Fatal(err)
	}
	if s := open(t, copyHome(t, whole)); s.DescribeUnchecked() != "" {
		t.Errorf("without a record: %s", s.DescribeUnchecked())
	}
}
