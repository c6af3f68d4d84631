package undo

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
//
// The contents are stored and pinned before the event that names them, and the event is committed before the write: a
// crash in between leaves no change without its contents.
func (c *CallRecorder) RecordWrites(ctx context.Context, writes []tool.FileWrite) error {
	defer c.step.files.HoldBlobs()()
	// Store both sides of each write; a nil content is no file.
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
	// Pin the contents, then record the changes.
	if err := c.step.files.PinBlobs(ctx, c.call.SessionID, blobsOf(fact.Files)); err != nil {
		return err
	}
	if err := c.step.recorder.journal.AppendFacts(ctx, c.call.SessionID, fact); err != nil {
		return err
	}
	// Commands that run meanwhile do not record these changes as theirs.
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

// WatchTree captures the worktree before a command. The caller calls done after the command and before it returns the
// outcome: done captures the worktree again and records what differs. If that takes longer than outcomeTime, it
// continues in the background.
//
// If the worktree cannot be captured, the command runs all the same and its changes are recorded as unknown. It is an
// error if not even that can be recorded, or if ctx ends first: WatchTree waits until earlier commands of the session
// are recorded, and until no other capture of the worktree is made.
func (c *CallRecorder) WatchTree(ctx context.Context) (done func(), err error) {
	recorder, files := c.step.recorder, c.step.files
	// Wait for earlier commands of the session, then for other captures of the worktree.
	if err := recorder.AwaitSession(ctx, c.call.SessionID); err != nil {
		return nil, err
	}
	c.step.mu.Lock()
	c.step.watched = true
	c.step.mu.Unlock()
	w := recorder.watches.startWatch(files.Root(), c.call.SessionID)
	unlock, err := recorder.watches.lockCaptures(ctx, files.Root())
	if err != nil {
		recorder.watches.endWatch(w)
		return nil, err
	}
	defer unlock()
	// Capture the worktree, and record that the command begins. Without a capture there is nothing to compare with.
	release := files.HoldBlobs()
	before, err := files.CaptureTree(ctx)
	fact := &session.TreeCaptured{
		MessageID: c.call.MessageID, PromptID: c.call.PromptID, CallID: c.call.CallID, PartID: c.call.PartID,
	}
	if err != nil {
		fact.Error = err.Error()
	}
	if err := recorder.journal.AppendFacts(ctx, c.call.SessionID, fact); err != nil || fact.Error != "" {
		recorder.watches.endWatch(w)
		release()
		return func() {}, err
	}
	recorder.watches.noteCapture(w, before)
	// Compare in the background, and wait for a moment: see awaitOutcome.
	return func() {
		recorded, given := make(chan struct{}), &atomic.Pointer[time.Time]{}
		recorder.StartTask(c.call.SessionID, func() {
			defer close(recorded)
			defer release()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxCaptureTime)
			defer cancel()
			c.recordTree(ctx, w, before, given)
		})
		awaitOutcome(recorded, given)
	}, nil
}

// recordTree captures the worktree after a command and records what differs from before, except for what file tools
// wrote meanwhile. given holds the time at which the outcome of the command was returned, nil until then. If something
// fails, the changes are recorded as unknown, with the reason.
func (c *CallRecorder) recordTree(
	ctx context.Context, w *watch, before string, given *atomic.Pointer[time.Time],
) {
	fact := &session.TreeChanged{
		MessageID: c.call.MessageID, PromptID: c.call.PromptID, CallID: c.call.CallID, PartID: c.call.PartID,
	}
	// Capture the worktree, and end the watch.
	var after string
	unlock, err := c.step.recorder.watches.lockCaptures(ctx, c.step.files.Root())
	if err == nil {
		defer unlock()
		after, err = c.step.files.CaptureTree(ctx)
	}
	c.step.recorder.watches.endWatch(w)
	// Compare both captures, and the captures that others made in between.
	if err == nil {
		fact.Files, fact.Omitted, err = c.step.files.Compare(ctx, before, after, maxChanged)
		fact.Omitted = fact.Omitted[:min(len(fact.Omitted), maxOmitted)]
	}
	if err == nil {
		fact.Transient = c.listTransient(ctx, w, after, fact.Files)
		c.step.recorder.watches.noteCapture(w, after)
	}
	// Remove what file tools wrote, and mark what may be another session's or the user's.
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
	// Pin the contents, then record the changes.
	if err == nil {
		err = c.step.files.PinBlobs(ctx, c.call.SessionID, blobsOf(slices.Concat(fact.Files, fact.Transient)))
	}
	if err != nil {
		fact.Files, fact.Transient, fact.Error = nil, nil, err.Error()
	}
	c.step.addChanges(fact.Files)
	c.logFailure(c.step.recorder.journal.AppendFacts(ctx, c.call.SessionID, fact))
}

// listTransient returns the states that files had for a moment during the command: those in the captures that other
// commands made meanwhile, of files that the command left as it found them. Each change leads from such a state to the
// one after the command. changed are the files that the command did not leave so; they, and files that file tools wrote
// meanwhile, are left out, and so is a capture that can no longer be compared.
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
