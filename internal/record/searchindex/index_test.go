package searchindex_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/follower"
	"github.com/cairn-dev/cairn/internal/record/searchindex"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

// world is a store with its log, and an index of it.
type world struct {
	t      *testing.T
	memory *storetest.Memory
	log    *eventlog.Log
	index  *searchindex.Index
	at     int64 // position up to which the index has the events
}

func newWorld(t *testing.T) *world {
	m := storetest.NewMemory()
	w := &world{t: t, memory: m, log: eventlog.New(eventlog.Config{Store: m, IDs: &session.IDs{}})}
	w.open(t.TempDir())
	w.rebuild()
	return w
}

// open opens the index in a folder.
func (w *world) open(dir string) {
	w.index = &searchindex.Index{
		Store: w.memory, StoreID: "s", Dir: dir, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	w.t.Cleanup(func() { _ = w.index.Close() })
}

func (w *world) rebuild() {
	w.t.Helper()
	if err := w.index.Rebuild(w.t.Context(), "", func(string) error { return nil }); err != nil {
		w.t.Fatal(err)
	}
}

// add appends events to a session, and gives them to the index.
func (w *world) add(id session.ID, data ...session.EventData) {
	w.t.Helper()
	_, err := w.log.Append(w.t.Context(), id, store.Relaxed, func(store.Tx) ([]eventlog.Draft, error) {
		return eventlog.NewDrafts(data...), nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.follow()
}

func (w *world) follow() {
	w.t.Helper()
	rows, err := store.Query(w.t.Context(), w.memory, func(r store.Reader) ([]store.EventRow, error) { return r.Events("", w.at, 0) })
	if err != nil {
		w.t.Fatal(err)
	}
	if len(rows) > 0 {
		w.at = rows[len(rows)-1].Position
	}
	if err := errors.Join(w.index.Apply(w.t.Context(), rows), w.index.Sync(w.t.Context())); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) delete(id session.ID) {
	w.t.Helper()
	err := w.log.AppendDeleted(w.t.Context(), id, session.Session{ID: id}, func(tx store.Tx) error { return tx.DeleteSession(id) })
	if err != nil {
		w.t.Fatal(err)
	}
}

// find returns the hits of a query, a line each.
func (w *world) find(q searchindex.Query) (out []string) {
	w.t.Helper()
	page, err := w.index.Search(w.t.Context(), q)
	if err != nil {
		w.t.Fatalf("%q: %v", q.Text, err)
	}
	for _, h := range page.Hits {
		line := fmt.Sprintf("%s %s %s: %s", h.Session.ID, h.Kind, cmpOr(string(h.MessageID), "-"), h.Snippet.Text)
		out = append(out, strings.ReplaceAll(line, "  ", " "))
	}
	return out
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// want compares the hits of a text with the wanted ones.
func (w *world) want(text string, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.find(searchindex.Query{Text: text})); diff != "" {
		w.t.Errorf("%q: %s", text, diff)
	}
}

// many returns sessions that do not exist, and one that does.
func many(id session.ID) []session.ID {
	out := []session.ID{id}
	for i := range 100 {
		out = append(out, session.ID(fmt.Sprintf("ses_x%d", i)))
	}
	return out
}

func created(id session.ID, title string) *session.Created {
	return &session.Created{Info: session.Session{
		ID: id, ProjectID: "p1", Title: title, Time: session.SessionTime{Created: 1, Updated: 1},
		Location: session.Location{Directory: "/w"},
	}}
}

func prompted(id session.MessageID, text string) *session.Prompted {
	return &session.Prompted{MessageID: id, Prompt: session.Prompt{Text: text}}
}

// turn returns the events of a turn with an answer, and a call of bash.
func turn(id session.MessageID, answer, command, output string) []session.EventData {
	of := session.OfTurn(id)
	return []session.EventData{
		&session.StepStarted{TurnFact: of, Agent: "build", Model: session.ModelRef{ID: "m", ProviderID: "p"}},
		&session.TextStarted{TurnFact: of, PartID: session.PartID("prt_t" + id)},
		&session.TextEnded{TurnFact: of, PartID: session.PartID("prt_t" + id), Text: answer},
		&session.ToolInputStarted{TurnFact: of, CallID: "c", PartID: session.PartID("prt_c" + id), Name: "bash"},
		&session.ToolCalled{
			TurnFact: of, CallID: "c", PartID: session.PartID("prt_c" + id), Tool: "bash",
			Input: fmt.Appendf(nil, `{"command":%q}`, command),
		},
		&session.ToolSuccess{TurnFact: of, CallID: "c", PartID: session.PartID("prt_c" + id), Content: session.TextContent(output)},
		&session.StepEnded{TurnFact: of, Finish: "stop"},
	}
}

func TestSearch(t *testing.T) {
	w := newWorld(t)
	w.add("ses_a", created("ses_a", "Fix the parser"), prompted("msg_1", "Why does parseURL fail on a/b.go:12?"))
	steps := turn("msg_2", "The lexer drops a token.", "grep -n parse_url lexer.go", "lexer.go:7: 東京タワー")
	w.add("ses_a", steps[:6]...)
	w.want("lexer") // the turn has not ended
	w.add("ses_a", steps[6])
	w.add("ses_b", created("ses_b", "Other"), prompted("msg_3", "The parser again"),
		&session.ShellStarted{MessageID: "msg_4", CallID: "s", Command: "make lexer"},
		&session.ShellEnded{CallID: "s", Output: "no rule", ShellEnd: session.ShellEnd{Exit: new(2)}})
	failed := turn("msg_6", "So.", "make", "no rule")
	failed[5].(*session.ToolSuccess).Structured = []byte(`{"output": "no rule", "exit": 2}`)
	w.add("ses_a", failed...)

	// What is found, and by which of its words.
	w.want("token", "ses_a answer msg_2: The lexer drops a token.")
	w.want("parseURL", "ses_a prompt msg_1: Why does parseURL fail on a/b.go:12?",
		"ses_a tool msg_2: grep -n parse_url lexer.go lexer.go:7: 東京タワー")
	w.want("parseurl", "ses_a prompt msg_1: Why does parseURL fail on a/b.go:12?")
	w.want("b.go:12", "ses_a prompt msg_1: Why does parseURL fail on a/b.go:12?")
	w.want("京タ", "ses_a tool msg_2: grep -n parse_url lexer.go lexer.go:7: 東京タワー")
	w.want("parser", "ses_a title -: Fix the parser", "ses_b prompt msg_3: The parser again")
	w.want("pars* -again -grep -fix", "ses_a prompt msg_1: Why does parseURL fail on a/b.go:12?")
	w.want(`"the parser"`, "ses_a title -: Fix the parser", "ses_b prompt msg_3: The parser again")
	w.want("absent")

	// Behind the code of a colour.
	w.add("ses_a", turn("msg_8", "Done.", "make", "\x1b[31merrorword\x1b[0m")...)
	w.want("errorword", "ses_a tool msg_8: make errorword")

	// One hit of each message.
	w.want("lexer", "ses_a answer msg_2: The lexer drops a token.", "ses_b shell msg_4: make lexer no rule")

	// What is selected.
	for _, c := range []struct {
		q    searchindex.Query
		want string
	}{
		{searchindex.Query{Text: "parser", Sessions: []session.ID{"ses_b"}}, "ses_b prompt msg_3"},
		{searchindex.Query{Text: "parser", Sessions: many("ses_a")}, "ses_a title -"},
		{searchindex.Query{Text: "lexer", Tool: "bash"}, "ses_a tool msg_2"},
		{searchindex.Query{Text: "lexer", Kind: searchindex.Shell}, "ses_b shell msg_4"},
		{searchindex.Query{Text: "lexer", Role: searchindex.RoleUser}, "ses_b shell msg_4"},
		{searchindex.Query{Text: "lexer", Failed: true}, "ses_b shell msg_4"},
		{searchindex.Query{Text: "lexer", Kind: searchindex.Tool}, "ses_a tool msg_2"},
		{searchindex.Query{Text: "rule", Kind: searchindex.Tool, Failed: true}, "ses_a tool msg_6"},
		{searchindex.Query{Text: "token", Agent: "build"}, "ses_a answer msg_2"},
	} {
		if got := w.find(c.q); len(got) != 1 || !strings.HasPrefix(got[0], c.want+": ") {
			t.Errorf("%+v: %q", c.q, got)
		}
	}
	if got := w.find(searchindex.Query{Text: "parser", Sessions: []session.ID{}}); len(got) > 0 {
		t.Errorf("in no session: %q", got)
	}
	// Pages.
	page, err := w.index.Search(t.Context(), searchindex.Query{Text: "parser", Limit: 1, Offset: 1})
	if err != nil || len(page.Hits) != 1 || page.More || page.Hits[0].Session.ID != "ses_b" {
		t.Errorf("second page %+v, %v", page, err)
	}
	// A search that is not possible is an error of the caller.
	if _, err := w.index.Search(t.Context(), searchindex.Query{Text: "?"}); !errors.Is(err, &session.Error{Code: session.CodeInvalid}) {
		t.Errorf("error %v", err)
	}
}

// Words are found by their parts, without their diacritics, and in every width, with FTS5's own rules on top.
func TestSearchFoldsWords(t *testing.T) {
	w := newWorld(t)
	const text = "iPhone15 getURL2 zero\u200bwidth ёжик ἄνθρωπος مُحَمَّد ﾃﾞｰﾀ ﬁle"
	w.add("ses_a", created("ses_a", "One"), prompted("msg_1", text))
	for _, query := range []string{
		"iphone", "iphone15", "iPhone", "15", "url", "geturl", "geturl2", "getURL2", "zerowidth", "ежик", "Ёжик", "ανθρωπος",
		"محمد", "データ", "file", "--iphone", `"iphone 15"`,
	} {
		page, err := w.index.Search(t.Context(), searchindex.Query{Text: query})
		if err != nil || len(page.Hits) != 1 || len(page.Hits[0].Snippet.Matches) == 0 {
			t.Errorf("%q: %+v, error %v", query, page, err)
		}
	}
}

// What changes in a session changes in the index.
func TestChanges(t *testing.T) {
	w := newWorld(t)
	w.add("ses_a", created("ses_a", "Alpha"), prompted("msg_1", "beta"))
	w.add("ses_a", turn("msg_2", "gamma", "delta", "epsilon")...)
	w.add("ses_a", &session.Renamed{Title: "Zeta"})
	w.want("alpha")
	w.want("zeta", "ses_a title -: Zeta")
	w.add("ses_a", &session.MessageEdited{MessageID: "msg_1", Prompt: session.Prompt{Text: "eta"}})
	w.want("beta")
	w.want("eta", "ses_a prompt msg_1: eta")
	w.add("ses_a", &session.PartEdited{TurnFact: session.OfTurn("msg_2"), PartID: "prt_tmsg_2", Text: "theta"})
	w.want("gamma")
	w.want("theta", "ses_a answer msg_2: theta")
	w.add("ses_a", &session.MessageRemoved{MessageID: "msg_1"})
	w.want("eta")
	w.want("zeta", "ses_a title -: Zeta")
}

// A deleted session is not found from then on, also before the index has followed, and then its words are not in the
// files any more.
func TestDelete(t *testing.T) {
	w := newWorld(t)
	const secret = "xylophonequartz"
	w.add("ses_a", created("ses_a", "One"), prompted("msg_1", "the "+secret+" of one"))
	w.add("ses_b", created("ses_b", "Two"), prompted("msg_2", "two"))
	w.delete("ses_a")
	w.want(secret)
	w.follow()
	w.want("two", "ses_b title -: Two", "ses_b prompt msg_2: two")
	if err := w.index.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(searchindex.File(w.index.Dir) + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), secret[1:]) {
			t.Errorf("%s has the word", name)
		}
	}
}

// An index that is missing, damaged, of another version or of another store is made anew.
func TestUselessFiles(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, file string, w *world){
		"missing":       func(t *testing.T, file string, w *world) { mustRemove(t, file) },
		"empty":         func(t *testing.T, file string, w *world) { mustWrite(t, file, "") },
		"no database":   func(t *testing.T, file string, w *world) { mustWrite(t, file, strings.Repeat("no database", 1000)) },
		"damaged":       damage,
		"other store":   func(t *testing.T, file string, w *world) { w.index.StoreID = "t" },
		"other version": setVersion,
		"other tables":  otherTables,
		"a link": func(t *testing.T, file string, _ *world) {
			mustRemove(t, file)
			if err := os.Symlink(t.TempDir(), file); err != nil {
				t.Fatal(err)
			}
		},
		"a directory": func(t *testing.T, file string, _ *world) {
			mustRemove(t, file)
			if err := os.Mkdir(file, 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"no meta": drop("TABLE meta"), "no sessions": drop("TABLE session"), "no documents": drop("TABLE document"),
		"no order": drop("INDEX document_by_seq"), "no entries": drop("TABLE entry"), "no words": drop("TABLE entry_data"),
		"no segments": drop("TABLE entry_idx"), "no sizes": drop("TABLE entry_docsize"),
		"empty sessions": run("DELETE FROM session"), "empty documents": run("DELETE FROM document"),
		"empty words": run("DELETE FROM entry_data"), "empty sizes": run("DELETE FROM entry_docsize"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add("ses_a", created("ses_a", "One"), prompted("msg_1", "alpha"))
			if err := w.index.Close(); err != nil {
				t.Fatal(err)
			}
			w.open(w.index.Dir)
			harm(t, searchindex.File(w.index.Dir), w)
			rows, err := store.Query(t.Context(), w.memory, func(r store.Reader) ([]store.EventRow, error) { return r.Events("", 0, 0) })
			if err != nil {
				t.Fatal(err)
			}
			if err := w.index.Apply(t.Context(), rows); !errors.Is(err, follower.ErrLost) {
				t.Errorf("error %v, want that the index is lost", err)
			}
			w.rebuild()
			w.want("alpha", "ses_a prompt msg_1: alpha")
		})
	}
}

func damage(t *testing.T, file string, _ *world) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(text); i++ {
		text[i] ^= 0x5a
	}
	mustWrite(t, file, string(text))
}

