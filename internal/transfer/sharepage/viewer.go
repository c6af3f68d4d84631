package sharepage

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer"
	"github.com/cairn-dev/cairn/internal/transfer/redaction"
)

const (
	pageSize = 100
	// gather is the time in which changes are gathered before the page grows.
	gather = 300 * time.Millisecond
	// maxQuiet is how long a page stays open after the newest event of its session, and maxOpen how long at all.
	maxQuiet = 10 * time.Minute
	maxOpen  = 2 * time.Hour
	// secretAge is the time after which the known secrets are listed again.
	secretAge = 10 * time.Second
)

// Viewer writes one page as long as somebody looks at it, with what the owner of the store knows of secrets.
type Viewer struct {
	API         *api.Client
	ListSecrets func(context.Context, *session.Session) ([]string, error)

	share   string // the id of the share
	session *session.Session
	filter  *redaction.Filter
	page    *transfer.Page
	flush   func() error
	known   time.Time // when the secrets were listed

	cursor string // of the newest page of messages, of which the first written are on the page
	done   int
	last   session.MessageID // the newest one on the page
	over   bool              // what follows is taken back

	stopped session.MessageID // one that is not complete, and whose session was idle after it was read
}

// Open prepares the page of an active share.
func (v *Viewer) Open(ctx context.Context, share api.Share) (err error) {
	v.share, v.known, v.filter = share.ID, time.Now(), &redaction.Filter{}
	if v.session, err = v.API.Session(ctx, share.SessionID); err == nil {
		v.filter.Known, err = v.ListSecrets(ctx, v.session)
	}
	return err
}

// Write writes the page, and then what comes, until the session is quiet. flush sends what was written.
func (v *Viewer) Write(ctx context.Context, w io.Writer, flush func() error) error {
	v.page, v.flush = transfer.NewPage(w, v.filter), flush
	return v.run(ctx)
}

// errChanged means that the page is not a beginning of what it should show any more.
var errChanged = errors.New("what the page shows has changed")

// run writes the page, and then what comes, until the session is quiet.
func (v *Viewer) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxOpen)
	defer cancel()
	head, err := v.API.Head(ctx, v.session.ID)
	if err != nil {
		return err
	}
	events := v.watch(ctx, head)
	if err := v.page.WriteHead(v.session); err != nil {
		return err
	}
	for isLast := false; ; {
		err := v.advance(ctx)
		if errors.Is(err, errChanged) {
			return v.page.WriteReload()
		}
		if err == nil {
			err = v.flush()
		}
		if err != nil || isLast {
			return cmp.Or(err, v.page.WriteEnd())
		}
		// Wait for more, as long as there may be some. When the events end, the session may be gone.
		quiet := maxQuiet - time.Since(time.UnixMilli(v.session.Time.Updated))
		select {
		case <-ctx.Done():
			return v.page.WriteEnd()
		case <-time.After(max(quiet, 0)):
			return v.page.WriteEnd()
		case _, ok := <-events:
			isLast = !ok
		}
		select {
		case <-ctx.Done():
		case <-time.After(gather):
		}
	}
}

// watch returns a channel that receives after events of the session behind head, and is closed when they cannot be read
// any more.
func (v *Viewer) watch(ctx context.Context, head int64) <-chan struct{} {
	events := make(chan struct{}, 1)
	go func() { // ends with ctx
		defer close(events)
		for _, err := range v.API.Tail(ctx, v.session.ID, head) {
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

// advance writes the messages that are complete and not on the page yet.
func (v *Viewer) advance(ctx context.Context) error {
	// Look whether the session is still there and shared, and the same up to here.
	_, err := v.API.FindShare(ctx, v.share)
	var s *session.Session
	if err == nil {
		s, err = v.API.Session(ctx, v.session.ID)
	}
	if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		return errChanged // the page that is loaded again says so
	}
	if err == nil && time.Since(v.known) > secretAge {
		v.known = time.Now()
		v.filter.Known, err = v.ListSecrets(ctx, v.session)
	}
	if err != nil {
		return err
	}
	if s.Edits != v.session.Edits || s.Title != v.session.Title || !s.Revert.IsSamePoint(v.session.Revert) {
		return errChanged
	}
	v.session = s
	for more := true; more && !v.over; {
		if more, err = v.writePage(ctx); err != nil {
			return err
		}
	}
	return nil
}

// writePage writes messages of the newest page of messages. more reports that it has to be called again.
func (v *Viewer) writePage(ctx context.Context) (more bool, err error) {
	page, err := v.API.Messages(ctx, v.session.ID, api.MessageQuery{Oldest: true, Limit: pageSize, Cursor: v.cursor})
	if err != nil {
		return false, err
	}
	if v.done > len(page.Data) || v.done > 0 && page.Data[v.done-1].Meta().ID != v.last {
		return false, errChanged
	}
	for _, m := range page.Data[v.done:] {
		// A message that is not complete is written only if it was read after the work had ended.
		if id := m.Meta().ID; !isComplete(m) && v.stopped != id {
			active, err := v.API.Active(ctx)
			if _, isActive := active[v.session.ID]; err != nil || isActive {
				return false, err
			}
			v.stopped = id
			return true, nil // read it again
		}
		r := v.session.Revert
		v.over = r != nil && !r.FilesOnly && r.MessageID == m.Meta().ID
		if v.over && (r.Exclusive || r.PartID != "") { // all of it is taken back, or a part
			return false, nil
		}
		if err := v.page.WriteMessage(m); err != nil {
			return false, err
		}
		if v.done, v.last = v.done+1, m.Meta().ID; v.over {
			return false, nil
		}
	}
	if len(page.Data) < pageSize || page.Cursor.Next == "" {
		return false, nil
	}
	v.cursor, v.done = page.Cursor.Next, 0
	return true, nil
}

// isComplete reports whether a message stays as it is.
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
