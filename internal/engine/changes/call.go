package changes

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// maxCaptureTime bounds the capture and comparison of a worktree after a command.
const maxCaptureTime = 2 * time.Minute

// The bounds of the files that one command changes.
const (
	maxChanged = 5000 // more are not recorded: the changes are unknown
	maxOmitted = 50   // those that no capture has, and that are named
)

// CallRecorder records the changes of one call. It implements tool.FileRecorder.
type CallRecorder struct {
	step *Step
	call Call
}

// ForCall returns the recorder of a call of the turn m, whose part and id are those of the call.
func (s *Step) ForCall(m session.MessageID, part session.PartID, call string) *CallRecorder {
	return &CallRecorder{s, Call{SessionID: s.session, MessageID: m, PromptID: s.prompt, PartID: part, CallID: call}}
}

// RecordWrites stores and pins the contents before and after the changes, and records the changes. A file tool calls it
// before it writes, and must not write if it fails.
func (c *CallRecorder) RecordWrites(ctx context.Context, writes []tool.FileWrite) error {
	fact := &session.FilesWriting{
		MessageID: c.call.MessageID, PromptID: c.call.PromptID, CallID: c.call.CallID, PartID: c.call.PartID,
	}
	for _, w := range writes {
		change := session.FileChange{Path: relativePath(c.step.files.Root(), w.Path)}
		if w.After == nil {
			change.Perm = c.step.files.TightMode(change.Path)
		}
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
	c.step.recorder.watches.excludeWrites(c.call.SessionID, c.step.files.Root(), fact.Files)
	c.step.addChanges(fact.Files)
	return nil
}

// relativePath returns the path as it is recorded: relative to root, or absolute if it is outside of root; with
// slashes.
func relativePath(root, path string) session.FilePath {
	rel, err := filepath.Rel(root, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return session.FilePath(filepath.ToSlash(path))
	}
	return session.FilePath(filepath.ToSlash(rel))
}

// WatchTree captures the worktree before a command; done, which the caller calls after it and before it gives the
// outcome, captures it again and records what differs. Where that takes longer than outcomeTime, it goes on in the
// background. If the worktree cannot be captured, the command runs all the same, and its
// changes are recorded as unknown; if not even that can be recorded, it is an error. It waits for earlier commands of
// the session to be recorded.
func (c *CallRecorder) WatchTree(ctx context.Context) (done func(), err error) {
	recorder, files := c.step.recorder, c.step.files
	if err := recorder.AwaitSession(ctx, c.call.SessionID); err != nil {
		return nil, err
	}
	c.step.mu.Lock()
	c.step.watched = true
	c.step.mu.Unlock()
	w := recorder.watches.startWatch(files.Root(), c.call.SessionID)
	unlock := recorder.watches.lockCaptures(files.Root())
	defer unlock()
	before, err := files.CaptureTree(ctx)
	fact := &session.TreeCaptured{
		MessageID: c.call.MessageID, PromptID: c.call.PromptID, CallID: c.call.CallID, PartID: c.call.PartID,
	}
	if err != nil {
		fact.Error = err.Error()
	}
	if err := recorder.journal.AppendFacts(ctx, c.call.SessionID, fact); err != nil || fact.Error != "" {
		recorder.watches.endWatch(w)
		return func() {}, err
	}
	recorder.watches.noteCapture(w, before)
	return func() {
		recorded, given := make(chan struct{}), &atomic.Pointer[time.Time]{}
		recorder.StartTask(c.call.SessionID, func() {
			defer close(recorded)
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxCaptureTime)
			defer cancel()
			c.recordTree(ctx, w, before, given)
		})
		awaitOutcome(recorded, given)
	}, nil
}

// recordTree captures the worktree after a command and records what differs from before, except for what file tools
// wrote meanwhile. given holds when the outcome of the command was given before that; nil if it was not.
func (c *CallRecorder) recordTree(
	ctx context.Context, w *watch, before string, given *atomic.Pointer[time.Time],
) {
	fact := &session.TreeChanged{
		MessageID: c.call.MessageID, PromptID: c.call.PromptID, CallID: c.call.CallID, PartID: c.call.PartID,
	}
	unlock := c.step.recorder.watches.lockCaptures(c.step.files.Root())
	defer unlock()
	after, err := c.step.files.CaptureTree(ctx)
	c.step.recorder.watches.endWatch(w)
	if err == nil {
		fact.Files, fact.Omitted, err = c.step.files.Compare(ctx, before, after, maxChanged)
		fact.Omitted = fact.Omitted[:min(len(fact.Omitted), maxOmitted)]
	}
	if err == nil {
		fact.Transient = c.listTransient(ctx, w, after, fact.Files)
		c.step.recorder.watches.noteCapture(w, after)
	}
	if fact.Files = w.dropWritten(fact.Files); len(fact.Files) > 0 {
		fact.Beside = w.beside
	}
	if at := given.Load(); at != nil {
		for _, f := range fact.Files {
			if c.step.files.ChangedSince(f.Path, *at) {
				fact.Late = append(fact.Late, f.Path)
			}
		}
	}
	if err == nil {
		err = c.step.files.PinBlobs(ctx, c.call.SessionID, blobsOf(slices.Concat(fact.Files, fact.Transient)))
	}
	if err != nil {
		fact.Files, fact.Transient, fact.Error = nil, nil, err.Error()
	}
	c.step.addChanges(fact.Files)
	c.logFailure(c.step.recorder.journal.AppendFacts(ctx, c.call.SessionID, fact))
}

// listTransient returns the files that are after the command as before it, and were otherwise in a capture of another
// command meanwhile, with the states that they had then; changed are those that differ. Files that file tools wrote
// meanwhile are left out. A capture that can no longer be compared is left out as well.
func (c *CallRecorder) listTransient(
	ctx context.Context, w *watch, after string, changed []session.FileChange,
) (out []session.FileChange) {
	skipped := map[session.FilePath]bool{}
	for _, f := range changed {
		skipped[f.Path] = true
	}
	for _, written := range w.written {
		skipped[written.change.Path] = true
	}
	for _, capture := range w.captures {
		meanwhile, _, err := c.step.files.Compare(ctx, capture, after, maxChanged)
		if err != nil {
			continue
		}
		for _, f := range meanwhile {
			if !skipped[f.Path] && len(out) < maxChanged && !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// RecordUnknown records that the changes of the call are not known, and why. A failure is logged only.
func (c *CallRecorder) RecordUnknown(ctx context.Context, reason string) {
	c.logFailure(c.step.recorder.journal.AppendFacts(ctx, c.call.SessionID, &session.TreeCaptured{
		MessageID: c.call.MessageID, PromptID: c.call.PromptID, CallID: c.call.CallID, PartID: c.call.PartID,
		Error: reason,
	}))
}

func (c *CallRecorder) logFailure(err error) {
	if err != nil {
		c.step.recorder.journal.Logger.Warn("cannot record what a call changes in files; a revert will not restore it",
			"session", c.call.SessionID, "call", c.call.CallID, "error", err)
	}
}
