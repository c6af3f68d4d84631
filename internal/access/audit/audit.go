// Package audit keeps the log of who allowed what on a data directory: answered asks, changes of rules, trust, tokens
// and settings, logins, and how many callers were refused.
//
// An entry is one line of JSON and has a keyed hash of itself and of the entry before it. A state file, sealed with the
// same key, has the end of the chain. So every edited, deleted, swapped or missing line is found with the key.
// The key is beside the log and readable by its owner only. It protects against accidents and against programs that can
// write the files and not read the key; it does not against a program that runs as the owner without a sandbox, which
// can compute hashes as cairn does, or restore an older copy of the whole directory.
package audit

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/proctable"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// DirectoryName is the name of the log's directory in the data directory.
const DirectoryName = "audit"

// Kind is the subject of an entry.
type Kind string

// The kinds of entries.
const (
	KindApproval Kind = "approval" // an ask was answered, asks of a prompt were allowed in advance, or a user's command
	KindRules    Kind = "rules"    // rules or a budget of a session, or a saved approval
	KindTrust    Kind = "trust"
	KindToken    Kind = "token"
	KindLogin    Kind = "login"
	KindShare    Kind = "share"    // a session was shared, or its share revoked
	KindSettings Kind = "settings" // configuration and keys; terminals, projects and patches over HTTP
	KindRefused  Kind = "refused"  // how many callers were refused
)

// Entry is one line of the log.
type Entry struct {
	Seq  int64  `json:"seq"`
	Time int64  `json:"time"` // milliseconds
	Kind Kind   `json:"kind"`
	Who  string `json:"who"` // the caller's scope and kind, and the id of its token
	What string `json:"what"`
	MAC  string `json:"mac"`
}

const (
	maxSegment = 4 << 20 // bytes of one of the two files
	maxWhat    = 2 << 10
	maxWho     = 128
	maxState   = 4 << 10
)

// Trail is the audit log of one data directory. It is safe for concurrent use by goroutines and processes. A nil Trail
// records nothing.
type Trail struct {
	dir     string
	segment int64 // bytes of a file after which the next one begins
}

// New returns the log of a data directory, which need not exist yet.
func New(dataDir string) *Trail { return &Trail{filepath.Join(dataDir, DirectoryName), maxSegment} }

// Directory returns the path of the log's directory.
func (l *Trail) Directory() string { return l.dir }

// AddEntry adds an entry of the caller of the request. It is on the disk once AddEntry returns nil: an effect that must
// not happen unrecorded comes afterwards.
func (l *Trail) AddEntry(ctx context.Context, kind Kind, what string) error {
	if l == nil {
		return nil
	}
	e := Entry{
		Time: time.Now().UnixMilli(), Kind: kind, Who: clip(findCaller(ctx).String(), maxWho), What: clip(what, maxWhat),
	}
	err := statefile.WithLock(context.WithoutCancel(ctx), l.statePath(), func() error { return l.append(e) })
	if err != nil {
		return session.Errorf(session.CodeUnavailable, "the audit log cannot be written: %v", err).Because(err)
	}
	return nil
}

// findCaller returns the caller of the request. A command of cairn that a tool started acts for the tool.
func findCaller(ctx context.Context) caller.Caller {
	c := caller.FromContext(ctx)
	if c.Kind == caller.KindOwn && proctable.HasCallMark() {
		c.Kind = caller.KindTool
	}
	return c
}

