package transfer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// Outcome is what an import of a session of another program did.
type Outcome string

// The outcomes.
const (
	Imported Outcome = "imported"
	Grown    Outcome = "grown"     // what came or changed since the last import was added
	Updated  Outcome = "updated"   // the messages are the same; the title has changed, or what is taken back
	Same     Outcome = "unchanged" // it was imported before
	// Copied: the session was used here, or its source has lost messages, so that a second one was made.
	Copied Outcome = "copied"
	// Deleted: the session was deleted here after an earlier import, and stays deleted.
	Deleted Outcome = "deleted"
)

// maxCopies bounds the sessions that one session of another program makes here.
const maxCopies = 20

// ForeignImport imports sessions of other programs at its client's location.
type ForeignImport struct {
	API    *api.Client
	Parent session.ID // the session here that started the imported one, "" without one
	DryRun bool       // find the outcome, and write nothing
}

// Import imports a session. The same session again changes nothing; one that has changed in its program changes here, or
// if it was used here, becomes another session.
func (f ForeignImport) Import(ctx context.Context, s *foreign.Session) (id session.ID, did Outcome, err error) {
	in := foreignImport{ForeignImport: f, session: describeForeign(s, f.Parent), messages: s.Messages}
	if err := in.hashMessages(); err != nil {
		return "", "", err
	}
	// The first session that it can be, or can become, is taken: its own, else a copy.
	for n := range maxCopies {
		if n > 0 {
			in.rename(fmt.Sprint("copy ", n))
		}
		did, err := in.merge(ctx)
		switch {
		case err != nil:
			return "", "", err
		case did == Imported && n > 0:
			return in.session.ID, Copied, nil
		case did != "":
			return in.session.ID, did, nil
		}
	}
	return "", "", session.Conflict("session", s.ID,
		fmt.Sprintf("was imported %d times, each time with other content; delete some of its copies", maxCopies))
}

// merge imports the session under its id. The outcome is "" if the session that has the id is another one, or cannot
// become this one.
func (in *foreignImport) merge(ctx context.Context) (did Outcome, err error) {
	before, err := in.API.Session(ctx, in.session.ID)
	if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		did, err = in.send(ctx, Imported, "")
		if errors.Is(err, &session.Error{Code: session.CodeConflict, Kind: "session"}) {
			return Deleted, nil // its id is spent
		}
		return did, err
	}
	if err != nil {
		return "", err
	}
	switch earlier := before.Import; {
	case earlier == nil:
		return "", nil
	case earlier.Hash == in.session.Import.Hash && earlier.Whole:
		if before.Title == in.session.Title && before.Revert.IsSamePoint(in.session.Revert) {
			return Same, nil
		}
		return in.send(ctx, Updated, earlier.Hash)
	case earlier.Hash == in.session.Import.Hash: // it was cut off
		return in.send(ctx, Imported, "")
	default:
		did = Grown
		if !earlier.Whole {
			did = Imported
		}
		did, err = in.send(ctx, did, earlier.Hash)
		if errors.Is(err, &session.Error{Code: session.CodeConflict}) {
			return "", nil // it was used here
		}
		return did, err
	}
}

// foreignImport is a session of another program that is sent. Its messages are encoded once for the hash and again when
// they are sent, so that they are in memory once.
type foreignImport struct {
	ForeignImport
	session  session.Session
	messages []session.Message
	renames  []renaming // of the copy, one after another
}

// ForeignID returns the id that the session gets here, unless another one has it.
func ForeignID(f *foreign.Session) session.ID {
	if foreign.CheckID(session.PrefixSession, f.ID) == nil { // of OpenCode, whose ids are kept
		return session.ID(f.ID)
	}
	return foreign.NewIDs(f.Program, f.ID).Session(f.Created)
}

