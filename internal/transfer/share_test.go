package transfer_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer"
)

func TestParseShare(t *testing.T) {
	hosts := []string{"share.example:8443", "10.0.0.5"}
	for address, want := range map[string]transfer.Share{
		"https://opncd.ai/share/AbC_1-2":        {Host: "opncd.ai", Slug: "AbC_1-2"},
		"https://OPNCD.ai/share/abc/":           {Host: "opncd.ai", Slug: "abc"},
		"https://share.example:8443/share/abc":  {Host: "share.example:8443", Slug: "abc"},
		"https://10.0.0.5/share/abc":            {Host: "10.0.0.5", Slug: "abc"},
		"http://opncd.ai/share/abc":             {},
		"https://opncd.ai:444/share/abc":        {},
		"https://opncd.ai.evil.example/share/a": {},
		"https://opncd.ai@evil.example/share/a": {},
		"https://me:pw@opncd.ai/share/a":        {},
		"https://evil.example/share/abc":        {},
		"https://share.example/share/abc":       {},
		"https://opncd.ai/share/../api":         {},
		"https://opncd.ai/share/a%2fb":          {},
		"https://opncd.ai/share/a?x=1":          {},
		"https://opncd.ai/s/abc":                {},
		"https://opncd.ai/share/":               {},
		"https:///share/a":                      {},
		"ftp://opncd.ai/share/a":                {},
		"https://opncd.ai/share/%zz":            {},
	} {
		got, err := transfer.ParseShare(address, hosts)
		if got != want || (err == nil) != (want.Slug != "") {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
}

// fetch gets a share from a server that answers so.
func fetch(t *testing.T, h http.HandlerFunc) (string, error) {
	t.Helper()
	got, err := transfer.Share{Host: "opncd.ai", Slug: "abc"}.Fetch(t.Context(), api.Local(h))
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(got)
	return string(b), err
}

// What is published comes in items, in any order; what a session is made of is put together as an export has it.
func TestShare(t *testing.T) {
	got, err := fetch(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "https://opncd.ai/api/share/abc/data" || len(r.Cookies()) > 0 ||
			r.Header.Get("Authorization") != "" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		fmt.Fprint(
			w,
			`[{"type":"part","data":{"id":"prt_3","messageID":"msg_2","type":"text","text":"b\ud800"}},{"type":"session_diff","data":[{"a":1}]},
			{"type":"message","data":{"id":"msg_2","role":"assistant"}},{"type":"session","data":{"id":"ses_1","title":"T"}},{"type":"model","data":{}},
			{"type":"part","data":{"id":"prt_2","messageID":"msg_2","type":"text","text":"a"}},{"type":"message","data":{"id":"msg_1","role":"user"}},
			{"type":"part","data":{"id":"prt_9","messageID":"msg_gone"}}]`,
		)
	})
	v := jsontext.Value(got)
	if err == nil {
		err = v.Compact()
	}
	want := `{"info":{"id":"ses_1","title":"T"},"messages":[{"info":{"id":"msg_1","role":"user"},"parts":[]},` +
		`{"info":{"id":"msg_2","role":"assistant"},"parts":[{"id":"prt_2","messageID":"msg_2","type":"text","text":"a"},` +
		`{"id":"prt_3","messageID":"msg_2","type":"text","text":"b` + "\uFFFD" + `"}]}]}`
	if err != nil || string(v) != want {
		t.Errorf("%s\n%v", v, err)
	}
}

func TestShareIsRefused(t *testing.T) {
	says := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); fmt.Fprint(w, body) }
	}
	for name, tt := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"not there": {says(404, ""), `share "abc"`},
		"broken":    {says(500, ""), "500"},
		"moved": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://10.0.0.1/", http.StatusFound)
		}, "302"},
		"a page":    {says(200, "<html>"), "not a share"},
		"an object": {says(200, `{"a":1}`), "not a share"},
		"empty":     {says(200, `[]`), "empty"},
		"no items":  {says(200, `[1]`), "not a share"},
		"cut":       {says(200, `[{"type":"session","data":{"id":"ses_1"}},`), "not a share"},
	} {
		if _, err := fetch(t, tt.h); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := fetch(t, says(404, "")); !isNotFound(err) {
		t.Errorf("%v", err)
	}
}

func isNotFound(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Code == session.CodeNotFound
}

func TestShareTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := fetch(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "[")
			select {
			case <-r.Context().Done():
			case <-time.After(time.Hour):
			}
		})
		if err == nil || !strings.Contains(err.Error(), "did not arrive within") {
			t.Errorf("%v", err)
		}
	})
}

func FuzzShare(f *testing.F) {
	f.Add(
		`[{"type":"session","data":{"id":"ses_1"}},{"type":"message","data":{"id":"msg_1"}},{"type":"part","data":{"messageID":"msg_1"}}]`,
	)
	f.Fuzz(func(t *testing.T, body string) {
		got, err := fetch(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
		if err == nil &&
			!jsontext.Value(got).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
			t.Errorf("%q is no JSON", got)
		}
	})
}
