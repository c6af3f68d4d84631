package host

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
	"github.com/cairn-dev/cairn/internal/tool/file"
)

// Bounds of reads of files that editors have not saved.
const (
	editorReadTimeout = 2 * time.Second  // of the editors' answers to a tool
	editorPollTimeout = 25 * time.Second // of a wait for the next read
	maxEditorReads    = 64               // that wait for one editor of a session
	maxEditorText     = 4 << 20          // bytes of a text
	editorGrace       = time.Second      // between two waits of an editor, in which it is not gone
)

// editors passes reads of tools to the editors that follow their sessions. An editor waits for the next read all the
// time; a session without one is not asked about.
type editors struct {
	// findRoot returns the root of the tree of a session: editors open that one, and tools of its subagents read, too.
	findRoot func(context.Context, session.ID) session.ID

	mu       sync.Mutex // guards the rest
	last     int64
	sessions map[session.ID]map[string]*editor // by the editor's name
	waiting  map[editorReadKey]chan api.EditorText
}

// editor is an editor that follows a session.
type editor struct {
	polls int                 // waits for the next read, and those that ended within editorGrace
	queue chan api.EditorRead // reads that no wait has taken
}

// editorReadKey identifies a read that waits for answers.
type editorReadKey struct {
	session session.ID // that the editors follow
	read    string
}

func newEditors(findRoot func(context.Context, session.ID) session.ID) *editors {
	return &editors{
		findRoot: findRoot, sessions: map[session.ID]map[string]*editor{}, waiting: map[editorReadKey]chan api.EditorText{},
	}
}

// join notes that an editor waits for the next read of a session.
func (e *editors) join(id session.ID, name string) *editor {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sessions[id] == nil {
		e.sessions[id] = map[string]*editor{}
	}
	one := e.sessions[id][name]
	if one == nil {
		one = &editor{queue: make(chan api.EditorRead, maxEditorReads)}
		e.sessions[id][name] = one
	}
	one.polls++
	return one
}

// leave undoes join.
func (e *editors) leave(id session.ID, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	one := e.sessions[id][name]
	if one.polls--; one.polls == 0 {
		delete(e.sessions[id], name)
	}
	if len(e.sessions[id]) == 0 {
		delete(e.sessions, id)
	}
}

// Next implements v2.Editors.
func (e *editors) Next(ctx context.Context, id session.ID, name string) (api.EditorRead, error) {
	one := e.join(id, name)
	defer func() {
		if ctx.Err() != nil {
			e.leave(id, name)
			return
		}
		time.AfterFunc(editorGrace, func() { e.leave(id, name) })
	}()
	timeout := time.NewTimer(editorPollTimeout)
	defer timeout.Stop()
	select {
	case read := <-one.queue:
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
	answers := e.waiting[editorReadKey{id, read}]
	e.mu.Unlock()
	select {
	case answers <- text:
		return nil
	default: // the read does not wait any more, or every editor has answered
		return session.NotFound("read", read)
	}
}

// ReadUnsaved returns the text of a file as an editor of the session, or else of the root of its tree, has it: with
// several editors the first text that is not the saved one. ok is false without an editor that has the file and answers
// in time.
func (e *editors) ReadUnsaved(ctx context.Context, id session.ID, path string) (text string, ok bool) {
	key, answers := e.ask(e.findFollowed(ctx, id), path)
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.waiting, key)
	}()
	// The answer of the only editor needs no comparison.
	var saved []byte
	if cap(answers) > 1 {
		saved, _ = statefile.ReadRegular(path, maxEditorText) // a file that cannot be read has no saved text
	}
	timeout := time.NewTimer(editorReadTimeout)
	defer timeout.Stop()
	for range cap(answers) {
		select {
		case a := <-answers:
			if a.Found {
				text, ok = a.Text, true
			}
			if a.Found && !file.IsSameText(a.Text, string(saved)) {
				return text, ok
			}
		case <-timeout.C:
			return text, ok
		case <-ctx.Done():
			return text, ok
		}
	}
	return text, ok
}

// findFollowed returns the session that editors follow: the session itself, or else the root of its tree.
func (e *editors) findFollowed(ctx context.Context, id session.ID) session.ID {
	e.mu.Lock()
	hasEditors, isFollowed := len(e.sessions) > 0, len(e.sessions[id]) > 0
	e.mu.Unlock()
	if isFollowed || !hasEditors {
		return id
	}
	return e.findRoot(ctx, id)
}

// ask asks all editors that follow a session for the text of a file. The capacity of answers is their number.
func (e *editors) ask(id session.ID, path string) (key editorReadKey, answers chan api.EditorText) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	key = editorReadKey{id, strconv.FormatInt(e.last, 10)}
	asked := 0
	for _, one := range e.sessions[id] {
		select {
		case one.queue <- api.EditorRead{ID: key.read, Path: path}:
			asked++
		default: // it takes none
		}
	}
	answers = make(chan api.EditorText, asked)
	if asked > 0 {
		e.waiting[key] = answers
	}
	return key, answers
}
