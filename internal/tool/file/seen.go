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
	maxSeen      = 8192      // files remembered, over all sessions; the longest unused are forgotten first
	maxKept      = 256 << 10 // bytes of a file whose content is remembered, to say what changed
	maxKeptAll   = 16 << 20  // bytes of all such contents
	maxStaleDiff = 4 << 10   // bytes of what changed that are said
)

// digest tells contents apart: the beginning of their SHA-256. Zero is of none.
type digest [16]byte

func computeDigest(data []byte) digest {
	sum := sha256.Sum256(data)
	return digest(sum[:])
}

// fingerprint is what a file was like. A zero sum means that not all of it was read.
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

// isSame reports whether both are prints of the same content, as far as one can know.
func (p fingerprint) isSame(o fingerprint) bool {
	var none digest
	if p.digest != none && o.digest != none {
		return p.digest == o.digest
	}
	return p.size == o.size && p.time.Equal(o.time)
}

// snapshot is what a session saw of a file; data is nil when it is not remembered.
type snapshot struct {
	fingerprint fingerprint
	content     []byte
}

// headBuffer keeps what is written to it, as long as it is small.
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

// recordSeen remembers what the session knows of the file.
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

// forgetSeen forgets what the session saw of the file.
func (f *Tracker) forgetSeen(id session.ID, path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropSeen(seenKey{id, path})
}

// dropSeen is called with mu held.
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

// lastSeen returns what the session last saw of the file.
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

// staleError says that a file is not as the session saw it last.
type staleError struct {
	path workpath.Path
	seen snapshot
	now  fileState
}

func (e *staleError) Error() string {
	return e.path.Abs + " was changed (at " + e.now.info.ModTime().Format("15:04:05") +
		") since you last read it, so nothing was written. Read it again, then repeat the call."
}

// explainStale turns a staleError into words for the model, with what changed where that is known and may be read. It
// asks, so no file is locked.
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
