package mirror_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/follower"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/jsontree"
	"github.com/cairn-dev/cairn/internal/transfer/mirror"
)

// world is a store with its log, and a mirror that follows it.
type world struct {
	t        testing.TB
	memory   *storetest.Memory
	log      *eventlog.Log
	mirror   *mirror.Mirror
	position int64
}

func newWorld(t testing.TB) *world {
	m := storetest.NewMemory()
	w := &world{t: t, memory: m, log: eventlog.New(eventlog.Config{Store: m, IDs: &session.IDs{}})}
	w.mirror = w.newMirror(t.TempDir())
	w.rebuild()
	return w
}

func (w *world) newMirror(dir string) *mirror.Mirror {
	m := &mirror.Mirror{Store: w.memory, StoreID: "s", Dir: dir, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	w.t.Cleanup(func() { _ = m.Close() })
	return m
}

func saveNothing(string) error { return nil }

func (w *world) rebuild() {
	w.t.Helper()
	if err := w.mirror.Rebuild(w.t.Context(), "", saveNothing); err != nil {
		w.t.Fatal(err)
	}
}

// add appends events to the store, which the mirror does not see yet.
func (w *world) add(id session.ID, data ...session.EventData) {
	w.t.Helper()
	_, err := w.log.Append(w.t.Context(), id, store.Relaxed, func(store.Tx) ([]eventlog.Draft, error) {
		return eventlog.NewDrafts(data...), nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) delete(id session.ID) {
	w.t.Helper()
	err := w.log.AppendDeleted(w.t.Context(), id, session.Session{ID: id}, func(tx store.Tx) error {
		return tx.DeleteSession(id)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// follow gives the mirror the events that it has not seen.
func (w *world) follow() {
	w.t.Helper()
	rows := w.events(w.position)
	if len(rows) == 0 {
		return
	}
	if err := w.mirror.Apply(w.t.Context(), rows); err != nil {
		w.t.Fatal(err)
	}
	w.position = rows[len(rows)-1].Position
}

func (w *world) events(after int64) []store.EventRow {
	rows, err := store.Query(w.t.Context(), w.memory, func(r store.Reader) ([]store.EventRow, error) {
		return r.Events("", after, 0)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return rows
}

// proveComplete fails if the mirror is not as one that is made of the store now.
func (w *world) proveComplete(when string) {
	w.t.Helper()
	fresh := w.newMirror(w.t.TempDir())
	if err := fresh.Rebuild(w.t.Context(), "", saveNothing); err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(readTree(w.t, fresh.Dir), readTree(w.t, w.mirror.Dir)); diff != "" {
		w.t.Fatalf("%s, the mirror differs from a new one: %s", when, diff)
	}
}

// readTree returns the files of a tree without cairn's own.
func readTree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// readLogs returns the events of stores with random sessions: prompts, calls, subagents, compactions, reverts, forks,
// removed messages and parts.
func readLogs(t testing.TB) (logs [][]store.EventRow) {
	t.Helper()
	f, err := os.Open("testdata/events.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var row store.EventRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if string(row.Private) == "null" {
			row.Private = nil
		}
		if row.Position == 1 {
			logs = append(logs, nil)
		}
		logs[len(logs)-1] = append(logs[len(logs)-1], row)
	}
	if err := lines.Err(); err != nil || len(logs) < 5 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	return logs
}

// insert stores events as they are.
func (w *world) insert(rows []store.EventRow) {
	w.t.Helper()
	err := w.log.ImportLogs(w.t.Context(), func(to *eventlog.LogWriter) error {
		for _, row := range rows {
			if err := to.Insert(row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// The file of a project names the place of its first session, also after that has moved.
func TestMirrorOfARenamedProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("ses_a", info("ses_a", 5))
	w.add("ses_b", info("ses_b", 6))
	w.follow()
	for i, id := range []session.ID{"ses_b", "ses_a"} {
		w.add(id, &session.Moved{Location: session.Location{Directory: "/renamed"}, ProjectID: "p1"})
		w.follow()
		w.proveComplete(fmt.Sprintf("after move %d", i+1))
	}
}

// A mirror that follows the log in batches of any size is as one that is made of the rows.
func TestFollowedMirrorIsComplete(t *testing.T) {
	t.Parallel()
	for n, rows := range readLogs(t) {
		random := rand.New(rand.NewPCG(uint64(n), 1)) //nolint:gosec // a test
		w := newWorld(t)
		for len(rows) > 0 {
			size := min(1+random.IntN(12), len(rows))
			w.insert(rows[:size])
			rows = rows[size:]
			if random.IntN(3) > 0 {
				w.follow()
			}
			if random.IntN(12) == 0 {
				w.follow()
				w.proveComplete("within the log")
			}
		}
		w.follow()
		w.proveComplete("at the end")
		report, err := w.mirror.Repair(t.Context())
		if err != nil || report.Written+report.Removed+report.Others > 0 || report.Sessions == 0 {
			t.Errorf("log %d: repair %+v, %v", n, report, err)
		}
	}
}

const id = session.ID("ses_a")

func info(id session.ID, created int64) *session.Created {
	return &session.Created{Info: session.Session{
		ID: id, ProjectID: "p1", Title: "One", Time: session.SessionTime{Created: created, Updated: created},
		Location: session.Location{Directory: "/w"},
	}}
}

func prompted(id session.MessageID, text string) *session.Prompted {
	return &session.Prompted{MessageID: id, Prompt: session.Prompt{Text: text}}
}

// Each event that can change what V1 shows reaches the mirror.
func TestRareEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	turn := session.OfTurn("msg_2")
	for _, step := range []struct {
		name string
		data []session.EventData
	}{
		{"created", []session.EventData{info(id, 5)}},
		{"prompt", []session.EventData{prompted("msg_1", "Hi")}},
		{"turn", []session.EventData{
			&session.StepStarted{TurnFact: turn, Agent: "build", Model: session.ModelRef{ID: "m", ProviderID: "p"}, ParentID: "msg_1"},
			&session.TextStarted{TurnFact: turn, PartID: "prt_1"},
			&session.TextEnded{TurnFact: turn, PartID: "prt_1", Text: "Hello"},
		}},
		{"end", []session.EventData{&session.StepEnded{TurnFact: turn, Finish: "stop", Cost: session.Dollar}}},
		{"diff", []session.EventData{&session.DiffUpdated{
			MessageID: "msg_1", Diffs: []session.ChangedFile{{Path: "a", Additions: 1}},
			Session: []session.ChangedFile{{Path: "a", Additions: 1}}, Total: session.Changes{Additions: 1, Files: 1},
		}}},
		{"command", []session.EventData{&session.ShellStarted{MessageID: "msg_3", CallID: "c", Command: "ls"}}},
		{"next prompt", []session.EventData{prompted("msg_4", "And?")}},
		{"end of the command", []session.EventData{&session.ShellEnded{CallID: "c", Output: "out"}}},
		{"synthetic", []session.EventData{&session.SyntheticAdded{MessageID: "msg_5", Text: "note"}}},
		{"title and todos", []session.EventData{
			&session.Renamed{Title: "Two"}, &session.TodosSet{Todos: []session.Todo{{Content: "a", Status: "pending"}}},
		}},
		{"no todos", []session.EventData{&session.TodosSet{}}},
		{"edit", []session.EventData{&session.MessageEdited{MessageID: "msg_1", Prompt: session.Prompt{Text: "Hey"}}}},
		{"removed part", []session.EventData{&session.PartRemoved{TurnFact: turn, PartID: "prt_1"}}},
		{"project renamed", []session.EventData{&session.Moved{Location: session.Location{Directory: "/renamed"}, ProjectID: "p1"}}},
		{"moved", []session.EventData{&session.Moved{Location: session.Location{Directory: "/v"}, ProjectID: "p2"}}},
		{"archived", []session.EventData{&session.Archived{At: 9}}},
		{"removed message", []session.EventData{&session.MessageRemoved{MessageID: "msg_4"}}},
	} {
		before := readTree(t, w.mirror.Dir)
		w.add(id, step.data...)
		w.follow()
		w.proveComplete(step.name)
		if diff := cmp.Diff(before, readTree(t, w.mirror.Dir)); diff == "" {
			t.Errorf("%s changed nothing", step.name)
		}
	}
	w.delete(id)
	w.follow()
	if left := readTree(t, w.mirror.Dir); len(left) != 1 || left["storage/migration"] != "2" {
		t.Errorf("after the deletion: %v", left)
	}
}

// An ephemeral session and its subagents are not mirrored.
func TestEphemeralIsNotMirrored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n, parent := range []session.ID{"", "ses_0"} {
		id := session.ID(fmt.Sprint("ses_", n))
		created := info(id, 5)
		created.Info.ParentID, created.Info.Ephemeral = parent, true
		w.add(id, created, prompted(session.MessageID(fmt.Sprint("msg_", n)), "Hi"))
	}
	w.follow()
	followed := readTree(t, w.mirror.Dir)
	w.rebuild()
	for how, tree := range map[string]map[string]string{"followed": followed, "rebuilt": readTree(t, w.mirror.Dir)} {
		for name := range tree {
			if strings.Contains(name, "ses_") || strings.Contains(name, "msg_") {
				t.Errorf("%s: the mirror has %s", how, name)
			}
		}
	}
}

// What programs read from the mirror are the objects of V1, with the store's costs and tokens.
func TestMirrorIsReadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insert(readLogs(t)[1])
	w.rebuild()
	found := 0
	problems, err := jsontree.Read(t.Context(), os.DirFS(w.mirror.Dir), func(s foreign.Session) error {
		found++
		stored, err := store.ReadSession(t.Context(), w.memory, session.ID(s.ID))
		if err != nil {
			t.Fatalf("session %s: %v", s.ID, err)
		}
		ms, err := store.Query(t.Context(), w.memory, func(r store.Reader) ([]session.Message, error) {
			return store.ReadMessages(r, stored.ID, store.MessageQuery{After: -1})
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range opencode.Render(stored, ms, false) {
			id, _ := opencode.IDAndTime(m.Info)
			compareFile(t, w.mirror.Dir, m.Info, "message", s.ID, string(id))
			for _, p := range m.Parts {
				compareFile(t, w.mirror.Dir, p, "part", string(id), string(opencode.PartID(p)))
			}
		}
		compareFile(t, w.mirror.Dir, opencode.SessionOf(stored), "session", string(stored.ProjectID), s.ID)
		if len(s.Problems) > 0 {
			t.Errorf("session %s: %v", s.ID, s.Problems)
		}
		return nil
	})
	if err != nil || len(problems) > 0 || found < 3 {
		t.Errorf("%d sessions, %v, %v", found, problems, err)
	}
}

func compareFile(t *testing.T, dir string, want any, key ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "storage", filepath.Join(key...)+".json"))
	if err != nil {
		t.Error(err)
		return
	}
	encoded, err := jsontree.Encode(want)
	if diff := cmp.Diff(string(encoded), string(text)); diff != "" || err != nil {
		t.Errorf("%v: %v %s", key, err, diff)
	}
}

// A repair restores what somebody changed, removes what is left of deleted sessions, and names files of others.
func TestRepair(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(id, info(id, 5), prompted("msg_1", "Hi"), &session.TodosSet{Todos: []session.Todo{{Content: "a"}}})
	w.add("ses_b", info("ses_b", 6), prompted("msg_b", "Ho"))
	w.follow()
	want := readTree(t, w.mirror.Dir)
	in := func(name string) string { return filepath.Join(w.mirror.Dir, "storage", name) }
	edit := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(in(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A deletion that the mirror never sees.
	left := readTree(t, w.mirror.Dir)
	w.delete("ses_b")
	for name := range left {
		if strings.Contains(name, "ses_b") || strings.Contains(name, "msg_b") {
			delete(want, name)
		}
	}
	edit("session/p1/ses_a.json", `{"id":"evil"}`)
	edit("project/p1.json", "{")
	edit("message/ses_a/msg_9.json", `{"id":"msg_9"}`)
	edit("part/msg_9/prt_9.json", `{"id":"prt_9","messageID":"msg_9","sessionID":"ses_a"}`)
	edit("part/msg_8/prt_8.json", `{"id":"prt_8","messageID":"msg_8","sessionID":"ses_b"}`)
	edit("session/p0/ses_a.json", "{}")
	edit("message/ses_a/.cairn-write-X", "half")
	if err := os.RemoveAll(in("part/msg_1")); err != nil {
		t.Fatal(err)
	}
	others := []string{
		"notes.txt", "message/ses_a/notes.json", "message/ses_x/msg_x.json", "part/msg_x/prt_x.json", "session/p1/ses_x.json",
		"session_diff/ses_x.json", "project/px.json", "share/ses_a.json", "part/msg_1/notes.txt",
	}
	for _, name := range others {
		edit(name, `{"sessionID":"ses_x"}`)
		want["storage/"+name] = `{"sessionID":"ses_x"}`
	}
	report, err := w.mirror.Repair(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, readTree(t, w.mirror.Dir)); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(in("message/ses_a/.cairn-write-X")); err == nil {
		t.Error("a half written file is left")
	}
	for i := range others {
		others[i] = "storage/" + others[i]
	}
	slices.Sort(others)
	if diff := cmp.Diff(others, report.Foreign); diff != "" || report.Others != len(others) {
		t.Errorf("files of others: %d %s", report.Others, diff)
	}
	if report.Sessions != 1 || report.Written == 0 || report.Removed == 0 || len(report.Findings("d")) != 1+len(others) {
		t.Errorf("report %+v", report)
	}
	again, err := w.mirror.Repair(t.Context())
	if err != nil || again.Written+again.Removed > 0 {
		t.Errorf("the second repair: %+v, %v", again, err)
	}
}

// A damaged session keeps its files, and the others go on.
func TestDamagedSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(id, info(id, 5), prompted("msg_1", "Hi"))
	w.add("ses_b", info("ses_b", 6))
	w.follow()
	before := readTree(t, w.mirror.Dir)
	w.mirror.Store = damaged{w.memory}
	w.add("ses_b", &session.Renamed{Title: "New"})
	w.add(id, &session.Renamed{Title: "New"})
	w.follow()
	after := readTree(t, w.mirror.Dir)
	if after["storage/session/p1/ses_b.json"] == before["storage/session/p1/ses_b.json"] {
		t.Error("the other session is not written")
	}
	report, err := w.mirror.Repair(t.Context())
	if err != nil || len(report.Damaged) != 1 || report.Removed+report.Others > 0 {
		t.Errorf("repair %+v, %v", report, err)
	}
	if diff := cmp.Diff(before["storage/message/ses_a/msg_1.json"], after["storage/message/ses_a/msg_1.json"]); diff != "" {
		t.Error(diff)
	}
}

// damaged is a store in which the session id cannot be read.
type damaged struct{ store.Viewer }

func (d damaged) View(ctx context.Context, f func(store.Reader) error) error {
	return d.Viewer.View(ctx, func(r store.Reader) error { return f(damagedReader{r}) })
}

type damagedReader struct{ store.Reader }

func (r damagedReader) Session(of session.ID) (*session.Session, bool, error) {
	if of == id {
		return nil, false, &store.Damage{SessionID: of, Seq: -1, Detail: "damaged"}
	}
	return r.Reader.Session(of)
}

// Only an empty folder, or the mirror of the same store, is used; what is in others stays as it is.
func TestFolders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"missing": {os.RemoveAll, ""},
		"empty":   {func(string) error { return nil }, ""},
		"interrupted": {func(dir string) error {
			return os.Mkdir(filepath.Join(dir, "storage"), 0o700)
		}, ""},
		"a file": {func(dir string) error {
			if err := os.Remove(dir); err != nil {
				return err
			}
			return os.WriteFile(dir, []byte("x"), 0o600)
		}, "is not a folder"},
		"of OpenCode": {func(dir string) error {
			return os.MkdirAll(filepath.Join(dir, "storage", "session", "p1"), 0o700)
		}, "has files that are not of a mirror"},
		"a database": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "opencode.db"), nil, 0o600)
		}, "has files that are not of a mirror"},
		"of another store": {func(dir string) error {
			if err := os.Mkdir(filepath.Join(dir, "storage"), 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "storage", ".cairn-mirror.json"), []byte(`{"store":"t"}`), 0o600)
		}, "is the mirror of another store"},
		"a storage that is a file": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "storage"), nil, 0o600)
		}, "has files that are not of a mirror"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.add(id, info(id, 5))
			dir := filepath.Join(t.TempDir(), "mirror")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := c.make(dir); err != nil {
				t.Fatal(err)
			}
			checked := mirror.CheckDir(dir, "s")
			_, err := w.newMirror(dir).Repair(t.Context())
			if c.want == "" {
				if err != nil || checked != nil {
					t.Errorf("%v, %v", err, checked)
				}
				return
			}
			for _, err := range []error{err, checked} {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
					t.Errorf("error %v", err)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "storage", "session", "p1", "ses_a.json")); err == nil {
				t.Error("a session was written")
			}
		})
	}
}

