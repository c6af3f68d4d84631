//go:build unix

package crashtest

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// post asks V1 to do something.
func (c *child) post(t *testing.T, path, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.client.HTTP.Do(r)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(b)
}

// Who waits for a command of theirs while the server stops gets what it had printed, and that it was stopped; both are
// there after the next start.
func TestStoppingEndsACommand(t *testing.T) {
	w := newWorld(t, 0)
	c := w.start("")
	s, err := c.client.Create(t.Context(), api.CreateSession{Location: &session.Location{Directory: w.work}})
	if err != nil {
		t.Fatal(err)
	}
	at := "/session/" + string(s.ID)
	e := c.listen(t, "/event", 0)
	var status int
	var body string
	var waits sync.WaitGroup
	waits.Go(func() {
		status, body = c.post(t, at+"/shell", `{"agent":"build","command":"echo begun; sleep 100"}`)
	})
	for e.output != "begun\n" {
		e.frame()
	}
	c.leave()
	waits.Wait()
	const stopped = `"output":"begun\n\n\n<metadata>\ncairn was stopped during the command`
	if status != http.StatusOK || !strings.Contains(body, stopped) {
		t.Errorf("%d %s", status, body)
	}
	c = w.start("")
	defer c.leave()
	resp, err := c.client.HTTP.Get("http://localhost" + at + "/message")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if ms, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(ms), stopped) {
		t.Errorf("left is %s (%v)", ms, err)
	}
}
