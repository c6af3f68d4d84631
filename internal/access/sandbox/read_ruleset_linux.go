package sandbox

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readRuleset is the ruleset that hides the paths in Policy.Hide, with what it was made of. Landlock rules only grant,
// so it has a rule for each entry beside a hidden path, up to the root: hundreds in a home directory.
type readRuleset struct {
	ruleset
	listed  []pathState // directories whose entries have rules of their own
	granted []pathState // the paths in Policy.Write and Show
}

// pathState identifies a file and its last change.
type pathState struct {
	path    string
	dev     uint64
	ino     uint64
	changed unix.Timespec
}

func newPathState(path string, st *unix.Stat_t) pathState {
	return pathState{path, st.Dev, st.Ino, st.Ctim}
}

// readPathState returns the state of the file to which a path leads; an empty one if it is missing.
func readPathState(path string) pathState {
	var st unix.Stat_t
	_ = unix.Stat(path, &st)
	return newPathState(path, &st)
}

// makeReadRuleset returns the rules for reading: names everywhere, contents except below the hidden paths, which are
// without links.
func (p Policy) makeReadRuleset(hidden []string) (*readRuleset, error) {
	// Landlock forbids to move files between directories unless every ruleset permits it.
	attr := unix.LandlockRulesetAttr{Handled_access_fs: readRights | unix.LANDLOCK_ACCESS_FS_REFER}
	set, err := newRuleset(&attr, unsafe.Sizeof(attr.Handled_access_fs))
	if err != nil {
		return nil, err
	}
	r := &readRuleset{ruleset: set}
	grants := []grant{{"/", unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_REFER}}
	for _, name := range slices.Concat(p.Write, p.Show) {
		r.granted = append(r.granted, readPathState(name))
		grants = append(grants, grant{name, readRights | unix.LANDLOCK_ACCESS_FS_REFER})
	}
	if err = r.allowPaths(grants); err == nil {
		below := make([]string, len(hidden))
		for i, name := range hidden {
			below[i] = strings.Trim(name, "/")
		}
		err = r.allowAround(unix.AT_FDCWD, "/", "/", below)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// allowAround allows reading everything below the directory called name in parent except the hidden paths, which are
// relative to it. at is its path. A home has hundreds of entries, so a file gets the rights of files at once.
func (r *readRuleset) allowAround(parent int, name, at string, hidden []string) error {
	// Nothing is hidden below: one rule permits all.
	if len(hidden) == 0 {
		return r.allowEntry(parent, name, readRights, unix.O_NOFOLLOW)
	}
	// Group the hidden paths by entry. An empty one hides the directory itself.
	below := map[string][]string{} // the hidden paths below each entry
	for _, path := range hidden {
		if path == "" {
			return nil
		}
		first, rest, _ := strings.Cut(path, "/")
		below[first] = append(below[first], rest)
	}
	// Open it, and note its state, which tells later whether the rules are outdated.
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil //nolint:nilerr // if the directory cannot be listed, nothing below it is granted
	}
	dir := os.NewFile(uintptr(fd), name)
	defer func() { _ = dir.Close() }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	r.listed = append(r.listed, newPathState(at, &st))
	// Allow entry by entry, and descend only where something is hidden.
	entries, _ := dir.ReadDir(-1) // what cannot be listed is not granted
	for _, e := range entries {
		var err error
		switch {
		case e.Type()&fs.ModeSymlink != 0: // the target has a rule of its own
		case e.IsDir():
			err = r.allowAround(fd, e.Name(), path.Join(at, e.Name()), below[e.Name()])
		case below[e.Name()] == nil:
			err = r.allowEntry(fd, e.Name(), readRights&fileRights, unix.O_NOFOLLOW)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resolveHidden returns the paths in Hide without symbolic links.
func (p Policy) resolveHidden() []string {
	hidden := make([]string, len(p.Hide))
	for i, path := range p.Hide {
		hidden[i] = resolveLinks(path)
	}
	return hidden
}

const (
	maxKeptRulesets = 8
	// rulesetAge is the time for which a ruleset is kept: it holds deleted files on the disk.
	rulesetAge = time.Minute
	// settleTime is longer than the steps of a file system's clock: a directory that changed within it can change again
	// without another time of change.
	settleTime = 3 * time.Second
)

// ReadRulesets keeps the rulesets for reading of the last policies, so that the next command of a session starts
// sooner. The zero value is ready to use.
//
// A ruleset is used again only while it is what a new one would be: the hidden paths resolve as before, no directory
// with rules for its entries has changed, the granted paths are the same files, and nothing was mounted or unmounted.
type ReadRulesets struct {
	mu   sync.Mutex // guards kept
	kept []*keptRuleset
}

type keptRuleset struct {
	*readRuleset
	key    string // the policy, with the hidden paths resolved
	made   time.Time
	mounts int // descriptor of the table of mounts, which the kernel reports as changed once
}

// Open returns the ruleset for reading of a policy, for a process to which its descriptor is passed as p.ReadRuleset.
// The caller closes the file.
func (k *ReadRulesets) Open(p Policy) (*os.File, error) {
	hidden := p.resolveHidden()
	key := strings.Join(slices.Concat(hidden, []string{""}, p.Write, []string{""}, p.Show), "\x00")
	found := k.takeOut(func(r *keptRuleset) bool { return r.key == key })
	if found != nil && !found.isCurrent() {
		found.close()
		found = nil
	}
	if found == nil {
		made, err := p.makeKeptRuleset(hidden)
		if err != nil {
			return nil, err
		}
		found, made.key = made, key
		time.AfterFunc(rulesetAge, k.dropOld)
	}
	fd, err := unix.FcntlInt(uintptr(found.fd), unix.F_DUPFD_CLOEXEC, 0)
	if k.putBack(found); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "ruleset"), nil
}

func (p Policy) makeKeptRuleset(hidden []string) (*keptRuleset, error) {
	made := time.Now()
	mounts, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	set, err := p.makeReadRuleset(hidden)
	if err != nil {
		_ = unix.Close(mounts)
		return nil, err
	}
	return &keptRuleset{set, "", made, mounts}, nil
}

// takeOut removes the first ruleset that fits and returns it; nil if none does.
func (k *ReadRulesets) takeOut(fits func(*keptRuleset) bool) *keptRuleset {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.kept, fits)
	if i < 0 {
		return nil
	}
	found := k.kept[i]
	k.kept = slices.Delete(k.kept, i, i+1)
	return found
}

// putBack keeps the ruleset as the last one. If there are too many, it closes the first one.
func (k *ReadRulesets) putBack(r *keptRuleset) {
	k.mu.Lock()
	k.kept = append(k.kept, r)
	tooMany := len(k.kept) > maxKeptRulesets
	k.mu.Unlock()
	if !tooMany {
		return
	}
	if first := k.takeOut(func(*keptRuleset) bool { return true }); first != nil {
		first.close()
	}
}

// dropOld closes the rulesets that were kept long enough.
func (k *ReadRulesets) dropOld() {
	for old := k.takeOut((*keptRuleset).isOld); old != nil; old = k.takeOut((*keptRuleset).isOld) {
		old.close()
	}
}

func (r *keptRuleset) isOld() bool { return time.Since(r.made) >= rulesetAge }

// isCurrent reports whether a new ruleset would be the same one.
func (r *keptRuleset) isCurrent() bool {
	settled := r.made.Add(-settleTime).UnixNano()
	isChanged := func(was pathState) bool {
		is := readPathState(was.path)
		return is != was || was.changed.Nano() > settled
	}
	isOther := func(was pathState) bool {
		is := readPathState(was.path)
		return is.dev != was.dev || is.ino != was.ino
	}
	mounts := []unix.PollFd{{Fd: int32(r.mounts), Events: unix.POLLPRI}}
	n, err := unix.Poll(mounts, 0)
	return n == 0 && err == nil && !r.isOld() &&
		!slices.ContainsFunc(r.listed, isChanged) && !slices.ContainsFunc(r.granted, isOther)
}

func (r *keptRuleset) close() {
	r.readRuleset.close()
	_ = unix.Close(r.mounts)
}
