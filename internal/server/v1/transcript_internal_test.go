package v1

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// long is a session of n prompts and their answers.
func long(n int) transcript {
	v := transcript{session: &session.Session{ID: "ses_1"}}
	for i := range n {
		v.rows = append(
			v.rows,
			store.RawMessage{
				Type: session.TypeUser,
				Data: jsontext.Value(fmt.Sprintf(`{"id":"msg_%d","type":"user","time":{"created":1},"text":"a"}`, 2*i)),
			},
			store.RawMessage{Type: session.TypeAssistant, Data: jsontext.Value(fmt.Sprintf(
				`{"id":"msg_%d","type":"assistant","time":{"created":1},"agent":"build","model":{"id":"m","providerID":"p"},"content":[{"type":"text","id":"0","text":%q}]}`,
				2*i+1,
				strings.Repeat("b", 1000),
			))},
		)
	}
	return v
}

func TestAllMessagesAreShownInTheirOrder(t *testing.T) {
	for _, n := range []int{0, 1, 31, 32, 33, 64, 500} {
		w := httptest.NewRecorder()
		if err := long(n).write(w); err != nil {
			t.Fatal(err)
		}
		var got []struct {
			Info struct {
				ID string `json:"id"`
			} `json:"info"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got) != 2*n {
			t.Fatalf("%d messages of %d: %v", len(got), 2*n, err)
		}
		for i, m := range got {
			if m.Info.ID != fmt.Sprint("msg_", i) {
				t.Fatalf("of %d, %s is the %d.", 2*n, m.Info.ID, i)
			}
		}
	}
}

// What cannot be shown is an error, or, behind what has left already, the end of the connection; never the end of the
// process.
func TestWhatCannotBeShown(t *testing.T) {
	for name, spoil := range map[string]func(v *transcript, row int){
		"no JSON": func(v *transcript, row int) { v.rows[row].Data = jsontext.Value(`{`) },
		"a panic": func(v *transcript, row int) { v.session = nil },
	} {
		for _, row := range []int{0, 1, 900} {
			v := long(500)
			spoil(&v, row)
			w := httptest.NewRecorder()
			cut := false
			err := func() (err error) {
				defer func() {
					p, _ := recover().(error)
					cut = errors.Is(p, http.ErrAbortHandler)
				}()
				return v.write(w)
			}()
			if cut != (w.Body.Len() > 0) || !cut && err == nil {
				t.Errorf("%s at %d: %v, cut %t after %d bytes", name, row, err, cut, w.Body.Len())
			}
		}
	}
}
