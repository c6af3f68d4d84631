package audit

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// refusalInterval is the time between two entries about refused callers: they must not be able to fill the disk, or to
// displace other entries soon.
const refusalInterval = 10 * time.Minute

// RefusalCounter counts refused callers by reason, and adds an entry at most every ten minutes.
type RefusalCounter struct {
	Trail  *Trail
	Logger *slog.Logger

	mu    sync.Mutex // guards the rest
	count map[string]int
	last  string    // where the newest of them called from
	due   time.Time // of the next entry
}

// Count counts a caller. The reason is one of few.
func (c *RefusalCounter) Count(reason, from string) {
	c.addEntry(c.countCaller(reason, from, time.Now()))
}

// Flush adds an entry about the callers since the last one.
func (c *RefusalCounter) Flush() {
	c.mu.Lock()
	what := c.takeCounts()
	c.mu.Unlock()
	c.addEntry(what)
}

// countCaller returns the text of an entry if one is due.
func (c *RefusalCounter) countCaller(reason, from string, now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == nil {
		c.count = map[string]int{}
	}
	c.count[reason]++
	c.last = clip(from, maxWho)
	if now.Before(c.due) {
		return ""
	}
	c.due = now.Add(refusalInterval)
	return c.takeCounts()
}

// takeCounts returns the counts as text and forgets them. The caller holds the lock.
func (c *RefusalCounter) takeCounts() string {
	if len(c.count) == 0 {
		return ""
	}
	var counts []string
	for _, reason := range slices.Sorted(maps.Keys(c.count)) {
		counts = append(counts, fmt.Sprintf("%s %d", reason, c.count[reason]))
	}
	c.count = nil
	return "refused " + strings.Join(counts, ", ") + "; the last from " + c.last
}

// addEntry adds the entry as the server's own: it is about several callers.
func (c *RefusalCounter) addEntry(what string) {
	if what == "" {
		return
	}
	if err := c.Trail.AddEntry(context.Background(), KindRefused, what); err != nil {
		c.Logger.Error("refused callers could not be recorded", "error", err)
	}
}
