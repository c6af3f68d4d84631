package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-json-experiment/json"
	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/root"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/cairn-dev/cairn/internal/session"
)

// worst returns the store's finding that is not ok, if any.
func worst(found []finding.Finding) (finding.Finding, bool) {
	for _, f := range found {
		if f.What == "store" && f.Level == finding.Error {
			return f, true
		}
	}
	return finding.Finding{}, false
}

func TestDoctorOfNothing(t *testing.T) {
	home := t.TempDir()
	o := optionsOf(home)
	if err := os.Mkdir(o.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, look := range map[string]func() ([]finding.Finding, error){
		"doctor": func() ([]finding.Finding, error) { return Host{}.Doctor(t.Context(), o) },
		"fsck":   func() ([]finding.Finding, error) { return Host{}.Fsck(t.Context(), o) },
	} {
		found, err := look()
		if err != nil || len(found) == 0 {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		for _, f := range found {
			if f.Level == finding.Error {
				t.Errorf("%s: %v", name, f)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(home, "data")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("looking made a data folder: %v", err)
	}
}

// TestDoctorOfUnusableHome: a data folder that cannot be created is an error, and nothing else is said of it.
func TestDoctorOfUnusableHome(t *testing.T) {
	home := t.TempDir()
	o := optionsOf(filepath.Join(home, "file", "home"))
	if err := os.WriteFile(filepath.Join(home, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Dir = home
	found, err := Host{}.Doctor(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var data []finding.Level
	for _, f := range found {
		if f.What == "data" {
			data = append(data, f.Level)
		}
	}
	if diff := cmp.Diff([]finding.Level{finding.Error}, data); diff != "" {
		t.Errorf("findings about the data folder (-want +got):\n%s", diff)
	}
}

// The server says the same as the command.
func TestDoctorOfServer(t *testing.T) {
	home, _ := newHome(t)
	o := optionsOf(home)
	c := open(t, o)
	defer closeIt(t, c)
	create(t, c, "one")
	raw, err := c.API.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var findings []finding.Finding
	if err := json.Unmarshal(raw, &findings); err != nil {
		t.Fatal(err)
	}
	found, err := Host{}.Doctor(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(findings)+1 ||
		!strings.Contains(string(raw), "1 sessions can be read") { // the command names the owner
		t.Errorf("the server says %s, the command %v", raw, found)
	}
	found, err = Host{}.Fsck(t.Context(), o)
	if err != nil || len(found) != 1 || found[0].Level != finding.OK {
		t.Errorf("fsck beside the owner: %v, %v", found, err)
	}
}

// fillHome makes 60 sessions, title-00 to title-59.
func fillHome(t *testing.T, home string) {
	t.Helper()
	c := open(t, optionsOf(home))
	for i := range 60 {
		create(t, c, fmt.Sprintf("title-%02d", i))
	}
	closeIt(t, c)
}

// damage makes 60 sessions, and garbage of the page that holds the event of the one with the title.
func damage(t *testing.T, home, title string) {
	t.Helper()
	fillHome(t, home)
	path := filepath.Join(home, "data", "cairn.db")
	garble(t, path, title)
	if err := os.WriteFile(path+"-wal", []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What is whole in a damaged store can be read, nothing can be written, and doctor says why.
func TestDamagedStore(t *testing.T) {
	home, _ := newHome(t)
	o := optionsOf(home)
	damage(t, home, "title-30")
	found, err := Host{}.Doctor(t.Context(), o)
	if f, ok := worst(found); err != nil || !ok || !strings.Contains(f.Fix, "backup") {
		t.Errorf("doctor: %v, %v", found, err)
	}
	c := open(t, o)
	defer closeIt(t, c)
	page, err := c.API.Sessions(t.Context(), api.SessionQuery{Limit: 100})
	if err != nil || len(page.Data) < 30 {
		t.Fatalf("%d sessions, %v", len(page.Data), err)
	}
	id := page.Data[len(page.Data)-1].ID
	if _, err := c.API.Session(t.Context(), id); err != nil {
		t.Error(err)
	}
	if _, err := c.API.Messages(t.Context(), id, api.MessageQuery{}); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"rename": c.API.Rename(t.Context(), id, "other"),
		"create": func() error { _, err := c.API.Create(t.Context(), api.CreateSession{}); return err }(),
		"prompt": func() error { _, err := c.API.Prompt(t.Context(), id, say("go")); return err }(),
	} {
		if e, ok := errors.AsType[*session.Error](err); !ok || e.Code != session.CodeUnavailable ||
			!strings.Contains(e.Message, "cairn doctor") {
			t.Errorf("%s: %v", what, err)
		}
	}
	raw, err := c.API.Doctor(t.Context())
	var findings []finding.Finding
	if err := errors.Join(err, json.Unmarshal(raw, &findings)); err != nil {
		t.Fatal(err)
	}
	if f, ok := worst(findings); !ok || !strings.Contains(f.Detail, "read-only") {
		t.Errorf("the server's doctor: %s", raw)
	}
}

// What a run cannot do because of damage that it cannot record it says, at once.
func TestRunSaysDamage(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	o := optionsOf(home)
	c := open(t, o)
	create(t, c, "one")
	closeIt(t, c)
	db, err := zs.OpenConn(filepath.Join(home, "data", "cairn.db"), zs.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sqlitex.ExecuteTransient(db, "DROP TABLE epoch", nil), db.Close()); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := root.Run(t.Context(), Host{}, cli.Process{
		Args: []string{
			"run",
			"hi",
		}, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Env: o.Env, Dir: o.Dir,
	})
	if code != 1 || !strings.Contains(stderr.String(), "stored data is damaged; run cairn doctor") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
	found, err := Host{}.Doctor(t.Context(), o)
	if f, ok := worst(found); err != nil || !ok || !strings.Contains(f.Detail, "no such table") {
		t.Errorf("doctor: %v, %v", found, err)
	}
}

// A database that is taken away from under a running server is missed at the next write, and said to be.
func TestDatabaseTakenAway(t *testing.T) {
	home, _ := newHome(t)
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	id := create(t, c, "one")
	if h, err := c.API.Health(t.Context()); err != nil || !h.Healthy {
		t.Fatalf("health: %v, %v", h, err)
	}
	if err := os.RemoveAll(filepath.Join(home, "data")); err != nil {
		t.Fatal(err)
	}
	_, err := c.API.Prompt(t.Context(), id, say("go"))
	if e, ok := errors.AsType[*session.Error](err); !ok || e.Code != session.CodeUnavailable ||
		!strings.Contains(e.Message, "removed or replaced") {
		t.Errorf("prompt: %v", err)
	}
	if s, err := c.API.Session(t.Context(), id); err != nil || s.Title != "one" {
		t.Errorf("what was read before: %v, %v", s, err)
	}
	if h, err := c.API.Health(t.Context()); err != nil || h.Healthy ||
		!strings.Contains(h.Problem, "removed or replaced") {
		t.Errorf("health: %v, %v", h, err)
	}
	raw, err := c.API.Doctor(t.Context())
	var findings []finding.Finding
	if err := errors.Join(err, json.Unmarshal(raw, &findings)); err != nil {
		t.Fatal(err)
	}
	if f, ok := worst(findings); !ok || !strings.Contains(f.Detail, "was removed or moved") {
		t.Errorf("the server's doctor: %s", raw)
	}
}

// TestDamagedLog: committed events that the write-ahead log of a killed process lost are reported by health, doctor,
// fsck, backup and each command; nothing is resumed or written, and salvage reads what is behind the damage.
func TestDamagedLog(t *testing.T) {
	live, v := newHome(t)
	close(v.released)
	c := open(t, optionsOf(live))
	kept := session.ID("")
	for range 5 {
		kept = create(t, c, "one of five")
		talk(t, c, kept)
	}
	home := filepath.Join(t.TempDir(), "home")
	for _, name := range []string{"cairn.db", "cairn.db-wal", "cairn.db-committed", "store-id"} { // as a kill leaves them
		b, err := os.ReadFile(filepath.Join(live, "data", name))
		if err == nil {
			err = os.MkdirAll(filepath.Join(home, "data"), 0o700)
		}
		if strings.HasSuffix(name, "-wal") {
			b[len(b)*2/3] ^= 1
		}
		if err := errors.Join(err, os.WriteFile(filepath.Join(home, "data", name), b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	closeIt(t, c)
	o := optionsOf(home)
	if err := os.Mkdir(o.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"fsck"}, {"doctor"}, {"backup", filepath.Join(home, "copy.db")}} {
		if code, said := typed(t, o, args...); code == 0 || !strings.Contains(said, "events are missing") {
			t.Errorf("%v: exit %d: %s", args, code, said)
		}
	}
	if _, said := typed(t, o, "session", "list", "--all"); !strings.Contains(said, "events are missing") {
		t.Errorf("session list: %s", said)
	}
	c = open(t, o)
	health, err := c.API.Health(t.Context())
	if err != nil || health.Healthy || !strings.Contains(health.Problem, "damaged; run cairn doctor") {
		t.Errorf("health: %+v, %v", health, err)
	}
	for _, path := range []string{"/session", "/experimental/session", "/session/" + string(kept) + "/children"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.API.HTTP.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "damaged") {
			t.Errorf("%s: %s %s, %v", path, resp.Status, text, err)
		}
	}
	if page, err := c.API.Sessions(t.Context(), api.SessionQuery{}); err != nil || page.Damaged == 0 {
		t.Errorf("the list of V2 says %d, %v", page.Damaged, err)
	}
	closeIt(t, c)
	code, said := typed(t, o, "salvage", filepath.Join(t.TempDir(), "new"))
	if code != 0 || !strings.Contains(said, "Copied 35 events of 5 sessions") {
		t.Errorf("salvage: exit %d: %s", code, said)
	}
}
