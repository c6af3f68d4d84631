package share

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// FileName is the name of the registry in the data directory. It holds the secrets of the shares.
const FileName = "shares.json"

// The bounds of a registry.
const (
	maxShares = 10_000
	maxFile   = 16 << 20 // bytes
)

// Registry keeps the shares of a data directory in a file, which one process writes at a time. It is safe for
// concurrent use. A change is on the disk once its method returns. Reads do not wait for writes.
type Registry struct {
	dir string

	// shares are in the order of their creation; nil until the file was read. A change replaces the list: one that was
	// loaded is never modified.
	shares atomic.Pointer[[]Share]

	mu      sync.Mutex // held by changes, also while they write; guards the rest
	marked  []string   // shares that were marked when the file of the progress was read
	isLost  bool       // there was no file of the progress
	saved   []byte     // content of the file of the progress
	isSaved bool       // it is durable
}

// NewRegistry returns the registry in a data directory.
func NewRegistry(dir string) *Registry { return &Registry{dir: dir} }

// registryFile is the content of the file.
type registryFile struct {
	Version int     `json:"version"`
	Shares  []Share `json:"shares"`
}

// fileVersion is the version of the file's format.
const fileVersion = 2

// renamedMembers are the members of a share that have another name since version 2.
var renamedMembers = map[string]string{
	"withdrawn": "revokedAt", "absent": "notFoundSince", "remote": "remoteID", "synced": "syncedSeq",
	"cut": "uploadCancelledAt", "failed": "attempts", "next": "nextAttempt",
}

// upgradeFile returns the content of a file of version 1 in the current format.
func upgradeFile(text []byte) ([]byte, error) {
	var f struct {
		Version int                         `json:"version"`
		Shares  []map[string]jsontext.Value `json:"shares"`
	}
	if err := json.Unmarshal(text, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	f.Version = fileVersion
	for _, s := range f.Shares {
		for before, after := range renamedMembers {
			if value, ok := s[before]; ok {
				delete(s, before)
				s[after] = value
			}
		}
	}
	return json.Marshal(f)
}

// load returns the shares, after it read the file if it was not read before. mu is held.
func (r *Registry) load() ([]Share, error) {
	if p := r.shares.Load(); p != nil {
		return *p, nil
	}
	file := filepath.Join(r.dir, FileName)
	statefile.Clean(file) // copies with secrets, which a process left that was killed while it wrote
	statefile.Clean(filepath.Join(r.dir, progressName))
	text, err := statefile.ReadRegular(file, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		r.shares.Store(&[]Share{})
		return nil, nil
	}
	// Check the version before the other members, which may have other types in a newer one.
	var format struct {
		Version int `json:"version"`
	}
	if err == nil {
		err = json.Unmarshal(text, &format)
	}
	switch {
	case err != nil:
	case format.Version > fileVersion:
		return nil, session.Errorf(session.CodeConflict, "a newer cairn wrote the share list %s: it has version %d, and this cairn "+
			"reads version %d. Sharing, and revoking shares, needs the newer one", file, format.Version, fileVersion)
	case format.Version == 1:
		text, err = upgradeFile(text)
	case format.Version < 1:
		err = errors.New("it has no version")
	}
	var f registryFile
	if err == nil {
		err = json.Unmarshal(text, &f, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return nil, session.Errorf(session.CodeConflict, "cannot read the share list %s: %v; it holds the secrets that revoke "+
			"shares: repair it or restore a backup. Sharing is disabled until then", file, err)
	}
	r.marked, r.isLost = r.readProgress(f.Shares)
	r.shares.Store(&f.Shares)
	return f.Shares, nil
}

// Examine returns a finding if the list cannot be read.
func (r *Registry) Examine() []finding.Finding {
	if _, err := r.List(); err != nil {
		return []finding.Finding{{Level: finding.Error, What: "shares", Detail: err.Error()}}
	}
	return nil
}

// takeMarks returns the shares that were marked when the registry was read, and whether the marks were lost.
func (r *Registry) takeMarks() (marked []string, isLost bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.load()
	return r.marked, r.isLost, err
}

// List returns the shares in the order of their creation. The list must not be modified.
func (r *Registry) List() ([]Share, error) {
	if p := r.shares.Load(); p != nil {
		return *p, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.load()
}

// Find returns the share with the id.
func (r *Registry) Find(id string) (s Share, found bool, err error) {
	return r.find(func(s *Share) bool { return s.ID == id })
}

// FindSession returns the share of the session that is not revoked.
func (r *Registry) FindSession(id session.ID) (s Share, found bool, err error) {
	return r.find(func(s *Share) bool { return s.SessionID == id && s.RevokedAt == 0 })
}

func (r *Registry) find(matches func(*Share) bool) (s Share, found bool, err error) {
	shares, err := r.List()
	for i := range shares {
		if matches(&shares[i]) {
			return shares[i], true, nil
		}
	}
	return s, false, err
}

// add adds a share. If its session has an active or pending one, it returns that one instead. audit is called right before
// a new share is stored, and its error prevents that.
func (r *Registry) add(s Share, audit func() error) (current Share, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	shares, err := r.load()
	if err != nil {
		return s, err
	}
	for i := range shares {
		if e := &shares[i]; e.SessionID == s.SessionID && e.RevokedAt == 0 {
			return *e, nil
		}
	}
	if len(shares) >= maxShares {
		return s, session.Errorf(session.CodeConflict, "%d sessions are shared, which is the limit; revoke shares that are no "+
			"longer needed (cairn share list, cairn share revoke)", maxShares)
	}
	if err := audit(); err != nil {
		return s, err
	}
	return s, r.write(append(slices.Clone(shares), s))
}

// change applies f to the share with the id, and returns the result. The error is not found without such a share.
func (r *Registry) change(id string, f func(*Share)) (Share, error) { return r.edit(id, f, true) }

// changeAnyway is change, but its result holds in this process even if it cannot be stored.
func (r *Registry) changeAnyway(id string, f func(*Share)) (Share, error) {
	s, err := r.edit(id, f, true)
	if err == nil {
		return s, nil
	}
	s, notFound := r.edit(id, f, false)
	return s, cmp.Or(notFound, err)
}

// edit applies f to the share with the id, in memory and, if isStored, in the file.
func (r *Registry) edit(id string, f func(*Share), isStored bool) (after Share, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	shares, err := r.load()
	if err != nil {
		return after, err
	}
	next := slices.Clone(shares)
	at := slices.IndexFunc(next, func(s Share) bool { return s.ID == id })
	if at < 0 {
		return after, session.NotFound("share", id)
	}
	f(&next[at])
	if !isStored {
		r.shares.Store(&next)
		return next[at], nil
	}
	return next[at], r.write(next)
}

// remove removes the share with the id.
func (r *Registry) remove(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	shares, err := r.load()
	if err != nil {
		return err
	}
	return r.write(slices.DeleteFunc(slices.Clone(shares), func(s Share) bool { return s.ID == id }))
}

// write stores the shares. mu is held.
func (r *Registry) write(shares []Share) error {
	text, err := json.Marshal(registryFile{fileVersion, shares}, json.Deterministic(true), jsontext.WithIndent("  "))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("it would have more than %d bytes", maxFile)
	}
	if err == nil {
		err = statefile.Replace(filepath.Join(r.dir, FileName), append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("store the share list: %w", err)
	}
	r.shares.Store(&shares)
	return nil
}
