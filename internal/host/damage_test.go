package host

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/session"
)

// harm changes the database of a home without an owner.
func harm(t *testing.T, home, sql string) {
	t.Helper()
	db, err := zs.OpenConn(filepath.Join(home, "data", "cairn.db"), zs.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sqlitex.ExecuteScript(db, sql, nil), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// A session whose log is damaged takes no prompts and says what to do; the others go on; it can be deleted, also when
// its own row cannot be read.
func TestDamagedSession(t *testing.T) {
	for _, tt := range []struct{ name, sql string }{
		{"event changed", `UPDATE event SET data = replace(data, 'timestamp', 'timestamq') WHERE session_id = ?`},
		{"event gone", `DELETE FROM event WHERE session_id = ? AND seq = 2`},
		{"row changed", `UPDATE session SET data = replace(data, 'title', 'tilte') WHERE id = ?`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home, v := newHome(t)
			close(v.released)
			o := optionsOf(home)
			c := open(t, o)
			bad, good := create(t, c, "bad"), create(t, c, "good")
			for _, id := range []session.ID{bad, good} {
				talk(t, c, id)
			}
			closeIt(t, c)
			harm(t, home, strings.ReplaceAll(tt.sql, "?", "'"+string(bad)+"'"))
			if found, err := (Host{}).Fsck(t.Context(), o); err != nil ||
				!strings.Contains(findings(found), string(bad)) {
				t.Errorf("fsck: %v, %v", found, err)
			}
			c = open(t, o)
			for range 2 {
				_, err := c.API.Prompt(t.Context(), bad, say("more"))
				if e, ok := errors.AsType[*session.Error](err); !ok || e.Kind != api.KindDamaged ||
					!strings.Contains(e.Message, "run cairn doctor") {
					t.Errorf("prompt: %v", err)
				}
			}
			talk(t, c, good)
			closeIt(t, c)
			if code, said := typed(t, o, "run", "-s", string(bad), "more"); code != 1 ||
				!strings.Contains(said, "run cairn doctor") ||
				strings.Contains(said, "go on with") {
				t.Errorf("run: exit %d: %s", code, said)
			}
			const incomplete = "1 stored sessions are damaged"
			if code, said := typed(t, o, "session", "list", "--all"); code != 0 ||
				!strings.Contains(said, string(good)) ||
				strings.Contains(said, incomplete) != (tt.name == "row changed") {
				t.Errorf("list: exit %d: %s", code, said)
			}
			if code, said := typed(t, o, "session", "delete", string(bad)); code != 0 ||
				!strings.Contains(said, string(bad)) {
				t.Errorf("delete: exit %d: %s", code, said)
			}
			if found, err := (Host{}).Fsck(t.Context(), o); err != nil || len(found) != 1 ||
				found[0].Level != finding.OK {
				t.Errorf("fsck after the deletion: %v, %v", found, err)
			}
		})
	}
}

// typed runs cairn without any input and returns what it said.
func typed(t *testing.T, o client.Options, args ...string) (code int, said string) {
	t.Helper()
	return typeIn(t, o, "", args...)
}

// talk prompts and waits for the answer.
func talk(t *testing.T, c *client.Connection, id session.ID) {
	t.Helper()
	_, err := c.API.Prompt(t.Context(), id, say("go"))
	if err := errors.Join(err, c.API.Wait(t.Context(), id)); err != nil {
		t.Fatal(err)
	}
}

func findings(found []finding.Finding) string {
	var b strings.Builder
	for _, f := range found {
		b.WriteString(f.Detail + "\n")
	}
	return b.String()
}
