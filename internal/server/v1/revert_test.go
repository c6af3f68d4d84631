//go:build unix

package v1_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"
)

// A revert directly after a command of the user, or after the abort of one, restores what the command changed; what the
// user writes after that stays.
func TestRevertAtOnce(t *testing.T) {
	const changes = `rm a.txt mine.txt; echo half > half`
	for name, stop := range map[string]bool{"ended": false, "aborted": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "", map[string]string{"a.txt": "a\n"})
			w.put(t, filepath.Join(w.work, "mine.txt"), "mine\n") // untracked
			for i := range 300 {                                  // captures take longer
				w.put(t, filepath.Join(w.work, "many", strconv.Itoa(i%20), strconv.Itoa(i)), "x")
			}
			var s struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal([]byte(w.ask(t, http.MethodPost, "/session", "{}").body), &s); err != nil {
				t.Fatal(err)
			}
			at := "/session/" + s.ID
			command := changes
			if stop {
				command += "; echo > started; sleep 60"
				if err := syscall.Mkfifo(filepath.Join(w.work, "started"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			ended := make(chan struct{})
			run := func() {
				defer close(ended)
				body := `{"messageID":"msg_1","agent":"build","command":"` + command + `"}`
				w.ask(t, http.MethodPost, at+"/shell", body)
			}
			if stop {
				go run()
				if _, err := os.ReadFile(filepath.Join(w.work, "started")); err != nil {
					t.Fatal(err)
				}
				if a := w.ask(t, http.MethodPost, at+"/abort", ""); a.status != http.StatusOK {
					t.Fatal(a)
				}
			} else {
				run()
			}
			w.put(t, filepath.Join(w.work, "later.txt"), "the user's\n")
			if a := w.ask(t, http.MethodPost, at+"/revert", `{"messageID":"msg_1"}`); a.status != http.StatusOK {
				t.Fatal(a)
			}
			for file, want := range map[string]string{
				"a.txt": "a\n", "mine.txt": "mine\n", "half": "", "later.txt": "the user's\n",
			} {
				if got, _ := os.ReadFile(filepath.Join(w.work, file)); string(got) != want { // "" if it is missing
					t.Errorf("%s is %q", file, got)
				}
			}
			<-ended
		})
	}
}

// TestRevertShowsWhatStays checks that clients are shown which files a revert, or its reversal, leaves as they are.
func TestRevertShowsWhatStays(t *testing.T) {
	for _, path := range []string{"/revert", "/unrevert"} {
		w := newWorld(t, "", map[string]string{"a.txt": "a\n"})
		var s struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal([]byte(w.ask(t, http.MethodPost, "/session", "{}").body), &s); err != nil {
			t.Fatal(err)
		}
		at := "/session/" + s.ID
		ask := func(path, body string) {
			t.Helper()
			if a := w.ask(t, http.MethodPost, at+path, body); a.status != http.StatusOK {
				t.Fatal(a)
			}
		}
		const body = `{"messageID":"msg_1"}`
		ask("/shell", `{"messageID":"msg_1","agent":"build","command":"echo b > a.txt"}`)
		if path == "/unrevert" {
			ask("/revert", body)
		}
		w.put(t, filepath.Join(w.work, "a.txt"), "the user's\n")
		stream := w.listen(t, "/event")
		ask(path, body)
		var shown string
		stream.until(func(h heard) bool {
			shown = h.data
			return h.v.Type == "tui.toast.show"
		})
		if !strings.Contains(shown, "a.txt stays as it is: ") {
			t.Errorf("%s shows %q (%v)", path, shown, stream.err)
		}
	}
}

// TestRevertOverARevert checks that a revert in place of another one is shown in one step: clients would show the
// session without any revert for a moment.
func TestRevertOverARevert(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "a\n"})
	id := newSession(t, w, `{}`)
	at := "/session/" + id
	for _, m := range []string{"msg_1", "msg_2"} {
		body := `{"messageID":"` + m + `","agent":"build","command":"echo ` + m + ` >> a.txt"}`
		if a := w.ask(t, http.MethodPost, at+"/shell", body); a.status != http.StatusOK {
			t.Fatal(a)
		}
	}
	if a := w.ask(t, http.MethodPost, at+"/revert", `{"messageID":"msg_2"}`); a.status != http.StatusOK {
		t.Fatal(a)
	}
	next := w.follow(t, "/event")
	next()
	if a := w.ask(t, http.MethodPost, at+"/revert", `{"messageID":"msg_1"}`); a.status != http.StatusOK {
		t.Fatal(a)
	}
	for e := next(); ; e = next() {
		if !strings.HasPrefix(e, "session.updated") {
			continue
		}
		if !strings.Contains(e, `"revert":{"messageID":"msg_1"`) {
			t.Errorf("the first update is %s", e)
		}
		return
	}
}

// TestRefusalWhileBusy checks that the streams have nothing of a request that is refused while the session works: other
// clients would show the error as that of the work.
func TestRefusalWhileBusy(t *testing.T) {
	w := newWorld(t, "", nil)
	id := newSession(t, w, `{}`)
	at := "/session/" + id
	if err := syscall.Mkfifo(filepath.Join(w.work, "started"), 0o600); err != nil {
		t.Fatal(err)
	}
	next := w.follow(t, "/event")
	ended := make(chan answer)
	go func() {
		ended <- w.ask(t, http.MethodPost, at+"/shell", `{"agent":"build","command":"echo > started; sleep 60"}`)
	}()
	if _, err := os.ReadFile(filepath.Join(w.work, "started")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		operation, body string
		status          int
	}{
		{"shell", `{"agent":"build","command":"true"}`, http.StatusConflict},
		{"revert", `{"messageID":"msg_1"}`, http.StatusNotFound},
		{"unrevert", ``, http.StatusConflict},
		{"prompt_async", `{"agent":"biuld","parts":[{"type":"text","text":"x"}]}`, http.StatusBadRequest},
		{"fork", `{"messageID":"msg_1"}`, http.StatusNotFound},
	} {
		if a := w.ask(t, http.MethodPost, at+"/"+c.operation, c.body); a.status != c.status {
			t.Errorf("%s: %d %s, want %d", c.operation, a.status, a.body, c.status)
		}
	}
	if a := w.ask(t, http.MethodPost, at+"/abort", ""); a.status != http.StatusOK {
		t.Fatal(a)
	}
	<-ended
	for e := next(); !strings.HasPrefix(e, "session.idle"); e = next() {
		if strings.HasPrefix(e, "session.error") {
			t.Errorf("the stream has %s", e)
		}
	}
}
