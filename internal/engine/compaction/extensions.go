package compaction

import (
	"context"
	"errors"
	"strings"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
)

// maxInstructions bounds the bytes of the instructions for a summary with what extensions add.
const maxInstructions = 64 << 10

// consultExtensions shows the compaction to the extensions. It returns the instructions for the summary with what they
// add, and the extensions that did. If they refuse a compaction that a caller asked for, the refusal is recorded and
// returned.
func (k *Shrinker) consultExtensions(
	ctx context.Context, q *FitRequest, why Cause,
) (instructions string, by []string, err error) {
	v := extension.Compaction{SessionID: q.Session.ID, Manual: why.Request != nil}
	if v.Manual {
		v.Instructions = why.Request.Compaction.Instructions
	}
	instructions = v.Instructions
	by, err = why.Extensions.Compaction(ctx, &v)
	// A failure changes nothing: nothing is guarded here.
	if _, ok := errors.AsType[*extension.Error](err); ok || err == nil && len(by) == 0 {
		return instructions, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	if v.Manual && v.Refuse != "" {
		err := session.Errorf(session.CodeInvalid, "the extension %s refused the compaction: %s",
			strings.Join(by, ", "), v.Refuse)
		return "", nil, errors.Join(err, k.Refuse(ctx, q, why, err))
	}
	for _, text := range v.Context {
		instructions = strings.TrimSpace(instructions + "\n\n" + text)
	}
	return session.ClipText(instructions, maxInstructions), by, nil
}

// askToProceed asks the extensions whether the model goes on after the compaction. It returns those that end the work, nil
// if it goes on; a failure ends nothing.
func askToProceed(ctx context.Context, q *FitRequest, run *extension.Run) []string {
	if !run.HasProceed() {
		return nil
	}
	v := extension.Proceed{
		SessionID: q.Session.ID, Agent: q.Agent.ID, Model: q.Model.Ref, Overflow: q.Rejected, Enabled: true,
	}
	by, err := run.Proceed(ctx, &v)
	if err != nil || v.Enabled {
		return nil
	}
	return by
}
