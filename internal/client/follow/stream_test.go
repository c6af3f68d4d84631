package follow_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// An exported log, and the page of a shared session, are read while the server writes them: they may be larger than
// memory, or have no end.
func TestLogIsStreamed(t *testing.T) {
	for _, media := range []string{"application/x-ndjson", "text/html; charset=utf-8"} {
		t.Run(media, func(t *testing.T) { readWhileWritten(t, media) })
	}
}

func readWhileWritten(t *testing.T, media string) {
	synctest.Test(t, func(t *testing.T) {
		read := make(chan struct{})
		server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", media)
			fmt.Fprintln(w, "one")
			select {
			case <-read:
				fmt.Fprintln(w, "two")
			case <-r.Context().Done():
			}
		})
		open := func(context.Context) (*client.Connection, error) {
			c := &api.Client{HTTP: &http.Client{Transport: api.Local(server)}, Base: "http://localhost"}
			return &client.Connection{API: c, Close: func(context.Context) error { return nil }}, nil
		}
		c := &api.Client{HTTP: &http.Client{Transport: follow.NewReconnectTransport(open)}, Base: "http://localhost"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var lines []string
		err := c.ExportLog(ctx, []session.ID{"ses_a"}, func(from io.Reader) error {
			for in := bufio.NewScanner(from); in.Scan(); {
				if lines = append(lines, in.Text()); len(lines) == 1 {
					close(read)
				}
			}
			return nil
		})
		if err != nil || len(lines) != 2 {
			t.Errorf("%q, %v", lines, err)
		}
	})
}