// A tree that is removed while it is followed is made again, whole.
func TestTreeIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(id, info(id, 5), prompted("msg_1", "Hi"))
	w.follow()
	if err := os.RemoveAll(filepath.Join(w.mirror.Dir, "storage")); err != nil {
		t.Fatal(err)
	}
	w.add(id, &session.Renamed{Title: "Two"})
	rows := w.events(w.position)
	var err error
	for range 3 { // as the follower repeats it
		if err = w.mirror.Apply(t.Context(), rows); errors.Is(err, follower.ErrLost) {
			break
		}
	}
	if !errors.Is(err, follower.ErrLost) {
		t.Fatalf("error %v", err)
	}
	// A rebuild that fails leaves a tree that is still lost: the events alone do not complete it.
	cut := errors.New("cut")
	w.mirror.Store = failing{w.memory, cut}
	if err := w.mirror.Rebuild(t.Context(), "", saveNothing); !errors.Is(err, cut) {
		t.Fatalf("error %v", err)
	}
	w.mirror.Store = w.memory
	if err := w.mirror.Apply(t.Context(), rows); !errors.Is(err, follower.ErrLost) {
		t.Fatalf("after a rebuild that failed: %v", err)
	}
	w.rebuild()
	w.proveComplete("after the removal")
}

// failing is a store that cannot be read.
type failing struct {
	store.Viewer
	err error
}

func (f failing) View(context.Context, func(store.Reader) error) error { return f.err }
