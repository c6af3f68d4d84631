//go:build !linux

package cli

import "golang.org/x/term"

// hideTyping remembers the terminal's state; reading a password switches the echo off by itself.
func hideTyping(fd int) (restore func(), err error) {
	state, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(fd, state) }, nil // nothing else can be done about it
}

// forgetTyped does nothing here.
func forgetTyped(int) {}
