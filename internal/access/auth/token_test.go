package auth_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/access/auth"
)

func TestTokens(t *testing.T) {
	s := auth.New(t.TempDir(), func(string) string { return "" })
	old := auth.Token{
		Refresh: auth.NewSecret("refresh-1"),
		Access:  auth.NewSecret("access-1"),
		Expires: time.Now().Add(time.Minute).Truncate(time.Millisecond),
	}
	if err := s.SetToken(t.Context(), "p", old); err != nil {
		t.Fatal(err)
	}
	c, ok, err := s.Get("p")
	if err != nil || !ok || c.Kind != auth.KindOAuth || !c.Refresh.Equal(old.Refresh) || !c.Access.Equal(old.Access) ||
		!c.Expires.Equal(old.Expires) {
		t.Fatalf("%+v %v %v", c, ok, err)
	}
	if c.IsFresh(time.Now()) || !(auth.Token{Access: c.Access}).IsFresh(time.Now()) ||
		(auth.Token{}).IsFresh(time.Now()) {
		t.Error("a token that ends within five minutes is not fresh; one without an end is")
	}
	raw, err := os.ReadFile(s.Path())
	if err != nil || !strings.Contains(string(raw), `"type": "oauth"`) ||
		!strings.Contains(string(raw), `"refresh": "refresh-1"`) {
		t.Errorf("not OpenCode's shape: %s", raw)
	}
	var renewed atomic.Int32
	var all sync.WaitGroup
	for range 8 { // of other processes, as far as the file's lock can tell
		all.Go(func() {
			got, err := auth.New(dirOf(s), func(string) string { return "" }).
				Renew(t.Context(), "p", old, func(have auth.Token) (auth.Token, error) {
					n := renewed.Add(1)
					return auth.Token{
						Refresh: auth.NewSecret(have.Refresh.Reveal() + "+"),
						Access:  auth.NewSecret(fmt.Sprint("new-", n)),
						Expires: time.Now().Add(time.Hour),
					}, nil
				})
			if err != nil || got.Access.Reveal() != "new-1" {
				t.Errorf("%s %v", got.Access.Reveal(), err)
			}
		})
	}
	all.Wait()
	if c, _, _ := s.Get("p"); renewed.Load() != 1 || c.Refresh.Reveal() != "refresh-1+" {
		t.Errorf("renewed %d times, %s", renewed.Load(), c.Refresh.Reveal())
	}
}

func dirOf(s *auth.Store) string { return strings.TrimSuffix(s.Path(), "/"+auth.FileName) }

func TestRenewedKeepsWhatItHasOnFailure(t *testing.T) {
	s := auth.New(t.TempDir(), func(string) string { return "" })
	broken := errors.New("no network")
	renew := func(auth.Token) (auth.Token, error) { return auth.Token{}, broken }
	if _, err := s.Renew(t.Context(), "p", auth.Token{}, renew); err == nil ||
		!strings.Contains(err.Error(), "cairn auth login p") {
		t.Error(err)
	}
	old := auth.Token{Refresh: auth.NewSecret("r"), Access: auth.NewSecret("a")}
	if err := s.SetToken(t.Context(), "p", old); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Renew(t.Context(), "p", old, renew); !errors.Is(err, broken) {
		t.Error(err)
	}
	if c, _, _ := s.Get("p"); !c.Refresh.Equal(old.Refresh) {
		t.Error("the refresh token is lost")
	}
}

// A caller that needs a token while another process fetches one waits for it, however slow the vendor is.
func TestRenewedWaitsForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		none := func(string) string { return "" }
		if err := auth.New(dir, none).SetToken(t.Context(), "p", auth.Token{Refresh: auth.NewSecret("r")}); err != nil {
			t.Fatal(err)
		}
		renewed := 0
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				got, err := auth.New(dir, none).
					Renew(t.Context(), "p", auth.Token{}, func(have auth.Token) (auth.Token, error) {
						renewed++
						time.Sleep(29 * time.Second)
						return auth.Token{
							Refresh: have.Refresh,
							Access:  auth.NewSecret("a"),
							Expires: time.Now().Add(time.Hour),
						}, nil
					})
				if err != nil || got.Access.Reveal() != "a" {
					t.Errorf("%v %v", got, err)
				}
			})
		}
		all.Wait()
		if renewed != 1 {
			t.Errorf("renewed %d times", renewed)
		}
		all.Go(func() {
			_, _ = auth.New(dir, none).
				Renew(t.Context(), "p", auth.Token{Access: auth.NewSecret("a")}, func(have auth.Token) (auth.Token, error) {
					time.Sleep(29 * time.Second)
					return have, nil
				})
		})
		time.Sleep(time.Second)
		if _, err := auth.New(dir, none).Remove(t.Context(), "p"); err != nil {
			t.Errorf("a logout meanwhile: %v", err)
		}
		all.Wait()
	})
}

func TestTokensThatAreNone(t *testing.T) {
	s := auth.New(t.TempDir(), func(string) string { return "" })
	for _, bad := range []auth.Token{{}, {Access: auth.NewSecret("a\r\nX-Evil: 1")}, {Refresh: auth.NewSecret("r\x00")}} {
		if err := s.SetToken(t.Context(), "p", bad); err == nil {
			t.Errorf("%q was kept", bad.Access.Reveal())
		}
		good := auth.Token{Refresh: auth.NewSecret("good")}
		if err := s.SetToken(t.Context(), "q", good); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Renew(t.Context(), "q", good, func(auth.Token) (auth.Token, error) { return bad, nil }); err == nil {
			t.Errorf("%q was kept", bad.Access.Reveal())
		}
		if c, ok, err := s.Get("q"); !ok || err != nil || !c.Refresh.Equal(good.Refresh) {
			t.Errorf("what there was is lost: %v %v", ok, err)
		}
	}
}
