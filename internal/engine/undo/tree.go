package undo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// maxTree bounds the sessions below one whose changes count as its own.
const maxTree = 10_000

// readTasks returns the calls of the tool task of the session, without those that were removed. before is what it
// returned the last time.
func (r *ChangeRecorder) readTasks(ctx context.Context, id session.ID, before taskIndex) (t taskIndex, err error) {
	if t = before; t.calls == nil {
		t.calls, t.prompts = map[session.MessageID]Call{}, map[session.MessageID]session.MessageID{}
	}
	// Read what is new. The mark avoids decoding every call of a long session.
	mark := []byte(`"tool":"` + tool.NameTask + `"`)
	err = r.journal.Store.View(ctx, func(rd store.Reader) error {
		rows, err := rd.Events(id, t.seq, 0, session.KindStepStarted, session.KindToolCalled)
		rows = slices.DeleteFunc(rows, func(row store.EventRow) bool {
			return row.Kind == session.KindToolCalled && !bytes.Contains(row.Data, mark)
		})
		events, err := eventlog.DecodeAll(rows, err)
		if err != nil {
			return err
		}
		for _, e := range events {
			t.seq = e.Seq
			t.addEvent(id, e.Data)
		}
		return t.dropRemoved(rd, id)
	})
	if err != nil {
		return t, fmt.Errorf("read the tasks of session %s: %w", id, err)
	}
	return t, nil
}

// addEvent adds the call that the event begins.
func (t *taskIndex) addEvent(id session.ID, d session.EventData) {
	switch d := d.(type) {
	case *session.StepStarted:
		t.prompts[d.AssistantMessageID] = d.ParentID
	case *session.ToolCalled:
		if turn := d.AssistantMessageID; d.Tool == tool.NameTask {
			t.calls[session.TaskPromptID(d.PartID)] = Call{id, turn, t.prompts[turn], d.PartID, d.CallID}
		}
	}
}

// dropRemoved removes the calls of removed messages and parts.
func (t *taskIndex) dropRemoved(rd store.Reader, id session.ID) error {
	s, err := store.FindSession(rd, id)
	if err != nil || s.Edits == 0 {
		return err
	}
	for prompt, c := range t.calls {
		m, _, err := store.FindMessage(rd, id, c.MessageID)
		if err != nil {
			return err
		}
		if !hasPart(m, c.PartID) {
			delete(t.calls, prompt)
		}
	}
	return nil
}

// ListTasks returns the calls of the tool task in the messages that began work, by the session of the work.
func ListTasks(messages []session.Message) map[session.ID]*session.Tool {
	out := map[session.ID]*session.Tool{}
	for _, m := range messages {
		a, isTurn := m.(*session.Assistant)
		if !isTurn {
			continue
		}
		for _, call := range a.Tools() {
			var task tool.TaskSession
			if call.Name == tool.NameTask && json.Unmarshal(call.State.Structured, &task) == nil && task.SessionID != "" {
				out[task.SessionID] = call
			}
		}
	}
	return out
}

// listTree returns the sessions below the session, parents before their children.
func listTree(ctx context.Context, st store.Store, id session.ID) (tree []*session.Session, err error) {
	all, err := store.Query(ctx, st, func(r store.Reader) ([]*session.Session, error) {
		return store.ReadSessions(r, store.SessionQuery{Ancestor: id, Archived: true, Oldest: true, Limit: maxTree})
	})
	known := map[session.ID]bool{id: true}
	for more := true; more; {
		more = false
		for _, s := range all {
			if known[s.ParentID] && !known[s.ID] {
				tree, known[s.ID], more = append(tree, s), true, true
			}
		}
	}
	return tree, err
}

