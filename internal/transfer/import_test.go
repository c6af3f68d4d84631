package transfer_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/api"
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
