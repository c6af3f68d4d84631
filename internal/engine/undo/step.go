package undo

import (
	"context"
	"crypto/sha1" //nolint:gosec // names a list of states
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/session"
)

// Step records the changes of the calls of one step: one request to the model and the calls of its answer. A nil Step
// records nothing; ForCall must not be called on it.
type Step struct {
	recorder *ChangeRecorder
	files    scope.Worktree
	session  session.ID
	prompt   session.MessageID

	mu      sync.Mutex                              // guards the rest
	changed map[session.FilePath]session.FileChange // by the calls of the step, as far as they are recorded
	watched bool                                    // a call ran a command
	tasks   session.MessageID                       // the turn, if a call of it lets a subagent work
}

// NewStep returns a step of the session that answers the prompt. It is nil if files is nil: snapshots are disabled.
func (r *ChangeRecorder) NewStep(files scope.Worktree, id session.ID, prompt session.MessageID) *Step {
	if files == nil {
		return nil
	}
	return &Step{
		recorder: r, files: files, session: id, prompt: prompt, changed: map[session.FilePath]session.FileChange{},
	}
}

// NoteTask notes that a call of the step, which is the turn m, lets a subagent work. Its changes are those of the step
// as well.
func (s *Step) NoteTask(m session.MessageID) {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tasks = m
	}
}

// UpdateDiff records in the background what the session changed until now, if a call of the step may have changed
// something.
func (s *Step) UpdateDiff(ctx context.Context) {
	if s == nil {
		return
	}
	s.mu.Lock()
	mayDiffer := s.watched || len(s.changed) > 0 || s.tasks != ""
	s.mu.Unlock()
	if mayDiffer {
		s.recorder.UpdateDiff(ctx, s.session, s.prompt, s.files)
	}
}

// maxEndWait bounds the time for which the end of a step waits for the changes of its commands.
const maxEndWait = 250 * time.Millisecond

// FillEnd sets the files of the step's end: the paths of those that differ, and names for their states before and after
// the step. It waits at most maxEndWait for changes of commands; those recorded later appear in the diffs only.
// The step's own calls add their changes to it while they run. Changes of subagents are not among them: a step with
// tasks reads all of its changes from the log instead.
func (s *Step) FillEnd(ctx context.Context, end *session.StepEnded) {
	if s == nil {
		return
	}
	// Wait for the changes of commands.
	s.mu.Lock()
	watched, tasks := s.watched, s.tasks
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, maxEndWait)
	defer cancel()
	if watched {
		_ = s.recorder.AwaitSession(ctx, s.session) // an error means that the time is over
	}
	// Sum the changes, with those of subagents.
	s.mu.Lock()
	changed := dropUnchanged(s.changed)
	s.mu.Unlock()
	if tasks != "" {
		found, _, err := s.recorder.ReadChanges(ctx, s.session, func(c CallChange) bool {
			return c.Origin.MessageID == tasks
		})
		if err == nil {
			changed = dropUnchanged(sumChanges(found))
		}
	}
	if len(changed) == 0 {
		return
	}
	// Name both states by a digest of the changed files.
	before, after := sha1.New(), sha1.New() //nolint:gosec // names a list of states
	for _, c := range changed {
		_, _ = fmt.Fprintf(before, "%s\x00%o %s\n", c.Path, c.Before.Mode, c.Before.Blob)
		_, _ = fmt.Fprintf(after, "%s\x00%o %s\n", c.Path, c.After.Mode, c.After.Blob)
		end.Files = append(end.Files, string(c.Path))
	}
	end.Before, end.Snapshot = hex.EncodeToString(before.Sum(nil)), hex.EncodeToString(after.Sum(nil))
}

// addChanges adds what a call of the step changed.
func (s *Step) addChanges(files []session.FileChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range files {
		addChange(s.changed, c)
	}
}
