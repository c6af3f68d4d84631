//go:build !linux

package terminal

import (
	"io"
	"time"
)

// AwaitPipe does nothing: only Linux says how much of a pipe is unread.
func AwaitPipe(io.Writer, time.Duration) error { return nil }
