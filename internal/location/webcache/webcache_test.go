package webcache

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A stored page is asked for with its ETag, and an answer that it has not changed makes it fresh.
func TestETag(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("If-None-Match"))
		if w.Header().Set("ETag", `"1"`); r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte("Use tabs."))
	}))
	defer s.Close()
	dir := t.TempDir()
	first := &Pages{Dir: dir}
	defer first.Close()
	read := func(c *Pages) {
		t.Helper()
		if body, err := c.Read(t.Context(), s.URL); string(body) != "Use tabs." || err != nil {
			t.Fatalf("%q, %v", body, err)
		}
	}
	read(first)
	old := entryDir(dir).read(s.URL)
	old.FetchedAt -= 2 * staleTime.Milliseconds()
	entryDir(dir).write(s.URL, old)
	second := &Pages{Dir: dir}
	defer second.Close()
	read(second)
	if now := entryDir(dir).read(s.URL); len(asked) != 2 || asked[1] != `"1"` || now.ETag != `"1"` ||
		time.Since(time.UnixMilli(now.FetchedAt)) > staleTime {
		t.Errorf("asked with %q, kept as of %v", asked, now.FetchedAt)
	}
}

// Files are bounded in number and size, and not readable for others.
func TestFilesAreBounded(t *testing.T) {
	c := &Pages{Dir: filepath.Join(t.TempDir(), "pages")}
	for i := range maxFiles + 10 {
		entryDir(c.Dir).write(fmt.Sprint(i), entry{FetchedAt: 1, Body: []byte("x")})
	}
	names, err := os.ReadDir(c.Dir)
	if err != nil || len(names) != maxFiles {
		t.Errorf("%d files, %v", len(names), err)
	}
	last := entryDir(c.Dir).pathOf(fmt.Sprint(maxFiles + 9))
	if info, err := os.Stat(last); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(last, []byte("{damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if e := entryDir(c.Dir).read(fmt.Sprint(maxFiles + 9)); e.FetchedAt != 0 {
		t.Errorf("a damaged file is %+v", e)
	}
}

func TestCheck(t *testing.T) {
	c := &Pages{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for address, ok := range map[string]bool{
		"https://a.org/x": true, "http://a.org/x": false, "http://localhost:1/x": true, "http://127.0.0.1/x": true,
		"http://[::1]/x": true, "http://10.1.2.3/x": true, "http://11.1.2.3/x": false, "ftp://127.0.0.1/x": false,
		"https://": false, "http://[::ffff:127.0.0.1]/x": true, "%": false,
	} {
		if err := c.Check(address); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	if got := ShowAddress("https://u:p@a.org/x?key=y#z"); got != "https://a.org/x" {
		t.Error(got)
	}
}

// Fetches that run end with the cache, and none begins afterwards.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Pages{Transport: hanging{}}
		go func() {
			time.Sleep(time.Second)
			c.Close()
		}()
		began := time.Now()
		_, err := c.Read(t.Context(), "https://a.org")
		if took := time.Since(began); err == nil || took != time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		if _, err = c.Read(t.Context(), "https://a.org"); err == nil || !strings.Contains(err.Error(), "stopping") {
			t.Error(err)
		}
	})
}

// hanging answers no request.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
