//go:build unix

package crashtest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/sharetarget"
	"github.com/cairn-dev/cairn/internal/transfer/share"
)

// shareCut is the moment at which a server is killed that shares a session, sends what is new of it, or revokes its share.
type shareCut struct {
	act   string     // share, update or revoke
	fault fault.Name // a point in the process, or else
	// request is the request to the target that gets no answer, and nth its number. taken says that the target carries
	// it out nevertheless.
	request sharetarget.Operation
	nth     int
	taken   bool
}

func (c shareCut) String() string {
	if c.fault != "" {
		return fmt.Sprintf("%s, %s#%d", c.act, c.fault, c.nth)
	}
	return fmt.Sprintf("%s, %s %d, taken %v", c.act, c.request, c.nth, c.taken)
}

// cutTarget is a target of shares that leaves a request without an answer.
type cutTarget struct {
	*sharetarget.Target
	url string

	mu      sync.Mutex // guards the rest
	cut     shareCut
	seen    int
	reached chan struct{} // closed at the request
}

func newCutTarget(t testing.TB) *cutTarget {
	c := &cutTarget{Target: sharetarget.New()}
	server := httptest.NewServer(c)
	c.url = server.URL
	t.Cleanup(func() {
		server.Close()
		for _, err := range c.Problems() {
			t.Errorf("share target: %v", err)
		}
	})
	return c
}

// arm has the target leave the request of the cut without an answer.
func (c *cutTarget) arm(cut shareCut) (reached chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut, c.seen, c.reached = cut, 0, make(chan struct{})
	return c.reached
}

