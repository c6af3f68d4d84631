package host

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// The readable part of a damaged store is copied, made usable, and reported session by session; the old home stays as
// it is.
func TestSalvage(t *testing.T) {
	for _, tt := range []struct {
		name string
		harm func(t *testing.T, path string)
		lost bool
	}{
		{"whole", func(*testing.T, string) {}, false},
		{"truncated", func(t *testing.T, path string) {
			info, err := os.Stat(path)
			if err := errors.Join(err, os.Truncate(path, info.Size()*2/3)); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"garbage", func(t *testing.T, path string) { garble(t, path, "title-30") }, true},
		{"garbage in a turn", func(t *testing.T, path string) { garble(t, path, "answer-20") }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home, _ := newHome(t)
			o := optionsOf(home)
			fillHome(t, home)
			writeLog(t, home, spending(40))
			writeLog(t, home, []session.EventData{
				&session.Created{Info: session.Session{ID: "ses_fork", Title: "fork"}, Copied: 1},
				&session.MessagesCopied{First: 1, Messages: []jsontext.Value{
					jsontext.Value(`{"id":"msg_copy","type":"user","time":{"created":1},"text":"a"}`),
				}},
				&session.Renamed{Title: "renamed", By: "user"},
			})
			tt.harm(t, filepath.Join(home, "data", "cairn.db"))
			if found, err := (Host{}).Fsck(t.Context(), o); tt.lost &&
				!strings.Contains(fmt.Sprint(found, err), "cairn salvage DIR") {
				t.Errorf("fsck does not say what to do: %v, %v", found, err)
			}
			before := sums(t, filepath.Join(home, "data"))
			into := filepath.Join(t.TempDir(), "new")
			got, err := Host{}.Salvage(t.Context(), o, into)
			if err != nil {
				t.Fatal(err)
			}
			if after := sums(t, filepath.Join(home, "data")); !maps.Equal(before, after) {
				t.Errorf("the old home was touched: %v, then %v", before, after)
			}
			kept, lost := 0, len(got.Lost)
			isFork := func(s check.SalvagedSession) bool { return s.SessionID == "ses_fork" }
			if i := slices.IndexFunc(got.Sessions, isFork); !tt.lost && (i < 0 ||
				got.Sessions[i].Events != 3 || got.Sessions[i].Title != "renamed") {
				t.Errorf("the fork is not kept: %+v", got.Sessions)
			}
			for _, s := range got.Sessions {
				lost += len(s.Lost)
				if s.Events > 0 {
					kept++
				}
			}
			if (lost > 0) != tt.lost || kept < 20 || got.Events < kept || got.Home != into {
				t.Errorf("%d sessions and %d events kept, %d losses, in %s", kept, got.Events, lost, got.Home)
			}
			usable(t, into, kept)
			typo := filepath.Join(t.TempDir(), "nosuch")
			if _, err := (Host{}).Salvage(t.Context(), o, filepath.Join(typo, "new")); err == nil ||
				!strings.Contains(err.Error(), typo+" does not exist") {
				t.Errorf("salvaged below a missing directory: %v", err)
			}
			if _, err := os.Stat(typo); err == nil {
				t.Error("salvage made the parent of the new home")
			}
			if _, err := (Host{}).Salvage(t.Context(), o, into); !errors.Is(err, &session.Error{Code: session.CodeInvalid}) {
				t.Errorf("salvaged over what was there: %v", err)
			}
		})
	}
}

// spending is a session of so many turns, each of which cost something.
func spending(turns int) []session.EventData {
	facts := []session.EventData{&session.Created{Info: session.Session{ID: "ses_a", Title: "spending"}}}
	for i := range turns {
		ask, answer := session.MessageID(fmt.Sprintf("msg_%02d_ask", i)), session.MessageID(fmt.Sprintf("msg_%02d_say", i))
		hi := session.Prompt{Text: "hi"}
		facts = append(
			facts,
			&session.PromptAdmitted{MessageID: ask, Prompt: hi, Delivery: session.Steer},
			&session.Prompted{MessageID: ask, Prompt: hi, Delivery: session.Steer},
			&session.StepStarted{TurnFact: session.OfTurn(answer)},
			&session.TextStarted{TurnFact: session.OfTurn(answer), PartID: "prt_1"},
			&session.TextEnded{TurnFact: session.OfTurn(answer), PartID: "prt_1", Text: fmt.Sprintf("answer-%02d", i)},
			&session.StepEnded{
				TurnFact: session.OfTurn(answer),
				Finish:   "stop",
				Cost:     1,
				Tokens:   session.Tokens{Input: 10, Output: int64(i)},
			},
		)
	}
	return facts
}

