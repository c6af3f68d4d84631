package file

import (
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const (
	maxNearby = 32 << 10 // bytes of instructions added to one read
	maxShown  = 8192     // instruction texts remembered, over all sessions
)

// shownInstructions identifies an instruction text that a session was shown since its last compaction.
type shownInstructions struct {
	session session.ID
	since   int64
	path    string
	sum     [sha256.Size]byte
}

// markShown records that a session is shown a text, and reports whether it is the first time. At the limit it forgets
// all records; a text is then shown again, which is harmless.
func (f *Tracker) markShown(t shownInstructions) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shown[t] {
		return false
	}
	if len(f.shown) >= maxShown {
		clear(f.shown)
	}
	f.shown[t] = true
	return true
}

// nearbyInstructions returns the instruction files in the directories between the file and the Location, which the
// system context does not contain. Of each directory, the nearest first, it takes the first file name of the
// configuration that exists. A session is shown each text once.
func (s *fileTools) nearbyInstructions(call tool.Call, p workpath.Path) (text string, loaded []string) {
	loaded = []string{}
	var b strings.Builder
	for _, dir := range s.directoriesBetween(p) {
		// In each directory, the first existing name decides; a break goes on with the next directory.
		for _, name := range s.config.InstructionFiles {
			q, err := s.config.Paths.Resolve(filepath.Join(dir, name))
			if err != nil || q.Info == nil {
				continue
			}
			// No instructions: the file that is read itself, one outside of the location, and directories or
			// devices.
			if q.Real == p.Real || !q.IsInside() || !q.Info.Mode().IsRegular() {
				break
			}
			// Stop at the limit and leave out what the session was shown since its context began.
			data, err := readHead(q, maxNearby-b.Len())
			if err != nil || len(data) == 0 ||
				!s.config.Tracker.markShown(shownInstructions{call.SessionID, call.Since, q.Real, sha256.Sum256(data)}) {
				break
			}
			loaded = append(loaded, q.Abs)
			b.WriteString("Instructions from: " + q.Abs + "\n" + strings.ToValidUTF8(string(data), "\uFFFD") + "\n")
			if int64(len(data)) < q.Info.Size() {
				fmt.Fprintf(&b, "(Cut here: the file is %d bytes long.)\n", q.Info.Size())
			}
			break
		}
	}
	if len(loaded) == 0 {
		return "", loaded
	}
	return "\n\n<system-reminder>\n" + b.String() + "</system-reminder>", loaded
}

// directoriesBetween lists the directories from the file's own up to the Location, without the Location.
func (s *fileTools) directoriesBetween(p workpath.Path) []string {
	top, err := workpath.ResolveLinks(s.config.Paths.Directory)
	if err != nil {
		return nil
	}
	rel, ok := workpath.RelativeTo(top, filepath.Dir(p.Real))
	if !ok || rel == "." {
		return nil
	}
	var dirs []string
	at := top
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		dirs = append(dirs, at)
	}
	slices.Reverse(dirs)
	return dirs
}

// readHead returns at most n bytes of a file, and none if n is too small for useful text.
func readHead(p workpath.Path, n int) ([]byte, error) {
	if n < 1<<10 {
		return nil, nil
	}
	f, _, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, int64(n)))
}
