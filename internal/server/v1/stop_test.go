package v1_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/test/storetest"
	"github.com/cairn-dev/cairn/internal/tool"
)

// lasting is a place in which commands print something and end when they are stopped.
type lasting struct{ tools *tool.Registry }

// Chain implements scope.Scopes.
func (lasting) Chain(context.Context, session.Location) *extension.Chain { return nil }

func (lasting) FindMoved(context.Context, *session.Session, *scope.Scope) (string, error) {
	return "", nil
}

func (l lasting) Scope(_ context.Context, at session.Location) (*scope.Scope, func(), error) {
	return &scope.Scope{
		Location: at, ProjectID: "global", RecordID: "prj_test", DefaultAgent: "build", Models: l, Tools: l.tools,
		Agents:  map[string]session.Agent{"build": {ID: "build", Mode: session.ModePrimary}},
		Context: func(context.Context, scope.ContextInput) (systemcontext.Context, error) { return nil, nil },
	}, func() {}, nil
}

func (lasting) Resolve(ref session.ModelRef, _ session.Agent) (*scope.Model, error) {
	return &scope.Model{Ref: ref}, nil
}

func (lasting) Default() (session.ModelRef, error) {
	return session.ModelRef{ID: "main", ProviderID: "mock"}, nil
}

func (lasting) Definition() tool.Definition {
	return tool.Definition{Name: "bash", Description: "bash", Schema: jsontext.Value(`{"type":"object"}`)}
}

func (lasting) Run(ctx context.Context, _ tool.Call) (tool.Output, error) {
	<-ctx.Done()
	return tool.Output{Structured: jsontext.Value(`{"output":"begun"}`)}, context.Cause(ctx)
}

// Clients that wait for a shell command, or start one, during a shutdown get an error; the output is stored.
func TestStoppingIsToldToWhoWaitsForACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ids := storetest.NewMemory(), &session.IDs{}
		log := eventlog.New(eventlog.Config{Store: store, IDs: ids})
		place := lasting{tool.NewRegistry(tool.Config{})}
		if _, err := place.tools.Register(place); err != nil {
			t.Fatal(err)
		}
		e := engine.New(engine.Config{Store: store, Log: log, IDs: ids, Locations: place})
		a := v1.New(
			v1.Config{Commands: e.Commands, Asks: e.Asks, Runs: e, Store: store, Log: log, IDs: ids, Directory: "/"},
		)
		s, err := e.Commands.CreateSession(t.Context(), admit.CreateRequest{Location: session.Location{Directory: "/"}})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(method, what, body string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), method, "/session/"+string(s.ID)+what, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			a.NewHandler().ServeHTTP(w, r)
			return w
		}
		refused := func(w *httptest.ResponseRecorder) {
			t.Helper()
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" ||
				!strings.Contains(w.Body.String(), "shutting down") {
				t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
			}
		}
		const order = `{"agent":"build","command":"x"}`
		var waits sync.WaitGroup
		waits.Go(func() { refused(ask(http.MethodPost, "/shell", order)) })
		synctest.Wait()
		a.Close()
		waits.Wait()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		refused(ask(http.MethodPost, "/shell", order))
		if ms := ask(http.MethodGet, "/message", "").Body.String(); strings.Count(ms, "begun") == 0 ||
			!strings.Contains(ms, "cairn was stopped during the command") {
			t.Errorf("left is %s", ms)
		}
	})
}
