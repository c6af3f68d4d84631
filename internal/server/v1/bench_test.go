package v1_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// BenchmarkReaders is one change of a session on its way to all who read /event: what a reader more costs is what is
// left beside the fold and the encoding, which they share.
func BenchmarkReaders(b *testing.B) {
	for _, readers := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			w := newWorld(b, "", nil)
			s := read(b, w.ask(b, http.MethodPost, "/session", `{"title":"a"}`).body).(map[string]any)["id"].(string)
			var reading sync.WaitGroup
			got := make([]int, readers)
			for i := range readers {
				l := w.listen(b, "/event")
				reading.Go(func() {
					n, _ := count(l.body, "session.updated", b.N)
					got[i] = n
				})
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				send(b, w, http.MethodPatch, "/session/"+s, fmt.Sprintf(`{"title":"%d"}`, i))
			}
			reading.Wait()
			for _, n := range got {
				if n != b.N {
					b.Errorf("a reader got %d changes, want %d", n, b.N)
				}
			}
		})
	}
}

// count reads until a word has come n times.
func count(r io.Reader, word string, n int) (found int, err error) {
	var rest string
	for b := make([]byte, 64<<10); found < n && err == nil; {
		var k int
		k, err = r.Read(b)
		text := rest + string(b[:k])
		found += strings.Count(text, word)
		rest = text[max(0, len(text)-len(word)+1):]
		if i := strings.LastIndex(text, word); i >= 0 {
			rest = text[max(i+len(word), len(text)-len(word)+1):]
		}
	}
	return found, err
}

// BenchmarkWholeSession reads a session of 200 messages in one answer.
func BenchmarkWholeSession(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		say(w, map[string]any{"content": strings.Repeat("word ", 200)}, nil)
		say(w, map[string]any{}, "stop")
	}))
	defer srv.Close()
	w := newWorldOf(b, srv.URL, "", nil)
	s := read(b, w.ask(b, http.MethodPost, "/session", `{"title":"a"}`).body).(map[string]any)["id"].(string)
	for range 100 {
		w.ask(b, http.MethodPost, "/session/"+s+"/message", `{"parts":[{"type":"text","text":"hi"}]}`)
	}
	b.ReportAllocs()
	for b.Loop() {
		n := send(b, w, http.MethodGet, "/session/"+s+"/message", "")
		b.SetBytes(n)
	}
}

// BenchmarkSessions lists 2000 sessions in one answer, and searches one of them.
func BenchmarkSessions(b *testing.B) {
	const all = 2000
	w := newWorld(b, "", nil)
	for i := range all {
		send(b, w, http.MethodPost, "/session", fmt.Sprintf(`{"title":"work on number %d"}`, i))
	}
	for name, query := range map[string]string{
		"all":    fmt.Sprint("limit=", all),
		"search": fmt.Sprint("search=number+", all-7),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.SetBytes(send(b, w, http.MethodGet, "/session?"+query, ""))
			}
		})
	}
}

// send is a request whose answer is read and not looked at.
func send(b *testing.B, w *world, method, path, body string) (size int64) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := w.client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatal(resp.Status, err)
	}
	return n
}
