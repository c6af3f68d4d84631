package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/foreigntest"
	"github.com/cairn-dev/cairn/internal/transfer"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/opencodedb"
)

// foreignTables are those of OpenCode 1.x.
const foreignTables = `
	CREATE TABLE session(id, parent_id, project_id, slug, directory, title, version, time_created, time_updated);
	CREATE TABLE message(id, session_id, time_created, data);
	CREATE TABLE part(id, message_id, session_id, data);`

// insertForeign returns the rows of a session in a directory with a prompt.
func insertForeign(id, parent, dir string, updated int64) string {
	return fmt.Sprintf(`INSERT INTO session VALUES('ses_%[1]s', nullif('%[2]s', ''), 'p', 's', '%[3]s', 'Session %[1]s',
		'1.2.1', %[4]d, %[4]d);`, id, parent, dir, updated) + insertPrompt("1", id, updated)
}

func insertPrompt(n, id string, at int64) string {
	return fmt.Sprintf(`INSERT INTO message VALUES('msg_%[2]s_%[1]s', 'ses_%[2]s', %[3]d,
		'{"role":"user","time":{"created":%[3]d},"agent":"build","model":{"providerID":"p","modelID":"m"}}');
		INSERT INTO part VALUES('prt_%[2]s_%[1]s', 'msg_%[2]s_%[1]s', 'ses_%[2]s', '{"type":"text","text":"Hi"}');`, n, id, at)
}

// importReport is what cairn import --json prints.
type importReport struct {
	Sessions int            `json:"sessions"`
	Outcomes map[string]int `json:"outcomes"`
	Notes    []struct {
		Session string `json:"session"`
		Reason  string `json:"reason"`
	} `json:"notes"`
}

// expectNotes compares the sessions and reasons of the notes.
func (r importReport) expectNotes(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, n := range r.Notes {
		got = append(got, strings.TrimSpace(n.Session+" "+n.Reason))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("notes", diff)
	}
}

// importDatabase runs cairn import.
func importDatabase(t *testing.T, o client.Options, path string, args ...string) importReport {
	t.Helper()
	return importFrom(t, o, append([]string{"opencode", path}, args...)...)
}

func importFrom(t *testing.T, o client.Options, args ...string) (out importReport) {
	t.Helper()
	code, said := typed(t, o, append([]string{"import", "--json", "--from"}, args...)...)
	if err := json.Unmarshal([]byte(said), &out); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s", code, err, said)
	}
	return out
}

func (r importReport) expect(t *testing.T, what string, want map[string]int) {
	t.Helper()
	sum := 0
	for _, n := range r.Outcomes {
		sum += n
	}
	if diff := cmp.Diff(want, r.Outcomes); diff != "" || sum != r.Sessions {
		t.Errorf("%s: %d sessions, %s", what, r.Sessions, diff)
	}
}

// TestForeignImport: --since is about the sessions of a database, and a dry run says what the import does.
func TestForeignImport(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	o, dir := optionsOf(home), t.TempDir()
	const old, recent = 1_600_000_000_000, 1_700_000_000_000
	rows := foreignTables + insertForeign("old", "", dir, old) + insertForeign("new", "", dir, recent) +
		insertForeign("child", "ses_old", dir, recent)
	path := foreigntest.MakeDatabase(t, rows)
	for _, dry := range []string{"--dry-run", "--dry-run=false"} {
		importDatabase(t, o, path, "--since", "2023-01-01", dry).expect(t, "since", map[string]int{"imported": 2})
	}
	importDatabase(t, o, path).expect(t, "all", map[string]int{"imported": 1, "unchanged": 2})
	// Both grow in OpenCode; one was used here meanwhile.
	c := open(t, o)
	c.API.Directory = dir
	talk(t, c, "ses_new")
	closeIt(t, c)
	path = foreigntest.MakeDatabase(t, rows+insertPrompt("2", "new", recent+5)+insertPrompt("2", "old", recent+5))
	want := map[string]int{"copied": 1, "grown": 1, "unchanged": 1}
	for _, dry := range []string{"--dry-run", "--dry-run=false"} {
		importDatabase(t, o, path, dry).expect(t, "grown "+dry, want)
	}
	importDatabase(t, o, path, "--dry-run").expect(t, "again", map[string]int{"unchanged": 3})
	// A deleted session comes again, unless it had a cost, which is stored under its id.
	if code, said := typed(t, o, "session", "delete", "--yes", "ses_old"); code != 0 {
		t.Fatalf("delete: exit %d: %s", code, said)
	}
	rest := map[string]int{"imported": 1, "unchanged": 2}
	for _, dry := range []string{"--dry-run", "--dry-run=false"} {
		importDatabase(t, o, path, dry).expect(t, "deleted "+dry, rest)
	}
}

