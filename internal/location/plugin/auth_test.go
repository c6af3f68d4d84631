package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/location/plugin"
	"github.com/cairn-dev/cairn/internal/tool"
)

// signIn is a plugin that logs in at a provider and sends its requests.
const signIn = `
export default async () => ({
	auth: {
		provider: "acme",
		methods: [
			{ type: "oauth", label: "With a code", authorize: async (inputs) => ({
				url: "https://acme.example/login?" + (inputs.team ?? ""), instructions: "Copy the code", method: "code",
				callback: async (code) => code === "right" ?
					{ type: "success", refresh: "r", access: "a", expires: 5 } : { type: "failed" } }) },
			{ type: "oauth", label: "By itself", authorize: async () => ({
				url: "https://acme.example", instructions: "", method: "auto", callback: async () => ({ type: "success", key: "k" }) }) },
			{ type: "api", label: "Key", authorize: async () => ({ type: "failed" }) },
			{ type: "api", label: "Other", authorize: async () => ({ type: "success", key: "k", provider: "anthropic" }) },
			{ type: "api", label: "Own", authorize: async () => ({ type: "success", key: "k", provider: "acme-eu" }) },
		],
		loader: async (getAuth, provider) => ({
			apiKey: "", baseURL: "https://api.acme.example/" + provider.id, kind: (await getAuth()).type,
			fetch: async (url, init) => {
				const auth = await getAuth();
				if (init.headers["X-Fail"]) throw new Error("refused here");
				return fetch(init.headers["X-Target"], { ...init, headers: { authorization: "Bearer " + auth.access } });
			},
		}),
	},
	provider: { id: "acme", models: async (provider, { auth }) => ({ one: { id: "one", name: "One " + auth.type } }) },
})
export const Europe = async () => ({ auth: { provider: "acme-eu", methods: [] } })`

// exits is a tool that ends the program.
const exits = `export default { description: "Exit", args: {}, async execute() { process.exit(1) } }`

// exit ends the program.
func (w *world) exit(set *plugin.Set, state plugin.State) {
	w.Helper()
	tools, _ := set.Tools(state, nil)
	call := tool.Call{Input: jsontext.Value("{}"), Ask: func(context.Context, tool.Request) error { return nil }}
	if _, err := tools[0].Run(w.Context(), call); err == nil {
		w.Fatal("the program has not ended")
	}
}

// TestAuth: the logins of a plugin, the options of its provider, and its models.
func TestAuth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.credential = func(string) (jsontext.Value, error) {
		return jsontext.Value(`{"type":"oauth","access":"token"}`), nil
	}
	set, state, _ := w.open(map[string]string{"signin.ts": signIn})
	want := map[string]plugin.Auth{"acme": {Provider: "acme", HasLoader: true, Methods: []plugin.AuthMethod{
		{Type: "oauth", Label: "With a code"},
		{Type: "oauth", Label: "By itself"},
		{Type: "api", Label: "Key"},
		{Type: "api", Label: "Other"},
		{Type: "api", Label: "Own"},
	}}, "acme-eu": {Provider: "acme-eu", Methods: []plugin.AuthMethod{}}}
	if d := cmp.Diff(want, state.Logins()); d != "" {
		t.Fatal(d, state)
	}
	for _, one := range []struct {
		method int
		code   string
		want   string
	}{
		{0, "right", "https://acme.example/login?red Copy the code code: success r a 5 acme"},
		{0, "wrong", "https://acme.example/login?red Copy the code code: the login failed"},
		{1, "", "https://acme.example  auto: success k 0 acme"},
		{2, "", "the login failed"},
		{3, "", `the plugin logged in at "anthropic", which is not its provider`},
		{4, "", "success k 0 acme-eu"},
	} {
		var got string
		c, err := set.LogIn(t.Context(), "acme", one.method, plugin.LoginDialog{
			Inputs: map[string]string{"team": "red"},
			Show: func(a plugin.Authorization) {
				got = fmt.Sprintf("%s %s %s: ", a.URL, a.Instructions, a.Method)
			},
			Code: func(context.Context) (string, error) { return one.code, nil },
		})
		if err != nil {
			got += err.Error()
		} else {
			got += strings.Join(strings.Fields(fmt.Sprint(c.Type, " ", c.Key, " ", c.Refresh, " ", c.Access, " ", c.Expires, " ", c.Provider)), " ")
		}
		if got != one.want {
			t.Errorf("method %d: %q, want %q", one.method, got, one.want)
		}
	}
	options, hasFetch, err := set.LoadAuth(t.Context(), "acme", jsontext.Value(`{"id":"acme"}`))
	if err != nil || !hasFetch || string(options["baseURL"]) != `"https://api.acme.example/acme"` {
		t.Error(options, hasFetch, err)
	}
	models, err := set.Models(t.Context(), "acme", jsontext.Value(`{}`), jsontext.Value(`{"type":"api"}`))
	if err != nil || string(models["one"]) != `{"id":"one","name":"One api"}` {
		t.Error(models, err)
	}
}