// append writes the entry after those that are there. The caller holds the lock.
func (l *Trail) append(e Entry) error {
	c, err := l.openOrCreate()
	if err != nil {
		return err
	}
	oldest := c.state.First
	if c.state.Size >= l.segment {
		c.state.First, c.state.Segment, c.state.Size = c.state.Segment, c.state.Last, 0
	}
	f, err := os.OpenFile(l.segmentPath(c.state.Segment), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	end, err := c.catchUp(f)
	if err == nil {
		err = c.write(f, end, e)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := c.save(l.statePath()); err != nil {
		return err
	}
	if oldest != c.state.First {
		_ = os.Remove(l.segmentPath(oldest)) // if it fails, that costs the file's place on the disk
	}
	return nil
}

// chainPoint is a position of the chain: after the entry Seq, which has the hash MAC.
type chainPoint struct {
	Seq int64  `json:"seq"`
	MAC string `json:"mac"`
}

// state is the sealed end of the chain. The log has two files at most.
type state struct {
	First   chainPoint `json:"first"`   // where the older file begins; that of Segment if there is one file
	Segment chainPoint `json:"segment"` // where the newer file begins
	Last    chainPoint `json:"last"`
	Size    int64      `json:"size"` // of the newer file
	Seal    string     `json:"seal"`
}

// chain is the state with its key.
type chain struct {
	key   []byte
	state state
}

// encodeState returns the content of the state file, with its seal.
func (c *chain) encodeState() []byte {
	s := c.state
	s.Seal = ""
	s.Seal = c.hash("state", encodeLine(s))
	return encodeLine(s)
}

// encodeLine returns a line of JSON. The types have no value that fails: see clip.
func encodeLine(v any) []byte {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return append(raw, '\n')
}

// hash returns the keyed hash of content after prefix.
func (c *chain) hash(prefix string, content []byte) string {
	h := hmac.New(sha256.New, c.key)
	h.Write([]byte(prefix + "\n"))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// encode returns the line of the entry after the entry with the hash previous.
func (c *chain) encode(previous string, e *Entry) []byte {
	e.MAC = ""
	e.MAC = c.hash("entry "+previous, encodeLine(e))
	return encodeLine(e)
}

// check returns the entry of a line, if it is the one after the mark.
func (c *chain) check(after chainPoint, line string) (Entry, bool) {
	var e Entry
	if json.Unmarshal([]byte(line), &e) != nil || e.Seq != after.Seq+1 {
		return e, false
	}
	again := e
	return e, string(c.encode(after.MAC, &again)) == line
}

// catchUp advances the state over entries that a process wrote before it died, and returns where to write: after a line
// that is complete, whatever it is, so that nothing of a damaged file is lost.
func (c *chain) catchUp(f *os.File) (end int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if end = info.Size(); end < c.state.Size { // cut short, perhaps within a line
		_, err = f.WriteAt([]byte("\n"), end)
		return end + 1, err
	}
	raw := make([]byte, info.Size()-c.state.Size)
	if _, err := f.ReadAt(raw, c.state.Size); err != nil && len(raw) > 0 {
		return 0, err
	}
	end = c.state.Size
	for line := range strings.Lines(string(raw)) {
		if !strings.HasSuffix(line, "\n") {
			break // a write that was cut off: nothing depends on it
		}
		end += int64(len(line))
		if e, ok := c.check(c.state.Last, line); ok {
			c.state.Last = chainPoint{e.Seq, e.MAC}
		}
	}
	return end, f.Truncate(end)
}

// write writes the entry durably.
func (c *chain) write(f *os.File, at int64, e Entry) error {
	e.Seq = c.state.Last.Seq + 1
	line := c.encode(c.state.Last.MAC, &e)
	if _, err := f.WriteAt(line, at); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	c.state.Last, c.state.Size = chainPoint{e.Seq, e.MAC}, at+int64(len(line))
	return nil
}

func (c *chain) save(path string) error { return statefile.Replace(path, c.encodeState(), 0o600) }

func (l *Trail) statePath() string { return filepath.Join(l.dir, "state.json") }

func (l *Trail) keyPath() string { return filepath.Join(l.dir, "key") }

func (l *Trail) segmentPath(start chainPoint) string {
	return filepath.Join(l.dir, fmt.Sprintf("%012d.jsonl", start.Seq+1))
}

// errAbsent is a log without entries.
var errAbsent = errors.New("there is no audit log")

// openOrCreate returns the state of the log. It creates the key of a log that does not exist.
func (l *Trail) openOrCreate() (*chain, error) {
	c, err := l.open()
	if !errors.Is(err, errAbsent) {
		return c, err
	}
	c = &chain{key: make([]byte, sha256.Size)}
	_, _ = rand.Read(c.key) // never fails
	if err := statefile.Replace(l.keyPath(), c.key, 0o600); err != nil {
		return nil, err
	}
	return c, c.save(l.statePath())
}

// open reads the key and the state. Without both, and without entries, the error is errAbsent.
func (l *Trail) open() (*chain, error) {
	key, err := statefile.Read(l.keyPath(), maxState)
	if err != nil {
		return nil, err
	}
	raw, err := statefile.Read(l.statePath(), maxState)
	if err != nil {
		return nil, err
	}
	entries, err := filepath.Glob(filepath.Join(l.dir, "*.jsonl"))
	if raw == nil && len(entries) == 0 && err == nil {
		return nil, errAbsent // a key alone is of a process that died here
	}
	c := &chain{key: key}
	switch {
	case len(key) != sha256.Size:
		return nil, l.newDamageError("key is missing or has a wrong length")
	case raw == nil:
		return nil, l.newDamageError("state.json is missing")
	case json.Unmarshal(raw, &c.state) != nil || !hmac.Equal(c.encodeState(), raw):
		return nil, l.newDamageError("state.json was changed")
	}
	return c, nil
}

// damageError says that the log cannot be continued.
type damageError struct{ dir, problem string }

// Error implements error.
func (e *damageError) Error() string {
	return fmt.Sprintf(
		"%s: %s; move the directory away to keep it as evidence and to begin another log",
		e.dir,
		e.problem,
	)
}

func (l *Trail) newDamageError(problem string) error { return &damageError{l.dir, problem} }

// clip returns at most n bytes of valid UTF-8.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n -= len("…"); !utf8.RuneStart(s[n]); n-- {
	}
	return s[:n] + "…"
}
