package acp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// A request without an id is ignored: it neither begins anything nor holds up what follows.
func TestRequestsNeedAnID(t *testing.T) {
	w := newWorld(t)
	e := w.open(1)
	id := e.session()
	e.tell("session/prompt", prompt(id, "unasked"))
	e.tell("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"plan"}`, id))
	e.tell("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"mode","value":"plan"}`, id))
	e.tell("session/delete", fmt.Sprintf(`{"sessionId":%q}`, id))
	e.ask("session/prompt", prompt(id, "asked"))
	if got := w.prompts(id); !slices.Equal(got, []string{"asked"}) {
		t.Errorf("prompts %q", got)
	}
}

// An initialize without an id does not initialize the connection.
func TestInitializeNeedsAnID(t *testing.T) {
	w := newWorld(t)
	e := w.openWithout()
	e.refuse(codeInvalidRequest, "session/list", `{}`)
	e.tell("initialize", `{"protocolVersion":2}`)
	if r := e.ask("initialize", `{"protocolVersion":1}`); !strings.Contains(r, `"protocolVersion":1`) {
		t.Error(r)
	}
	e.refuse(codeInvalidRequest, "initialize", `{"protocolVersion":1}`)
}

// A session that could not be opened leaves nothing behind.
func TestSessionsThatCannotBeOpened(t *testing.T) {
	w := newWorld(t)
	e := w.open(1)
	id := e.session()
	w.hook(func(r *http.Request) error {
		if r.URL.Path == "/api/model" {
			return errors.New("broken")
		}
		return nil
	})
	e.refuse(codeInternal, "session/new", w.params(""))
	e.refuse(codeInternal, "session/fork", w.params(id))
	w.hook(nil)
	// A fork works in the directory of its source.
	other := fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, id, t.TempDir())
	for _, method := range []string{"session/load", "session/fork"} {
		if why := e.refuse(codeInvalidParams, method, other); !strings.Contains(why, "cairn session move") {
			t.Error(why)
		}
	}
	e.ask("session/fork", w.params(id))
	page, err := w.api.Sessions(t.Context(), api.SessionQuery{})
	if err != nil || len(page.Data) != 2 {
		t.Errorf("%d sessions, %v", len(page.Data), err)
	}
}

// All sessions of a connection share one feed of live output, and there is a limit.
func TestManySessions(t *testing.T) {
	w := newWorld(t)
	e := w.open(2)
	ids := make([]string, maxSessions)
	for i := range ids {
		ids[i] = e.session()
	}
	if why := e.refuse(codeInvalidRequest, "session/new", w.params("")); !strings.Contains(why, "session/close") {
		t.Error(why)
	}
	page, err := w.api.Sessions(t.Context(), api.SessionQuery{Limit: 100})
	if err != nil || len(page.Data) != maxSessions {
		t.Errorf("%d sessions, %v", len(page.Data), err)
	}
	e.ask("session/prompt", prompt(ids[maxSessions-1], "x"))
	e.awaitUpdate(ids[maxSessions-1], "end_turn")
	if n := w.count("GET /api/event"); n != 1 {
		t.Errorf("%d feeds", n)
	}
	e.ask("session/resume", w.params(ids[0])) // again: it takes no further place
	e.ask("session/close", fmt.Sprintf(`{"sessionId":%q}`, ids[0]))
	e.session()
}

// A session that was deleted elsewhere is not open any more.
func TestDeletedElsewhere(t *testing.T) {
	w := newWorld(t)
	e := w.open(1)
	id := e.session()
	if err := w.api.Delete(t.Context(), session.ID(id)); err != nil {
		t.Fatal(err)
	}
	e.awaitUpdate(id, "cannot be followed")
	if why := e.refuse(codeNotFound, "session/prompt", prompt(id, "x")); !strings.Contains(why, "not open") {
		t.Error(why)
	}
	e.ask("session/close", fmt.Sprintf(`{"sessionId":%q}`, id))
}

// Requests that change a session take effect in their order, while others are answered beside them.
func TestOrderOfRequests(t *testing.T) {
	w := newWorld(t)
	e := w.open(1)
	id := e.session()
	release := make(chan struct{})
	w.hook(func(r *http.Request) error {
		if strings.HasSuffix(r.URL.Path, "/agent") {
			<-release
		}
		return nil
	})
	mode := e.send("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"plan"}`, id))
	work := e.send("session/prompt", prompt(id, "x"))
	e.ask("session/list", `{}`)
	if n := w.count("POST /api/session/" + id + "/prompt"); n != 0 {
		t.Error("the prompt was sent before the mode")
	}
	close(release)
	e.answer(mode)
	e.answer(work)
	page, err := w.api.Messages(t.Context(), session.ID(id), api.MessageQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if a, ok := page.Data[0].(*session.Assistant); !ok || a.Agent != "plan" {
		t.Errorf("%#v", page.Data[0])
	}
}

// A list has the sessions that the filter of archived ones says.
func TestListSessions(t *testing.T) {
	w := newWorld(t)
	e := w.open(2)
	kept, archived := e.session(), e.session()
	if err := w.api.Archive(t.Context(), session.ID(archived), true); err != nil {
		t.Fatal(err)
	}
	for filter, want := range map[string][2]bool{"": {true, false}, "exclude": {true, false}, "include": {true, true}, "only": {false, true}} {
		r := e.ask("session/list", fmt.Sprintf(`{"archived":%q}`, filter))
		if got := [2]bool{strings.Contains(r, kept), strings.Contains(r, archived)}; got != want {
			t.Errorf("%q: %s", filter, r)
		}
	}
	long := strings.Repeat("x", 100_000) // no server reads an address with it
	for _, params := range []string{`{"archived":"some"}`, `{"cursor":"` + long + `"}`, `{"cwd":"/` + long + `"}`} {
		e.refuse(codeInvalidParams, "session/list", params)
	}
}

// A page has a cursor only if another session follows.
func TestListCursors(t *testing.T) {
	w := newWorld(t)
	e := w.open(1)
	if _, err := w.api.Create(t.Context(), api.CreateSession{}); err != nil {
		t.Fatal(err)
	}
	if r := e.ask("session/list", `{}`); strings.Contains(r, "nextCursor") {
		t.Errorf("a list of one session: %s", r)
	}
	for range 60 { // more than a page
		if _, err := w.api.Create(t.Context(), api.CreateSession{}); err != nil {
			t.Fatal(err)
		}
	}
	var page v2.ListSessionsResponse
	for sessions, pages := 0, 1; ; pages++ {
		raw := e.ask("session/list", fmt.Sprintf(`{"cursor":%q}`, page.NextCursor))
		page = v2.ListSessionsResponse{}
		if err := json.Unmarshal([]byte(raw), &page); err != nil {
			t.Fatal(err)
		}
		if sessions += len(page.Sessions); page.NextCursor == "" || len(page.Sessions) == 0 {
			if sessions != 61 || len(page.Sessions) == 0 || pages < 2 {
				t.Errorf("%d sessions on %d pages, %d on the last", sessions, pages, len(page.Sessions))
			}
			return
		}
	}
}
