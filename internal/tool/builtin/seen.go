package builtin

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

const (
	maxSeen      = 8192      // files remembered, over all sessions; the longest unused are forgotten first
	maxKept      = 256 << 10 // bytes of a file whose content is remembered, to say what changed
	maxKeptAll   = 16 << 20  // bytes of all such contents
	maxStaleDiff = 4 << 10   // bytes of what changed that are said
)

// digest tells contents apart: the beginning of their SHA-256. Zero is of none.
type digest [16]byte

func digestOf(data []byte) digest {
	sum := sha256.Sum256(data)
	return digest(sum[:])
}

// print is what a file was like. A zero sum means that not all of it was read.
type print struct {
	size int64
	time time.Time
	sum  digest
}

func printOf(info fs.FileInfo, sum digest) print {
	if info == nil {
		return print{}
	}
	return print{info.Size(), info.ModTime(), sum}
}

// same reports whether both are prints of the same content, as far as one can know.
func (p print) same(o print) bool {
	var none digest
	if p.sum != none && o.sum != none {
		return p.sum == o.sum
	}
	return p.size == o.size && p.time.Equal(o.time)
}

// sight is what a session saw of a file; data is nil when it is not remembered.
type sight struct {
	print print
	data  []byte
}

// keeper keeps what is written to it, as long as it is small.
type keeper struct {
	data []byte
	over bool
}

func (k *keeper) Write(p []byte) (int, error) {
	if k.over = k.over || len(k.data)+len(p) > maxKept; k.over {
		k.data = nil
	} else {
		k.data = append(k.data, p...)
	}
	return len(p), nil
}

type seenFile struct {
	key seenKey
	sight
}

// saw remembers what the session knows of the file.
func (f *Files) saw(id session.ID, path string, s sight) {
	if len(s.data) > maxKept {
		s.data = nil
	}
	s.data = slices.Clip(s.data)
	key := seenKey{id, path}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(key)
	f.seen[key] = f.order.PushFront(&seenFile{key, s})
	f.kept += len(s.data)
	for e := f.order.Back(); e != nil && (f.order.Len() > maxSeen || f.kept > maxKeptAll); {
		old, _ := e.Value.(*seenFile)
		e = e.Prev()
		f.kept -= len(old.data)
		old.data = nil
		if f.order.Len() > maxSeen {
			f.drop(old.key)
		}
	}
}

// forget forgets what the session saw of the file.
func (f *Files) forget(id session.ID, path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(seenKey{id, path})
}

// drop is called with mu held.
func (f *Files) drop(key seenKey) {
	e, ok := f.seen[key]
	if !ok {
		return
	}
	delete(f.seen, key)
	if s, ok := f.order.Remove(e).(*seenFile); ok {
		f.kept -= len(s.data)
	}
}

// known returns what the session last saw of the file.
func (f *Files) known(id session.ID, path string) (sight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.seen[seenKey{id, path}]
	if !ok {
		return sight{}, false
	}
	f.order.MoveToFront(e)
	s, ok := e.Value.(*seenFile)
	if !ok {
		return sight{}, false
	}
	return s.sight, true
}

// staleError says that a file is not as the session saw it last.
type staleError struct {
	place place
	seen  sight
	now   state
}

func (e *staleError) Error() string {
	return e.place.abs + " was changed (at " + e.now.info.ModTime().Format("15:04:05") + ") since you last read it, so nothing was written. Read it again, then repeat the call."
}

// explained turns a staleError into words for the model, with what changed where that is known and may be read. It asks,
// so no file is locked.
func (s *site) explained(ctx context.Context, call tool.Call, err error) error {
	stale, ok := errors.AsType[*staleError](err)
	if !ok {
		return err
	}
	if stale.seen.data == nil {
		return tool.Failf("%v", stale)
	}
	ask := call.Ask(ctx, tool.Request{Action: "read", Resources: []string{stale.place.resource()}, Save: []string{"*"}})
	if ask != nil && !byRule(ask) {
		return ask
	}
	if ask != nil {
		return tool.Failf("%v", stale)
	}
	changed := body(unifiedDiff(stale.place.abs, stale.seen.data, stale.now.data))
	return tool.Failf("%v What changed:\n%s", stale, cutLines(changed, maxStaleDiff))
}
