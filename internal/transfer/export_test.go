package transfer_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer"
)

// counted is the destination of an export: it counts, and looks at times how much is held.
type counted struct {
	bytes, next int64
	held        uint64
}

func (c *counted) Write(p []byte) (int, error) {
	if c.bytes += int64(len(p)); c.bytes > c.next {
		c.next = c.bytes + 4<<20
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		c.held = max(c.held, m.HeapAlloc)
	}
	return len(p), nil
}

// However long a session is, some pages of it are held and no more.
func TestExportIsBounded(t *testing.T) {
	const pages, perPage, size = 60, 100, 8 << 10
	text := strings.Repeat("x", size)
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("cursor")) // none is the first
		fmt.Fprint(w, `{"data":[`)
		for i := range perPage {
			if i > 0 {
				fmt.Fprint(w, ",")
			}
			fmt.Fprintf(
				w,
				`{"id":"msg_%d_%d","type":"assistant","time":{"created":1,"completed":2},"agent":"build","model":{"id":"m","providerID":"p"},
				"content":[{"type":"text","id":"t","partID":"prt_%d_%d","text":%q}]}`,
				page,
				i,
				page,
				i,
				text,
			)
		}
		next := ""
		if page+1 < pages {
			next = strconv.Itoa(page + 1)
		}
		fmt.Fprintf(w, `],"cursor":{"next":%q}}`, next)
	})
	e := transfer.Export{API: &api.Client{HTTP: &http.Client{Transport: api.Local(server)}}, Secrets: true}
	out := &counted{}
	if _, err := e.Write(t.Context(), out, &session.Session{ID: "ses_long"}); err != nil {
		t.Fatal(err)
	}
	if out.bytes < pages*perPage*size {
		t.Fatalf("only %d bytes were written", out.bytes)
	}
	if most := uint64(24 << 20); out.held > most {
		t.Errorf("%d bytes were held while %d were written", out.held, out.bytes)
	}
}
