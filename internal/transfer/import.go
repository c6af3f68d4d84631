package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// What one piece of an import holds at most, here and several times over in the owner of the store, until it is
// written; and one message: the server's limit for a body is 16 MiB.
const (
	pieceBytes    = 1 << 20
	pieceMessages = 500
	maxMessage    = 12 << 20
	maxBeside     = 1 << 20
	maxNamed      = 100_000 // ids that are looked for before the first piece is written
)

// Import reads the document to its end, and then makes the session of it at the client's location. The same document
// again changes nothing, and goes on where it was cut off. What is wrong with it is a *Malformed, and then nothing was
// written.
func Import(ctx context.Context, c *api.Client, name string, from io.ReadSeeker) (*ImportResult, error) {
	from, closeText, err := OpenText(from)
	if err != nil {
		return nil, err
	}
	defer closeText()
	d := &document{name, from}
	s, ids, err := d.check()
	if err != nil {
		return nil, err
	}
	if len(ids) > maxNamed {
		ids = nil
	}
	out := &ImportResult{Messages: s.Import.Messages}
	got, err := importFirst(ctx, c, s, ids)
	if isSpent(ctx, c, err) {
		out.Deleted = s.ID
		for n := 1; n < maxCopies && isSpent(ctx, c, err); n++ {
			s.ID = session.ID(foreign.Rename(string(out.Deleted), fmt.Sprint("again ", n)))
			got, err = importFirst(ctx, c, s, ids)
		}
	}
	if err != nil {
		return nil, err
	}
	out.Session = got.Session
	if known := got.Session.Import; got.Messages == s.Import.Messages || known != nil && known.Whole {
		out.Known = s.Import.Messages > 0
		return out, nil
	}
	batch := importBatch{api: c, ImportRequest: api.ImportRequest{Session: *s, After: got.Messages}, got: got}
	err = d.send(ctx, &batch)
	out.Session = batch.got.Session
	return out, err
}

// importFirst sends the session without its messages, and returns how many of these are stored.
func importFirst(ctx context.Context, c *api.Client, s *session.Session, ids []session.MessageID) (api.ImportResult, error) {
	return c.Import(ctx, api.ImportRequest{Session: *s, IDs: ids})
}

// isSpent reports whether an import was refused because its id is that of a deleted session, whose costs are stored under it.
func isSpent(ctx context.Context, c *api.Client, err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	if !ok || e.Code != session.CodeConflict || e.Kind != "session" {
		return false
	}
	_, err = c.Session(ctx, session.ID(e.ID))
	return errors.Is(err, &session.Error{Code: session.CodeNotFound})
}

// check reads all of the document: every message must be one that can be kept.
func (d *document) check() (*session.Session, []session.MessageID, error) {
	sum, count := sha256.New(), 0
	ids := []session.MessageID{}
	// Read all messages once, to find errors before the first one is sent.
	c, err := d.readMessages(func(m session.Message, _ jsontext.Value) error {
		count++
		ids = append(ids, m.Meta().ID)
		return nil
	}, sum)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case c.info == nil:
		return nil, nil, d.invalidAt(position{}, session.Errorf(session.CodeInvalid, "it is missing").At("info"))
	case !c.listed:
		return nil, nil, d.invalidAt(position{}, session.Errorf(session.CodeInvalid, "it is missing").At("messages"))
	}
	// The session, with the hash by which a repeated import is recognised.
	s, err := opencode.FromOpenCode(c.info)
	if err == nil {
		err = session.CheckID("id", session.PrefixSession, string(s.ID))
	}
	if err != nil {
		return nil, nil, d.invalidAt(position{at: c.at, in: "info"}, err)
	}
	if s.Title == "" {
		s.Title = "Imported session"
	}
	if err := add(sum, c.info); err != nil {
		return nil, nil, err
	}
	s.Import.Hash, s.Import.Messages = hex.EncodeToString(sum.Sum(nil)), count
	// What the document says beside session and messages is kept, up to a limit.
	if len(c.beside) > 0 {
		s.Import.Beside, err = json.Marshal(c.beside, json.Deterministic(true))
	}
	if n := len(s.Import.Info) + len(s.Import.Beside); err == nil && n > maxBeside {
		err = d.invalidAt(
			position{at: c.at, in: "info"},
			fmt.Errorf("its unknown fields have %d bytes, the limit is %d", n, maxBeside),
		)
	}
	return s, ids, err
}

func add(sum io.Writer, raw jsontext.Value) error {
	v := raw.Clone()
	if err := v.Compact(); err != nil {
		return err
	}
	_, err := sum.Write(v)
	return err
}

// readMessages reads the document and calls give with each message as cairn stores it, and as it is sent. It adds the
// messages of the document to the sum.
func (d *document) readMessages(give func(session.Message, jsontext.Value) error, sum io.Writer) (*contents, error) {
	var x opencode.MessageImporter
	// giveAll bounds each message before it is given.
	giveAll := func(ms []session.Message) error {
		for _, m := range ms {
			b, err := json.Marshal(m, json.Deterministic(true))
			if err == nil && len(b) > maxMessage {
				err = fmt.Errorf("it has %d bytes, the limit is %d", len(b), maxMessage)
			}
			if err == nil {
				err = give(m, b)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	// The hash covers the document's own form of each message.
	c, err := d.read(func(raw jsontext.Value) error {
		ms, err := x.Add(raw)
		if err == nil {
			err = giveAll(ms)
		}
		if err != nil {
			return err
		}
		return add(sum, raw)
	})
	if err != nil {
		return nil, err
	}
	return c, giveAll(x.Flush())
}

// importBatch is the request that is being filled with messages.
type importBatch struct {
	api *api.Client
	api.ImportRequest

	bytes     int
	got       api.ImportResult // of the newest piece
	completed bool             // a piece completed the import
}

// add adds a message, and sends the piece before it if there is no room.
func (s *importBatch) add(ctx context.Context, m jsontext.Value) error {
	if len(s.Messages) == pieceMessages || s.bytes+len(m) > pieceBytes {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	s.Messages, s.bytes = append(s.Messages, m), s.bytes+len(m)
	return nil
}

// flush sends one piece; the server answers with how many messages it has.
func (s *importBatch) flush(ctx context.Context) (err error) {
	if len(s.Messages) == 0 {
		return nil
	}
	if s.got, err = s.api.Import(ctx, s.ImportRequest); err != nil {
		return err
	}
	s.After, s.Messages, s.bytes = s.got.Messages, nil, 0
	s.completed = s.completed || s.got.Completed
	return nil
}

// send sends the messages of the document behind those that an earlier attempt sent.
func (d *document) send(ctx context.Context, s *importBatch) error {
	skip := s.After
	_, err := d.readMessages(func(_ session.Message, b jsontext.Value) error {
		if skip--; skip >= 0 {
			return nil
		}
		if err := s.add(ctx, b); err != nil {
			return &sendError{err}
		}
		return nil
	}, io.Discard)
	if u, ok := errors.AsType[*sendError](err); ok {
		return u.err
	}
	if err != nil {
		return err
	}
	return s.flush(ctx)
}

// sendError is a failure of the server, not of the document.
type sendError struct{ err error }

func (u *sendError) Error() string { return u.err.Error() }
func (u *sendError) Unwrap() error { return u.err }
