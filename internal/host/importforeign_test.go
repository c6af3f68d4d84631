package host

import (
	"fmt"
	"sync"
	"testing"

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
}

// importDatabase runs cairn import.
func importDatabase(t *testing.T, o client.Options, path string, args ...string) (out importReport) {
	t.Helper()
	code, said := typed(t, o, append([]string{"import", "--from", "opencode", path, "--json"}, args...)...)
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

// TestImportsAtOnce: two imports of the same sessions at once count each session as imported once.
func TestImportsAtOnce(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	dir := t.TempDir()
	const n = 20
	rows := foreignTables
	for i := range n {
		rows += insertForeign(fmt.Sprint(i), "", dir, 1_700_000_000_000+int64(i))
	}
	path := foreigntest.MakeDatabase(t, rows)
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
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
	if diff := cmp.Diff(map[transfer.Outcome]int{transfer.Imported: n, transfer.Same: 2 * n}, counts); diff != "" {
		t.Error(diff)
	}
	if s, err := c.API.Session(t.Context(), session.ID("ses_0")); err != nil || !s.Import.Whole {
		t.Errorf("%+v, %v", s, err)
	}
}
