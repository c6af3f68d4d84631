package sharepage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// Readers at their own speed get what was written, from memory and from a file.
func TestSpool(t *testing.T) {
	for name, piece := range map[string]int{"memory": 10, "file": maxMemory/50 + 1} {
		dir := t.TempDir()
		s := newSpool(dir, &fileBudget{})
		errEnd := errors.New("end")
		var want []byte
		for i := range 100 {
			want = append(want, bytes.Repeat([]byte{byte(i)}, piece)...)
		}
		var readers sync.WaitGroup
		for size := range 3 {
			readers.Go(func() {
				var got []byte
				buf := make([]byte, size*piece+1)
				for {
					n, changed, isEnded, err := s.read(buf, int64(len(got)))
					got = append(got, buf[:n]...)
					switch {
					case n > 0:
					case isEnded:
						if !bytes.Equal(got, want) || !errors.Is(err, errEnd) {
							t.Errorf("%s: %d bytes, %v", name, len(got), err)
						}
						return
					case err != nil:
						t.Error(err)
						return
					default:
						<-changed
					}
				}
			})
		}
		for i := range 100 {
			if _, err := s.Write(want[i*piece : (i+1)*piece]); err != nil {
				t.Fatal(err)
			}
		}
		s.end(errEnd)
		readers.Wait()
		if (s.file != nil) != (name == "file") {
			t.Errorf("%s: file %v", name, s.file)
		}
		s.close()
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("%s: %v %v", name, files, err)
		}
	}
}

// A page and the number of pages are bounded.
func TestPagesAreBounded(t *testing.T) {
	s := newSpool(t.TempDir(), &fileBudget{})
	s.size = maxPage
	if _, err := s.Write([]byte("x")); err == nil {
		t.Error("a page has no bound")
	}
	p := &Pages{API: &api.Client{HTTP: &http.Client{Transport: api.Local(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"data":{"id":"ses_a"}}`)
		},
	))}}, ListSecrets: func(context.Context, *session.Session) ([]string, error) { return nil, nil }, open: map[string]*broadcast{}}
	for i := range maxBroadcasts {
		p.open[strconv.Itoa(i)] = &broadcast{}
	}
	if _, err := p.Open(t.Context(), api.Share{ID: "x", SessionID: "ses_a"}); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("%v", err)
	}
}

// slowWriter takes so long for each write.
type slowWriter time.Duration

func (w slowWriter) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(w))
	return len(p), nil
}

// A reader that takes the page slowly has it no longer than one that waits for its end.
func TestSlowReaderIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpool(t.TempDir(), &fileBudget{})
		defer s.close()
		if _, err := s.Write(make([]byte, 16<<20)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err := (&broadcast{spool: s}).copy(t.Context(), slowWriter(29*time.Second), func() error { return nil })
		if lasted := time.Since(began); err == nil || lasted > maxOpen+time.Minute {
			t.Errorf("%v %v", lasted, err)
		}
	})
}

// The temporary files of all pages are bounded, and one that is closed makes room.
func TestFilesAreBounded(t *testing.T) {
	budget := &fileBudget{used: maxFiles - 3<<20}
	write := func(s *spool, size int) error {
		_, err := s.Write(make([]byte, size))
		return err
	}
	first, second := newSpool(t.TempDir(), budget), newSpool(t.TempDir(), budget)
	if err := errors.Join(write(first, maxMemory), write(first, 1<<20), write(second, maxMemory)); err != nil {
		t.Fatal(err)
	}
	if err := write(second, 1<<20); err == nil || !strings.Contains(err.Error(), "shared pages") {
		t.Error(err)
	}
	first.close()
	if err := write(second, 1<<20); err != nil {
		t.Error(err)
	}
	second.close()
	if budget.used != maxFiles-3<<20 {
		t.Error(budget.used)
	}
}
