package auth_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/access/auth"
)

// vendor gives out access for a refresh token, each of which it accepts once.
type vendor struct {
	mu      sync.Mutex // guards what follows
	asked   int
	current string
}

func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked++
	if r.FormValue("refresh") != v.current {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	v.current = fmt.Sprint("refresh-", v.asked+1)
	_, _ = io.WriteString(w, v.current)
}

// Processes that want a token at once fetch it once: also where each has a folder of its own in which the file is a
// link to the same one.
func TestProcessesFetchOnce(t *testing.T) {
	none := func(string) string { return "" }
	for _, how := range []string{"renewed", "fetched"} {
		for _, linked := range []bool{false, true} {
			t.Run(fmt.Sprint(how, " linked ", linked), func(t *testing.T) {
				v := &vendor{current: "refresh-1"}
				server := httptest.NewServer(v)
				defer server.Close()
				home := t.TempDir()
				if err := auth.New(home, none).SetToken(t.Context(), "p",
					auth.Token{Refresh: auth.NewSecret("refresh-1")}); err != nil {
					t.Fatal(err)
				}
				homes := []string{home, home, home}
				if linked {
					for i := range homes[1:] {
						homes[i+1] = t.TempDir()
						for _, name := range []string{auth.FileName, auth.SharedName} {
							if err := os.Symlink(filepath.Join(home, name), filepath.Join(homes[i+1], name)); err != nil {
								t.Fatal(err)
							}
						}
					}
				}
				for i, got := range together(t, how, server.URL, homes) {
					if got != "access of refresh-2" {
						t.Errorf("process %d: %s", i, got)
					}
				}
				if v.asked != 1 {
					t.Errorf("the vendor was asked %d times", v.asked)
				}
			})
		}
	}
}

// together runs a process for each home, all let go at once, and returns what each says.
func together(t *testing.T, how, url string, homes []string) []string {
	t.Helper()
	out := make([]string, len(homes))
	var goes []io.Closer
	var lines []*bufio.Reader
	for _, home := range homes {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcess$") //nolint:gosec // ourselves
		c.Env = append(os.Environ(), "AUTH_TEST_HOME="+home, "AUTH_TEST_HOW="+how, "AUTH_TEST_URL="+url)
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		said, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Wait() })
		goes, lines = append(goes, in), append(lines, bufio.NewReader(said))
	}
	for _, l := range lines { // all are there
		_, _ = l.ReadString('\n')
	}
	for _, g := range goes {
		_ = g.Close()
	}
	for i, l := range lines {
		text, err := l.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		out[i] = text[:len(text)-1]
	}
	return out
}

// TestProcess runs in the processes that together starts.
func TestProcess(t *testing.T) {
	home := os.Getenv("AUTH_TEST_HOME")
	if home == "" {
		t.Skip("only as a process of TestProcessesFetchOnce")
	}
	fmt.Println("here")
	_, _ = io.ReadAll(os.Stdin)
	s := auth.New(home, func(string) string { return "" })
	refresh := func(have string) (auth.Token, error) {
		resp, err := http.Get(os.Getenv("AUTH_TEST_URL") + "?refresh=" + have) //nolint:noctx // a test's
		if err != nil {
			return auth.Token{}, err
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			return auth.Token{}, fmt.Errorf("refused: %d %w", resp.StatusCode, err)
		}
		return auth.Token{
			Refresh: auth.NewSecret(string(raw)),
			Access:  auth.NewSecret("access of " + string(raw)),
			Expires: time.Now().Add(time.Hour),
		}, nil
	}
	var got auth.Token
	var err error
	if os.Getenv("AUTH_TEST_HOW") == "renewed" {
		got, err = s.Renew(
			t.Context(),
			"p",
			auth.Token{},
			func(have auth.Token) (auth.Token, error) { return refresh(have.Refresh.Reveal()) },
		)
	} else {
		got, err = s.FetchShared(t.Context(), "p", auth.Secret{}, func(context.Context) (auth.Token,
			error,
		) {
			return refresh("refresh-1")
		})
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(got.Access.Reveal())
}
