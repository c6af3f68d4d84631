package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/logfile"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer"
)

// writeLog writes a log of n prompts with the text.
func writeLog(t testing.TB, to io.Writer, n int, text string) {
	t.Helper()
	w, err := logfile.NewWriter(to, logfile.Header{Cairn: "test", Sessions: []session.ID{"ses_a"}})
	if err != nil {
		t.Error(err)
		return
	}
	row := store.EventRow{
		ID: "evt_0", SessionID: "ses_a", Kind: session.KindCreated, Version: 1,
		Data: []byte(`{"timestamp":1,"sessionID":"ses_a","info":{"id":"ses_a","title":"secret plan","location":{"directory":"/home/ann"}}}`),
	}
	err = w.WriteEvent(&row)
	quoted, _ := json.Marshal(text)
	for i := range n {
		row = store.EventRow{
			ID: session.EventID(fmt.Sprint("evt_", i+1)), SessionID: "ses_a", Seq: int64(i + 1), Version: 1,
			Kind: session.KindPrompted, Data: fmt.Appendf(nil,
				`{"timestamp":1,"sessionID":"ses_a","messageID":"msg_%d","prompt":{"text":%s},"delivery":"steer"}`, i, quoted),
		}
		if err == nil {
			err = w.WriteEvent(&row)
		}
	}
	if err == nil {
		err = w.Close(0)
	}
	if err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// writeRows writes a log of one session.
func writeRows(t testing.TB, to io.Writer, rows ...store.EventRow) {
	t.Helper()
	w, err := logfile.NewWriter(to, logfile.Header{Cairn: "test", Sessions: []session.ID{"ses_a"}})
	for i := range rows {
		if err == nil {
			err = w.WriteEvent(&rows[i])
		}
	}
	if err == nil {
		err = w.Close(0)
	}
	if err != nil {
		t.Error(err)
	}
}

// serveLog returns a client of a server with one log.
func serveLog(respond func(io.Writer)) *api.Client {
	return &api.Client{HTTP: &http.Client{Transport: api.Local(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { respond(w) },
	))}}
}

// However long a log is, a line of it is held and no more, sanitised or not.
func TestExportOfLogIsBounded(t *testing.T) {
	const lines, size = 6000, 8 << 10
	for _, sanitize := range []bool{false, true} {
		c := serveLog(func(w io.Writer) { writeLog(t, w, lines, strings.Repeat("x", size)) })
		e := transfer.Export{API: c, Sanitize: sanitize}
		out := &counted{}
		if _, err := e.WriteLog(t.Context(), out, []session.ID{"ses_a"}); err != nil {
			t.Fatal(err)
		}
		if most := uint64(24 << 20); out.held > most || !sanitize && out.bytes < lines*size {
			t.Errorf("%d bytes were held while %d were written", out.held, out.bytes)
		}
	}
}

// A log that ends early, on the server's side or on the reader's, is an error.
func TestExportOfLogEndsEarly(t *testing.T) {
	var whole bytes.Buffer
	writeLog(t, &whole, 3, "hi")
	for name, tt := range map[string]struct {
		body string
		says string
	}{
		"cut off": {whole.String()[:whole.Len()-90], "cut off"},
		"failed":  {whole.String()[:200] + "\n" + string(logfile.EncodeError("seq 3 is damaged")), "stopped here: seq 3 is damaged"},
		"changed": {strings.Replace(whole.String(), "hi", "ho", 1), "checksum"},
	} {
		for _, sanitize := range []bool{false, true} {
			e := transfer.Export{API: serveLog(func(w io.Writer) { _, _ = io.WriteString(w, tt.body) }), Sanitize: sanitize}
			_, err := e.WriteLog(t.Context(), io.Discard, []session.ID{"ses_a"})
			if err == nil || !sanitize && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s, sanitised %t: %v", name, sanitize, err)
			}
		}
	}
	c := serveLog(func(w io.Writer) { writeLog(t, w, 3, "hi") })
	e := transfer.Export{API: c}
	if _, err := e.WriteLog(t.Context(), brokenPipe{}, []session.ID{"ses_a"}); !errors.Is(err, errBroken) {
		t.Errorf("to a closed pipe: %v", err)
	}
}

var errBroken = errors.New("broken pipe")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }

