package systemcontext

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
)

// Producer returns the current sources of one registration; an empty Context if they are absent. It is called at every
// boundary, concurrently with other producers, with a ctx that ends after LoadLimit, and must return soon after that:
// what it cannot know by then is unavailable.
type Producer func(ctx context.Context) Context

// Registry holds the producers of one location. The zero value is ready to use; safe for concurrent use.
type Registry struct {
	mu      sync.Mutex // guards entries
	entries map[string]*Producer
}

// Register adds a producer under a key with the syntax of source keys; a key in use is a *KeyError. Calling remove ends
// the registration at the next boundary. It may be called more than once.
func (r *Registry) Register(key string, p Producer) (remove func(), err error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries[key] != nil {
		return nil, &KeyError{key, "is registered already"}
	}
	if r.entries == nil {
		r.entries = map[string]*Producer{}
	}
	mine := &p
	r.entries[key] = mine
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.entries[key] == mine {
			delete(r.entries, key)
		}
	}, nil
}

// Load runs all producers concurrently and combines their sources in key order.
func (r *Registry) Load(ctx context.Context) (Context, error) {
	// Copy the entries, so that the producers run without the lock.
	r.mu.Lock()
	entries := maps.Clone(r.entries)
	r.mu.Unlock()
	keys := slices.Sorted(maps.Keys(entries))
	parts := make([]Context, len(keys))
	errs := make([]error, len(keys))
	// Run all producers within one time limit. A panic becomes the error of its producer.
	limited, cancel := context.WithTimeout(ctx, LoadLimit)
	defer cancel()
	var wg sync.WaitGroup
	for i, key := range keys {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("system context producer %s panicked: %v\n%s", key, p, debug.Stack())
				}
			}()
			parts[i] = (*entries[key])(limited)
		})
	}
	wg.Wait()
	// If the caller has given up, the parts are incomplete.
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// Report the first panic in key order, so that the result does not depend on timing.
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return Combine(parts...)
}
