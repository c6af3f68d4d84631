package task

import (
	"context"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// taskEnd is the end of the work on a task.
type taskEnd struct {
	reached bool
	text    string // of the report
	failure error  // for the model; nil if the work is done
}

// findPrompt returns the prompt of the task, nil if it was not admitted, and the messages of its session from the
// prompt on.
func (r *Runner) findPrompt(
	ctx context.Context, prompt session.MessageID,
) (in *session.Input, ms []session.Message, err error) {
	err = r.Journal.Store.View(ctx, func(r store.Reader) error {
		found, ok, err := store.FindInput(r, prompt)
		if err != nil || !ok {
			return err
		}
		if in = found; in.PromotedSeq != nil {
			ms, err = store.ReadMessages(r, in.SessionID, store.MessageQuery{After: *in.PromotedSeq - 1})
		}
		return err
	})
	return in, ms, err
}

// readEnd returns how the work on the task ended; not reached if it did not.
func (r *Runner) readEnd(ctx context.Context, t session.TaskJob) (end taskEnd, err error) {
	// The work has ended if its prompt was promoted and no turn must follow.
	in, ms, err := r.findPrompt(context.WithoutCancel(ctx), t.PromptID)
	if err != nil || in == nil || in.PromotedSeq == nil || session.NextOf(ms).NeedsTurn() {
		return end, err
	}
	return describeEnd(ms, t), nil
}

// describeEnd describes the end of a task whose session has these messages since the prompt: the newest turn is the
// report, or the reason why the task has none.
func describeEnd(ms []session.Message, t session.TaskJob) taskEnd {
	end := taskEnd{reached: true}
	for _, m := range slices.Backward(ms) {
		a, ok := m.(*session.Assistant)
		if !ok {
			continue
		}
		if a.Error != nil {
			end.failure = describeFailure(a.Error, t)
			return end
		}
		if end.text = a.LastText(); strings.TrimSpace(end.text) == "" {
			end.text = "[The subagent ended without a report"
			if len(a.Tools()) > 0 {
				end.text += ": it used up its steps"
			}
			end.text += ". To ask for one, call task with the task_id " + string(t.SessionID) + ".]"
		}
		if how := session.DescribeFinish(a.Finish); how != "" {
			end.text += "\n\n[The report is not complete: " + how + ".]"
		}
		return end
	}
	end.failure = tool.Failf("The task ended without an answer. Its session is %s.", t.SessionID)
	return end
}

// describeFailure returns the error of the call. Where a declined ask ends the work of a run, it ends that of the
// caller too.
func describeFailure(f *session.Failure, t session.TaskJob) error {
	child := t.SessionID
	declined := f.Reason == session.ReasonDenied || f.Reason == session.ReasonDoomLoop
	if declined && ask.PolicyKind(t.Asks) == ask.PolicyFail {
		return &tool.Denial{
			Action: tool.NameTask, Resources: []string{string(child)}, Feedback: f.Message, Stop: true, ByPolicy: true,
		}
	}
	switch f.Reason {
	case session.ReasonAborted:
		return tool.Failf("The task was cancelled. To continue it, call task with the task_id %s.", child)
	case session.ReasonDenied:
		return tool.Failf("Subagent failed (task_id: %s): %s", child, (&tool.Denial{}).Error())
	default:
		return tool.Failf("Subagent failed (task_id: %s): %s", child, f.PublicForm("").Data.Message)
	}
}
