package changes

import (
	"context"
	"crypto/sha1" //nolint:gosec // names a list of states as git would, and protects nothing
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Step records the changes of the calls of one turn. A nil Step records nothing.
type Step struct {
	recorder *ChangeRecorder
	files    location.Worktree
	session  session.ID
	prompt   session.MessageID

	mu      sync.Mutex           // guards the rest
	changed []session.FileChange // by the calls of the step, as far as it is known
	watched bool
}

// NewStep returns a step of the session that answers the prompt; nil if files is nil.
func (r *ChangeRecorder) NewStep(files location.Worktree, id session.ID, prompt session.MessageID) *Step {
	if files == nil {
		return nil
	}
	return &Step{recorder: r, files: files, session: id, prompt: prompt}
}

// ForCall returns the recorder of a call of the turn m.
func (s *Step) ForCall(m session.MessageID, part session.PartID, call string) *CallRecorder {
	return &CallRecorder{s, Call{SessionID: s.session, MessageID: m, PromptID: s.prompt, PartID: part, CallID: call}}
}

// UpdateDiff records in the background what the session changed until now, if a call of the step may have changed
// something.
func (s *Step) UpdateDiff(ctx context.Context) {
	if s == nil {
		return
	}
	s.mu.Lock()
	mayDiffer := s.watched || len(s.changed) > 0
	s.mu.Unlock()
	if mayDiffer {
		s.recorder.UpdateDiff(ctx, s.session, s.prompt, s.files)
	}
}

// endTime bounds the time for which the end of a step waits for what its commands changed.
const endTime = 250 * time.Millisecond

// FillEnd names the files that the calls of the step changed, and their states before and after, in the turn's end.
// What a command changed in a worktree that takes longer to capture is in the diffs only.
func (s *Step) FillEnd(ctx context.Context, end *session.StepEnded) {
	if s == nil {
		return
	}
	s.mu.Lock()
	watched := s.watched
	s.mu.Unlock()
	if watched {
		ctx, cancel := context.WithTimeout(ctx, endTime)
		defer cancel()
		_ = s.recorder.AwaitSession(ctx, s.session) // an error is the end of the time
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.changed) == 0 {
		return
	}
	before, after := sha1.New(), sha1.New() //nolint:gosec // see above
	for _, c := range s.changed {
		_, _ = fmt.Fprintf(before, "%s\x00%o %s\n", c.Path, c.Before.Mode, c.Before.Blob)
		_, _ = fmt.Fprintf(after, "%s\x00%o %s\n", c.Path, c.After.Mode, c.After.Blob)
		end.Files = append(end.Files, string(c.Path))
	}
	slices.Sort(end.Files)
	end.Files = slices.Compact(end.Files)
	end.Before, end.Snapshot = hex.EncodeToString(before.Sum(nil)), hex.EncodeToString(after.Sum(nil))
}

// captureTime bounds the time that capturing a worktree after a command takes.
const captureTime = 2 * time.Minute

// The bounds of the files that one command changes.
const (
	maxChanged = 5000
	maxOmitted = 50 // that are named
)

// CallRecorder records the changes of one call. It implements tool.FileRecorder.
type CallRecorder struct {
	step *Step
	call Call
}

// RecordWrites keeps the contents before and after the changes and records them.
func (c *CallRecorder) RecordWrites(ctx context.Context, writes []tool.FileWrite) error {
	fact := &session.FilesWriting{
		MessageID: c.call.MessageID,
		PromptID:  c.call.PromptID,
		CallID:    c.call.CallID,
		PartID:    c.call.PartID,
	}
	for _, w := range writes {
		change := session.FileChange{Path: relativePath(c.step.files.Root(), w.Path)}
		for _, side := range []struct {
			content []byte
			state   *session.PathState
		}{{w.Before, &change.Before}, {w.After, &change.After}} {
			if side.content == nil {
				continue
			}
			mode := session.ModeFile
			if w.Executable {
				mode = session.ModeExecutable
			}
			state, err := c.step.files.Put(ctx, side.content, mode)
			if err != nil {
				return err
			}
			*side.state = state
		}
		fact.Files = append(fact.Files, change)
	}
	if err := c.step.files.PinBlobs(ctx, c.call.SessionID, blobsOf(fact.Files)); err != nil {
		return err
	}
	if err := c.step.recorder.journal.AppendFacts(ctx, c.call.SessionID, fact); err != nil {
		return err
	}
	c.step.recorder.watches.excludeWrites(c.step.files.Root(), fact.Files)
	c.step.addChanges(fact.Files)
	return nil
}

func (s *Step) addChanges(files []session.FileChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = append(s.changed, files...)
}

// relativePath returns the path as the record names it: relative to root, or absolute outside of it.
func relativePath(root, path string) session.FilePath {
	rel, err := filepath.Rel(root, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return session.FilePath(filepath.ToSlash(path))
	}
	return session.FilePath(filepath.ToSlash(rel))
}

// WatchTree captures the worktree before a command, and after it in the background. Without a capture the command runs
// all the same, and its changes are recorded as unknown.
func (c *CallRecorder) WatchTree(ctx context.Context) (done func()) {
	recorder, files := c.step.recorder, c.step.files
	if err := recorder.AwaitSession(ctx, c.call.SessionID); err != nil {
		return func() {}
	}
	c.step.mu.Lock()
	c.step.watched = true
	c.step.mu.Unlock()
	w := recorder.watches.startWatch(files.Root(), c.call.SessionID)
	before, err := files.CaptureTree(ctx)
	fact := &session.TreeCaptured{
		MessageID: c.call.MessageID, PromptID: c.call.PromptID, CallID: c.call.CallID, PartID: c.call.PartID,
	}
	if err != nil {
		fact.Error = err.Error()
	}
	if err := recorder.journal.AppendFacts(ctx, c.call.SessionID, fact); err != nil || fact.Error != "" {
		recorder.watches.endWatch(w)
		c.logFailure(err)
		return func() {}
	}
	return func() {
		recorder.StartTask(c.call.SessionID, func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), captureTime)
			defer cancel()
			c.recordTree(ctx, w, before)
		})
	}
}

