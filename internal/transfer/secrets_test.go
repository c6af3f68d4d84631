package transfer_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/canary"
	"github.com/cairn-dev/cairn/internal/transfer"
)

// plantText returns a session with the text in all places, and an export of it: in its title, its directory, a todo, a
// prompt, an attachment, an answer, reasoning, an error, a summary, a command of the user's, and in the input, the title,
// the output, the diff and the attachments of calls.
func plantText(t *testing.T, text string) (*session.Session, transfer.Export) {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	data := "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte(text))
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data":[{"id":"msg_1","type":"user","time":{"created":1},"text":%[1]s,
			"files":[{"uri":"%[2]s","mime":"text/plain","name":"a.env"}]},
			{"id":"msg_2","type":"assistant","time":{"created":1,"completed":2},"agent":"build",
			"model":{"id":"m","providerID":"p"},"error":{"type":"x","message":%[1]s},
			"content":[{"type":"reasoning","id":"r","partID":"prt_0","text":%[1]s},{"type":"text","id":"t","partID":"prt_1","text":%[1]s},
			{"type":"tool","id":"c","partID":"prt_2","name":"bash","time":{"created":1},"state":{"status":"completed",
			"input":{"command":%[1]s,"nested":{"list":[%[1]s]}},"title":%[1]s,"structured":{"diff":%[1]s,"output":%[1]s},
			"content":[{"type":"text","text":%[1]s}],"attachments":[{"uri":"%[2]s","mime":"text/plain"}]}},
			{"type":"tool","id":"d","partID":"prt_3","name":"read","time":{"created":1},"state":{"status":"error",
			"input":{"filePath":%[1]s},"error":{"type":"x","message":%[1]s}}}]},
			{"id":"msg_3","type":"shell","time":{"created":1,"completed":2},"callID":"s","command":%[1]s,"output":%[1]s},
			{"id":"msg_4","type":"compaction","time":{"created":1},"reason":"manual","summary":%[1]s}
			],"cursor":{}}`, quoted, data)
	})
	s := &session.Session{
		ID: "ses_a", Title: text, Todos: []session.Todo{{Content: text, Status: "pending"}},
		Metadata: jsontext.Value(`{"note":` + string(quoted) + `}`),
	}
	return s, transfer.Export{
		API: &api.Client{HTTP: &http.Client{Transport: api.Local(server)}}, Known: []string{canary.Known},
	}
}

func TestExportHidesSecrets(t *testing.T) {
	export := func(t *testing.T, text string, secrets bool) (texts string, left int) {
		s, e := plantText(t, text)
		e.Secrets = secrets
		var out bytes.Buffer
		left, err := e.Write(t.Context(), &out, s)
		if err != nil {
			t.Fatal(err)
		}
		texts, err = canary.ReadTexts(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return texts, left
	}
	for _, c := range canary.List() {
		t.Run(c.Kind, func(t *testing.T) {
			got, left := export(t, c.Text, false)
			if left < 12 {
				t.Errorf("%d texts had a secret, want at least 12", left)
			}
			if leak := c.FindLeak(got); leak != "" {
				t.Errorf("%q is in the export:\n%s", leak, got)
			}
			raw, _ := export(t, c.Text, true)
			for _, secret := range c.Secrets {
				if strings.Count(raw, secret) < 12 {
					t.Errorf("%q is %d times in the export with secrets", secret, strings.Count(raw, secret))
				}
			}
		})
	}
}

var pageTag = regexp.MustCompile(`<[^>]*>`)

// What people read has no secrets, neither as it is written nor as it is shown: some texts of it are cut.
func TestPageHidesSecrets(t *testing.T) {
	type writer func(*transfer.Export, context.Context, io.Writer, *session.Session) (int, error)
	for name, write := range map[string]writer{
		"HTML": (*transfer.Export).WriteHTML, "Markdown": (*transfer.Export).WriteMarkdown,
	} {
		export := func(t *testing.T, text string, secrets bool) string {
			s, e := plantText(t, text)
			e.Secrets = secrets
			var b strings.Builder
			if _, err := write(&e, t.Context(), &b, s); err != nil {
				t.Fatal(err)
			}
			out := b.String()
			return out + html.UnescapeString(out) + html.UnescapeString(pageTag.ReplaceAllString(out, ""))
		}
		for _, c := range canary.List() {
			t.Run(name+" "+c.Kind, func(t *testing.T) {
				got := export(t, c.Text, false)
				if leak := c.FindLeak(got); leak != "" {
					t.Errorf("%q is on the page:\n%s", leak, got)
				}
				if raw := export(t, c.Text, true); c.FindLeak(raw) == "" {
					t.Errorf("the page with secrets has none:\n%s", raw)
				}
			})
		}
	}
}