// drop returns what drops a table or an index of the database.
func drop(what string) func(*testing.T, string, *world) { return run("DROP " + what) }

// run returns what runs a statement on the database.
func run(sql string) func(*testing.T, string, *world) {
	return func(t *testing.T, file string, _ *world) {
		c, err := zs.OpenConn(file, zs.OpenReadWrite)
		if err == nil {
			err = errors.Join(sqlitex.ExecuteTransient(c, sql, nil), c.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A search and a commit notice that the file is gone, was replaced, or lost a table while it is open; Sync notices the first
// two.
func TestLostWhileOpen(t *testing.T) {
	for name, harm := range map[string]func(*testing.T, string, *world){
		"removed":  func(t *testing.T, file string, _ *world) { mustRemove(t, file) },
		"replaced": otherTables,
		"no table": drop("TABLE document"),
	} {
		for _, notices := range []string{"search", "commit", "sync"} {
			if name == "no table" && notices == "sync" {
				continue
			}
			t.Run(name+" "+notices, func(t *testing.T) {
				w := newWorld(t)
				w.add("ses_a", created("ses_a", "One"), prompted("msg_1", "alpha"))
				w.want("alpha", "ses_a prompt msg_1: alpha")
				harm(t, searchindex.File(w.index.Dir), w)
				var err error
				switch notices {
				case "search":
					_, err = w.index.Search(t.Context(), searchindex.Query{Text: "alpha"})
				case "sync":
					err = w.index.Sync(t.Context())
				default:
					rows, readErr := store.Query(t.Context(), w.memory, func(r store.Reader) ([]store.EventRow, error) { return r.Events("", 0, 0) })
					err = errors.Join(readErr, w.index.Apply(t.Context(), rows))
				}
				if !errors.Is(err, follower.ErrLost) {
					t.Errorf("error %v, want that the index is lost", err)
				}
				w.rebuild()
				w.want("alpha", "ses_a prompt msg_1: alpha")
			})
		}
	}
}

func setVersion(t *testing.T, file string, _ *world) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text[63]++ // the last byte of the user version in the header
	mustWrite(t, file, string(text))
}

// otherTables makes a database of the same version with other tables.
func otherTables(t *testing.T, file string, _ *world) {
	mustRemove(t, file)
	c, err := zs.OpenConn(file, zs.OpenReadWrite|zs.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"PRAGMA user_version = 3", "CREATE TABLE other (a)"} {
		if err := sqlitex.ExecuteTransient(c, sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustRemove(t *testing.T, file string) {
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

func mustWrite(t *testing.T, file, text string) {
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A rebuild that was cut off goes on behind its progress.
func TestRebuildGoesOn(t *testing.T) {
	w := newWorld(t)
	for i := range 100 {
		id := session.ID(fmt.Sprintf("ses_%03d", i))
		w.add(id, created(id, "Title"), prompted(session.MessageID(fmt.Sprintf("msg_%03d", i)), fmt.Sprintf("alpha n%d", i)))
	}
	w.open(t.TempDir())
	w.rebuild()
	if err := w.index.Rebuild(t.Context(), "1 ses_049", func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 49, 50, 99} {
		if got := w.find(searchindex.Query{Text: fmt.Sprintf("n%d", i)}); len(got) != 1 {
			t.Errorf("%d: %q", i, got)
		}
	}
	if err := w.index.Rebuild(t.Context(), "nonsense", func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := w.find(searchindex.Query{Text: "n7"}); len(got) != 1 {
		t.Errorf("after a progress that cannot be read: %q", got)
	}
}

// What ends a call, or fails beside the index, does not throw the index away.
func TestInterruptedCalls(t *testing.T) {
	w := newWorld(t)
	w.add("ses_a", created("ses_a", "One"), prompted("msg_1", "alpha"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	rows, err := store.Query(t.Context(), w.memory, func(r store.Reader) ([]store.EventRow, error) { return r.Events("", 0, 0) })
	if err != nil {
		t.Fatal(err)
	}
	if err := w.index.Apply(ended, rows); err == nil || errors.Is(err, follower.ErrLost) {
		t.Errorf("apply: %v", err)
	}
	if err := w.index.Rebuild(ended, "1 ses_0", func(string) error { return nil }); err == nil {
		t.Error("a rebuild with an ended context succeeds")
	}
	w.want("alpha", "ses_a prompt msg_1: alpha")
}

// Words that were to be purged when the process was killed are purged by the next one.
func TestPurgeAfterKill(t *testing.T) {
	w := newWorld(t)
	const secret = "xylophonequartz"
	w.add("ses_a", created("ses_a", "One"), prompted("msg_1", "the "+secret))
	w.add("ses_b", created("ses_b", "Two"), prompted("msg_2", "two"))
	w.delete("ses_a")
	rows, err := store.Query(t.Context(), w.memory, func(r store.Reader) ([]store.EventRow, error) { return r.Events("", w.at, 0) })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.index.Apply(t.Context(), rows), w.index.Close()); err != nil {
		t.Fatal(err)
	}
	w.open(w.index.Dir)
	w.follow()
	if err := w.index.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(searchindex.File(w.index.Dir))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), secret[1:]) {
		t.Error("the file has the word")
	}
}

// A text that was changed is not found as it was, also before the index has followed.
func TestChangedText(t *testing.T) {
	w := newWorld(t)
	w.add("ses_a", created("ses_a", "One"), prompted("msg_1", "alpha beta"))
	_, err := w.log.Append(t.Context(), "ses_a", store.Relaxed, func(store.Tx) ([]eventlog.Draft, error) {
		return eventlog.NewDrafts(&session.MessageEdited{MessageID: "msg_1", Prompt: session.Prompt{Text: "alpha gamma"}}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.want("beta")
	w.want("alpha")
	w.follow()
	w.want("alpha", "ses_a prompt msg_1: alpha gamma")
}

// Damage that a search meets removes the index, and the next events rebuild it.
func TestDamageBySearch(t *testing.T) {
	w := newWorld(t)
	for i := range 50 {
		w.add("ses_a", prompts(i)...)
	}
	if err := w.index.Close(); err != nil {
		t.Fatal(err)
	}
	w.open(w.index.Dir)
	if exists, err := w.index.Open(t.Context()); !exists || err != nil {
		t.Fatal(exists, err)
	}
	damage(t, searchindex.File(w.index.Dir), w)
	_, err := w.index.Search(t.Context(), searchindex.Query{Text: "alpha"})
	if !errors.Is(err, follower.ErrLost) {
		t.Errorf("error %v", err)
	}
	if err := w.index.Apply(t.Context(), nil); !errors.Is(err, follower.ErrLost) {
		t.Errorf("error %v, want that the index is lost", err)
	}
	w.rebuild()
	if got := w.find(searchindex.Query{Text: "alpha"}); len(got) != 20 {
		t.Errorf("%d hits", len(got))
	}
}

// prompts returns the events of a prompt, the first one with those of its session.
func prompts(i int) (out []session.EventData) {
	if i == 0 {
		out = append(out, created("ses_a", "One"))
	}
	return append(out, prompted(session.MessageID(fmt.Sprintf("msg_%d", i)), strings.Repeat(fmt.Sprintf("alpha w%d ", i), 200)))
}

// An index that is larger than its bound loses what was indexed first.
func TestBound(t *testing.T) {
	w := newWorld(t)
	w.index.MaxBytes = 300 << 10
	w.add("ses_a", created("ses_a", "One"), prompted("msg_0", "firstword"))
	for i := range 60 {
		var b strings.Builder
		for j := range 2000 {
			fmt.Fprintf(&b, "w%d_%d ", i, j)
		}
		w.add("ses_a", prompted(session.MessageID(fmt.Sprintf("msg_a%d", i)), b.String()))
	}
	w.want("firstword")
	if got := w.find(searchindex.Query{Text: "w59_1999"}); len(got) != 1 {
		t.Errorf("the newest text is found %d times", len(got))
	}
	info, err := os.Stat(searchindex.File(w.index.Dir))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 2*w.index.MaxBytes {
		t.Errorf("the file has %d bytes", info.Size())
	}
	if page, err := w.index.Search(t.Context(), searchindex.Query{Text: "firstword"}); err != nil || !page.Trimmed {
		t.Errorf("page %+v, error %v, want that it was trimmed", page, err)
	}
	if c := searchindex.Examine(w.index.Dir, "s", 300<<10); !c.Exists || !c.Trimmed || c.Problem != nil {
		t.Errorf("examined %+v", c)
	}
	if c := searchindex.Examine(w.index.Dir, "other", 300<<10); c.Problem == nil {
		t.Errorf("of another store: examined %+v", c)
	}
	// With a larger bound it is rebuilt.
	if err := w.index.Close(); err != nil {
		t.Fatal(err)
	}
	w.open(w.index.Dir)
	w.index.MaxBytes = 1 << 30
	if exists, err := w.index.Open(t.Context()); exists || err != nil {
		t.Fatal(exists, err)
	}
	w.rebuild()
	w.want("firstword", "ses_a prompt msg_0: firstword")
}

// What a staged revert takes back is not found: the messages behind its message, that one itself if it goes, whole or in
// part.
func TestStagedRevert(t *testing.T) {
	for _, c := range []struct {
		revert session.Revert
		want   int
	}{
		{session.Revert{MessageID: "msg_1"}, 1},
		{session.Revert{MessageID: "msg_1", Exclusive: true}, 0},
		{session.Revert{MessageID: "msg_1", PartID: "prt_1"}, 0},
		{session.Revert{MessageID: "msg_1", FilesOnly: true}, 2},
	} {
		w := newWorld(t)
		w.add("ses_a", created("ses_a", "A"), prompted("msg_1", "needle"), prompted("msg_2", "needle"),
			&session.RevertStaged{Revert: c.revert})
		if got := w.find(searchindex.Query{Text: "needle"}); len(got) != c.want {
			t.Errorf("%+v: %q", c.revert, got)
		}
	}
}
