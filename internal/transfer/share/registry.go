package share

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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
// concurrent use. A change is on the disk once its method returns.
type Registry struct {
	file string

	mu     sync.Mutex // guards what is below, and the file
	loaded bool
	shares []Share // in the order of their creation
}

// NewRegistry returns the registry in the file, which need not exist.
func NewRegistry(file string) *Registry { return &Registry{file: file} }

// registryFile is the content of the file.
type registryFile struct {
	Version int     `json:"version"`
	Shares  []Share `json:"shares"`
}

// fileVersion is the version of the file's form.
const fileVersion = 1

// load reads the file once. mu is held.
func (r *Registry) load() error {
	if r.loaded {
		return nil
	}
	text, err := statefile.ReadRegular(r.file, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		r.loaded = true
		return nil
	}
	var f registryFile
	if err == nil { // the version first: a newer one may have other members
		err = json.Unmarshal(text, &f)
	}
	if err == nil && f.Version != fileVersion {
		err = fmt.Errorf("it has the version %d; this cairn knows %d", f.Version, fileVersion)
	}
	if err == nil {
		err = json.Unmarshal(text, &f, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return session.Errorf(session.CodeConflict, "cannot read the list of shares %s: %v; it has the secrets that withdraw "+
			"shares: repair it or restore a copy; nothing is shared until then", r.file, err)
	}
	r.loaded, r.shares = true, f.Shares
	return nil
}

// List returns the shares in the order of their creation.
func (r *Registry) List() ([]Share, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.load()
	return slices.Clone(r.shares), err
}

// Find returns the share with the id.
func (r *Registry) Find(id string) (s Share, found bool, err error) {
	return r.find(func(s *Share) bool { return s.ID == id })
}

// FindSession returns the share of the session that is not withdrawn.
func (r *Registry) FindSession(id session.ID) (s Share, found bool, err error) {
	return r.find(func(s *Share) bool { return s.SessionID == id && s.RevokedAt == 0 })
}

func (r *Registry) find(matches func(*Share) bool) (s Share, found bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(); err != nil {
		return s, false, err
	}
	for i := range r.shares {
		if matches(&r.shares[i]) {
			return r.shares[i], true, nil
		}
	}
	return s, false, nil
}

// add adds the share of a session that has none. It returns the one that the session has, if it has one.
func (r *Registry) add(s Share) (there Share, added bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(); err != nil {
		return s, false, err
	}
	for _, there := range r.shares {
		if there.SessionID == s.SessionID && there.RevokedAt == 0 {
			return there, false, nil
		}
	}
	if len(r.shares) >= maxShares {
		return s, false, session.Errorf(session.CodeConflict, "%d sessions are shared, which is the most there can be; "+
			"withdraw some (cairn share list, cairn share revoke)", maxShares)
	}
	return s, true, r.write(append(slices.Clone(r.shares), s))
}

// change applies f to the share with the id, if it is there. It returns the share afterwards.
func (r *Registry) change(id string, f func(*Share)) (after Share, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(); err != nil {
		return after, err
	}
	next := slices.Clone(r.shares)
	at := slices.IndexFunc(next, func(s Share) bool { return s.ID == id })
	if at < 0 {
		return after, session.NotFound("share", id)
	}
	f(&next[at])
	return next[at], r.write(next)
}

// remove removes the share with the id.
func (r *Registry) remove(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(); err != nil {
		return err
	}
	return r.write(slices.DeleteFunc(slices.Clone(r.shares), func(s Share) bool { return s.ID == id }))
}

// write stores the shares. mu is held.
func (r *Registry) write(shares []Share) error {
	text, err := json.Marshal(registryFile{fileVersion, shares}, json.Deterministic(true), jsontext.WithIndent("  "))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("it would have more than %d bytes", maxFile)
	}
	if err == nil {
		err = statefile.Replace(r.file, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("store the list of shares: %w", err)
	}
	r.shares = shares
	return nil
}
