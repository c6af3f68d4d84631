package host

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// Bounds of reads of files that editors have not saved.
const (
	editorReadTimeout = 2 * time.Second  // of an editor's answer to a tool
	editorPollTimeout = 25 * time.Second // of a wait for the next read
	maxEditorReads    = 64               // that wait for the editor of one session
	maxEditorText     = 4 << 20          // bytes of a text
	editorGrace       = time.Second      // between two waits of an editor, in which it is not gone
)

// editors passes reads of tools to the editors that follow their sessions. An editor waits for the next read all the
// time; a session without one is not asked about. The zero value is ready to use.
type editors struct {
	mu       sync.Mutex // guards the rest
	last     int64
	sessions map[session.ID]*editorReads
}

// editorReads are the reads of one session.
type editorReads struct {
	polls   int                            // waits for the next read, and those that ended within editorGrace
	queue   chan api.EditorRead            // reads that no wait has taken
	waiting map[string]chan api.EditorText // for answers, by the id of the read
}

// find returns the reads of a session. The caller holds the lock.
func (e *editors) find(id session.ID) *editorReads {
	if e.sessions == nil {
		e.sessions = map[session.ID]*editorReads{}
	}
	if e.sessions[id] == nil {
		e.sessions[id] = &editorReads{
			queue: make(chan api.EditorRead, maxEditorReads), waiting: map[string]chan api.EditorText{},
		}
	}
	return e.sessions[id]
}

// drop removes the reads of a session if nothing waits.
func (e *editors) drop(id session.ID) {
	if r := e.sessions[id]; r != nil && r.polls == 0 && len(r.waiting) == 0 {
		delete(e.sessions, id)
	}
}

// Next implements v2.Editors.
func (e *editors) Next(ctx context.Context, id session.ID) (api.EditorRead, error) {
	e.mu.Lock()
	r := e.find(id)
	r.polls++
	e.mu.Unlock()
	leave := func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		r.polls--
		e.drop(id)
	}
	defer func() {
		if ctx.Err() != nil {
			leave()
			return
		}
		time.AfterFunc(editorGrace, leave)
	}()
	timeout := time.NewTimer(editorPollTimeout)
	defer timeout.Stop()
	select {
	case read := <-r.queue:
		return read, nil
	case <-timeout.C:
		return api.EditorRead{}, nil
	case <-ctx.Done():
		return api.EditorRead{}, context.Cause(ctx)
	}
}

// Answer implements v2.Editors.
func (e *editors) Answer(id session.ID, read string, text api.EditorText) error {
	if len(text.Text) > maxEditorText {
		return session.Errorf(session.CodeTooLarge, "the text has %d bytes, the limit is %d", len(text.Text), maxEditorText).
			At("body.text")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.sessions[id]; r != nil && r.waiting[read] != nil {
		r.waiting[read] <- text
		delete(r.waiting, read)
		return nil
	}
	return session.NotFound("read", read)
}

// ReadUnsaved returns the text of a file as the editor of the session has it; ok is false without an editor, and if it
// does not answer in time.
func (e *editors) ReadUnsaved(ctx context.Context, id session.ID, path string) (text string, ok bool) {
	e.mu.Lock()
	r := e.sessions[id]
	if r == nil || r.polls == 0 {
		e.mu.Unlock()
		return "", false
	}
	e.last++
	read := api.EditorRead{ID: strconv.FormatInt(e.last, 10), Path: path}
	answer := make(chan api.EditorText, 1)
	r.waiting[read.ID] = answer
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(r.waiting, read.ID)
		e.drop(id)
	}()
	timeout := time.NewTimer(editorReadTimeout)
	defer timeout.Stop()
	select {
	case r.queue <- read:
	default: // the editor takes none
		return "", false
	}
	select {
	case a := <-answer:
		return a.Text, a.Found
	case <-timeout.C:
	case <-ctx.Done():
	}
	return "", false
}
