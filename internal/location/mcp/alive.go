package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pingTime bounds the answer to a ping.
const pingTime = 10 * time.Second

// noteSilence has the server pinged if a request ended without an answer and no other call runs: a server that hangs
// would take the next call too. While others run, the last of them that ends without an answer has it pinged.
func (s *server) noteSilence(conn *connection, err error) {
	isSilent := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	if !isSilent || s.calls.count() > 0 {
		return
	}
	select {
	case conn.suspect <- struct{}{}:
	default:
	}
}

// checkAlive returns an error if the server does not answer a ping within a time. Another failure is an answer. Calls
// that the server was sent meanwhile fail with the same error when its program is ended.
func (c *connection) checkAlive(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := c.Ping(ctx, nil); errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it hangs: after a call without an answer it did not answer a ping within %v", limit)
		if c.child != nil {
			c.child.NoteFailure(err)
		}
		return err
	}
	return nil
}
