package file

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const (
	maxSeen      = 8192      // files remembered, over all sessions; the least recently used is dropped first
	maxKept      = 256 << 10 // bytes of a file whose content is remembered to show what changed
	maxKeptAll   = 16 << 20  // bytes of all remembered contents
	maxStaleDiff = 4 << 10   // bytes of the diff in the error about a stale file
)

// digest is the first bytes of a content's SHA-256. The zero digest means that it was not computed.
type digest [16]byte

func computeDigest(data []byte) digest {
	sum := sha256.Sum256(data)
	return digest(sum[:])
}

// fingerprint identifies the state of a file. The digest is zero if the file was not read completely.
type fingerprint struct {
	size   int64
	time   time.Time
	digest digest
}

func fingerprintOf(info fs.FileInfo, sum digest) fingerprint {
	if info == nil {
		return fingerprint{}
	}
	return fingerprint{info.Size(), info.ModTime(), sum}
}

// isSame reports whether both fingerprints are of the same content: by digest, or else by size and time.
func (p fingerprint) isSame(o fingerprint) bool {
	var none digest
	if p.digest != none && o.digest != none {
		return p.digest == o.digest
	}
	return p.size == o.size && p.time.Equal(o.time)
}

// snapshot is the state of a file that a session saw. content is nil if it is not remembered.
type snapshot struct {
	fingerprint fingerprint
	content     []byte
}

// headBuffer is a writer that keeps its input unless it exceeds maxKept bytes.
type headBuffer struct {
	data       []byte
	overflowed bool
}

func (k *headBuffer) Write(p []byte) (int, error) {
	if k.overflowed = k.overflowed || len(k.data)+len(p) > maxKept; k.overflowed {
		k.data = nil
	} else {
		k.data = append(k.data, p...)
	}
	return len(p), nil
}

type seenEntry struct {
	key seenKey
	snapshot
}

// recordSeen records the state of the file that the session saw.
func (f *Tracker) recordSeen(id session.ID, path string, s snapshot) {
	if len(s.content) > maxKept {
		s.content = nil
	}
	s.content = slices.Clip(s.content)
	key := seenKey{id, path}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropSeen(key)
	f.seen[key] = f.order.PushFront(&seenEntry{key, s})
	f.keptBytes += len(s.content)
	for e := f.order.Back(); e != nil && (f.order.Len() > maxSeen || f.keptBytes > maxKeptAll); {
		old, _ := e.Value.(*seenEntry)
		e = e.Prev()
		f.keptBytes -= len(old.content)
		old.content = nil
		if f.order.Len() > maxSeen {
			f.dropSeen(old.key)
		}
	}
}

// forgetSeen removes the record of a file.
func (f *Tracker) forgetSeen(id session.ID, path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropSeen(seenKey{id, path})
}

// dropSeen removes an entry. The caller holds f.mu.
func (f *Tracker) dropSeen(key seenKey) {
	e, ok := f.seen[key]
	if !ok {
		return
	}
	delete(f.seen, key)
	if s, ok := f.order.Remove(e).(*seenEntry); ok {
		f.keptBytes -= len(s.content)
	}
}

// lastSeen returns the state of the file that the session saw last.
func (f *Tracker) lastSeen(id session.ID, path string) (snapshot, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.seen[seenKey{id, path}]
	if !ok {
		return snapshot{}, false
	}
	f.order.MoveToFront(e)
	s, ok := e.Value.(*seenEntry)
	if !ok {
		return snapshot{}, false
	}
	return s.snapshot, true
}

// staleError reports that a file is not as the session saw it last.
type staleError struct {
	path workpath.Path
	seen snapshot
	now  fileState
}

func (e *staleError) Error() string {
	return e.path.Abs + " was changed (at " + e.now.info.ModTime().Format("15:04:05") +
		") since you last read it, so nothing was written. Read it again, then repeat the call."
}

// explainStale turns a staleError into an error for the model. If the earlier content is known and reading the file is
// allowed, it contains the diff. It asks for permission, so the caller holds no lock.
func (s *fileTools) explainStale(ctx context.Context, call tool.Call, err error) error {
	stale, ok := errors.AsType[*staleError](err)
	if !ok {
		return err
	}
	if stale.seen.content == nil {
		return tool.Failf("%v", stale)
	}
	ask := call.Ask(ctx, tool.Request{Action: "read", Resources: []string{stale.path.Resource()}, Save: []string{"*"}})
	if ask != nil && !workpath.IsRuleDenial(ask) {
		return ask
	}
	if ask != nil {
		return tool.Failf("%v", stale)
	}
	changed := diffBody(unifiedDiff(stale.path.Abs, stale.seen.content, stale.now.data))
	return tool.Failf("%v What changed:\n%s", stale, truncateLines(changed, maxStaleDiff))
}