// TestImportSinceOfSubagents: a report names subagents that came in without their parents, which are older than --since,
// and subagents that are older than --since and so did not come in with theirs.
func TestImportSinceOfSubagents(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	o, dir := optionsOf(home), t.TempDir()
	const old, recent = 1_600_000_000_000, 1_700_000_000_000
	path := foreigntest.MakeDatabase(t, foreignTables+
		insertForeign("old", "", dir, old)+insertForeign("late", "ses_old", dir, recent)+
		insertForeign("new", "", dir, old)+insertForeign("early", "ses_new", dir, old+1)+
		fmt.Sprintf("UPDATE session SET time_updated = %d WHERE id = 'ses_new';", recent))
	for _, dry := range []string{"--dry-run", "--dry-run=false"} {
		r := importDatabase(t, o, path, "--since", "2023-01-01", dry)
		r.expect(t, "since", map[string]int{"imported": 2})
		r.expectNotes(
			t, "ses_late the session that started it, ses_old, is not imported; it comes in as a session of its own",
			"ses_early it is older than --since, and left out; the session that started it, ses_new, comes in",
		)
	}
	r := importDatabase(t, o, path)
	r.expect(t, "all", map[string]int{"imported": 2, "unchanged": 2})
	r.expectNotes(t)
	r = importDatabase(t, o, path, "--since", "2023-01-01")
	r.expect(t, "again", map[string]int{"unchanged": 2})
	r.expectNotes(t)
}