// describeForeign returns the session without its messages.
func describeForeign(f *foreign.Session, parent session.ID) session.Session {
	id := ForeignID(f)
	var s session.Session
	if f.Original != nil {
		s = *f.Original
	}
	s.ID, s.ParentID, s.Agent, s.Model, s.Cost, s.Tokens = id, parent, f.Agent, f.Model, f.Cost, f.Tokens
	s.Version, s.Todos = f.Version, f.Todos
	updated := cmp.Or(s.Time.Updated, f.Updated) // OpenCode's own is that of the prompt, or later
	s.Time = session.SessionTime{Created: f.Created, Updated: max(updated, f.Created), Archived: f.Archived}
	s.Title = ChooseTitle(f)
	source := session.Import{}
	if s.Import != nil {
		source = *s.Import
	}
	source.From, source.Messages = f.Program, len(f.Messages)
	source.Beside, _ = json.Marshal(map[string]string{"id": f.ID, "directory": f.Directory}, json.Deterministic(true)) // texts
	s.Import = &source
	return s
}

// The bounds of titles.
const (
	maxTitle    = 60  // characters of one that is made of a prompt
	maxOwnTitle = 900 // bytes of the source's own; a session's has at most 1000
)

// ChooseTitle returns the session's title, else the beginning of its first prompt.
func ChooseTitle(f *foreign.Session) string {
	title := session.ClipText(f.Title, maxOwnTitle)
	for _, m := range f.Messages {
		if u, ok := m.(*session.User); ok && title == "" {
			title = terminal.FirstLine(strings.TrimSpace(u.Text), maxTitle)
		}
	}
	return cmp.Or(title, "Imported session")
}

// hashMessages sets the hash by which a later import recognises the messages.
func (in *foreignImport) hashMessages() error {
	sum := sha256.New()
	for _, m := range in.messages {
		text, err := in.encode(m)
		if err != nil {
			return err
		}
		_, _ = sum.Write(append(text, '\n')) // a hash cannot fail
	}
	in.session.Import.Hash = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// encode returns the message as it is sent.
func (in *foreignImport) encode(m session.Message) (jsontext.Value, error) {
	text, err := json.Marshal(m, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	for _, r := range in.renames {
		text = r.apply(text)
	}
	return text, err
}

// outlineMessages returns the outlines of the messages. Of too many it returns none: such a session is not compared, and
// can only get messages behind those that it has.
func (in *foreignImport) outlineMessages() (out []session.Outline, err error) {
	if len(in.messages) > maxNamed {
		return nil, nil
	}
	for _, m := range in.messages {
		text, err := in.encode(m)
		if err != nil {
			return nil, err
		}
		renamed, err := session.DecodeMessage(text)
		if err != nil {
			return nil, err
		}
		stored, err := session.EncodeMessage(renamed)
		if err != nil {
			return nil, err
		}
		out = append(out, session.NewOutline(renamed, stored))
	}
	return out, nil
}

// send sends what is not here yet, and returns the outcome: the given one, or Same if there was nothing to change, or
// another import of the session completed it meanwhile. extends is the hash of the import that this one extends, "" for
// a new session.
func (in *foreignImport) send(ctx context.Context, did Outcome, extends string) (_ Outcome, err error) {
	request := api.ImportRequest{Session: in.session, Extends: extends, DryRun: in.DryRun}
	if extends != "" && did != Updated {
		if request.Outline, err = in.outlineMessages(); err != nil {
			return did, err
		}
	}
	got, err := in.API.Import(ctx, request)
	switch {
	case err != nil:
		return did, err
	case in.DryRun && did == Updated && !got.Completed:
		return Same, nil
	case in.DryRun:
		return did, nil
	}
	request.Outline, request.After = nil, got.Messages
	batch := importBatch{api: in.API, ImportRequest: request, completed: got.Completed}
	for _, m := range in.messages[min(got.Messages, len(in.messages)):] {
		text, err := in.encode(m)
		if err == nil {
			err = batch.add(ctx, text)
		}
		if err != nil {
			return did, err
		}
	}
	if err := batch.flush(ctx); err != nil || batch.completed {
		return did, err
	}
	return Same, nil
}

// rename gives the session and its messages other ids, so that it can be stored beside the one that has them.
func (in *foreignImport) rename(salt string) {
	in.session.ID = session.ID(foreign.Rename(string(in.session.ID), salt))
	in.renames = append(in.renames, newRenaming(salt, in.messages, in.renames))
	if r := in.session.Revert; r != nil {
		renamed := *r
		renamed.MessageID = session.MessageID(foreign.Rename(string(r.MessageID), salt))
		if r.PartID != "" {
			renamed.PartID = session.PartID(foreign.Rename(string(r.PartID), salt))
		}
		in.session.Revert = &renamed
	}
}
