package systemcontext

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// observation is the result of loading one source.
type observation struct {
	key         string
	unavailable error // why there is no value
	value       value
}

// observe runs all loaders concurrently, once, and keeps the order of the sources (SC-2). A panic of a loader becomes
// an error, which ends one turn and not the process.
func observe(ctx context.Context, c Context) ([]observation, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	seen := make([]observation, len(c))
	errs := make([]error, len(c))
	var wg sync.WaitGroup
	for i, s := range c {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf(
						"system context source %s: its loader panicked: %v\n%s",
						s.key,
						p,
						debug.Stack(),
					)
				}
			}()
			seen[i].key = s.key
			seen[i].value, seen[i].unavailable = s.observe(ctx)
		})
	}
	wg.Wait()
	if ctx.Err() != nil { // the result of a cancelled loader is invalid
		return nil, context.Cause(ctx)
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return seen, nil
}
