//go:build !linux

package terminal

import "golang.org/x/term"

// disableEcho remembers the terminal's state; reading a password switches the echo off by itself.
func disableEcho(fd int) (restore func(), err error) {
	state, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(fd, state) }, nil // nothing else can be done about it
}

// DiscardInput does nothing here.
func DiscardInput(int) (lines int) { return 0 }
