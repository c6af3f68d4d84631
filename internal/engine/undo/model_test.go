package undo_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/location/snapshot"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
	"github.com/cairn-dev/cairn/internal/tool"
)

var (
	interleavings = flag.Int("interleavings", 200, "random interleavings of TestInterleavings")
	gitSeeds      = flag.Uint64("git", 100, "one of so many interleavings is in a git repository")
	firstSeed     = flag.Uint64("seed", 0, "the seed of the first interleaving")
)

// RV-2, RV-7: TestInterleavings runs random interleavings of what sessions, commands, people and reverts do to a
// directory, with deaths of the process in the middle of them. It checks that
//
//   - a revert replaces or removes no content of a person or another session, unless it is forced; then a copy is kept;
//   - a revert that is taken back with nothing in between changes nothing;
//   - a path that the session did not write is never touched;
//   - without people and other sessions, a revert to the beginning brings back the beginning.
func TestInterleavings(t *testing.T) {
	const parts = 4
	for part := range uint64(parts) {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			for seed := *firstSeed + part; seed < *firstSeed+uint64(*interleavings); seed += parts {
				if err := newModel(t, seed).run(); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// TestMutatedRules checks that TestInterleavings fails with each wrong rule.
func TestMutatedRules(t *testing.T) {
	for name, mutate := range undo.Mutants() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3000) {
				m := newModel(t, seed)
				m.mutate = mutate
				if m.run() != nil {
					return
				}
			}
			t.Error("no interleaving fails with this rule")
		})
	}
}

// entry is the state of a path: a file with its content, or a link with its target.
type entry struct {
	mode    fs.FileMode
	content string
}

type tree map[string]entry

// model is one directory with two sessions, ses_a and ses_b. Reverts are those of ses_a.
type model struct {
	ctx   context.Context
	rand  *rand.Rand
	dir   string
	root  string
	files *faultyTree
	trace []string
	git   bool // the directory is a git repository

	journal  *turnlog.Journal
	recorder *undo.ChangeRecorder
	prompts  []session.MessageID // of ses_a that are still there

	written   map[string]bool // paths that ses_a wrote
	start     tree            // what the directory held at first; nil when others than ses_a have changed it
	counter   int
	staged    tree                              // what the staged revert left; nil without a staged revert
	before    tree                              // what the directory held before it
	unchanged bool                              // nothing was written since the revert was staged
	mutate    func(undo.Reverter) undo.Reverter // sets a wrong rule; nil for the right one
}

var errDeath = errors.New("the process dies")

func newModel(t *testing.T, seed uint64) *model {
	t.Helper()
	base := "/dev/shm" // its files need no disk
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "cairn-model")
	if err != nil {
		t.Fatal(err)
	}
	m := &model{
		ctx: t.Context(), rand: rand.New(rand.NewPCG(seed, 1)), dir: dir, root: filepath.Join(dir, "w"),
		written: map[string]bool{}, git: seed%*gitSeeds == 0,
	}
	m.check(os.Mkdir(m.root, 0o755))
	for _, p := range []string{"a", "dir/b", "c d\n\xff"} {
		m.write(p, entry{0, "start " + p})
	}
	m.start = m.read()
	git := ""
	if m.git {
		git, err = exec.LookPath("git")
		m.check(err)
		m.runGit("init", "-q", "-b", "main")
		m.runGit("add", "a", "dir")
		m.runGit("commit", "-q", "-m", "first")
	}
	st := storetest.NewMemory()
	ids := &session.IDs{Now: time.Now}
	m.journal = &turnlog.Journal{
		Store: st, Log: eventlog.New(eventlog.Config{Store: st, IDs: ids}), IDs: ids, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler),
	}
	m.recorder = undo.NewChangeRecorder(m.journal)
	m.files = &faultyTree{Worktree: snapshot.Open(snapshot.Options{
		Blobs: snapshot.NewBlobs(filepath.Join(dir, "kept")), Dir: filepath.Join(dir, "tree"), Root: m.root,
		Git: git, Logger: m.journal.Logger,
	}), after: -1}
	for _, id := range []session.ID{"ses_a", "ses_b"} {
		m.append(id, &session.Created{Info: session.Session{ID: id, ProjectID: "p"}})
	}
	return m
}

