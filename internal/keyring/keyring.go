// Package keyring keeps small secrets where the operating system keeps its own: with the Secret Service of a desktop over
// D-Bus, in the keychain of macOS, in the credentials of Windows.
//
// What it promises. Nothing is started to find out whether there is a keyring, and where there is none nothing is said.
// Every call ends when its context does, and after seconds where no person is asked. What answers is not believed: it can
// neither keep a call for long nor make it hold more than a megabyte. Nobody is asked anything but by Put, and by Drop if
// it may: a keyring that is locked is, to all others, one that cannot be read now.
package keyring

import (
	"context"
	"errors"
)

// Ring holds secrets by name, all of one application. It is safe for concurrent use.
type Ring interface {
	// Title is what people call it.
	Title() string
	// Put keeps a secret in place of what the name had.
	Put(ctx context.Context, name, secret string) error
	// Get returns a secret, or ErrNone.
	Get(ctx context.Context, name string) (string, error)
	// Drop forgets a secret; one that is not there is no error. With ask, somebody may be asked to open the keyring.
	Drop(ctx context.Context, name string, ask bool) error
}

// Errors of rings. Others are the system's own.
var (
	ErrNone   = errors.New("the keyring does not have it")
	ErrLocked = errors.New("the keyring is locked")
)

// application is by which our secrets are told from those of others.
const application = "cairn"
