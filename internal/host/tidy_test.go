package host

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/tool"
)

// Every owner looks for old output files, those of one command once a day.
func TestTidy(t *testing.T) {
	home, _ := newHome(t)
	dir := filepath.Join(home, "data", "tool-output")
	put := func(name string) (gone func() bool) {
		path := filepath.Join(dir, "tool_"+name)
		write(t, path, "x")
		long := time.Now().Add(-30 * 24 * time.Hour)
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
		return func() bool {
			_, err := os.Stat(path)
			return errors.Is(err, os.ErrNotExist)
		}
	}
	w := &owner{places: &locations{outputs: &tool.Outputs{Dir: dir}}, logger: slog.New(slog.DiscardHandler)}
	if w.unswept(time.Now()) {
		t.Error("there is nothing to sweep")
	}
	gone := put("a")
	if !w.unswept(time.Now()) {
		t.Error("nobody has swept")
	}
	w.sweep(t.Context())
	if !gone() || w.unswept(time.Now()) || !w.unswept(time.Now().Add(25*time.Hour)) {
		t.Errorf("swept: gone %v, again today %v, tomorrow %v", gone(), w.unswept(time.Now()), w.unswept(time.Now().Add(25*time.Hour)))
	}
	// A command's owner does it by itself, in the background.
	stamp := filepath.Join(dir, sweepStamp)
	if err := os.Remove(stamp); err != nil {
		t.Fatal(err)
	}
	swept := make(chan struct{})
	w.tidy(t.Context(), false)
	go func() {
		defer close(swept)
		for w.unswept(time.Now()) && t.Context().Err() == nil {
			runtime.Gosched()
		}
	}()
	<-swept
	w.untidy()
	w.tidying.Wait()
}