// recordTree records what a command changed.
func (c *CallRecorder) recordTree(ctx context.Context, w *watch, before string) {
	fact := &session.TreeChanged{
		MessageID: c.call.MessageID, PromptID: c.call.PromptID, CallID: c.call.CallID, PartID: c.call.PartID,
	}
	after, err := c.step.files.CaptureTree(ctx)
	others, beside := c.step.recorder.watches.endWatch(w)
	if err == nil {
		fact.Files, fact.Omitted, err = c.step.files.Compare(ctx, before, after, maxChanged)
		fact.Omitted = fact.Omitted[:min(len(fact.Omitted), maxOmitted)]
	}
	fact.Files = slices.DeleteFunc(fact.Files, func(f session.FileChange) bool {
		_, byOthers := slices.BinarySearch(others, f.Path)
		return byOthers
	})
	if len(fact.Files) > 0 {
		fact.Beside = beside
	}
	if err == nil {
		err = c.step.files.PinBlobs(ctx, c.call.SessionID, blobsOf(fact.Files))
	}
	if err != nil {
		fact.Files, fact.Error = nil, err.Error()
	}
	c.step.addChanges(fact.Files)
	c.logFailure(c.step.recorder.journal.AppendFacts(ctx, c.call.SessionID, fact))
}

// RecordUnknown records that the changes of the call are not known.
func (c *CallRecorder) RecordUnknown(ctx context.Context, reason string) {
	c.logFailure(c.step.recorder.journal.AppendFacts(ctx, c.call.SessionID, &session.TreeCaptured{
		MessageID: c.call.MessageID, PromptID: c.call.PromptID, CallID: c.call.CallID, PartID: c.call.PartID, Error: reason,
	}))
}

func (c *CallRecorder) logFailure(err error) {
	if err != nil {
		c.step.recorder.journal.Logger.Warn("what a call changes in files could not be recorded",
			"session", c.call.SessionID, "call", c.call.CallID, "error", err)
	}
}
