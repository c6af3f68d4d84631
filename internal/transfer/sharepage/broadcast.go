package sharepage

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer"
	"github.com/cairn-dev/cairn/internal/transfer/redaction"
)

// maxBroadcasts is the number of sessions whose pages are open at once.
const maxBroadcasts = 128

// Pages writes the pages of shared sessions. All readers of a page share one broadcast, which reads the session once.
type Pages struct {
	API         *api.Client // of the store's owner
	ListSecrets func(context.Context, *session.Session) ([]string, error)
	Dir         string // of temporary files

	writers sync.WaitGroup // of the broadcasts
	files   fileBudget

	mu       sync.Mutex // guards the rest
	open     map[string]*broadcast
	isClosed bool
}

// broadcast is a page that is written once for all of its readers.
type broadcast struct {
	known knownSecrets            // that are replaced; Pages.mu guards it
	end   context.CancelCauseFunc // of the writer
	spool *spool
	users int // readers and the writer; Pages.mu guards it
}

// knownSecrets are the known secrets, sorted, and when they began to be listed.
type knownSecrets struct {
	values []string
	listed time.Time
}

// secretAge is the age at which the known secrets are listed again for a new reader of an open page.
const secretAge = 10 * time.Second

// Close ends all pages, and waits until their writers have returned.
func (p *Pages) Close() {
	p.mu.Lock()
	p.isClosed = true
	for _, b := range p.open {
		b.end(nil)
	}
	p.mu.Unlock()
	p.writers.Wait()
}

// Open opens the page of an active share for a reader, until ctx ends. write writes the page as it grows, and returns
// when the page ends; flush sends what was written.
func (p *Pages) Open(ctx context.Context, share api.Share) (
	write func(_ context.Context, w io.Writer, flush func() error) error, err error,
) {
	b, err := p.join(ctx, share)
	if err != nil {
		return nil, err
	}
	leave := sync.OnceFunc(func() { p.leave(share.ID, b) })
	context.AfterFunc(ctx, leave)
	// Wait for the first piece: until then the reader can get an error.
	if err := b.awaitBegin(ctx); err != nil {
		leave()
		return nil, err
	}
	return func(ctx context.Context, w io.Writer, flush func() error) error {
		defer leave()
		return b.copy(ctx, w, flush)
	}, nil
}

// join returns the broadcast of the share, which it starts if there is none. The page of a broadcast with other secrets
// than those that are known now is loaded again.
func (p *Pages) join(ctx context.Context, share api.Share) (*broadcast, error) {
	// Use a broadcast whose secrets were listed a moment ago.
	p.mu.Lock()
	if b := p.open[share.ID]; b != nil && time.Since(b.known.listed) < secretAge {
		b.users++
		p.mu.Unlock()
		return b, nil
	}
	p.mu.Unlock()
	// List the secrets, which may be slow, and then use the broadcast that has the same ones.
	s, err := p.API.Session(ctx, share.SessionID)
	if err != nil {
		return nil, err
	}
	known, err := p.listKnown(ctx, s)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.open[share.ID]
	switch {
	case b != nil && slices.Equal(b.known.values, known.values):
		b.known = known
		b.users++
		return b, nil
	case p.isClosed:
		return nil, session.Errorf(session.CodeUnavailable, "the server is shutting down")
	case b != nil:
		b.end(errChanged)
	case len(p.open) >= maxBroadcasts:
		return nil, session.Errorf(session.CodeUnavailable, "the pages of %d sessions are open, which is the limit", maxBroadcasts)
	}
	return p.start(share.ID, s, known), nil
}

// listKnown lists the known secrets.
func (p *Pages) listKnown(ctx context.Context, s *session.Session) (knownSecrets, error) {
	now := time.Now()
	known, err := p.ListSecrets(ctx, s)
	slices.Sort(known)
	return knownSecrets{slices.Compact(known), now}, err
}

// start starts a broadcast with one reader. mu is held.
func (p *Pages) start(id string, s *session.Session, known knownSecrets) *broadcast {
	ctx, end := context.WithCancelCause(context.Background())
	b := &broadcast{known: known, end: end, spool: newSpool(p.Dir, &p.files), users: 2}
	if p.open == nil {
		p.open = map[string]*broadcast{}
	}
	p.open[id] = b
	p.writers.Go(func() { // ends with the session's changes, the last reader, or Close
		page := transfer.NewPage(b.spool, &redaction.Filter{Known: known.values})
		v := &viewer{pages: p, shareID: id, session: s, known: known, page: page}
		err := v.run(ctx)
		p.forget(id, b) // a reader that comes now, as one that loads the page again, gets a new page
		b.spool.end(v.end(ctx, err))
		end(nil)
		p.leave(id, b)
	})
	return b
}

// forget removes a broadcast, unless another one has replaced it.
func (p *Pages) forget(id string, b *broadcast) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[id] == b {
		delete(p.open, id)
	}
}

// leave ends the use of a broadcast by a reader, or by its writer. The writer ends with the last reader.
func (p *Pages) leave(id string, b *broadcast) {
	p.mu.Lock()
	b.users--
	users := b.users
	if users <= 1 && p.open[id] == b { // without readers it is not joined
		delete(p.open, id)
	}
	p.mu.Unlock()
	switch users {
	case 1:
		b.end(nil)
	case 0:
		b.spool.close()
	}
}

// awaitBegin waits for the first piece of the page, and returns why there is none.
func (b *broadcast) awaitBegin(ctx context.Context) error {
	for {
		n, changed, isEnded, err := b.spool.read(make([]byte, 1), 0)
		if n > 0 || isEnded {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// copy writes the page to a reader as it grows, for at most maxOpen. A reader that has not taken all by then gets an error.
func (b *broadcast) copy(ctx context.Context, w io.Writer, flush func() error) error {
	began, timeout := time.Now(), time.After(maxOpen)
	buf := make([]byte, 32<<10)
	for offset := int64(0); ; {
		n, changed, isEnded, err := b.spool.read(buf, offset)
		if n > 0 {
			if time.Since(began) > maxOpen {
				return fmt.Errorf("the reader has not taken the page within %s", maxOpen)
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			offset += int64(n)
			continue
		}
		// All is written: send it, and wait for more.
		if flushErr := flush(); err == nil {
			err = flushErr
		}
		if ctx.Err() != nil { // the reader has left; the last one takes the file along
			return nil
		}
		if err != nil || isEnded {
			return err
		}
		select {
		case <-changed:
			if time.Since(began) <= maxOpen {
				continue
			}
		case <-ctx.Done():
			return nil
		case <-timeout:
		}
		_, err = io.WriteString(w, transfer.PageEnd)
		return err
	}
}
