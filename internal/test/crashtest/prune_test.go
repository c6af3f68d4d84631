//go:build unix

package crashtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/searchindex"
)

// TestKillPrune kills the server while it prunes sessions and rebuilds the search index. At the end the newest sessions are
// left and found, the others are gone whole, and nothing of them is found.
func TestKillPrune(t *testing.T) {
	const sessions, keep, lives = 120, 20, 6
	seed := newSeed(t)
	rng := rand.New(rand.NewPCG(seed, seed))
	w := newWorld(t, 0)
	c := w.start("")
	for i := range sessions {
		if _, err := c.client.Create(t.Context(), api.CreateSession{Title: fmt.Sprintf("title%03d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	c.kill()
	for life := range lives {
		if err := searchindex.Remove(filepath.Join(w.home, "data")); err != nil { // the next search rebuilds it
			t.Fatal(err)
		}
		c := w.start("")
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		calls.Go(func() {
			_, _ = c.client.Prune(ctx, api.PruneRequest{Sessions: sessions - (sessions-keep)*(life+1)/lives}) // it may be killed
		})
		calls.Go(func() {
			_, _ = c.client.Search(ctx, api.SearchQuery{Text: "title*"}) // it may be killed
		})
		moment, stop := context.WithTimeout(ctx, time.Duration(rng.IntN(60))*time.Millisecond)
		<-moment.Done()
		stop()
		c.kill()
		cancel()
		calls.Wait()
	}
	// What was cut off is done now.
	c = w.start("")
	defer c.kill()
	if _, err := c.client.Prune(t.Context(), api.PruneRequest{Sessions: keep}); err != nil {
		t.Fatal(err)
	}
	for i := range sessions {
		name := fmt.Sprintf("title%03d", i)
		page, err := c.client.Search(t.Context(), api.SearchQuery{Text: name})
		for range 20 {
			if err != nil || page.Complete {
				break
			}
			page, err = c.client.Search(t.Context(), api.SearchQuery{Text: name}) // it waits for the rebuild
		}
		if want := i >= sessions-keep; err != nil || !page.Complete || len(page.Hits) == 1 != want || len(page.Hits) > 1 {
			t.Errorf("%s: %v, %+v, want it found: %v", name, err, page, want)
		}
	}
	left, err := c.client.Sessions(t.Context(), api.SessionQuery{Limit: 200})
	if err != nil || len(left.Data) != keep {
		t.Errorf("%d sessions are left, want %d: %v", len(left.Data), keep, err)
	}
	w.command("fsck")
	if _, err := os.Stat(searchindex.File(filepath.Join(w.home, "data"))); err != nil {
		t.Error(err)
	}
}