// What a session cost is what its kept events say. It is carried over only if the session is gone, also from tables of
// before the first release unless it can be had from nowhere else; the report says so.
func TestSalvageSpend(t *testing.T) {
	const (
		gone    = `DELETE FROM event; DELETE FROM session; DELETE FROM message;`
		earlier = `PRAGMA application_id = 0x6361726e;
			CREATE TABLE ledger (session_id TEXT NOT NULL, seq INTEGER NOT NULL, time INTEGER NOT NULL, crc INTEGER NOT NULL, data TEXT NOT NULL);
			INSERT INTO ledger SELECT session_id, place & 4294967295, time, crc, data FROM spend JOIN numbered ON number = place >> 32;
			DROP TABLE spend; DROP TABLE numbered; ALTER TABLE ledger RENAME TO spend;`
	)
	for _, tt := range []struct {
		name, sql string
		turns     int // in the spend that comes out of three
		lost      string
	}{
		{"whole", "", 3, ""},
		{"cut", `DELETE FROM event WHERE seq = 12`, 1, "[]"},
		{"not in the spend", `DELETE FROM spend`, 3, ""},
		{"gone", gone, 3, ""},
		{
			"gone with the spend", gone + `DROP TABLE spend`, 0,
			"[the spend cannot be read; the costs of deleted sessions are lost]",
		},
		{"earlier", earlier, 3, ""},
		{"earlier, gone", gone + earlier, 0, "[the spend cannot be read; the costs of deleted sessions are lost]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home, into := filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "new")
			writeLog(t, home, spending(3))
			harm(t, home, tt.sql)
			got, err := Host{}.Salvage(t.Context(), optionsOf(home), into)
			if err != nil {
				t.Fatal(err)
			}
			if (len(got.Lost) > 0 || len(got.Sessions) > 0 && len(got.Sessions[0].Lost) > 0) != (tt.lost != "") ||
				tt.lost != "" && fmt.Sprint(got.Lost) != tt.lost {
				t.Errorf("lost: %v, %v", got.Lost, got.Sessions)
			}
			if n := len(readSpend(t, into, "ses_a")); n != tt.turns {
				t.Errorf("%d turns are in the spend, want %d", n, tt.turns)
			}
			inOrder(t, into)
		})
	}
}

// readSpend returns the costs of the turns of a session.
func readSpend(t *testing.T, home string, id session.ID) (lines []store.Spend) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: filepath.Join(home, "data"), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	err = s.View(t.Context(), func(r store.Reader) (err error) {
		lines, err = r.Spent(id, 0)
		return err
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestSalvageRefuses(t *testing.T) {
	home, _ := newHome(t)
	o := optionsOf(home)
	if _, err := (Host{}).Salvage(t.Context(), o, filepath.Join(home, "new")); !errors.Is(
		err,
		&session.Error{Code: session.CodeNotFound},
	) {
		t.Errorf("salvage of nothing: %v", err)
	}
	closeIt(t, open(t, o))
	if _, err := (Host{}).Salvage(t.Context(), o, filepath.Join(home, "data", "new")); !errors.Is(
		err,
		&session.Error{Code: session.CodeInvalid},
	) {
		t.Errorf("salvage into the data itself: %v", err)
	}
}

// usable opens the home and finds it in order, with so many sessions.
func usable(t *testing.T, home string, sessions int) {
	t.Helper()
	inOrder(t, home)
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	page, err := c.API.Sessions(t.Context(), api.SessionQuery{Limit: 100})
	if err != nil || len(page.Data) != sessions {
		t.Errorf("%d sessions, want %d: %v", len(page.Data), sessions, err)
	}
}

// inOrder finds that the store of the home keeps every invariant.
func inOrder(t *testing.T, home string) {
	t.Helper()
	found, err := Host{}.Fsck(t.Context(), optionsOf(home))
	if err != nil || len(found) != 1 || found[0].Level != finding.OK {
		t.Errorf("fsck of what was salvaged: %v, %v", found, err)
	}
}

// sums are the contents of a folder.
func sums(t *testing.T, dir string) map[string][sha256.Size]byte {
	t.Helper()
	out := map[string][sha256.Size]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = sha256.Sum256(b)
	}
	return out
}

// garble makes garbage of the pages of events with the text.
func garble(t *testing.T, path, text string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const pageSize = 1024
	hit := 0
	for at := 0; at+pageSize <= len(b); at += pageSize {
		if page := b[at : at+pageSize]; bytes.Contains(page, []byte(text)) && bytes.Contains(page, []byte("evt_")) {
			copy(page, bytes.Repeat([]byte("garbage!"), pageSize/8))
			hit++
		}
	}
	if hit == 0 {
		t.Fatal("the session is nowhere")
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSalvageForkWithoutCopies: a fork that lost the messages which it copied is reported as lost, and the new store is
// consistent.
func TestSalvageForkWithoutCopies(t *testing.T) {
	home, _ := newHome(t)
	o := optionsOf(home)
	fillHome(t, home)
	writeLog(t, home, []session.EventData{
		&session.Created{Info: session.Session{ID: "ses_fork", Title: "fork"}, Copied: 1},
		&session.MessagesCopied{First: 1, Messages: []jsontext.Value{
			jsontext.Value(`{"id":"msg_copy","type":"user","time":{"created":1},"text":"a"}`),
		}},
		&session.Renamed{Title: "renamed", By: "user"},
	})
	harm(t, home, `UPDATE event SET data = replace(data, 'msg_copy', 'msg_cOpy') WHERE session_id = 'ses_fork'`)
	into := filepath.Join(t.TempDir(), "new")
	got, err := Host{}.Salvage(t.Context(), o, into)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(got.Sessions, func(s check.SalvagedSession) bool { return s.SessionID == "ses_fork" })
	if i < 0 || got.Sessions[i].Events != 0 || len(got.Sessions[i].Lost) == 0 {
		t.Errorf("the report of the fork is missing or wrong: %+v", got.Sessions)
	}
	found, err := Host{}.Fsck(t.Context(), optionsOf(into))
	if f, bad := worst(found); err != nil || bad {
		t.Errorf("fsck of the new store: %+v, %v", f, err)
	}
}
