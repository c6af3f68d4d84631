package host

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/session"
)

// What a damaged store still holds is copied, made usable, and told session by session; the old home stays as it is.
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
	} {
		t.Run(tt.name, func(t *testing.T) {
			home, _ := newHome(t)
			o := optionsOf(home)
			fillHome(t, home)
			tt.harm(t, filepath.Join(home, "data", "cairn.db"))
			if found, err := (Host{}).Fsck(t.Context(), o); tt.lost && !strings.Contains(fmt.Sprint(found, err), "cairn salvage DIR") {
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
			if _, err := (Host{}).Salvage(t.Context(), o, into); !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
				t.Errorf("salvaged over what was there: %v", err)
			}
		})
	}
}

func TestSalvageRefuses(t *testing.T) {
	home, _ := newHome(t)
	o := optionsOf(home)
	if _, err := (Host{}).Salvage(t.Context(), o, filepath.Join(home, "new")); !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		t.Errorf("salvage of nothing: %v", err)
	}
	closeIt(t, open(t, o))
	if _, err := (Host{}).Salvage(t.Context(), o, filepath.Join(home, "data", "new")); !errors.Is(err, &session.Error{Code: session.CodeInvalid}) {
		t.Errorf("salvage into the data itself: %v", err)
	}
}

// usable opens the home and finds it in order, with so many sessions.
func usable(t *testing.T, home string, sessions int) {
	t.Helper()
	o := optionsOf(home)
	found, err := Host{}.Fsck(t.Context(), o)
	if err != nil || len(found) != 1 || found[0].Level != cli.LevelOK {
		t.Errorf("fsck of what was salvaged: %v, %v", found, err)
	}
	c := open(t, o)
	defer closeIt(t, c)
	page, err := c.API.Sessions(t.Context(), api.SessionQuery{Limit: 100})
	if err != nil || len(page.Data) != sessions {
		t.Errorf("%d sessions, want %d: %v", len(page.Data), sessions, err)
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
