package share

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// progressName is the name of the file in the data directory that says how far the servers are up to date. It is apart
// from the registry, whose secrets need not be written for each request. A lost file costs one look at all shares and
// requests with what their servers have.
const progressName = "shares-progress.json"

// progressFile is the content of the file.
type progressFile struct {
	Synced map[string]int64 `json:"synced"` // SyncedSeq by share
	Marked []string         `json:"marked"` // the shares that are to be looked at
	// ModelsDue are the shares whose list of models is to be sent.
	ModelsDue []string `json:"modelsDue,omitzero"`
}

// readProgress reads the file of the progress and sets SyncedSeq and ModelsDue of the shares. isLost says that there is no such file,
// or an invalid one.
func (r *Registry) readProgress(shares []Share) (marked []string, isLost bool) {
	text, err := statefile.ReadRegular(filepath.Join(r.dir, progressName), maxFile)
	var f progressFile
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		return nil, true
	}
	isKnown := map[string]bool{}
	for i := range shares {
		s := &shares[i]
		isKnown[s.ID] = true
		if seq, found := f.Synced[s.ID]; found {
			s.SyncedSeq = seq // also a lower one: that of the registry may be of a store that was restored since
		}
		s.ModelsDue = slices.Contains(f.ModelsDue, s.ID)
	}
	for _, id := range f.Marked {
		if isKnown[id] {
			marked = append(marked, id)
		}
	}
	return marked, false
}

// saveProgress writes the file of the progress if it has changed. With isDurable it is on the disk afterwards.
func (r *Registry) saveProgress(marked map[string]bool, isDurable bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	shares, err := r.load()
	if err != nil {
		return err
	}
	// What to write: the shares that exist, and marks of one that is about to be added.
	f := progressFile{Synced: map[string]int64{}, Marked: []string{}}
	for i := range shares {
		if s := &shares[i]; s.isRemote() && s.RevokedAt == 0 {
			f.Synced[s.ID] = s.SyncedSeq
			if s.ModelsDue {
				f.ModelsDue = append(f.ModelsDue, s.ID)
			}
		}
	}
	for id := range marked {
		f.Marked = append(f.Marked, id)
	}
	slices.Sort(f.Marked) // the same marks are the same text
	text, err := json.Marshal(f, json.Deterministic(true))
	if err != nil {
		return err
	}
	// Write it, unless the file has it.
	if bytes.Equal(text, r.saved) && (r.isSaved || !isDurable) {
		return nil
	}
	write := statefile.ReplaceUnsynced
	if isDurable {
		write = statefile.Replace
	}
	if err := write(filepath.Join(r.dir, progressName), text, 0o600); err != nil {
		return fmt.Errorf("store the progress of the shares: %w", err)
	}
	r.saved, r.isSaved = text, isDurable
	return nil
}

// setSynced sets SyncedSeq of a share, in memory: saveProgress writes it. It does nothing if SyncedSeq is no longer before:
// then the upload was one of another state of the store.
func (r *Registry) setSynced(id string, before, seq int64) error {
	_, err := r.edit(id, func(s *Share) {
		if s.SyncedSeq == before {
			s.SyncedSeq = seq
		}
	}, false)
	return err
}

// resetSynced records, in memory, that the server is to get the whole session.
func (r *Registry) resetSynced(id string) error {
	_, err := r.edit(id, func(s *Share) { s.SyncedSeq = -1 }, false)
	return err
}
