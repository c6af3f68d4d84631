package builtin

import (
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

const (
	maxNearby = 32 << 10 // bytes of the instructions that follow one file
	maxTold   = 8192     // files of instructions remembered as told, over all sessions
)

// told is one text of instructions that a session was told. After a compaction it does not see it any more.
type told struct {
	session session.ID
	since   int64
	path    string
	sum     [sha256.Size]byte
}

// tell reports whether the session has yet to be told, and remembers that it is. Too many are forgotten all at once: to
// be told twice does no harm.
func (f *Files) tell(t told) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told[t] {
		return false
	}
	if len(f.told) >= maxTold {
		clear(f.told)
	}
	f.told[t] = true
	return true
}

// nearby returns what people wrote down for agents in the directories between the file and the Location, which the
// system context does not tell: of each directory, the nearest first, the first file by name that exists. A session is
// told each text once (spec/v1 §28).
func (s *site) nearby(call tool.Call, p place) (text string, loaded []string) {
	loaded = []string{}
	var b strings.Builder
	for _, dir := range s.between(p) {
		for _, name := range s.config.Nearby {
			q, err := s.locate(filepath.Join(dir, name))
			if err != nil || q.info == nil {
				continue
			}
			if q.real == p.real || !q.inside() || !q.info.Mode().IsRegular() {
				break
			}
			data, err := q.beginning(maxNearby - b.Len())
			if err != nil || len(data) == 0 || !s.config.Files.tell(told{call.SessionID, call.Since, q.real, sha256.Sum256(data)}) {
				break
			}
			loaded = append(loaded, q.abs)
			b.WriteString("Instructions from: " + q.abs + "\n" + strings.ToValidUTF8(string(data), "\uFFFD") + "\n")
			if int64(len(data)) < q.info.Size() {
				fmt.Fprintf(&b, "(Cut here: the file is %d bytes long.)\n", q.info.Size())
			}
			break
		}
	}
	if len(loaded) == 0 {
		return "", loaded
	}
	return "\n\n<system-reminder>\n" + b.String() + "</system-reminder>", loaded
}

// between lists the directories from the file's own up to the Location, which is not among them.
func (s *site) between(p place) []string {
	top, err := canonical(s.config.Directory, maxLinks)
	if err != nil {
		return nil
	}
	rel, ok := below(top, filepath.Dir(p.real))
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

// beginning returns at most n bytes of a file, without any if there is no room for more than a line.
func (p place) beginning(n int) ([]byte, error) {
	if n < 1<<10 {
		return nil, nil
	}
	f, _, err := p.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, int64(n)))
}