// A sanitised log has no text, no path and no private part, is marked, and cannot be imported.
func TestSanitizedLog(t *testing.T) {
	const key = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz"
	c := serveLog(func(w io.Writer) { writeLog(t, w, 2, "the plan of Ann with "+key) })
	e := transfer.Export{API: c, Sanitize: true}
	var out bytes.Buffer
	if _, err := e.WriteLog(t.Context(), &out, []session.ID{"ses_a"}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"plan", "Ann", "ann", key[:12]} {
		if strings.Contains(out.String(), text) {
			t.Errorf("%q is in %s", text, out.String())
		}
	}
	var kinds []string
	for _, r := range e.ListReplacements() {
		kinds = append(kinds, fmt.Sprint(r.Kind, " ", r.Count))
		if strings.Contains(r.Excerpt, key[:12]) {
			t.Errorf("the excerpt shows the secret: %q", r.Excerpt)
		}
	}
	if got := strings.Join(kinds, ", "); got != "directory 1, text 2, title 1" {
		t.Errorf("replaced: %s", got)
	}
	_, err := transfer.ImportLog(t.Context(), c, "s.jsonl", bytes.NewReader(out.Bytes()))
	if m, ok := errors.AsType[*transfer.FormatError](err); !ok || m.Line != 1 || !strings.Contains(m.What, "--sanitize") {
		t.Errorf("import: %v", err)
	}
}

// Of a media type, which a client may have sent, only one is kept that is nothing else.
func TestSanitizedMediaTypes(t *testing.T) {
	for mime, kept := range map[string]bool{
		"image/png": true,
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": true,
		"text/plain; key=sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789":       false,
		"text/sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789":                  false,
		"text/ghp_abcdefghijklmnopqrstuvwxyz0123456789":                           false,
		"the plan of Ann": false,
		"ann/plan":        false,
	} {
		c := serveLog(func(w io.Writer) {
			writeRows(t, w, store.EventRow{
				ID: "evt_0", SessionID: "ses_a", Kind: session.KindCreated, Version: 1,
				Data: []byte(`{"timestamp":1,"sessionID":"ses_a","info":{"id":"ses_a"}}`),
			}, store.EventRow{
				ID: "evt_1", SessionID: "ses_a", Seq: 1, Kind: session.KindPrompted, Version: 1,
				Data: fmt.Appendf(nil, `{"timestamp":1,"sessionID":"ses_a","messageID":"msg_1",`+
					`"prompt":{"text":"","files":[{"uri":"file:///a","mime":%q}]},"delivery":"steer"}`, mime),
			})
		})
		e := transfer.Export{API: c, Sanitize: true}
		var out bytes.Buffer
		if _, err := e.WriteLog(t.Context(), &out, []session.ID{"ses_a"}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), mime); got != kept {
			t.Errorf("the media type %q is kept: %v, want %v\n%s", mime, got, kept, &out)
		}
		raw := opencode.SanitizeMessage(jsontext.Value(fmt.Sprintf(
			`{"info":{"id":"msg_1","role":"user"},"parts":[{"id":"prt_1","type":"file","mime":%q,"url":"file:///a"}]}`, mime,
		)))
		if got := strings.Contains(string(raw), mime); got != kept {
			t.Errorf("in OpenCode's form the media type %q is kept: %v, want %v\n%s", mime, got, kept, raw)
		}
	}
}

// A log is sent in pieces, from where the server says, and not for ever.
func TestImportOfLogIsSentInPieces(t *testing.T) {
	var file bytes.Buffer
	writeLog(t, &file, 400, strings.Repeat("x", 8<<10))
	var received []byte
	stuck := false
	c := &api.Client{HTTP: &http.Client{Transport: api.Local(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			var p api.LogPiece
			if err := json.UnmarshalRead(r.Body, &p); err != nil || len(p.Data) > 1<<20 || p.Size != int64(file.Len()) {
				t.Errorf("a piece of %d bytes of %d: %v", len(p.Data), p.Size, err)
			}
			if p.Offset == int64(len(received)) && !stuck {
				received = append(received, p.Data...)
			}
			result := ""
			if len(received) == file.Len() {
				result = `,"result":{"sessions":["ses_a"]}`
			}
			fmt.Fprintf(w, `{"data":{"received":%d%s}}`, len(received), result)
		},
	))}}
	received = append(received, file.Bytes()[:500_000]...) // of an upload that was cut off
	got, err := transfer.ImportLog(t.Context(), c, "s.jsonl", bytes.NewReader(file.Bytes()))
	if err != nil || len(got.Sessions) != 1 || !bytes.Equal(received, file.Bytes()) {
		t.Errorf("import: %+v, %v, %d bytes of %d", got, err, len(received), file.Len())
	}
	received, stuck = nil, true
	if _, err := transfer.ImportLog(t.Context(), c, "s.jsonl", bytes.NewReader(file.Bytes())); err == nil {
		t.Error("a server that takes nothing has imported the file")
	}
}
