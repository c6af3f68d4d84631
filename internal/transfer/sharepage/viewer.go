package sharepage

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer"
)

const (
	pageSize = 100
	// batchDelay is how long changes are collected before the page grows.
	batchDelay = 300 * time.Millisecond
	// maxQuiet is how long a page stays open after the newest event of its session, and maxOpen how long for one
	// reader.
	maxQuiet = 10 * time.Minute
	maxOpen  = 2 * time.Hour
)

// viewer writes one page while readers have it open.
type viewer struct {
	pages   *Pages
	shareID string
	session *session.Session
	known   knownSecrets
	page    *transfer.Page

	cursor        string // of the newest page of messages
	written       int    // how many of its messages are on the page
	lastID        session.MessageID
	reachedRevert bool // the messages that follow are reverted

	// idleID is a message that is not complete, and that was read before its session was found to be idle.
	idleID session.MessageID
}

// errChanged means that what the page shows has changed, so that it must be loaded again.
var errChanged = errors.New("what the page shows has changed")

// run writes the page, and extends it until the session is quiet or ctx ends.
func (v *viewer) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	// Watch the events from before the first read on.
	head, err := v.pages.API.Head(ctx, v.session.ID)
	if err != nil {
		cancel()
		return err
	}
	events := v.watch(ctx, head)
	defer func() {
		cancel()
		for range events { //nolint:revive // until watch has returned
		}
	}()
	// Write the head, then the messages as they come.
	if err := v.page.WriteHead(v.session); err != nil {
		return err
	}
	return v.follow(ctx, events)
}

// end writes the end of the page after run has returned err. The error errChanged, also as the cause of ctx, has the page
// loaded again.
func (v *viewer) end(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errChanged) || errors.Is(context.Cause(ctx), errChanged):
		return v.page.WriteReload()
	case err != nil && ctx.Err() == nil:
		return err
	}
	return v.page.WriteEnd()
}

// follow writes messages until the session is quiet, its events end or ctx ends.
func (v *viewer) follow(ctx context.Context, events <-chan struct{}) error {
	for isLast := false; ; {
		if err := v.advance(ctx); err != nil || isLast {
			return err
		}
		// Wait for an event. When the events end, the session may have been deleted: look once more.
		quiet := maxQuiet - time.Since(time.UnixMilli(v.session.Time.Updated))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(quiet, 0)):
			return nil
		case _, ok := <-events:
			isLast = !ok
		}
		select {
		case <-ctx.Done():
		case <-time.After(batchDelay):
		}
	}
}

// watch returns a channel that receives after events of the session behind head, and is closed when no more can be
// read.
func (v *viewer) watch(ctx context.Context, head int64) <-chan struct{} {
	events := make(chan struct{}, 1)
	tail := v.pages.API.Tail(ctx, v.session.ID, head)
	go func() { // run waits for it
		defer close(events)
		for _, err := range tail {
			if err != nil {
				return
			}
			select {
			case events <- struct{}{}:
			default:
			}
		}
	}()
	return events
}

// advance writes the messages that are complete and not on the page yet. It returns errChanged if the page must be
// loaded again.
func (v *viewer) advance(ctx context.Context) error {
	// Check that the session is still shared; if not, the page that is loaded again is a 404.
	_, err := v.pages.API.FindShare(ctx, v.shareID)
	var s *session.Session
	if err == nil {
		s, err = v.pages.API.Session(ctx, v.session.ID)
	}
	if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		return errChanged
	}
	if err != nil {
		return err
	}
	// Check that the page begins as it would if it were written now.
	if s.Edits != v.session.Edits || s.Title != v.session.Title || !s.Revert.IsSamePoint(v.session.Revert) ||
		s.Revert != nil && s.Revert.FilesOnly != v.session.Revert.FilesOnly {
		return errChanged
	}
	// Write what is new.
	v.session = s
	for more := true; more && !v.reachedRevert; {
		if more, err = v.writePage(ctx); err != nil {
			return err
		}
	}
	return nil
}

// writePage writes messages of the newest page of messages. more says that it is to be called again.
func (v *viewer) writePage(ctx context.Context) (more bool, err error) {
	q := api.MessageQuery{Oldest: true, Limit: pageSize, Cursor: v.cursor}
	page, err := v.pages.API.Messages(ctx, v.session.ID, q)
	if err != nil {
		return false, err
	}
	// The messages that are written must be those that were read before.
	if v.written > len(page.Data) || v.written > 0 && page.Data[v.written-1].Meta().ID != v.lastID {
		return false, errChanged
	}
	if err := v.checkSecrets(ctx, page.Data[v.written:]); err != nil {
		return false, err
	}
	for _, m := range page.Data[v.written:] {
		// A message that is not complete is written only if it was read after the work had ended.
		if id := m.Meta().ID; !isComplete(m) && v.idleID != id {
			active, err := v.pages.API.Active(ctx)
			if _, isActive := active[v.session.ID]; err != nil || isActive {
				return false, err
			}
			v.idleID = id
			return true, nil // read it again
		}
		// Stop at the message from which on the session is reverted: before it, or behind it.
		r := v.session.Revert
		v.reachedRevert = r != nil && !r.FilesOnly && r.MessageID == m.Meta().ID
		if v.reachedRevert && (r.Exclusive || r.PartID != "") {
			return false, nil
		}
		if err := v.page.WriteMessage(m); err != nil {
			return false, err
		}
		if v.written, v.lastID = v.written+1, m.Meta().ID; v.reachedRevert {
			return false, nil
		}
	}
	// Go on with the next page of messages, if there is one.
	if len(page.Data) < pageSize || page.Cursor.Next == "" {
		return false, nil
	}
	v.cursor, v.written = page.Cursor.Next, 0
	return true, nil
}

// checkSecrets returns errChanged if other secrets are known than the page replaces. It lists them again if the session or one
// of the messages has changed since: a key may have been stored before it was used. A prompt has the time of its admission,
// and may be newer.
func (v *viewer) checkSecrets(ctx context.Context, messages []session.Message) error {
	listed := v.known.listed.UnixMilli()
	isNewer := func(m session.Message) bool { return !isComplete(m) || completedAt(m) >= listed }
	if len(messages) == 0 || v.session.Time.Updated < listed && !slices.ContainsFunc(messages, isNewer) {
		return nil
	}
	known, err := v.pages.listKnown(ctx, v.session)
	if err != nil {
		return err
	}
	if !slices.Equal(known.values, v.known.values) {
		return errChanged
	}
	v.known = known
	return nil
}

// completedAt returns when a complete message last changed, in milliseconds since the Unix epoch.
func completedAt(m session.Message) int64 {
	switch m := m.(type) {
	case *session.Assistant:
		return m.Time.Completed
	case *session.Shell:
		return m.Time.Completed
	default:
		return m.Meta().Time.Created
	}
}

// isComplete reports whether a message no longer changes.
func isComplete(m session.Message) bool {
	switch m := m.(type) {
	case *session.Assistant:
		return m.Time.Completed > 0
	case *session.Shell:
		return m.Time.Completed > 0
	default:
		return true
	}
}
