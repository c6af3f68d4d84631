// Package fault names the places where a crash or an error is worth trying, and makes it happen there when a test asks
// for it. A Point costs one atomic load while nothing was asked for.
//
// What happens is said by a spec: entries separated by ";", each
//
//	point#n=kill | panic | error | delay:50ms
//
// for the n-th time that the point is passed ("#*" every time, no "#" the first). kill ends the process as SIGKILL
// does. A process honours the environment variable CAIRN_FAULT if its main calls FromEnvironment; tests call Set.
//
// The package imports the standard library only.
package fault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Variable is the environment variable that FromEnvironment reads.
const Variable = "CAIRN_FAULT"

// ErrInjected is the cause of every error that a Point returns on request.
var ErrInjected = errors.New("injected fault")

// active is what was asked for, nil in every process that nobody tests. It is the one variable of the package: a Point
// has to be reachable from everywhere without being handed down.
var active atomic.Pointer[plan]

type plan struct {
	mu    sync.Mutex // guards hits
	hits  map[Name]int64
	rules map[Name][]rule
}

// Point passes the point. It returns an ErrInjected if the spec says so, else nil; it may also not return, panic, or
// wait until ctx ends.
func Point(ctx context.Context, n Name) error {
	p := active.Load()
	if p == nil {
		return nil
	}
	return p.hit(ctx, n)
}

func (p *plan) hit(ctx context.Context, n Name) error {
	p.mu.Lock()
	p.hits[n]++
	hit := p.hits[n]
	p.mu.Unlock()
	for _, r := range p.rules[n] {
		if r.nth == 0 || r.nth == hit {
			if err := r.trigger(ctx, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r rule) trigger(ctx context.Context, n Name) error {
	switch r.action {
	case actKill:
		kill()
	case actPanic:
		panic(fmt.Sprintf("injected fault at %s", n))
	case actError:
		return fmt.Errorf("%w at %s", ErrInjected, n)
	case actDelay:
		t := time.NewTimer(r.delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// kill ends the process as if the kernel had: no deferred function runs, no buffer is written.
func kill() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {} // the signal is on its way
}

// Set asks for the faults of the spec and starts counting hits; an empty spec only counts. It replaces what was asked
// for before and returns what brings that back. Tests that use it do not run in parallel.
func Set(spec string) (restore func(), err error) {
	rules, err := parse(spec)
	if err != nil {
		return func() {}, err
	}
	old := active.Swap(&plan{hits: map[Name]int64{}, rules: rules})
	return func() { active.Store(old) }, nil
}

// FromEnvironment does what Set does with the value of CAIRN_FAULT, nothing if it is not set.
func FromEnvironment() error {
	spec, ok := os.LookupEnv(Variable)
	if !ok {
		return nil
	}
	_, err := Set(spec)
	if err != nil {
		return fmt.Errorf("%s: %w", Variable, err)
	}
	return nil
}

// HitCounts returns how often each point was passed since Set; nil if nothing was set.
func HitCounts() map[Name]int64 {
	p := active.Load()
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.hits)
}
