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

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// resourceCounts counts what a process has open and running.
type resourceCounts struct{ descriptors, goroutines, children, locations int }

func (r *ownerServer) countResources(t *testing.T) (c resourceCounts) {
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
	r.locations.mu.Lock()
	defer r.locations.mu.Unlock()
	c.locations = len(r.locations.slots)
	return c
}

// Each directory answers as itself, however a request names it, and also after its location was evicted. Locations in
// use are not evicted. Many directories hold no more resources than the cache has slots.
func TestManyDirectories(t *testing.T) {
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
	r, err := startOwnerServer(t.Context(), lease, dirs, client.ServeOptions{Options: o}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	const testLocations = 8 // instead of 64, so that few directories exceed it
	if r.locations.limit != maxLocations {
		t.Errorf("the limit is %d, want %d", r.locations.limit, maxLocations)
	}
	r.locations.limit = testLocations
	web := &http.Client{Transport: api.Local(r.local)}
	const many = 8 * testLocations
	name := func(i int) string { return filepath.Join(home, fmt.Sprintf("dir %03d", i)) }
	for i := range many {
		write(t, filepath.Join(name(i), "cairn.json"), fmt.Sprintf(`{"agent": {"own%d": {"prompt": "x"}}}`, i))
	}
	request := func(i int) {
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
		resp, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		got := string(b)
		own := fmt.Sprintf(`"own%d"`, i)
		if resp.StatusCode != http.StatusOK || strings.Count(got, `"own`) != 1 || !strings.Contains(got, own) {
			t.Fatalf("%s: %d %.300s", name(i), resp.StatusCode, got)
		}
	}

	c := &client.Connection{API: &api.Client{HTTP: web, Base: "http://localhost", Directory: o.Dir}}
	s, err := c.API.Create(t.Context(), api.CreateSession{Location: &session.Location{Directory: name(0)}})
	if err != nil {
		t.Fatal(err)
	}
	prompt(t, c, v, s.ID)
	atWork := r.locations.slots[name(0)].base
	for i := range testLocations { // fills the cache, and creates what is created once
		request(1 + i)
	}
	runtime.GC()
	before, heap := r.countResources(t), heapInUse()
	for i := range many {
		request(i)
	}
	for _, i := range []int{many - 1, 1, many / 2, 17, 2, 3, 0} {
		request(i)
	}
	runtime.GC()
	after := r.countResources(t)
	if grown := heapInUse() - heap; grown > 2<<20 {
		t.Errorf("the heap has grown by %d KiB", grown>>10)
	}
	if after.locations > testLocations+1 || after.descriptors > before.descriptors+8 ||
		after.goroutines > before.goroutines+8 || after.children > before.children {
		t.Errorf("resources before: %+v, after: %+v", before, after)
	}
	if r.locations.slots[name(0)].base != atWork {
		t.Error("the location of a running turn was evicted")
	}
	close(v.released)
	if got := answer(t, c, s.ID); got != "Hello." {
		t.Errorf("answer of the turn: %q", got)
	}
	for i := range 2 * testLocations { // evicts it, as it is not in use any more
		request(1 + i)
	}
	r.locations.mu.Lock()
	defer r.locations.mu.Unlock()
	if r.locations.slots[name(0)] != nil {
		t.Error("the location of an ended turn was not evicted")
	}
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
