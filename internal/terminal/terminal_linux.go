package terminal

import (
	"bytes"

	"golang.org/x/sys/unix"
)

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

// DiscardInput drops what was typed before a question was shown: it cannot be an answer to it. It returns how many
// complete lines it dropped, and does not wait. No other goroutine may read the terminal.
func DiscardInput(fd int) (lines int) {
	var buf [4096]byte // a line of a terminal fits
	ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for range maxDiscarded {
		n, err := unix.Poll(ready, 0)
		if err != nil || n == 0 || ready[0].Revents&unix.POLLIN == 0 {
			break
		}
		if n, err = unix.Read(fd, buf[:]); err != nil || n <= 0 {
			break
		}
		lines += bytes.Count(buf[:n], []byte("\n"))
	}
	_ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) // a terminal that cannot keeps the unfinished line
	return lines
}

// maxDiscarded bounds the reads of DiscardInput.
const maxDiscarded = 1000