func (c *cutTarget) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op := map[string]sharetarget.Operation{"POST": sharetarget.Create, "DELETE": sharetarget.Delete, "GET": sharetarget.Data}[r.Method]
	if strings.HasSuffix(r.URL.Path, "/sync") {
		op = sharetarget.Sync
	}
	c.mu.Lock()
	if op == c.cut.request {
		c.seen++
	}
	isCut := op == c.cut.request && c.seen == c.cut.nth
	c.mu.Unlock()
	if !isCut {
		c.Target.ServeHTTP(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body) // read, so that the end of the client is seen
	if c.cut.taken {
		r.Body = io.NopCloser(bytes.NewReader(body))
		c.Target.ServeHTTP(httptest.NewRecorder(), r)
	}
	close(c.reached)
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// TestKillShare kills the server while it shares a session, sends what is new, and revokes the share. The next one leaves
// nothing half: the session is shared with all that is in it, or it is not and nobody can read it, and what was
// acknowledged holds.
func TestKillShare(t *testing.T) {
	cuts := []shareCut{
		{act: "share", request: sharetarget.Create, nth: 1},
		{act: "share", request: sharetarget.Create, nth: 1, taken: true},
		{act: "share", request: sharetarget.Sync, nth: 2, taken: true},
		{act: "share", fault: fault.StorePreCommit, nth: 1},
		{act: "share", fault: fault.StorePostCommit, nth: 1},
		{act: "update", request: sharetarget.Sync, nth: 1},
		{act: "update", request: sharetarget.Sync, nth: 1, taken: true},
		{act: "revoke", request: sharetarget.Delete, nth: 1},
		{act: "revoke", request: sharetarget.Delete, nth: 1, taken: true},
		{act: "revoke", request: sharetarget.Data, nth: 1},
		{act: "revoke", fault: fault.StorePreCommit, nth: 1},
	}
	for i, cut := range cuts {
		if (testing.Short() || raceEnabled) && i%3 != 1 {
			continue
		}
		t.Run(cut.String(), func(t *testing.T) {
			t.Parallel()
			killShare(t, cut)
		})
	}
}

// sharedSession is a session that is shared at a target, or not.
type sharedSession struct {
	*world
	target *cutTarget
	id     session.ID
	texts  []string // of its prompts, as they begin
}

// killShare plays one death and what follows.
func killShare(t *testing.T, cut shareCut) {
	s := &sharedSession{world: newWorld(t, 0), target: newCutTarget(t)}
	config := strings.Replace(s.provider.config(), "{", `{"enterprise": {"url": "`+s.target.url+`"},`, 1)
	if err := os.WriteFile(filepath.Join(s.home, "config", "cairn.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c := s.start("")
	created, err := c.client.Create(t.Context(), api.CreateSession{Title: "shared"})
	if err != nil {
		t.Fatal(err)
	}
	s.id = created.ID
	for range 2 { // more than one request
		s.say(c, strings.Repeat("words ", 100_000))
	}
	if cut.act != "share" {
		s.share(c)
	}
	// The act dies.
	faults := ""
	if cut.fault != "" {
		c.kill()
		faults = fmt.Sprintf("%s#%d=kill", cut.fault, cut.nth)
		c = s.start(faults)
	}
	acknowledged := s.die(c, cut)
	s.age()
	// The next process completes it, or takes it back.
	c = s.start("")
	defer c.kill()
	isOrphan := cut.request == sharetarget.Create && cut.taken // nobody has its secret, and nothing is in it
	s.await("nothing is half", func() error { return s.judge(c, isOrphan) })
	info, err := c.client.Session(t.Context(), s.id)
	if err != nil {
		t.Fatal(err)
	}
	mustBe := cut.act == "update" || cut.act == "share" && acknowledged
	mustNotBe := cut.act == "revoke" && (acknowledged || cut.fault == "")
	if isShared := info.Share != nil; isShared && mustNotBe || !isShared && mustBe {
		t.Errorf("shared %v, the act was acknowledged: %v", isShared, acknowledged)
	}
	// Then all goes on as ever.
	if isOrphan {
		if got, err := c.client.ShareSession(t.Context(), s.id, api.ShareRequest{}); err == nil {
			t.Errorf("the target has a share of the session already, and it is shared: %+v", got)
		}
		s.await("it is not shared", func() error { return s.judge(c, true) })
		return
	}
	s.share(c)
	result, err := c.client.RevokeShare(t.Context(), s.id)
	if err != nil || !result.Revoked && cut.request != sharetarget.Sync || s.target.IsShared(s.remote()) {
		t.Fatalf("revoked: %+v, %v", result, err)
	}
	if !result.Revoked { // what was cut off may still arrive, and is looked for later
		c.kill()
		s.age()
		c = s.start("")
		defer c.kill()
	}
	s.await("it is not shared", func() error { return s.judge(c, false) })
}

// remote is the id of the session's share at the target.
func (s *sharedSession) remote() string { return string(s.id[len(s.id)-8:]) }

// say adds a prompt that no turn answers.
func (s *sharedSession) say(c *child, more string) {
	s.t.Helper()
	text := fmt.Sprintf("text-%d ", len(s.texts))
	s.texts = append(s.texts, text)
	body, err := json.Marshal(map[string]any{"noReply": true, "parts": []any{map[string]any{"type": "text", "text": text + more}}})
	if err != nil {
		s.t.Fatal(err)
	}
	url := c.client.Base + "/session/" + string(s.id) + "/message"
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.client.HTTP.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%d %s, %v", resp.StatusCode, answer, err)
	}
}

// share shares the session, and waits until the target has it.
func (s *sharedSession) share(c *child) {
	s.t.Helper()
	if _, err := c.client.ShareSession(s.t.Context(), s.id, api.ShareRequest{}); err != nil {
		s.t.Fatal(err)
	}
	s.await("the target has the session", func() error { return s.judge(c, false) })
}

// die begins the act, kills the child at the moment of the cut, and returns whether the act was acknowledged.
func (s *sharedSession) die(c *child, cut shareCut) (acknowledged bool) {
	s.t.Helper()
	if c == nil {
		s.t.Fatal("the server died before the act")
	}
	reached := s.target.arm(cut)
	acts := make(chan bool, 1)
	switch cut.act {
	case "share":
		go func() {
			_, err := c.client.ShareSession(s.t.Context(), s.id, api.ShareRequest{})
			acts <- err == nil
		}()
	case "update":
		s.say(c, "more") // sent a moment later
		acts <- true
	case "revoke":
		go func() {
			result, err := c.client.RevokeShare(s.t.Context(), s.id)
			acts <- err == nil && result.Revoked
		}()
	}
	select {
	case <-reached:
	case <-c.ended:
	case <-time.After(20 * time.Second):
		s.t.Error("the moment of death does not come")
	}
	c.kill()
	s.target.arm(shareCut{})
	return <-acts
}

var timeMember = regexp.MustCompile(`"(created|uploadCancelledAt|nextAttempt)": \d+`)

// age makes the shares old: one that has no address is left of a process that ended only after a minute, and a request
// that was cut off may arrive for two.
func (s *sharedSession) age() {
	file := filepath.Join(s.home, "data", share.FileName)
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, timeMember.ReplaceAll(text, []byte(`"$1": 1`)), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// await waits until there is no error.
func (s *sharedSession) await(what string, try func() error) {
	s.t.Helper()
	poll := time.NewTicker(10 * time.Millisecond) // the server is another process and sends no signal
	defer poll.Stop()
	late := time.After(20 * time.Second)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-poll.C:
		case <-late:
			s.t.Fatalf("%s: still not: %v", what, err)
		}
	}
}

// judge says what is half: the session, the list of shares and the target must agree. mayBeThere says that the target may
// have a share that nothing is in.
func (s *sharedSession) judge(c *child, mayBeThere bool) error {
	info, err := c.client.Session(s.t.Context(), s.id)
	if err != nil {
		return err
	}
	all, err := c.client.Shares(s.t.Context())
	if err != nil {
		return err
	}
	served, isThere := s.target.Served(s.remote()), s.target.IsShared(s.remote())
	if info.Share == nil {
		if len(all) > 0 || len(served) > 0 || isThere && !mayBeThere {
			return fmt.Errorf("the session is not shared; the list has %+v, the target %v and %d items", all, isThere, len(served))
		}
		return nil
	}
	if len(all) != 1 || all[0].State != api.ShareActive || all[0].URL != info.Share.URL || !isThere {
		return fmt.Errorf("the session is shared at %s; the list has %+v, the target %v", info.Share.URL, all, isThere)
	}
	var content strings.Builder
	for _, i := range served {
		content.Write(i.Data)
	}
	for _, text := range s.texts {
		if !strings.Contains(content.String(), text) {
			return fmt.Errorf("the target lacks %q", text)
		}
	}
	return nil
}
