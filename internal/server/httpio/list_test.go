package httpio_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/server/httpio"
)

type listed struct {
	N    int    `json:"n"`
	Text string `json:"text"`
}

func show(n int) (listed, error) { return listed{n, strings.Repeat("x", n%3*900)}, nil }

func numbers(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i + 1
	}
	return rows
}

// However long a list is, it is byte for byte what its members are at once.
func TestListIsTheSameAsAtOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 63, 64, 65, 128, 129, 1000} {
		all := []listed{}
		for _, i := range numbers(n) {
			v, _ := show(i)
			all = append(all, v)
		}
		want, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		for _, room := range []int{0, 1 << 20} {
			w := httptest.NewRecorder()
			l := httpio.List{Prefix: `{"data":[`, Suffix: `],"more":1}`, SizeHint: room}
			if err := l.Write(w, httpio.EncodeRows(numbers(n), show)); err != nil {
				t.Fatal(err)
			}
			if got := w.Body.String(); got != `{"data":`+string(want)+`,"more":1}` ||
				w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("of %d members, %d bytes with %v, want %d", n, len(got), w.Header(), len(want))
			}
		}
	}
}

// The first of a long list is out before the last is looked at, and what was shown is let go.
func TestListLeavesWhileItIsMade(t *testing.T) {
	rows := numbers(1000)
	w := httptest.NewRecorder()
	pieces := httpio.EncodeRows(rows, show)
	err := httpio.List{Prefix: "[", Suffix: "]"}.Write(w, func(yield func([]byte, error) bool) {
		held := 0
		for b, err := range pieces {
			if held += len(b); held > 200<<10 && w.Body.Len() == 0 {
				t.Fatalf("%d bytes are made and none has left", held)
			}
			if !yield(b, err) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		if row != 0 {
			t.Fatalf("row %d is held", i)
		}
	}
}

// What cannot be shown is an error, or, behind what has left already, the end of the connection; never the end of the
// process.
func TestListThatCannotBeShown(t *testing.T) {
	for name, trouble := range map[string]func() error{
		"an error": func() error { return errors.New("no") },
		"a panic":  func() error { panic("no") },
	} {
		for _, at := range []int{1, 2, 64, 65, 1000} {
			w := httptest.NewRecorder()
			cut := false
			err := func() (err error) {
				defer func() {
					p, _ := recover().(error)
					cut = errors.Is(p, http.ErrAbortHandler)
				}()
				return httpio.List{
					Prefix: "[",
					Suffix: "]",
				}.Write(
					w,
					httpio.EncodeRows(numbers(1000), func(n int) (listed, error) {
						if n == at {
							return listed{}, trouble()
						}
						return show(n)
					}),
				)
			}()
			if cut != (w.Body.Len() > 0) || cut != (at == 1000) ||
				!cut && (err == nil || !strings.Contains(fmt.Sprint(err), "no")) {
				t.Errorf("%s at %d: %v, cut %t after %d bytes", name, at, err, cut, w.Body.Len())
			}
		}
	}
}