func (m *model) check(err error) {
	if err != nil {
		panic(err)
	}
}

func (m *model) append(id session.ID, facts ...session.EventData) {
	_, err := m.journal.Log.Append(m.ctx, id, store.Durable, func(store.Tx) ([]eventlog.Draft, error) {
		return eventlog.NewDrafts(facts...), nil
	})
	m.check(err)
}

// read returns what the directory holds.
func (m *model) read() tree {
	out := tree{}
	m.check(filepath.WalkDir(m.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		e := entry{mode: d.Type()}
		if d.Type() == fs.ModeSymlink {
			e.content, err = os.Readlink(path)
		} else {
			var content []byte
			content, err = os.ReadFile(path)
			e.content = string(content)
			if info, infoErr := d.Info(); infoErr == nil && info.Mode()&0o100 != 0 {
				e.mode = 0o100
			}
		}
		rel, _ := filepath.Rel(m.root, path)
		out[rel] = e
		return err
	}))
	return out
}

// write makes the path hold the entry; what is in the way goes.
func (m *model) write(p string, e entry) {
	full := filepath.Join(m.root, p)
	for dir := filepath.Dir(full); dir != m.root; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
			m.check(os.Remove(dir))
		}
	}
	m.check(errors.Join(os.RemoveAll(full), os.MkdirAll(filepath.Dir(full), 0o755)))
	if e.mode == fs.ModeSymlink {
		m.check(os.Symlink(e.content, full))
		return
	}
	m.check(os.WriteFile(full, []byte(e.content), 0o644|e.mode))
}

func (m *model) choosePath() string {
	return []string{"a", "dir/b", "c d\n\xff", "dir", "new", "deep/er/x"}[m.rand.IntN(6)]
}

// newEntry returns content that nothing else has: its author is its first letter.
func (m *model) newEntry(author string) entry {
	m.counter++
	e := entry{0, fmt.Sprintf("%s%d\nline\n", author, m.counter)}
	switch m.rand.IntN(8) {
	case 0:
		e.mode = 0o100
	case 1:
		e.content = author + fmt.Sprint(m.counter) + "\x00\xff"
	case 2:
		e = entry{fs.ModeSymlink, author + fmt.Sprint(m.counter)}
	}
	return e
}

// beginTurn begins a turn of the session with one call, and returns its recorder.
func (m *model) beginTurn(id session.ID) (*undo.CallRecorder, *session.Tool, session.MessageID) {
	prompt := &session.User{Head: session.Head{ID: m.journal.NewMessageID(), Type: session.TypeUser}, Text: "x"}
	call := &session.Tool{
		Type: "tool", ID: "call", PartID: m.journal.NewPartID(), Name: "t", Time: session.ToolTime{Completed: 1},
		State: session.ToolState{Status: session.ToolCompleted},
	}
	answer := &session.Assistant{
		Head:     session.Head{ID: m.journal.NewMessageID(), Type: session.TypeAssistant},
		ParentID: prompt.ID, Finish: "stop", Content: []session.Content{call},
	}
	answer.Time.Completed = 1
	for _, msg := range []session.Message{prompt, answer} {
		raw, err := json.Marshal(msg)
		m.check(err)
		m.append(id, &session.MessageImported{Fact: session.Fact{Timestamp: 1}, Message: raw})
	}
	if id == "ses_a" {
		m.prompts = append(m.prompts, prompt.ID)
	}
	return m.recorder.NewStep(m.files, id, prompt.ID).ForCall(answer.ID, call.PartID, call.ID), call, answer.ID
}

// noteWrites notes that the session wrote the paths.
func (m *model) noteWrites(id session.ID, paths ...string) {
	m.unchanged = false
	for _, p := range paths {
		if id == "ses_a" {
			m.written[p] = true
		} else {
			m.start = nil
		}
	}
}

