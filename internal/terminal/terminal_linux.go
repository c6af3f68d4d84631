package terminal

import "golang.org/x/sys/unix"

// disableEcho switches the echo off and forgets what was typed so far. restore puts the terminal back.
func disableEcho(fd int) (restore func(), err error) {
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(fd, unix.TCSETSF, &hidden); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, before) }, nil // nothing else can be done about it
}

// DiscardInput drops what was typed before a question was shown: it cannot be an answer to it.
func DiscardInput(fd int) { _ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) } // a terminal that cannot keeps it
