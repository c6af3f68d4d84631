package sqlite

import (
	"bytes"
	"encoding/binary"
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
	rng := rand.New(rand.NewPCG(7, 7))
	frame := frameHeaderSize + pageSize
	harms := map[string]func([]byte) []byte{
		"half":    func(b []byte) []byte { return b[:len(b)/2] },
		"removed": func([]byte) []byte { return nil },
		"header":  func(b []byte) []byte { b[17] ^= 4; return b },
		"zeroes":  func(b []byte) []byte { clear(b[len(b)/3 : len(b)/3+2*frame]); return b },
	}
	isSmall := map[string]bool{} // harms of a page of rows
	flip := func(name string, at int, bit byte) {
		isSmall[name] = isRowFrame(log, at)
		harms[name] = func(b []byte) []byte { b[at] ^= bit; return b }
	}
	for _, percent := range []int{2, 25, 50, 75, 95} {
		flip(fmt.Sprintf("%d%%", percent), len(log)*percent/100, 1)
	}
	for i := range 30 {
		flip(fmt.Sprintf("flip %d", i), rng.IntN(len(log)), byte(1<<rng.IntN(8)))
	}
	small, salvaged := 0, 0 // of the small harms
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
			n := checkDamagedLog(t, dir, events)
			if isSmall[name] {
				small, salvaged = small+1, salvaged+n
			}
			if now, err := os.ReadFile(path); !bytes.Equal(now, damaged) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the log has %d bytes, had %d", len(now), len(damaged))
			}
		})
	}
	// A page holds up to a quarter of these few events, so a single harm can cost as much; on average it costs less.
	if got, all := salvaged, small*sumOf(events); got*100 < all*85 {
		t.Errorf("salvaged %d of %d events in %d logs with one damaged page of rows", got, all, small)
	}
}

// isRowFrame reports whether the frame at a position of the log is a page of rows. The loss of an inner page, or of the
// schema, costs all that is found through it (SQLite's file format, section 1.6).
func isRowFrame(log []byte, at int) bool {
	const header, leafTable, leafIndex = 32, 0x0d, 0x0a
	if at < header {
		return false
	}
	start := header + (at-header)/(frameHeaderSize+pageSize)*(frameHeaderSize+pageSize)
	if start+frameHeaderSize+pageSize > len(log) {
		return false
	}
	page := log[start+frameHeaderSize : start+frameHeaderSize+pageSize]
	isSchema := binary.BigEndian.Uint32(log[start:]) == 1 || bytes.Contains(page, []byte("CREATE "))
	return !isSchema && (page[0] == leafTable || page[0] == leafIndex)
}

// checkDamagedLog checks that a damaged log is noticed, and that what is lost is named. It returns how many events were
// salvaged.
func checkDamagedLog(t *testing.T, dir string, events map[session.ID]int) (salvaged int) {
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
			return sumOf(events)
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
	return report.Events
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
