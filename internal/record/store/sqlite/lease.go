package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
)

const leaseName = "lease"

// maxLease bounds what is read of a lease file.
const maxLease = 16 << 10

// ErrHeld means that another process owns the folder. An error that is ErrHeld is a *HeldError.
var ErrHeld = errors.New("another process owns the data folder")

// Owner describes the process that owns a data folder, as the lease file names it.
type Owner struct {
	PID       int            `json:"pid"`
	Addresses []string       `json:"addresses"` // URLs; empty while the owner starts or does not serve
	Started   int64          `json:"started"`   // milliseconds since the epoch
	Version   string         `json:"version,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}

// HeldError is an ErrHeld with the owner of the lease. Owner is zero if the lease file does not name one yet. If a
// process has just taken over after a crash, the file may for a moment still name the process before it.
type HeldError struct {
	Dir   string
	Owner Owner
}

func (h *HeldError) Error() string {
	switch {
	case h.Owner.PID == 0:
		return fmt.Sprintf("the data folder %s belongs to a process that is starting; try again", h.Dir)
	case len(h.Owner.Addresses) == 0:
		return fmt.Sprintf(
			"the data folder %s belongs to process %d, which does not serve clients; wait until it ends", h.Dir, h.Owner.PID,
		)
	default:
		return fmt.Sprintf(
			"the data folder %s belongs to process %d; reach it at %s", h.Dir, h.Owner.PID, h.Owner.Addresses[0],
		)
	}
}

// Is reports whether target is ErrHeld.
func (h *HeldError) Is(target error) bool { return target == ErrHeld }

// Lease is the ownership of a data folder: the right to open its database for writing. The kernel ends it with the
// process. It is safe for concurrent use.
type Lease struct {
	path string
	file fs.FileInfo // of the locked file

	mu    sync.Mutex // guards the rest
	f     *os.File   // locked; nil after Release
	owner Owner
}

// AcquireLease makes this process the owner of the folder, which it creates if necessary. It never waits: a
// *HeldError names the current owner. PID and Started of o are filled in.
func AcquireLease(dir string, o Owner) (*Lease, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	// Lock the file.
	f, err := os.OpenFile(filepath.Join(dir, leaseName), os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, newUnavailable("open lease: %w", err)
	}
	locked, err := lockFile(f, false)
	if err == nil && !locked {
		err = &HeldError{Dir: dir, Owner: readOwner(f)}
	} else if err != nil {
		err = newUnavailable("lock lease: %w", err)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	// Write the owner into it.
	o.PID, o.Started = os.Getpid(), time.Now().UnixMilli()
	l := &Lease{path: f.Name(), f: f, owner: o}
	l.file, err = f.Stat()
	if err := errors.Join(err, f.Chmod(0o600), l.write()); err != nil {
		_ = l.Release()
		return nil, newUnavailable("write lease: %w", err)
	}
	return l, nil
}

// FindOwner returns the owner of the folder; found is false if it has none. It creates and writes nothing. To see whether
// the file is locked it locks it for a moment, shared: a process that acquires the lease then is refused and tries again.
func FindOwner(dir string) (o Owner, found bool, err error) {
	f, err := os.OpenFile(filepath.Join(dir, leaseName), os.O_RDONLY|noFollow, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return o, false, nil
	}
	if err != nil {
		return o, false, newUnavailable("open lease: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	isFree, err := lockFile(f, true)
	if err != nil {
		return o, false, newUnavailable("lock lease: %w", err)
	}
	if isFree {
		return o, false, nil
	}
	return readOwner(f), true, nil
}

// Update sets the addresses at which the owner can be reached.
func (l *Lease) Update(addresses ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return errors.New("update lease: it was released")
	}
	l.owner.Addresses = addresses
	if err := l.write(); err != nil {
		return newUnavailable("write lease: %w", err)
	}
	return nil
}

// Check returns an ErrLeaseLost if the file of the lease was removed or replaced: another process can lock the file
// that is there now. A nil Lease is an error, too.
func (l *Lease) Check() error {
	if l == nil {
		return errors.New("this process has no lease")
	}
	if change := describeChange(l.path, l.file); change != "" {
		return fmt.Errorf("%w: %w: %s %s, and another process may own the data now; this one writes nothing more",
			store.ErrUnavailable, store.ErrLeaseLost, l.path, change)
	}
	return nil
}

// leaseCheckInterval is the interval of WatchLoss. The writer checks the lease with each commit.
const leaseCheckInterval = time.Second

// WatchLoss checks the lease every leaseCheckInterval. It calls lost with the first error and returns; without an error
// it returns when ctx ends. With a nil Lease it returns at once.
func (l *Lease) WatchLoss(ctx context.Context, lost func(error)) {
	if l == nil {
		return
	}
	poll := time.NewTicker(leaseCheckInterval)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
		if err := l.Check(); err != nil {
			lost(err)
			return
		}
	}
}

// Release ends the ownership. The file stays: it carries the lock, and another process may be about to lock it.
func (l *Lease) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	err := errors.Join(l.f.Truncate(0), l.f.Close())
	l.f = nil
	return err
}

// write replaces the content in place: one write, then a truncation.
func (l *Lease) write() error {
	b, err := json.Marshal(l.owner, json.Deterministic(true))
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if _, err := l.f.WriteAt(b, 0); err != nil {
		return err
	}
	return l.f.Truncate(int64(len(b)))
}

// readOwner reads the content of the lease file, which its owner may be writing.
func readOwner(f *os.File) Owner {
	for range 5 {
		b, err := io.ReadAll(io.NewSectionReader(f, 0, maxLease))
		if err != nil || len(b) == 0 {
			return Owner{}
		}
		// Only the first value: the rest of a longer text may be about to be truncated.
		dec := jsontext.NewDecoder(bytes.NewReader(b))
		var o Owner
		if json.UnmarshalDecode(dec, &o) == nil {
			return o
		}
	}
	return Owner{}
}
