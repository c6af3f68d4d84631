package transfer_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/transfer"
)

// However long a session is, it is sent in pieces of a megabyte or so, in their order; a message that is larger alone.
func TestImportIsSentInPieces(t *testing.T) {
	const s, n = "ses_e01ffc867ffeXdojPkzpHag281", 30
	var doc strings.Builder
	fmt.Fprintf(
		&doc,
		`{"info":{"id":%q,"slug":"a","version":"1","projectID":"x","directory":"/w","title":"T","time":{"created":1,"updated":2}},"messages":[`,
		s,
	)
	for i := range n {
		size := 100 << 10
		if i == n-1 {
			size = 2 << 20
		}
		id := fmt.Sprintf("_1fe%09x001yfX1fIWlk2xl5P", i)
		fmt.Fprintf(
			&doc,
			`%s{"info":{"id":"msg%s","sessionID":%q,"role":"user","time":{"created":1},"agent":"build","model":{"providerID":"p","modelID":"m"}},
			"parts":[{"id":"prt%[2]s","sessionID":%[3]q,"messageID":"msg%[2]s","type":"text","text":%[4]q}]}`,
			map[bool]string{true: ","}[i > 0],
			id,
			s,
			strings.Repeat("x", size),
		)
	}
	doc.WriteString("]}")
	have, pieces, most := 0, 0, 0
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		var in api.ImportRequest
		if err == nil {
			err = json.Unmarshal(b, &in)
		}
		if err != nil || in.After != have && len(in.Messages) > 0 {
			t.Errorf("after %d of %d: %v", in.After, have, err)
		}
		if have += len(in.Messages); have < n {
			most = max(most, len(b))
		}
		pieces++
		fmt.Fprintf(w, `{"data":{"session":{"id":%q},"messages":%d}}`, s, have)
	})
	c := &api.Client{HTTP: &http.Client{Transport: api.Local(server)}}
	got, err := transfer.Import(t.Context(), c, "x", strings.NewReader(doc.String()))
	if err != nil || got.Messages != n || have != n || pieces < 5 {
		t.Errorf("%+v, %v: %d messages in %d pieces", got, err, have, pieces)
	}
	if limit := 3 << 19; most > limit {
		t.Errorf("a piece has %d bytes", most)
	}
}

// A document that another program wrapped is read: with a byte order mark, in UTF-16, of a version before slugs.
func TestImportOfWrappedText(t *testing.T) {
	const doc = `{"info":{"id":"ses_e01ffc867ffeXdojPkzpHag281","version":"1","title":"Grüße 😀",` +
		`"time":{"created":1,"updated":2}},"messages":[]}`
	wide := func(order binary.AppendByteOrder) string {
		var b []byte
		for _, u := range utf16.Encode([]rune("\uFEFF" + doc)) {
			b = order.AppendUint16(b, u)
		}
		return string(b)
	}
	for name, text := range map[string]string{
		"plain": doc, "BOM": "\uFEFF" + doc, "UTF-16LE": wide(binary.LittleEndian), "UTF-16BE": wide(binary.BigEndian),
	} {
		var in api.ImportRequest
		server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := json.UnmarshalRead(r.Body, &in); err != nil {
				t.Error(err)
			}
			fmt.Fprint(w, `{"data":{"session":{"id":"ses_e01ffc867ffeXdojPkzpHag281"},"messages":0}}`)
		})
		c := &api.Client{HTTP: &http.Client{Transport: api.Local(server)}}
		_, err := transfer.Import(t.Context(), c, "x", strings.NewReader(text))
		if err != nil || in.Session.Title != "Grüße 😀" {
			t.Errorf("%s: %q, %v", name, in.Session.Title, err)
		}
	}
}
