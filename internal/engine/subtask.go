package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// A subtask of a prompt becomes a call of the tool task in a turn of its own, without a request to a model. Everything
// after the call is as if a model had made it: the child session, the settlement, and what a restart does.

// subtaskInput is the input of the call, in OpenCode's order.
type subtaskInput struct {
	Prompt      string `json:"prompt"`
	Description string `json:"description"`
	Agent       string `json:"subagent_type"`
	Command     string `json:"command,omitzero"`
}

// runSubtasks makes the calls of the first of the subtasks, and of those that can be done in the same turn.
func runSubtasks(ctx context.Context, d *drain, input *turnInput, subtasks []session.Subtask) (more bool, err error) {
	// Take those that run as the same agent with the same model: a turn has one of each.
	first := subtasks[0]
	if n := slices.IndexFunc(subtasks, func(s session.Subtask) bool { return !s.HasSameTurn(first) }); n > 0 {
		subtasks = subtasks[:n]
	}
	if first.Model != nil {
		if input.model, err = input.scope.ResolveModel(first.Model, input.agent); err != nil {
			return false, d.failModel(ctx, input, err)
		}
	}
	// Record a call for each, as if a model had answered with them.
	input.subtasks, input.output = subtaskCalls{}, nil
	t := newSubtaskTurn(d, input, first.Agent)
	for _, s := range subtasks {
		input, err := json.Marshal(subtaskInput{s.Prompt, describeSubtask(s), s.Agent, s.Command})
		if err != nil {
			return false, err
		}
		id := newCallID(d.engine.journal.Now(), d.engine.journal.NewPartID())
		if err := t.recorder.Record(ctx, llm.ToolCallEvent{ID: id, Name: tool.NameTask, Input: input}); err != nil {
			return false, err
		}
	}
	// Remember which call is which subtask, and complete the turn as any other.
	for i, c := range t.recorder.LocalCalls() {
		input.subtasks[c.PartID] = subtasks[i]
	}
	t.recorder.SetFinish(string(llm.FinishToolCalls), llm.Usage{})
	more, err = d.complete(ctx, t)
	d.step++
	return more, err
}

// describeSubtask returns a description that the tool accepts.
func describeSubtask(s session.Subtask) string {
	const most = 200 // characters
	about := []rune(cmp.Or(strings.TrimSpace(s.Description), s.Command, "subtask"))
	return string(about[:min(len(about), most)])
}

// newSubtaskTurn returns a turn that shows the subagent as its agent.
func newSubtaskTurn(d *drain, input *turnInput, agent string) *turn {
	shown := *input
	shown.agent.ID = agent
	t := d.newTurn(&shown, sentRequest{})
	t.input = input
	return t
}

// newCallID returns a ULID: providers accept the ids of calls that they did not make, but some of them no long ones.
func newCallID(now time.Time, seed session.PartID) string {
	sum := sha256.Sum256([]byte(seed))
	var id [20]byte // its last 16 bytes, since base 32 takes 5 bytes at once
	binary.BigEndian.PutUint64(id[2:], uint64(now.UnixMilli()))
	copy(id[10:], sum[:10])
	const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	return base32.NewEncoding(crockford).EncodeToString(id[:])[6:]
}

// reportText makes the model say what a command's subtask came to. It is OpenCode's.
const reportText = "Summarize the task tool output above and continue with your task."

// requestReport asks the model for a report on a subtask. The next turn answers that.
func requestReport(ctx context.Context, d *drain) error {
	return d.engine.journal.AppendFacts(ctx, d.id, &session.SyntheticAdded{
		MessageID: d.engine.journal.NewMessageID(), Text: reportText,
	})
}
