// Package keyring stores small secrets in the keyring of the operating system: the Secret Service on Linux and BSD, the
// keychain on macOS, the credential store on Windows.
//
// Open starts no process and prints nothing, also where there is no keyring. Every call ends when its context does.
// Only Set, and Delete if it is allowed to, may prompt the user; to Get a locked keyring is one that it cannot read.
package keyring

import (
	"context"
	"errors"
	"fmt"
)

// Keyring stores the secrets of cairn by name. It is safe for concurrent use.
type Keyring interface {
	// Set stores a secret and replaces the one that the name has.
	Set(ctx context.Context, name, secret string) error
	// Get returns a secret, or ErrNotFound.
	Get(ctx context.Context, name string) (string, error)
	// Delete removes a secret; a missing one is no error. With prompt, the user may be asked to unlock the keyring.
	Delete(ctx context.Context, name string, prompt bool) error
}

// Errors of keyrings. All others come from the operating system.
var (
	ErrNotFound = errors.New("the keyring has no such entry")
	ErrLocked   = errors.New("the keyring is locked")
	errTimeout  = errors.New("the keyring does not answer")
)

// application marks the entries of cairn among those of other programs.
const application = "cairn"

// caller bounds calls of a library that knows no context. A call that outlives its context goes on in the background
// and keeps the slot, so that a keyring that hangs costs one goroutine, however often it is called.
type caller struct {
	slot chan struct{} // capacity 1
}

func newCaller() caller { return caller{slot: make(chan struct{}, 1)} }

// call runs f and returns its result, or onTimeout if ctx ends first.
func (c caller) call(ctx context.Context, onTimeout error, f func() (string, error)) (string, error) {
	select {
	case <-ctx.Done():
		return "", onTimeout
	case c.slot <- struct{}{}:
	}
	type result struct {
		secret string
		err    error
	}
	done := make(chan result, 1)
	go func() { // ends with f; the process does not wait for it
		defer func() { <-c.slot }()
		secret, err := runRecovered(f)
		done <- result{secret, err}
	}()
	select {
	case <-ctx.Done():
		return "", onTimeout
	case r := <-done:
		return r.secret, r.err
	}
}

// runRecovered turns a panic of f into an error. go-keyring panics if the bus closes while the user is being prompted,
// and if a service replies with unexpected types.
func runRecovered(f func() (string, error)) (secret string, err error) {
	defer func() {
		if p := recover(); p != nil {
			secret, err = "", fmt.Errorf("the keyring: unexpected reply: %v", p)
		}
	}()
	return f()
}
