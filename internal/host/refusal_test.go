package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	zs "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cairn-dev/cairn/internal/finding"
)

// What keeps a cairn from starting doctor says, with what to do; fsck refuses a store that a cairn refuses.
func TestDoctorSaysRefusals(t *testing.T) {
	for _, tt := range []struct {
		name, say string
		harm      func(data string) error
		store     bool
	}{
		{"newer", "use a newer cairn", func(data string) error {
			db, err := zs.OpenConn(filepath.Join(data, "cairn.db"), zs.OpenReadWrite)
			if err != nil {
				return err
			}
			return errors.Join(sqlitex.ExecuteTransient(db, "PRAGMA user_version = 99", nil), db.Close())
		}, true},
		{"unreleased", "cairn salvage DIR copies its sessions", func(data string) error {
			db, err := zs.OpenConn(filepath.Join(data, "cairn.db"), zs.OpenReadWrite)
			if err != nil {
				return err
			}
			return errors.Join(sqlitex.ExecuteTransient(db, "PRAGMA application_id = 0x6361726e", nil), db.Close())
		}, true},
		{"foreign", "bring back the right one", func(data string) error {
			return os.WriteFile(filepath.Join(data, "store-id"), []byte("0123\n"), 0o600)
		}, true},
		{
			"missing", "to start with an empty store, remove",
			func(data string) error { return os.Remove(filepath.Join(data, "cairn.db")) }, true,
		},
		{"secret", "is damaged: remove it", func(data string) error {
			return os.WriteFile(filepath.Join(data, "server.secret"), []byte("short"), 0o600)
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home, _ := newHome(t)
			o := optionsOf(home)
			closeIt(t, open(t, o))
			if err := tt.harm(filepath.Join(home, "data")); err != nil {
				t.Fatal(err)
			}
			if _, err := (Host{}).Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), tt.say) {
				t.Errorf("open: %v", err)
			}
			found, err := Host{}.Doctor(t.Context(), o)
			said := false
			for _, f := range found {
				said = said || f.Level == finding.Error && strings.Contains(f.Detail, tt.say)
			}
			if err != nil || !said {
				t.Errorf("doctor: %v, %v", found, err)
			}
			if _, err := (Host{}).Fsck(t.Context(), o); tt.store != (err != nil &&
				strings.Contains(err.Error(), tt.say)) {
				t.Errorf("fsck: %v", err)
			}
		})
	}
}
