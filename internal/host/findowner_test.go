package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
)

// TestFindOwner: the owner is named with its version, and looking for one creates nothing and owns nothing after it.
func TestFindOwner(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	o := client.Options{Version: "2.0.0", Env: func(name string) string {
		return map[string]string{"CAIRN_HOME": home, "HOME": home}[name]
	}}
	find := func(want client.StoreOwner) {
		t.Helper()
		if got, err := (Host{}).FindOwner(t.Context(), o); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	find(client.StoreOwner{})
	if _, err := os.Stat(home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the home was created: %v", err)
	}
	data := filepath.Join(home, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	find(client.StoreOwner{})
	if list, err := os.ReadDir(data); err != nil || len(list) > 0 {
		t.Errorf("in the data directory there are %v, %v", list, err)
	}
	lease, err := sqlite.AcquireLease(data, sqlite.Owner{Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	find(client.StoreOwner{PID: os.Getpid(), Version: "1.0.0"})
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	// What a process that was killed left in the lease is left there, and says nothing.
	file := filepath.Join(data, "lease")
	if err := os.WriteFile(file, []byte(`{"pid":7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	find(client.StoreOwner{})
	find(client.StoreOwner{})
	if text, err := os.ReadFile(file); err != nil || string(text) != `{"pid":7}` {
		t.Errorf("the lease has %q, %v", text, err)
	}
	if lease, err = sqlite.AcquireLease(data, sqlite.Owner{}); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}
