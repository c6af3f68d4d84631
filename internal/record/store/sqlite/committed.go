package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlstore"
)

// committedName is the file of the commitRecord, beside the database.
const committedName = dbName + "-committed"

// commitRecord names the newest commit of a store. SQLite takes the first broken frame of the write-ahead log for the
// log's end, so that damage there removes committed events without an error; the record shows that they are missing. It
// is written after each commit without a sync, and emptied when the database is closed. A process that is killed loses
// nothing that it wrote, so that all committed events must be there while the system runs. A power cut can take those
// that were not synced, and the newest records with them. The database remembers that it has a record (recordKey), so
// that a missing one is noticed.
type commitRecord struct {
	store     string // id of the store
	boot      string // id of the start of the system, "" if unknown
	committed int64  // position of the newest event
	synced    int64  // position of the newest event that was synced
}

// recordKey is the key in meta of a store that has a commitRecord whenever its log has frames.
const recordKey = "commit-record"

// The encoded record: magic, positions, ids, checksum.
const (
	recordMagic  = "cairncm1"
	recordSize   = 8 + 8 + 8 + idSize + bootSize + 4
	idSize       = 32
	bootSize     = 36
	bootIDSource = "/proc/sys/kernel/random/boot_id"
)

func (r commitRecord) encode() []byte {
	b := append(make([]byte, 0, recordSize), recordMagic...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.committed))
	b = binary.BigEndian.AppendUint64(b, uint64(r.synced))
	b = fmt.Appendf(b, "%-*.*s%-*.*s", idSize, idSize, r.store, bootSize, bootSize, r.boot)
	return sealRecord(append(b, 0, 0, 0, 0))
}

// sealRecord sets the checksum of an encoded record.
func sealRecord(b []byte) []byte {
	binary.BigEndian.PutUint32(b[recordSize-4:], crc32.ChecksumIEEE(b[:recordSize-4]))
	return b
}

// readCommitRecord returns the record in the folder, nil if it is missing or a power cut has torn it.
func readCommitRecord(dir string) *commitRecord {
	b, err := os.ReadFile(filepath.Join(dir, committedName))
	if err != nil || len(b) != recordSize || string(b[:8]) != recordMagic ||
		crc32.ChecksumIEEE(b[:recordSize-4]) != binary.BigEndian.Uint32(b[recordSize-4:]) {
		return nil
	}
	return &commitRecord{
		committed: int64(binary.BigEndian.Uint64(b[8:])), synced: int64(binary.BigEndian.Uint64(b[16:])),
		store: strings.TrimSpace(string(b[24 : 24+idSize])), boot: strings.TrimSpace(string(b[24+idSize : recordSize-4])),
	}
}

// bootID returns the id of the start of the system, "" if it is unknown.
func bootID() string {
	b, err := os.ReadFile(bootIDSource)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// findMissing returns a *store.Damage if c lacks events that must be there: those up to the newest commit while the
// system has not restarted since, else those up to the newest sync. lost is the number of positions after these that a
// power cut took. A nil record, and one of another store, proves nothing: then no event is missing.
func (r *commitRecord) findMissing(c dbConn, dir string) (lost int64, err error) {
	if r == nil {
		return 0, nil
	}
	// Compare the newest event with the one that the record names.
	id, err := metaValue(c, "store-id")
	if err != nil || id != r.store {
		return 0, err
	}
	newest, err := sqlstore.NewReader(c).Head("")
	if err != nil {
		return 0, err
	}
	want := r.synced
	if r.boot != "" && r.boot == bootID() {
		want = r.committed
	}
	if newest >= want {
		return max(r.committed-newest, 0), nil
	}
	return 0, &store.Damage{Seq: -1, Detail: fmt.Sprintf(
		"events are missing: position %d was committed, and the newest that can be read is %d; the log %s was damaged, "+
			"cut or removed, or %s replaced by an older copy (to accept the loss, remove %s)",
		want, newest, dbName+logSuffix, dbName, filepath.Join(dir, committedName),
	)}
}

// findUnchecked returns why findMissing cannot tell whether c lacks events, "" if it can: the log has frames, and the
// record that a store has then (recordKey) is missing or torn.
func (r *commitRecord) findUnchecked(c dbConn, dir string) (string, error) {
	kept, err := metaValue(c, recordKey)
	log, lerr := os.Lstat(filepath.Join(dir, dbName+logSuffix))
	if err != nil || kept == "" || r != nil || lerr != nil || log.Size() == 0 {
		return "", err
	}
	return fmt.Sprintf("it cannot be checked whether stored events are missing: %s is missing or torn, although %s was "+
		"not closed in order (it was removed, or a power cut took it)", filepath.Join(dir, committedName), dbName), nil
}

// rememberRecord records in the database that the store has a commitRecord from now on.
func rememberRecord(c dbConn) error {
	kept, err := metaValue(c, recordKey)
	if err != nil || kept != "" {
		return err
	}
	return setMeta(c, recordKey, "1")
}

// commitFile writes the commitRecord of an open store. A nil commitFile writes nothing. Failures of a write are
// ignored: an older record names fewer events, so that fewer missing ones are noticed.
type commitFile struct {
	path   string
	file   *os.File // nil if it cannot be written
	record commitRecord
	buf    []byte // the encoded record
}

// newCommitFile writes the first record of the store with the id, whose newest event has the position. before is the
// record of the last process, nil without one.
func newCommitFile(dir, id string, newest int64, before *commitRecord) *commitFile {
	f := &commitFile{path: filepath.Join(dir, committedName)}
	if before != nil && before.store == id {
		f.record.synced = min(before.synced, newest)
	}
	f.record.store, f.record.boot = id, bootID()
	f.buf = f.record.encode()
	f.record.committed = newest
	f.write()
	return f
}

// recordCommit records a commit whose newest event has the position, 0 if it has none.
func (f *commitFile) recordCommit(position int64, synced bool) {
	if f == nil || position == 0 && !synced {
		return
	}
	if position > 0 {
		f.record.committed = position
	}
	if synced {
		f.record.synced = max(f.record.synced, f.record.committed)
	}
	f.write()
}

// write writes the record to the file, which it creates first.
func (f *commitFile) write() {
	if f.file == nil {
		file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|noFollow, 0o600)
		if err != nil {
			return
		}
		f.file = file
	}
	binary.BigEndian.PutUint64(f.buf[8:], uint64(f.record.committed))
	binary.BigEndian.PutUint64(f.buf[16:], uint64(f.record.synced))
	_, _ = f.file.WriteAt(sealRecord(f.buf), 0)
}

// abandon closes the file and leaves the record as it is: the database could not be opened.
func (f *commitFile) abandon() {
	if f != nil && f.file != nil {
		_ = f.file.Close()
	}
}

// empty ends the record, before the log is copied into the database and removed.
func (f *commitFile) empty() error {
	if f == nil || f.file == nil {
		return nil
	}
	return errors.Join(f.file.Truncate(0), f.file.Close())
}
