package systemcontext

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// observation is the result of loading one source.
type observation struct {
	key         string
	unavailable error // why there is no value
	value       value
	panicked    error
}

// LoadLimit bounds the loading of one source. A turn does not wait longer for a file system that hangs.
const LoadLimit = 2 * time.Second

// observe loads all sources once, concurrently, and keeps their order (SC-2). A source without an answer after
// LoadLimit is unavailable. A panic of a loader becomes an error, which ends one turn and not the process.
func observe(ctx context.Context, c Context) ([]observation, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	seen := make([]observation, len(c))
	loading := 0
	for i, s := range c {
		seen[i] = observation{key: s.key, unavailable: s.err, value: s.read}
		if s.load != nil {
			loading++
		}
	}
	if loading > 0 {
		observeLoaders(ctx, c, seen, loading)
	}
	if ctx.Err() != nil { // the result of a cancelled loader is invalid
		return nil, context.Cause(ctx)
	}
	for _, o := range seen {
		if o.panicked != nil {
			return nil, o.panicked
		}
	}
	return seen, nil
}

// observeLoaders runs the loaders. It does not wait for one that ignores the end of its ctx, such as one in a system
// call that hangs: its goroutine ends when the call returns.
func observeLoaders(ctx context.Context, c Context, seen []observation, loading int) {
	ctx, cancel := context.WithTimeout(ctx, LoadLimit)
	defer cancel()
	type result struct {
		at int
		observation
	}
	results := make(chan result, loading)
	for i, s := range c {
		if s.load != nil {
			seen[i].unavailable = fmt.Errorf("no answer within %v", LoadLimit)
			go func() { results <- result{i, s.observe(ctx)} }()
		}
	}
	for range loading {
		select {
		case r := <-results:
			seen[r.at] = r.observation
		case <-ctx.Done():
			return
		}
	}
}

// observe loads one source.
func (s Source) observe(ctx context.Context) (o observation) {
	o.key = s.key
	defer func() {
		if p := recover(); p != nil {
			o.panicked = fmt.Errorf("system context source %s: its loader panicked: %v\n%s", s.key, p, debug.Stack())
		}
	}()
	o.value, o.unavailable = s.load(ctx)
	return o
}
