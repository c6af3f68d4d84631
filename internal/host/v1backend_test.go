package host

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store/sqlite"
)

// counted is what a process has open and running.
type counted struct{ descriptors, goroutines, children, places int }

func (r *running) counted(t *testing.T) (c counted) {
	t.Helper()
	c.goroutines = runtime.NumGoroutine()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	c.descriptors = len(fds)
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tasks {
		b, _ := os.ReadFile(f) // the thread may have ended
		c.children += len(strings.Fields(string(b)))
	}
	r.places.mu.Lock()
	defer r.places.mu.Unlock()
	c.places = len(r.places.places)
	return c
}

// Five hundred directories are asked for, named in each way that there is: each is told as itself, also when it comes again
// after it was dropped. They leave no more behind than those that are kept; one in which a turn runs is kept all the time.
func TestFiveHundredDirectories(t *testing.T) {
	if testing.Short() {
		t.Skip("makes five hundred directories")
	}
	home, v := newHome(t)
	o := optionsOf(home)
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := run(t.Context(), lease, dirs, cli.ServeOptions{Options: o}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	client := &http.Client{Transport: api.Local(r.local)}
	const many = 500
	name := func(i int) string { return filepath.Join(home, fmt.Sprintf("dir %03d", i)) }
	for i := range many {
		write(t, filepath.Join(name(i), "cairn.json"), fmt.Sprintf(`{"agent": {"own%d": {"prompt": "x"}}}`, i))
	}
	asks := func(i int) {
		t.Helper()
		path, header := "/agent", http.Header{}
		switch i % 4 {
		case 0:
			path += "?directory=" + url.QueryEscape(name(i))
		case 1:
			header.Set("X-Opencode-Directory", name(i))
		case 2:
			header.Set("X-Opencode-Directory", url.PathEscape(name(i)))
		case 3:
			path += "?directory=" + url.QueryEscape(name(i)) + "&workspace="
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		got := string(b)
		if resp.StatusCode != http.StatusOK || strings.Count(got, `"own`) != 1 || !strings.Contains(got, fmt.Sprintf(`"own%d"`, i)) {
			t.Fatalf("%s: %d %.300s", name(i), resp.StatusCode, got)
		}
	}

	c := &cli.Connection{API: &api.Client{HTTP: client, Base: "http://localhost", Directory: o.Dir}}
	s, err := c.API.Create(t.Context(), api.CreateSession{Location: &session.Location{Directory: name(0)}})
	if err != nil {
		t.Fatal(err)
	}
	prompt(t, c, v, s.ID)
	atWork := r.places.slot(name(0)).place
	for i := range maxPlaces { // whatever is made once is made, and as many as are kept
		asks(1 + i)
	}
	runtime.GC()
	before, heap := r.counted(t), heapOf()
	for i := range many {
		asks(i)
	}
	for _, i := range []int{499, 1, 250, 77, 2, 3, 0} {
		asks(i)
	}
	runtime.GC()
	after := r.counted(t)
	if grown := heapOf() - heap; grown > 8<<20 {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
	if after.places > maxPlaces+1 || after.descriptors > before.descriptors+8 || after.goroutines > before.goroutines+8 || after.children > before.children {
		t.Errorf("there were %+v, there are %+v", before, after)
	}
	if r.places.slot(name(0)).place != atWork {
		t.Error("the place of a turn that runs was dropped")
	}
	close(v.released)
	if got := answer(t, c, s.ID); got != "Hello." {
		t.Errorf("the turn said %q", got)
	}
	for i := range 2 { // nobody works there any more: it goes as others do
		for j := range maxPlaces + 8 {
			asks(100*(i+1) + j)
		}
	}
	r.places.mu.Lock()
	defer r.places.mu.Unlock()
	if r.places.places[name(0)] != nil {
		t.Error("the place of a turn that ended is kept for ever")
	}
}

func heapOf() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
