package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// heldRetention is the time for which contents and git objects stay after their last use while a Hold lasts. A capture
// can be compared for captureAge, and refreshUse keeps the contents of a capture younger than refreshAge.
const heldRetention = 2 * captureAge

// refreshAge is the age from which on the use of a content makes it young again.
const refreshAge = captureAge / 4

// Hold protects the contents that are stored or used from now on from RemoveOwners until release is called. It lasts from
// the first content until the pins of what follows from it.
func (b *Blobs) Hold() (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holds++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.holds--
	}
}

// HoldCaptures is Hold, and protects the git objects of captures below dir, the Options.Dir of a worktree, from
// PruneCaptures as well. It waits for one of that worktree which is under way, since git would remove what a capture
// writes meanwhile; that of another worktree does not delay it.
func (b *Blobs) HoldCaptures(dir string) (release func()) {
	releaseContents := b.Hold()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.awaitPrune(dir)
	b.captures[dir]++
	return func() {
		releaseContents()
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.captures[dir]--; b.captures[dir] == 0 {
			delete(b.captures, dir)
		}
	}
}

// awaitPrune returns when PruneCaptures does not work on dir. The caller holds b.mu, which is unlocked while it waits.
func (b *Blobs) awaitPrune(dir string) {
	for done := b.prunes[dir]; done != nil; done = b.prunes[dir] {
		b.mu.Unlock()
		<-done
		b.mu.Lock()
	}
}

// RemoveOwners removes the pins of owners and the contents that no other owner pins. While a Hold lasts, contents that
// were used within heldRetention stay. Then the owners that pin them are left as they are and returned: the caller calls
// again later. The contents go before the pins, so that a process that is killed in between leaves nothing unnoticed.
func (b *Blobs) RemoveOwners(ctx context.Context, owners []string) (left []string, err error) {
	if len(owners) == 0 {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	pins, err := b.readPins()
	if err != nil {
		return owners, err
	}
	// Separate the pins that go from those that stay.
	leaving, needed := map[string]bool{}, map[string]bool{}
	for _, id := range owners {
		leaving[id] = true
	}
	for _, o := range pins {
		for _, id := range o.ids {
			if !leaving[o.name] {
				needed[id] = true
			}
		}
	}
	// Remove the contents of one owner after the other, then its pins.
	for i, o := range pins {
		if !leaving[o.name] {
			continue
		}
		if ctx.Err() != nil {
			for _, o := range pins[i:] {
				if leaving[o.name] {
					left = append(left, o.name)
				}
			}
			return left, context.Cause(ctx)
		}
		isWhole, removeErr := b.removeContents(o.ids, needed)
		if removeErr == nil && isWhole {
			removeErr = os.Remove(b.pinFile(o.name))
		}
		if !isWhole || removeErr != nil {
			left, err = append(left, o.name), errors.Join(err, removeErr)
		}
	}
	return left, err
}

// removeContents removes the contents that are not needed. It reports whether none of them had to stay for a Hold.
func (b *Blobs) removeContents(ids []string, needed map[string]bool) (isWhole bool, err error) {
	isWhole = true
	for _, id := range ids {
		if !isBlobID(id) || needed[id] {
			continue
		}
		path := b.blobPath(id)
		info, statErr := os.Stat(path)
		switch {
		case errors.Is(statErr, fs.ErrNotExist): // removed already
			continue
		case statErr != nil:
			return false, statErr
		case b.holds > 0 && time.Since(info.ModTime()) < heldRetention:
			isWhole = false
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		_ = os.Remove(filepath.Dir(path)) // fails if it has other contents
	}
	return isWhole, nil
}

// AreCapturesHeld reports whether a HoldCaptures of the worktree with this Options.Dir lasts.
func (b *Blobs) AreCapturesHeld(dir string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.captures[dir] > 0
}

// PruneCaptures removes the git objects of captures below dir, the Options.Dir of a worktree, that the newest capture
// does not contain: all of them, or while a HoldCaptures of the worktree lasts those that were written before
// heldRetention. Then isWhole is false: the caller calls again later. Git runs without a lock of b: it may take long.
func (b *Blobs) PruneCaptures(ctx context.Context, git, dir string) (isWhole bool, err error) {
	b.mu.Lock()
	b.awaitPrune(dir)
	if b.captures[dir] > 0 {
		b.mu.Unlock()
		return false, pruneObjects(ctx, git, dir, "2.hours.ago")
	}
	// Let the next HoldCaptures of this worktree wait until git has ended.
	done := make(chan struct{})
	b.prunes[dir] = done
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.prunes, dir)
		close(done)
	}()
	err = pruneObjects(ctx, git, dir, "now")
	return err == nil, err
}

// refreshUse reports whether a content is stored, and makes it young if it is not.
func (b *Blobs) refreshUse(id string) bool {
	if !isBlobID(id) {
		return false
	}
	info, err := os.Stat(b.blobPath(id))
	if err != nil {
		return false
	}
	now := time.Now()
	return now.Sub(info.ModTime()) < refreshAge || os.Chtimes(b.blobPath(id), now, now) == nil
}
