package sqlite

import (
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// disk is a folder on a simulated disk, as a VFS. What was written but not synced is pending: when the power is cut,
// each pending write of a 512-byte sector, each pending truncation and each pending change of the folder is kept or
// lost by itself.
//
// It behaves as SQLite's VFS for Unix does where that matters: the first sync of a new log syncs the folder too.
type disk struct {
	mu      sync.Mutex
	rng     *rand.Rand
	names   map[string]*node // the folder as programs see it
	durable map[string]*node // as it is on the platter
	ops     int              // that changed something, so far
	cutAt   int              // the power is cut within this operation; 0 never
	dead    bool
	forgets bool                            // a failed sync drops pending writes: readable, never on disk
	fail    func(op int, kind opKind) error // makes operations fail
}

type opKind int

const (
	opWrite opKind = iota
	opSync
	opTruncate
	opCreate
	opDelete
)

const sector = 512

type node struct {
	data    []byte
	synced  []byte
	pending []change
}

// change is a pending write of a sector or, with data nil, a truncation.
type change struct {
	at   int64
	data []byte
}

func newDisk(seed uint64) *disk {
	return &disk{rng: rand.New(rand.NewPCG(seed, 0)), names: map[string]*node{}, durable: map[string]*node{}}
}

// copyOf returns a disk with the same durable files.
func (d *disk) copyOf(seed uint64) *disk {
	c := newDisk(seed)
	for name, n := range d.durable {
		m := &node{data: slices.Clone(n.synced), synced: slices.Clone(n.synced)}
		c.names[name], c.durable[name] = m, m
	}
	return c
}

var errDead = sqlite3.IOERR

// op counts an operation. It returns an error if it shall fail, and whether the power goes while it runs: then what it
// does may or may not reach the platter, and no caller learns that it succeeded.
func (d *disk) op(kind opKind) (cut bool, err error) {
	if d.dead {
		return false, errDead
	}
	d.ops++
	if d.fail != nil {
		if err := d.fail(d.ops, kind); err != nil {
			return false, err
		}
	}
	if d.ops == d.cutAt {
		d.dead = true
	}
	return d.dead, nil
}

// afterCut returns the disk that is found when the power is back.
func (d *disk) afterCut(seed uint64) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
	share := []float64{0, 0.5, 0.9, 1}[d.rng.IntN(4)]
	keep := func() bool { return d.rng.Float64() < share }
	for _, n := range d.nodes() {
		for _, c := range n.pending {
			if keep() {
				n.synced = c.apply(n.synced)
			}
		}
		n.pending = nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.names)) {
		if d.durable[name] != d.names[name] && keep() {
			d.durable[name] = d.names[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.durable)) {
		if d.names[name] == nil && keep() {
			delete(d.durable, name)
		}
	}
	return d.copyOf(seed)
}

// nodes returns all files, also those that were deleted and may come back, in a fixed order.
func (d *disk) nodes() []*node {
	var out []*node
	for _, dir := range []map[string]*node{d.names, d.durable} {
		for _, name := range slices.Sorted(maps.Keys(dir)) {
			if !slices.Contains(out, dir[name]) {
				out = append(out, dir[name])
			}
		}
	}
	return out
}

func (c change) apply(b []byte) []byte {
	if c.data == nil {
		return resized(b, c.at)
	}
	if end := c.at + int64(len(c.data)); end > int64(len(b)) {
		b = resized(b, end)
	}
	copy(b[c.at:], c.data)
	return b
}

func resized(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

func (d *disk) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return nil, flags, sqlite3.CANTOPEN
	}
	n := d.names[name]
	if n == nil {
		if flags&vfs.OPEN_CREATE == 0 {
			return nil, flags, sqlite3.CANTOPEN
		}
		cut, err := d.op(opCreate)
		if err == nil {
			n = &node{}
			d.names[name] = n
		}
		if err != nil || cut {
			return nil, flags, sqlite3.CANTOPEN
		}
	}
	return &diskFile{disk: d, node: n, name: name}, flags, nil
}

func (d *disk) Delete(name string, syncDir bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[name] == nil {
		return sqlite3.IOERR_DELETE_NOENT
	}
	cut, err := d.op(opDelete)
	if err != nil {
		return err
	}
	delete(d.names, name)
	if cut {
		return errDead
	}
	if syncDir {
		delete(d.durable, name)
	}
	return nil
}

func (d *disk) Access(name string, _ vfs.AccessFlag) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names[name] != nil, nil
}

func (d *disk) FullPathname(name string) (string, error) { return name, nil }

type diskFile struct {
	disk *disk
	node *node
	name string
}

func (f *diskFile) ReadAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.dead {
		return 0, errDead
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	cut, err := f.disk.op(opWrite)
	if err != nil {
		return 0, err
	}
	for at, rest := off, p; len(rest) > 0; { // sector by sector
		n := min(int64(len(rest)), sector-at%sector)
		c := change{at, slices.Clone(rest[:n])}
		f.node.data = c.apply(f.node.data)
		f.node.pending = append(f.node.pending, c)
		at, rest = at+n, rest[n:]
	}
	if cut {
		return 0, errDead
	}
	return len(p), nil
}

func (f *diskFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	cut, err := f.disk.op(opTruncate)
	if err != nil {
		return err
	}
	c := change{size, nil}
	f.node.data = c.apply(f.node.data)
	f.node.pending = append(f.node.pending, c)
	if cut {
		return errDead
	}
	return nil
}

func (f *diskFile) Sync(vfs.SyncFlag) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	cut, err := f.disk.op(opSync)
	switch {
	case err != nil:
		if f.disk.forgets {
			f.node.pending = nil
		}
		return err
	case cut:
		return errDead
	}
	for _, c := range f.node.pending {
		f.node.synced = c.apply(f.node.synced)
	}
	f.node.pending = nil
	if f.disk.names[f.name] == f.node {
		f.disk.durable[f.name] = f.node
	}
	return nil
}

func (f *diskFile) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return int64(len(f.node.data)), nil
}

// There is one connection at a time.
func (f *diskFile) Close() error                     { return nil }
func (f *diskFile) Lock(vfs.LockLevel) error         { return nil }
func (f *diskFile) Unlock(vfs.LockLevel) error       { return nil }
func (f *diskFile) CheckReservedLock() (bool, error) { return false, nil }
func (f *diskFile) SectorSize() int                  { return 4096 }
func (f *diskFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return vfs.IOCAP_POWERSAFE_OVERWRITE
}