// writeFile is a call of a file tool. It may fail, or die, between its record and its effect.
func (m *model) writeFile(id session.ID) {
	p, now := m.choosePath(), m.read()
	old, exists := now[p]
	if exists && old.mode == fs.ModeSymlink || m.isBlocked(p) {
		return // file tools do not write links, or below files
	}
	m.commitStaged(id)
	recorder, call, answer := m.beginTurn(id)
	e := m.newEntry(string(id[4] - 'a' + 'A'))
	if e.mode == fs.ModeSymlink {
		e.mode = 0
	}
	w := tool.FileWrite{Path: filepath.Join(m.root, p), After: []byte(e.content), Executable: old.mode == 0o100}
	e.mode = old.mode
	if exists {
		w.Before = []byte(old.content)
		if m.rand.IntN(4) == 0 {
			w.After = nil
		}
	}
	if m.rand.IntN(8) == 0 {
		m.logf("%s records a write of %q, and dies", id, p)
		if recorder.RecordWrites(m.ctx, []tool.FileWrite{w}) == nil && m.rand.IntN(2) == 0 {
			m.append(id, &session.ToolFailed{
				TurnFact: session.OfTurn(answer), CallID: call.ID, PartID: call.PartID, Error: *session.Fail("tool", "x"),
			})
		}
		m.noteWrites(id, p)
		return
	}
	if err := recorder.RecordWrites(m.ctx, []tool.FileWrite{w}); err != nil {
		m.logf("%s cannot record a write of %q: %v", id, p, err)
		return
	}
	m.noteWrites(id, p)
	if w.After == nil {
		m.logf("%s deletes %q", id, p)
		m.check(os.Remove(filepath.Join(m.root, p)))
		return
	}
	m.logf("%s writes %q: %q", id, p, e.content)
	m.write(p, e)
}

// isBlocked reports whether the path is a directory, or a file is where one of its directories must be.
func (m *model) isBlocked(p string) bool {
	full := filepath.Join(m.root, p)
	if info, err := os.Lstat(full); err == nil && info.IsDir() {
		return true
	}
	for dir := filepath.Dir(full); dir != m.root; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// runCommand is a call of a shell, which may change any path.
func (m *model) runCommand(id session.ID) {
	m.commitStaged(id)
	recorder, _, _ := m.beginTurn(id)
	done, err := recorder.WatchTree(m.ctx)
	m.check(err)
	before := m.read()
	for range 1 + m.rand.IntN(3) {
		m.changeAnything(string(id[4]-'a'+'A'), string(id))
	}
	after := m.read()
	for p := range union(before, after) {
		if before[p] != after[p] {
			m.noteWrites(id, p)
		}
	}
	done()
	m.check(m.recorder.AwaitSession(m.ctx, id))
}

// runTogether runs commands of both sessions at the same time.
func (m *model) runTogether() {
	m.commitStaged("ses_a")
	var ends []func()
	before := m.read()
	for _, id := range []session.ID{"ses_a", "ses_b"} {
		recorder, _, _ := m.beginTurn(id)
		done, err := recorder.WatchTree(m.ctx)
		m.check(err)
		ends = append(ends, done)
	}
	m.changeAnything("B", "ses_b, at the same time,")
	m.changeAnything("A", "ses_a, at the same time,")
	m.unchanged, m.start = false, nil
	after := m.read()
	for p := range union(before, after) {
		if before[p] != after[p] {
			m.written[p] = true // either of them may have written it
		}
	}
	for i, id := range []session.ID{"ses_a", "ses_b"} {
		ends[i]()
		m.check(m.recorder.AwaitSession(m.ctx, id))
	}
}

// changeAnything writes, removes or renames a path.
func (m *model) changeAnything(author, who string) {
	p := m.choosePath()
	full := filepath.Join(m.root, p)
	switch m.rand.IntN(6) {
	case 0:
		m.logf("%s removes %q", who, p)
		_ = os.RemoveAll(full) // fails below a file, where nothing is
	case 1:
		q := m.choosePath()
		if info, err := os.Lstat(full); err == nil && info.Mode().IsRegular() && !m.isBlocked(q) && q != p {
			m.logf("%s renames %q to %q", who, p, q)
			to := filepath.Join(m.root, q)
			m.check(errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Rename(full, to)))
		}
	case 2:
		if info, err := os.Lstat(full); err == nil && info.Mode().IsRegular() {
			m.logf("%s changes the mode of %q", who, p)
			m.check(os.Chmod(full, info.Mode().Perm()^0o111))
		}
	default:
		e := m.newEntry(author)
		m.logf("%s puts %q: %v %q", who, p, e.mode, e.content)
		if m.git && e.mode == 0 && m.rand.IntN(6) == 0 {
			m.logf("  which is too large to be captured unless git tracks it")
			e.content += strings.Repeat("x", 2<<20)
		}
		m.write(p, e)
	}
}

