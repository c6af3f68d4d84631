package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/foreigntest"
	"github.com/cairn-dev/cairn/internal/transfer"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/sources"
)

// readLines returns what is read of each number of first lines of a transcript, its last line cut off or whole.
func readLines(t *testing.T, program, file string) (states [][]foreign.Session) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "transfer", program, "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), file)
	end := 0
	for line := range bytes.SplitAfterSeq(text, []byte("\n")) {
		for _, n := range []int{end + len(line)/2, end + len(line)} {
			if err := os.WriteFile(path, text[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			states = append(states, readSource(t, program, path))
		}
		end += len(line)
	}
	return states
}

// readRows returns what is read of each number of first rows of a database. The newest row is unfinished first, as the
// statement for its table makes it.
func readRows(t *testing.T, program, file string, unfinished map[string]string) (states [][]foreign.Session) {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../transfer/" + file))
	if err != nil {
		t.Fatal(err)
	}
	tableOf := func(line string) string {
		table, _ := strings.CutPrefix(line, "INSERT INTO ")
		table, _, _ = strings.Cut(table, " ")
		return table
	}
	lines := strings.SplitAfter(string(text), "\n")
	for last := range lines {
		change := unfinished[tableOf(lines[last])]
		if change == "" {
			continue
		}
		var script strings.Builder
		for i, line := range lines {
			if i <= last || unfinished[tableOf(line)] == "" {
				script.WriteString(line)
			}
		}
		for _, change := range []string{change, ""} {
			states = append(states, readSource(t, program, foreigntest.MakeDatabase(t, script.String(), change)))
		}
	}
	return states
}

func readSource(t *testing.T, program, path string) (out []foreign.Session) {
	t.Helper()
	files, err := sources.Find(program, []string{path}, func(string) string { return "" })
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	_, err = sources.Read(t.Context(), files[0], func(s foreign.Session) error {
		if len(s.Messages) > 0 {
			out = append(out, s)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestImportWhileAtWork: sessions that are imported at any moment of their program's work, and not used here, become what
// an import of the complete ones makes.
func TestImportWhileAtWork(t *testing.T) {
	cases := map[string]func(t *testing.T) [][]foreign.Session{
		"opencode 1": func(t *testing.T) [][]foreign.Session {
			return readRows(t, foreign.OpenCode, "opencodedb/testdata/opencode-1.2.1.sql", map[string]string{
				"message": `UPDATE message SET data = json_remove(data, '$.time.completed', '$.finish')
					WHERE id = (SELECT max(id) FROM message);`,
				"part": `UPDATE part SET data = json_remove(json_set(data, '$.state.status', 'running'), '$.state.output')
					WHERE id = (SELECT max(id) FROM part) AND json_extract(data, '$.type') = 'tool';`,
			})
		},
		"opencode 2": func(t *testing.T) [][]foreign.Session {
			return readRows(t, foreign.OpenCode, "opencodedb/testdata/opencode-2.0.26.sql", map[string]string{
				"session_message": `UPDATE session_message
					SET data = json_remove(data, '$.time.completed', '$.finish', '$.content[1]')
					WHERE id = (SELECT max(id) FROM session_message);`,
			})
		},
		"crush": func(t *testing.T) [][]foreign.Session {
			return readRows(t, foreign.Crush, "crush/testdata/crush-2025-08.sql", map[string]string{
				"messages": `UPDATE messages SET parts = json_array(json(json_extract(parts, '$[0]')))
					WHERE rowid = (SELECT max(rowid) FROM messages);`,
			})
		},
	}
	for program, pattern := range map[string]string{foreign.Claude: "*.jsonl", foreign.Codex: "*.jsonl", foreign.Gemini: "*.jsonl"} {
		files, err := filepath.Glob(filepath.Join("..", "transfer", program, "testdata", pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			cases[program+" "+filepath.Base(f)] = func(t *testing.T) [][]foreign.Session {
				return readLines(t, program, filepath.Base(f))
			}
		}
	}
	for name, read := range cases {
		t.Run(name, func(t *testing.T) {
			states := read(t)
			want := importStates(t, states[len(states)-1:])
			if diff := cmp.Diff(want, importStates(t, states)); diff != "" {
				t.Error("of imports at work (+) and of one import (-):", diff)
			}
		})
	}
}

// TestImportOfCutSources: a source that has lost its end takes nothing from a session that was imported whole.
func TestImportOfCutSources(t *testing.T) {
	for program, file := range map[string]string{
		foreign.Claude: "file-edit.2.1.7.jsonl", foreign.Codex: "rollout-2026-11-28.cli-0.171.0.jsonl",
		foreign.Gemini: "session-2026-11-28.cli-0.61.0.jsonl",
	} {
		t.Run(program, func(t *testing.T) {
			home, v := newHome(t)
			close(v.released)
			c := open(t, optionsOf(home))
			defer closeIt(t, c)
			states := readLines(t, program, file)
			whole := &states[len(states)-1][0]
			if did := importState(t, c, whole, false); did != transfer.Imported {
				t.Fatal(did)
			}
			want := listItems(t, c, transfer.ForeignID(whole))
			for n, sessions := range states {
				if len(sessions) == 0 {
					continue
				}
				did := importState(t, c, &sessions[0], false)
				if diff := cmp.Diff(want, listItems(t, c, transfer.ForeignID(whole))); diff != "" {
					t.Fatalf("%d of %d states, %s: %s", n, len(states), did, diff)
				}
			}
		})
	}
}

// listItems lists the items of the session's messages, and whether calls have their results.
func listItems(t *testing.T, c *client.Connection, id session.ID) (out []string) {
	t.Helper()
	for m, err := range c.API.NewestMessages(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(m.Meta().ID))
		if a, ok := m.(*session.Assistant); ok {
			for _, item := range a.Content {
				out = append(out, string(item.ItemID()))
			}
			for _, call := range a.Tools() {
				out = append(out, string(call.State.Status))
			}
		}
	}
	return out
}

// importStates imports the sessions of a source as they were at several times, one after another, and returns what is
// stored then.
func importStates(t *testing.T, states [][]foreign.Session) map[session.ID]string {
	t.Helper()
	home, v := newHome(t)
	close(v.released)
	o := optionsOf(home)
	c := open(t, o)
	for n, sessions := range states {
		for _, s := range sessions {
			dry, did := importState(t, c, &s, true), importState(t, c, &s, false)
			if did == transfer.Copied || did == transfer.Deleted || dry != did {
				t.Errorf("state %d of %d, %s: %s, %s in a dry run", n, len(states), s.ID, did, dry)
			}
			if again := importState(t, c, &s, false); again != transfer.Same {
				t.Errorf("state %d of %d, %s: %s again", n, len(states), s.ID, again)
			}
		}
	}
	out := map[session.ID]string{}
	page, err := c.API.Sessions(t.Context(), api.SessionQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range page.Data {
		var text strings.Builder
		fmt.Fprintln(&text, s.Title, s.Cost, s.Tokens, s.Model, s.Todos, s.Import.Messages)
		for m, err := range c.API.NewestMessages(t.Context(), s.ID) {
			raw, encodeErr := json.Marshal(m, json.Deterministic(true))
			if err != nil || encodeErr != nil {
				t.Fatal(err, encodeErr)
			}
			fmt.Fprintln(&text, string(raw))
		}
		out[s.ID] = text.String()
	}
	closeIt(t, c)
	if code, said := typed(t, o, "fsck"); code != 0 {
		t.Errorf("fsck: exit %d: %s", code, said)
	}
	return out
}

func importState(t *testing.T, c *client.Connection, s *foreign.Session, dry bool) transfer.Outcome {
	t.Helper()
	_, did, err := transfer.ForeignImport{API: c.API, DryRun: dry}.Import(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return did
}