// mergeTree returns the ledger with the changes of the sessions that work for tasks of its session. Changes that have
// another reason, such as a prompt of the user for a subagent, are left out. The result shares what it does not change
// with l, which the caller holds for as long as it uses the result.
//
// The sessions are read from the top down: the origin of a nested task is that of the task above it.
func (r *ChangeRecorder) mergeTree(ctx context.Context, id session.ID, l *Ledger) (*Ledger, error) {
	tree, err := listTree(ctx, r.journal.Store, id)
	if err != nil {
		return nil, err
	}
	// Begin with the session's own changes.
	out := &Ledger{
		Changes: slices.Clip(l.Changes), Gaps: slices.Clip(l.Gaps), commands: slices.Clip(l.commands), counts: l.counts,
		beside: map[session.ID]*Ledger{id: l}, tree: map[session.ID]bool{id: true},
	}
	ledgers := map[session.ID]*Ledger{id: l}
	origins := map[session.MessageID]Call{} // by the prompt of a task
	for _, s := range tree {
		// Find the prompts of the tasks that the parent began, with the call of the top session behind each.
		parent := ledgers[s.ParentID]
		if parent.tasks, err = r.readTasks(ctx, s.ParentID, parent.tasks); err != nil {
			return nil, err
		}
		for prompt, call := range parent.tasks.calls {
			if s.ParentID == id {
				origins[prompt] = call
			} else if origin, ok := origins[call.PromptID]; ok {
				origins[prompt] = origin
			}
		}
		// Add what the session changed for these prompts.
		child, err := r.takeLedger(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		defer r.putLedger(s.ID, child)
		ledgers[s.ID], out.tree[s.ID] = child, true
		changed := len(out.Changes)
		commands := out.addTask(child, origins)
		out.beside[s.ID] = &Ledger{commands: commands, Changes: slices.Clone(out.Changes[changed:])}
	}
	return out, r.readBeside(ctx, out)
}

// addTask adds the changes of a subagent for tasks, whose origins are those by prompt. It returns the commands of the
// subagent, with their origins.
func (l *Ledger) addTask(child *Ledger, origins map[session.MessageID]Call) (commands []*command) {
	// Changes and gaps count for the call that gave the subagent its prompt.
	for _, c := range child.Changes {
		if origin, ok := origins[c.PromptID]; ok {
			c.Origin, c.By = origin, []session.ID{c.SessionID}
			l.Changes = append(l.Changes, c)
		}
	}
	for _, g := range child.Gaps {
		if origin, ok := origins[g.PromptID]; ok {
			g.Origin = origin
			l.Gaps = append(l.Gaps, g)
		}
	}
	// So do its commands; all of them are returned, also those of other prompts.
	for _, c := range child.copyCommands() {
		origin, ok := origins[c.PromptID]
		if c.origin = origin; ok {
			l.commands = append(l.commands, c)
		}
		commands = append(commands, c)
	}
	return commands
}

// copyCommands returns copies of the commands, which stay as they are.
func (l *Ledger) copyCommands() (out []*command) {
	for _, c := range l.commands {
		same := *c
		out = append(out, &same)
	}
	return out
}

// readBeside reads the commands of the sessions that may have made changes of l instead.
func (r *ChangeRecorder) readBeside(ctx context.Context, l *Ledger) error {
	for _, c := range l.Changes {
		for _, id := range c.Beside {
			if _, known := l.beside[id]; known {
				continue
			}
			l.beside[id] = nil
			theirs, err := r.takeLedger(ctx, id)
			if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
				continue
			}
			if err != nil {
				return err
			}
			l.beside[id] = &Ledger{commands: theirs.copyCommands(), Changes: slices.Clone(theirs.Changes)}
			r.putLedger(id, theirs)
		}
	}
	return nil
}

// useLedger calls use with what was recorded until now of the session and of the sessions that work for its tasks,
// without the changes of removed messages and parts. use must not hold on to the ledger.
func (r *ChangeRecorder) useLedger(ctx context.Context, id session.ID, use func(*Ledger)) error {
	l, err := r.takeLedger(ctx, id)
	if err != nil {
		return err
	}
	defer r.putLedger(id, l)
	merged, err := r.mergeTree(ctx, id, l)
	if err == nil {
		use(merged)
	}
	return err
}

// ReadChanges returns the selected changes of the session and of the sessions that work for its tasks, as
// Ledger.SelectChanges, and the calls some of whose changes are not known, also those that were interrupted. It waits
// until the changes of commands that have ended are recorded; if that takes too long, it returns a conflict.
func (r *ChangeRecorder) ReadChanges(
	ctx context.Context, id session.ID, selected func(CallChange) bool,
) (found []CallChange, gaps []Gap, err error) {
	late, cancel := context.WithTimeoutCause(ctx, recordTime, session.Errorf(session.CodeConflict,
		"session %s: the files that its last command changed are still being recorded; try again in a moment", id))
	defer cancel()
	if err := r.awaitTree(late, id); err != nil {
		return nil, nil, err
	}
	err = r.useLedger(ctx, id, func(l *Ledger) {
		found = l.SelectChanges(selected)
		l.closeCommands()
		gaps = l.Gaps
	})
	return found, gaps, err
}

// recordTime bounds the time for which a request waits until changes are recorded.
const recordTime = 20 * time.Second

// awaitTree waits until no task of the session and of the sessions below it is left. Its error is the cause of ctx's
// end.
func (r *ChangeRecorder) awaitTree(ctx context.Context, id session.ID) error {
	tree, err := listTree(ctx, r.journal.Store, id)
	if err != nil {
		return err
	}
	for _, s := range tree {
		if err := r.AwaitSession(ctx, s.ID); err != nil {
			return err
		}
	}
	return r.AwaitSession(ctx, id)
}
