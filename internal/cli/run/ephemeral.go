package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// deletionTime bounds how long the end of a run waits until its ephemeral session is deleted.
const deletionTime = 10 * time.Second

// holdEphemeral marks the ephemeral session of the run as that of this process. Without one it does nothing.
func (r *promptRun) holdEphemeral(ctx context.Context) (release func(isGone bool), err error) {
	if !r.plan.ephemeral {
		return func(bool) {}, nil
	}
	return r.inv.Host.HoldSession(ctx, r.plan.options, r.plan.id)
}

// deleteEphemeral deletes the ephemeral session of the run, also after Ctrl-C, and reports whether it is gone. The run may
// have ended before it existed.
func (r *promptRun) deleteEphemeral(ctx context.Context) (isGone bool) {
	if !r.plan.ephemeral {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deletionTime)
	defer cancel()
	err := r.client.Delete(ctx, r.plan.id)
	if err == nil || errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		return true
	}
	r.printer.ShowNote(fmt.Sprintf("the session could not be deleted: %v; cairn deletes it later, or now: "+
		"cairn session delete %s", err, r.plan.id))
	return false
}