func (m *model) editByHand() {
	before := m.read()
	m.changeAnything("U", "the user")
	if !maps.Equal(before, m.read()) {
		m.unchanged, m.start = false, nil
	}
}

func (m *model) reverter() undo.Reverter {
	r := undo.Reverter{Journal: m.journal, Changes: m.recorder, Files: m.files}
	if m.mutate != nil {
		r = m.mutate(r)
	}
	return r
}

// commitStaged commits the staged revert, as new work of the session does.
func (m *model) commitStaged(id session.ID) {
	if id != "ses_a" || m.staged == nil {
		return
	}
	m.logf("the revert is committed")
	_, err := m.journal.Log.Append(m.ctx, id, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		s, err := store.FindSession(tx, id)
		if err != nil {
			return nil, err
		}
		facts, err := undo.CommitFacts(tx, s)
		return eventlog.NewDrafts(facts...), err
	})
	m.check(err)
	m.staged = nil
	m.check(m.journal.Store.View(m.ctx, func(r store.Reader) error {
		m.prompts = slices.DeleteFunc(m.prompts, func(p session.MessageID) bool {
			_, ok, err := store.FindMessage(r, id, p)
			m.check(err)
			return !ok
		})
		return nil
	}))
}

// runWithDeath runs f, in which the process may die; then another process completes what f began.
func (m *model) runWithDeath(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if thrown, ok := r.(error); !ok || !errors.Is(thrown, errDeath) {
				panic(r)
			}
			m.logf("  the process dies; another one completes it")
			err = m.reverter().Resume(m.ctx, "ses_a")
		}
	}()
	if m.rand.IntN(4) == 0 {
		m.files.after = m.rand.IntN(4)
	}
	defer func() { m.files.after = -1 }()
	return f()
}

// stageRevert stages a revert to a random prompt and checks what it did to each file.
func (m *model) stageRevert() error {
	if len(m.prompts) == 0 {
		return nil
	}
	if m.staged != nil && !m.unchanged { // StageRevert would clear it, unchecked
		if err := m.clearRevert(); err != nil {
			return err
		}
	}
	i := m.rand.IntN(len(m.prompts))
	force := m.rand.IntN(5) == 0
	before := m.read()
	if m.staged != nil {
		before = m.before // the staged one is taken back first
	}
	p := undo.Point{MessageID: m.prompts[i], Messages: true, Files: true, Force: force}
	t := undo.Target{Before: true, Point: p}
	m.logf("revert to prompt %d of %d, force %v", i+1, len(m.prompts), force)
	present := m.read()
	wasStaged := m.staged
	err := m.runWithDeath(func() error {
		_, err := m.reverter().StageRevert(m.ctx, "ses_a", t)
		return err
	})
	if m.files.full {
		m.unchanged = false
		if err != nil {
			m.logf("  %v", err)
			err = nil
		}
	}
	if err != nil {
		return err
	}
	s, err := m.journal.ReadSession(m.ctx, "ses_a")
	if err != nil {
		return err
	}
	if s.Revert == nil { // it died while the earlier one was taken back
		m.staged, m.unchanged = nil, false
		return nil
	}
	after := m.read()
	copies := map[string]string{}
	for _, f := range s.Revert.Files {
		for _, c := range append([]string{f.Copy}, f.Others...) {
			if c == "" {
				continue
			}
			content, err := os.ReadFile(c)
			if err != nil {
				return fmt.Errorf("the copy of %q: %w", f.Path, err)
			}
			copies[string(f.Path)] += string(content)
		}
	}
	for p := range union(present, after) {
		old := present[p]
		switch {
		case old == after[p]:
		case !m.written[p]:
			return fmt.Errorf("%q was touched, which the session never wrote", p)
		case wasStaged != nil && wasStaged[p] == old: // what the earlier revert left
		case isByOther(old.content) && !strings.Contains(copies[p], old.content) && !after.has(old.content):
			return fmt.Errorf("%q lost %q", p, firstLine(old.content))
		}
	}
	if i == 0 && m.start != nil && !force && !m.files.full && len(s.Revert.Unknown) == 0 {
		if err := compare(m.start, after); err != nil {
			return fmt.Errorf("a revert to the beginning: %w", err)
		}
	}
	m.staged, m.before, m.unchanged = after, before, !m.files.full
	return nil
}

