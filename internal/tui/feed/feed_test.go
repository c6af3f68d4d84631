package feed_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/tui/feed"
)

// TestLoss: the loss of the connection is sent once, and so is its return.
func TestLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		requests := 0
		server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if requests++; requests <= 3 {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"type\":\"server.connected\",\"data\":{}}\n\n")
			if f, ok := w.(http.Flusher); ok {
				f.Flush()
			}
			<-r.Context().Done()
		})
		var sent []tea.Msg
		c := &api.Client{Base: "http://localhost", HTTP: &http.Client{Transport: api.Local(server)}}
		feed.FollowAll(ctx, c, func(m tea.Msg) {
			if sent = append(sent, m); m == feed.Loss(false) {
				stop()
			}
		})
		if want := []tea.Msg{feed.Loss(true), feed.Loss(false)}; !slices.Equal(sent, want) || requests != 4 {
			t.Errorf("sent %v after %d requests, want %v", sent, requests, want)
		}
	})
}
