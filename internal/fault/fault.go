// Package fault injects crashes and errors at named points of the code when a test requests them. A Point costs one
// atomic load while no fault is requested.
//
// Faults are requested by a spec: entries separated by ";", each
//
//	point#n=kill | panic | error | delay:50ms
//
// for the n-th time that the point is passed ("#*" every time; without "#" the first time). kill ends the process like
// SIGKILL. A process reads the environment variable CAIRN_FAULT if its main calls FromEnvironment; tests call Set.
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

// ErrInjected is the cause of every injected error.
var ErrInjected = errors.New("injected fault")

// active is the requested plan, nil unless a test set one. It is the only package variable, because a Point must be
// reachable from everywhere without being passed along.
var active atomic.Pointer[plan]

type plan struct {
	mu    sync.Mutex // guards hits
	hits  map[Name]int64
	rules map[Name][]rule
}

// PassPoint marks that the point is passed. It returns an ErrInjected if the spec requests an error, else nil; it may
// also not return, panic, or wait until ctx ends.
func PassPoint(ctx context.Context, n Name) error {
	p := active.Load()
	if p == nil {
		return nil
	}
	return p.recordHit(ctx, n)
}

func (p *plan) recordHit(ctx context.Context, n Name) error {
	p.mu.Lock()
	p.hits[n]++
	hit := p.hits[n]
	p.mu.Unlock()
	for _, r := range p.rules[n] {
		if r.nth == 0 || r.nth == hit {
			if err := r.triggerAction(ctx, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r rule) triggerAction(ctx context.Context, n Name) error {
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

// kill ends the process without running deferred functions or flushing buffers.
func kill() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {} // the signal is on its way
}

// Set requests the faults of the spec and starts counting hits; an empty spec only counts. It replaces the previous
// plan and returns a function that restores it. Tests that use it must not run in parallel.
func Set(spec string) (restore func(), err error) {
	rules, err := parse(spec)
	if err != nil {
		return func() {}, err
	}
	old := active.Swap(&plan{hits: map[Name]int64{}, rules: rules})
	return func() { active.Store(old) }, nil
}

// FromEnvironment calls Set with the value of CAIRN_FAULT; it does nothing if the variable is not set.
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

// HitCounts returns how often each point was passed since Set, nil without Set.
func HitCounts() map[Name]int64 {
	p := active.Load()
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.hits)
}
