package wellknown

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/auth"
)

// An organisation is asked once in an hour by all processes together; one that does not answer says what it said
// before.
func TestOrganisationsAreAskedNowAndThen(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte(`{"config": {}}`)) // the client may have gone
	}))
	defer s.Close()
	dir := t.TempDir()
	store := auth.New(dir, func(string) string { return "" })
	if err := store.SetLogin(t.Context(), auth.Login{Address: s.URL}); err != nil {
		t.Fatal(err)
	}
	process := func(offline bool) *Remotes {
		return NewRemotes(RemotesConfig{
			Auth: store, Cache: NewCache(dir), Offline: offline, Logger: slog.New(slog.DiscardHandler),
		})
	}
	if all := process(true).RefreshAndList(t.Context()); len(all) != 1 || asked != 0 {
		t.Fatalf("offline: %v, asked %d times", all, asked)
	}
	r := process(false)
	if !r.IsDue() {
		t.Error("the server was not asked")
	}
	all := r.RefreshAndList(t.Context())
	if _, err := os.Stat(all[0].File); err != nil || asked != 1 || r.IsDue() {
		t.Errorf("%v, asked %d times", err, asked)
	}
	if process(false).RefreshAndList(t.Context()); asked != 1 {
		t.Error("another process asks again")
	}
	if err := os.Remove(all[0].File + ".asked"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	process(false).RefreshAndList(t.Context())
	if _, err := os.Stat(all[0].File); err != nil {
		t.Error("what it said is lost")
	}
}