// TestTransport: requests to a provider pass through the fetch of its plugin, and answers are streamed back.
func TestTransport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.credential = func(string) (jsontext.Value, error) { return jsontext.Value(`{"access":"token"}`), nil }
	set, state, _ := w.open(map[string]string{"signin.ts": signIn, "tool_exit.ts": exits})
	if _, _, err := set.LoadAuth(t.Context(), "acme", jsontext.Value(`{}`)); err != nil {
		t.Fatal(err)
	}
	next, ended := make(chan struct{}), make(chan struct{}, 9)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rw.Header().Set("X-Got", r.Header.Get("Authorization")+" "+string(body))
		rw.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(rw, "data: 1\n\n")
		rw.(http.Flusher).Flush()
		select {
		case <-next:
			_, _ = io.WriteString(rw, "data: 2\n\n")
		case <-r.Context().Done():
			ended <- struct{}{}
		}
	}))
	t.Cleanup(server.Close)
	send := func(ctx context.Context, header string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.acme.example/v1", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(header, server.URL)
		return set.Transport("acme").RoundTrip(r)
	}
	// The first piece arrives while the answer goes on.
	answer, err := send(t.Context(), "X-Target")
	if err != nil || answer.StatusCode != http.StatusAccepted || answer.Header.Get("X-Got") != "Bearer token hello" {
		t.Fatal(answer, err)
	}
	b := make([]byte, 100)
	n, err := answer.Body.Read(b)
	if err != nil || string(b[:n]) != "data: 1\n\n" {
		t.Error(string(b[:n]), err)
	}
	next <- struct{}{}
	rest, err := io.ReadAll(answer.Body)
	if err != nil || string(rest) != "data: 2\n\n" {
		t.Error(string(rest), err)
	}
	// A request that ends, ends at the provider.
	ctx, cancel := context.WithCancel(t.Context())
	answer, err = send(ctx, "X-Target")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(answer.Body); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-ended
	// A program that is started again sends requests as the one before.
	w.exit(set, state)
	answer, err = send(t.Context(), "X-Target")
	if err != nil || answer.Header.Get("X-Got") != "Bearer token hello" {
		t.Error(answer, err)
	} else {
		_ = answer.Body.Close()
	}
	// A fetch that fails says why.
	if _, err := send(t.Context(), "X-Fail"); err == nil || !strings.Contains(err.Error(), "refused here") {
		t.Error(err)
	}
}

// TestUnreadAnswer: an answer that is not read ends at the provider too.
func TestUnreadAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.credential = func(string) (jsontext.Value, error) { return jsontext.Value(`{"access":"token"}`), nil }
	set, _, _ := w.open(map[string]string{"signin.ts": signIn})
	if _, _, err := set.LoadAuth(t.Context(), "acme", jsontext.Value(`{}`)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		defer close(ended)
		_, _ = rw.Write(make([]byte, 40<<20))
		rw.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.acme.example/v1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Target", server.URL)
	answer, err := set.Transport("acme").RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the provider sends on")
	}
	if _, err := io.Copy(io.Discard, answer.Body); err == nil || !strings.Contains(err.Error(), "were not read") {
		t.Error(err)
	}
}
