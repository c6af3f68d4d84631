package host

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// A location follows its configuration, and what two turns see of it is whole while it changes.
func TestLocationFollowsConfiguration(t *testing.T) {
	home, _ := newHome(t)
	o := optionsOf(home)
	w := openOwnerOf(t, o)
	var logged strings.Builder
	w.locations.logger = slog.New(slog.NewTextHandler(&logged, nil))
	model := func() string {
		scope, done, err := w.locations.Scope(t.Context(), session.Location{Directory: o.Dir})
		if err != nil {
			t.Error(err)
			return ""
		}
		defer done()
		ref, err := scope.Models.Default()
		if err != nil {
			t.Error(err)
		}
		return ref.ID
	}
	change := func(i int) string {
		name := fmt.Sprintf("model-%0*d", 1+i, i) // of another length each time: some clocks are coarse
		write(t, filepath.Join(o.Dir, "cairn.json"), fmt.Sprintf(`{"model": "mock/%s"}`, name))
		return name
	}
	known := map[string]bool{change(0): true}
	for i := range 8 {
		known[fmt.Sprintf("model-%0*d", 1+i, i)] = true
	}
	stop := make(chan struct{})
	var turns sync.WaitGroup
	for range 2 {
		turns.Go(func() {
			for {
				if m := model(); !known[m] {
					t.Errorf("model %q", m)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range 8 {
		if want := change(i); model() != want {
			t.Errorf("the change to %s was not seen", want)
		}
	}
	close(stop)
	turns.Wait()
	write(t, filepath.Join(o.Dir, "cairn.json"), `{"provider": {"x": {}}}`)
	if model(); strings.Count(logged.String(), "provider has no effect") != 1 {
		t.Errorf("the log says %q", logged.String())
	}
}