// TestImportSinceOfFiles: files that are older than --since are not read, unless they may have the parents of sessions
// that are imported.
func TestImportSinceOfFiles(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	o, dir, project := optionsOf(home), filepath.Join(t.TempDir(), "files"), t.TempDir()
	writeAt := func(name, session, agent string, at time.Time) {
		t.Helper()
		path := filepath.Join(dir, name)
		write(t, path, fmt.Sprintf(`{"type":"user","uuid":"u-%[1]s%[2]s","parentUuid":null,"sessionId":"%[1]s","cwd":%[3]q,`+
			`"isSidechain":%[4]t,"agentId":"%[2]s","timestamp":"%[5]s","message":{"role":"user","content":"Hi"}}`+"\n",
			session, agent, project, agent != "", at.Format(time.RFC3339)))
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	old, recent := time.Unix(1_600_000_000, 0).UTC(), time.Unix(1_700_000_000, 0).UTC()
	writeAt("s1.jsonl", "s1", "", old)
	writeAt("s2.jsonl", "s2", "", recent)
	writeAt("s2/subagents/agent-b.jsonl", "s2", "b", old)
	r := importFrom(t, o, "claude", dir, "--since", "2023-01-01")
	r.expect(t, "since", map[string]int{"imported": 1})
	r.expectNotes(t, "s2 the file has subagents of it, is older than --since, and was not read")
	// The parent was imported earlier, and is not read now.
	importFrom(t, o, "claude", filepath.Join(dir, "s1.jsonl")).expect(t, "parent", map[string]int{"imported": 1})
	writeAt("s1/subagents/agent-a.jsonl", "s1", "a", recent)
	r = importFrom(t, o, "claude", dir, "--since", "2023-01-01")
	r.expect(t, "subagent", map[string]int{"imported": 1, "unchanged": 1})
	c := open(t, o)
	defer closeIt(t, c)
	all, err := c.API.Sessions(t.Context(), api.SessionQuery{Directory: project})
	if err != nil {
		t.Fatal(err)
	}
	children := 0
	for _, s := range all.Data {
		if s.ParentID != "" {
			children++
		}
	}
	if children != 1 {
		t.Errorf("%d of %d sessions have a parent", children, len(all.Data))
	}
}

// TestImportsAtOnce: of several imports of the same sessions at once, one counts a session as imported, or as grown after
// its newest message has changed, and the others as unchanged.
func TestImportsAtOnce(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	dir := t.TempDir()
	const n = 20
	rows := foreignTables
	for i := range n {
		rows += insertForeign(fmt.Sprint(i), "", dir, 1_700_000_000_000+int64(i)) +
			insertPrompt("2", fmt.Sprint(i), 1_700_000_001_000+int64(i))
	}
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	for _, state := range []struct {
		rows string
		want transfer.Outcome
	}{
		{rows, transfer.Imported},
		{rows + `UPDATE part SET data = '{"type":"text","text":"Ho"}' WHERE message_id LIKE '%_2';`, transfer.Grown},
	} {
		path := foreigntest.MakeDatabase(t, state.rows)
		counts := importAtOnce(t, c, dir, path)
		if diff := cmp.Diff(map[transfer.Outcome]int{state.want: n, transfer.Same: 2 * n}, counts); diff != "" {
			t.Error(diff)
		}
		for i := range n {
			s, err := c.API.Session(t.Context(), session.ID(fmt.Sprint("ses_", i)))
			if err != nil || !s.Import.Whole || s.Import.Messages != 2 {
				t.Errorf("%+v, %v", s, err)
			}
			page, err := c.API.Messages(t.Context(), s.ID, api.MessageQuery{Limit: 10})
			if err != nil || len(page.Data) != 2 {
				t.Errorf("%d messages, %v", len(page.Data), err)
			}
		}
	}
}

// importAtOnce imports the database three times at once.
func importAtOnce(t *testing.T, c *client.Connection, dir, path string) map[transfer.Outcome]int {
	t.Helper()
	var mu sync.Mutex
	counts := map[transfer.Outcome]int{}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			there := api.Client(*c.API)
			there.Directory = dir
			_, err := opencodedb.Read(t.Context(), path, func(s foreign.Session) error {
				_, did, err := transfer.ForeignImport{API: &there}.Import(t.Context(), &s)
				mu.Lock()
				counts[did]++
				mu.Unlock()
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	return counts
}

// TestCopyOfReverted: what is taken back in a session that comes in as a copy is a message of the copy.
func TestCopyOfReverted(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	dir := t.TempDir()
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	c.API.Directory = dir
	const at = 1_700_000_000_000
	rows := foreignTables + insertForeign("a", "", dir, at)
	read := func(rows string) foreign.Session {
		t.Helper()
		sessions := readSource(t, foreign.OpenCode, foreigntest.MakeDatabase(t, rows))
		if len(sessions) != 1 {
			t.Fatalf("%d sessions", len(sessions))
		}
		return sessions[0]
	}
	s := read(rows)
	if did := importState(t, c, &s, false); did != transfer.Imported {
		t.Fatal(did)
	}
	talk(t, c, "ses_a")
	s = read(rows + insertPrompt("2", "a", at+5))
	s.Original.Revert = &session.Revert{MessageID: s.Messages[1].Meta().ID, Exclusive: true}
	id, did, err := transfer.ForeignImport{API: c.API}.Import(t.Context(), &s)
	if err != nil || did != transfer.Copied {
		t.Fatal(did, err)
	}
	made, err := c.API.Session(t.Context(), id)
	if err != nil || made.Revert == nil {
		t.Fatalf("%+v, %v", made, err)
	}
	for m, err := range c.API.NewestMessages(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Meta().ID == made.Revert.MessageID {
			return
		}
	}
	t.Errorf("the copy has no message %s", made.Revert.MessageID)
}