func (t tree) has(content string) bool {
	for _, e := range t {
		if e.content == content {
			return true
		}
	}
	return false
}

// isByOther reports whether the user or the other session wrote the content.
func isByOther(content string) bool {
	return strings.HasPrefix(content, "U") || strings.HasPrefix(content, "B")
}

// clearRevert clears the staged revert and checks what that did to each file.
func (m *model) clearRevert() error {
	if m.staged == nil {
		return nil
	}
	m.logf("the revert is taken back")
	present := m.read()
	if err := m.runWithDeath(func() error { _, err := m.reverter().Clear(m.ctx, "ses_a"); return err }); err != nil {
		return err
	}
	after := m.read()
	if m.unchanged && !m.files.full {
		if err := compare(m.before, after); err != nil {
			return fmt.Errorf("the revert and its reversal: %w", err)
		}
	}
	for p := range union(present, after) {
		// A content that cannot return to where the session moved it comes back to where the revert had put it.
		putBack := present[p] == entry{} && after[p] == m.staged[p]
		if present[p] != after[p] && present[p] != m.staged[p] && !putBack {
			return fmt.Errorf("%q was %q, which the revert did not leave there", p, firstLine(present[p].content))
		}
	}
	m.staged = nil
	return nil
}

// run runs one interleaving, and removes the directory. The error contains the trace.
func (m *model) run() (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, strings.Join(m.trace, "\n"))
		}
		err = errors.Join(err, os.RemoveAll(m.dir))
	}()
	for range 6 + m.rand.IntN(10) {
		switch m.rand.IntN(12) {
		case 0, 1, 2:
			m.writeFile("ses_a")
		case 3, 4:
			m.runCommand("ses_a")
		case 5:
			m.writeFile("ses_b")
		case 6:
			m.editByHand()
		case 7, 8:
			err = m.stageRevert()
		case 9:
			err = m.clearRevert()
		case 10:
			m.commitStaged("ses_a")
		case 11:
			m.runTogether()
		}
		if err != nil {
			return err
		}
		if m.git && m.rand.IntN(2) == 0 {
			m.useGit()
		}
		if full := m.rand.IntN(20) == 0; full != m.files.full {
			m.files.full, m.start = full, nil // what a full disk leaves undone may not be known
			m.logf("the disk is full: %v", full)
		}
	}
	return nil
}

func (m *model) logf(format string, args ...any) {
	m.trace = append(m.trace, fmt.Sprintf(format, args...))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func union(a, b tree) map[string]bool {
	out := map[string]bool{}
	for p := range a {
		out[p] = true
	}
	for p := range b {
		out[p] = true
	}
	return out
}

// compare returns the first difference.
func compare(want, got tree) error {
	for _, p := range slices.Sorted(maps.Keys(union(want, got))) {
		if want[p] != got[p] {
			return fmt.Errorf("%q is %v %q, want %v %q",
				p, got[p].mode, firstLine(got[p].content), want[p].mode, firstLine(want[p].content))
		}
	}
	return nil
}

// TestConcurrentDiffs reads the diff of a session while its calls change files.
func TestConcurrentDiffs(t *testing.T) {
	m := newModel(t, 1)
	defer os.RemoveAll(m.dir)
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for range 20 {
				if _, err := m.reverter().ReadDiff(m.ctx, "ses_a", undo.DiffQuery{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		m.writeFile("ses_a")
	}
	readers.Wait()
}
