// Package store says what cairn needs of a database: transactions as closures over a small set of rows. Drivers live
// below it (sqlstore has the SQL, sqlite and postgres the rest) and must pass the exam in storetest.
//
// What a store promises:
//
//   - Update runs its function in one transaction: all of it is visible and stored, or none. Transactions are
//     serialised. When Update returns nil after a Durable transaction, the data survives a power cut.
//   - View runs its function on one consistent snapshot. It may run beside an Update and sees nothing of it.
//   - The store decides how rows are kept, never what they mean. Stored JSON is deterministic; unknown fields survive.
//   - Bytes that are no longer what was stored are never served: reading them is an ErrDamaged that names the session.
//     What is asked of all sessions (Sessions, Feed, Asks and Spent of "", Approvals) leaves them out, so that the
//     damage of one session does not stop the others.
//
// A limit of 0 is no limit. The function of an Update or a View does not call the store again.
package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Store is a database of sessions. Safe for concurrent use.
type Store interface {
	// Update runs f in a transaction and commits it with the durability asked for. It may run f more than once, so f
	// touches nothing outside tx but variables that it sets anew each time. Many Updates may share one commit. An
	// error of f rolls back f's changes only and is returned as it is; a failure of the commit is returned as an
	// error that is ErrUnavailable, and nothing of the transaction was stored unless it is also ErrUncertain. A panic
	// of f counts as an error of f. ctx bounds the wait for the transaction to begin; once begun it runs to its end.
	Update(ctx context.Context, d Durability, f func(Tx) error) error

	// View runs f on a snapshot.
	View(ctx context.Context, f func(Reader) error) error

	// Close waits for running transactions and releases the database.
	Close() error
}

// Durability says what a commit waits for.
type Durability int

const (
	// Relaxed commits are atomic, ordered and survive the death of the process; a power cut may lose the newest of
	// them, always a suffix, unless a Durable commit followed.
	Relaxed Durability = iota
	// Durable commits, and everything committed before them, survive a power cut.
	Durable
)

var (
	// ErrUnavailable says that the store cannot do it now: disk full, read-only, damaged, closed.
	ErrUnavailable = errors.New("store unavailable")
	// ErrUncertain says that a commit may or may not have happened.
	ErrUncertain = errors.New("commit outcome unknown")
	// ErrClosed says that this process has closed the store. It is an ErrUnavailable too.
	ErrClosed = errors.New("store closed")
	// ErrFull says that there is no room to write. It is an ErrUnavailable too.
	ErrFull = errors.New("disk full")
	// ErrReadOnly says that the store was opened for reading only. It is an ErrUnavailable too.
	ErrReadOnly = errors.New("store is read-only")
	// ErrGone says that the database was removed, moved or replaced under the process that has it open: nothing is
	// written any more, and what is read may be what was. It is an ErrUnavailable too.
	ErrGone = errors.New("the database is gone")
	// ErrDamaged says that stored bytes are not those that were written. Errors that are ErrDamaged are a *Damage and
	// an ErrUnavailable too.
	ErrDamaged = errors.New("stored data is damaged")
)

// Damage is an ErrDamaged: what is damaged and how. Other sessions can be used.
type Damage struct {
	SessionID session.ID // "" if it is the whole store
	Seq       int64      // of the event or message; -1 if it is neither
	Detail    string
}

func (d *Damage) Error() string {
	switch {
	case d.SessionID == "":
		return "stored data is damaged: " + d.Detail
	case d.Seq < 0:
		return fmt.Sprintf("stored data of session %s is damaged: %s", d.SessionID, d.Detail)
	default:
		return fmt.Sprintf("stored data of session %s at seq %d is damaged: %s", d.SessionID, d.Seq, d.Detail)
	}
}

// Is reports whether target is ErrDamaged or ErrUnavailable.
func (d *Damage) Is(target error) bool { return target == ErrDamaged || target == ErrUnavailable }

// Reader reads a snapshot. Values that it returns belong to the caller. A missing row is (zero, false, nil) where a
// method returns a bool.
type Reader interface {
	EventReader
	SessionReader
	MessageReader
	InboxReader
	EpochReader
	AskReader
	SpendReader
}

// Tx reads and writes within one transaction.
type Tx interface {
	Reader
	EventWriter
	SessionWriter
	MessageWriter
	InboxWriter
	EpochWriter
	AskWriter
	SpendWriter
}

// Row is an event as it is stored: the payload's bytes, whole and unread.
type Row struct {
	Position  int64 // set by the store on insert
	ID        session.EventID
	SessionID session.ID
	Seq       int64
	Kind      session.Kind
	Version   int
	Data      jsontext.Value
	Private   jsontext.Value // nil if the event has none
}

// EventReader reads the log.
type EventReader interface {
	// Head returns the seq of the session's newest event, -1 if it has none.
	Head(id session.ID) (int64, error)
	// Events returns up to limit events of the session with seq > after, in order; only those of the kinds, if any
	// are given.
	Events(id session.ID, after int64, limit int, kinds ...session.Kind) ([]Row, error)
	// Feed returns up to limit events of all sessions with position > after, in order of position.
	Feed(after int64, limit int) ([]Row, error)
	// FeedHead returns the newest position that was given to an event, 0 if none was. The event may be gone.
	FeedHead() (int64, error)
}

// EventWriter appends to the log. Only package eventlog calls it.
type EventWriter interface {
	// InsertEvent stores the event and returns its position. A seq that is not Head+1 or an id that exists is an
	// error.
	InsertEvent(r Row) (position int64, err error)
	// InsertEnd stores an event that outlives its session and returns its position: the Feed has it, the session's Events
	// have not, and it stands in the way of no session with that id. An id that exists is an error.
	InsertEnd(r Row) (position int64, err error)
}

// SessionQuery selects sessions.
type SessionQuery struct {
	Directory string            // exact; "" any
	ProjectID session.ProjectID // exact; "" any
	Subpath   string            // this Path of sessions, or a deeper one; "" any
	ParentID  *session.ID       // exact; nil any; pointer to "" only roots
	Search    string            // substring of the title, case-insensitive, taken literally
	Archived  bool              // also archived ones
	Oldest    bool              // oldest first instead of newest first, by (created, id)
	Recent    bool              // what changed last first, by (updated, id), instead; not with Oldest or After
	Since     int64             // with Recent: only what changed then or later
	Before    int64             // with Recent: only what changed last before; 0 any
	After     *SessionAnchor    // continue behind this one, in the order asked for
	Limit     int
}

// SessionAnchor is a place in a list of sessions.
type SessionAnchor struct {
	Created int64
	ID      session.ID
}

// RawSession is a stored session. Data is its wire form.
type RawSession struct {
	ID      session.ID
	Created int64
	Updated int64
	Data    jsontext.Value
}

// Session decodes it.
func (r RawSession) Session() (*session.Session, error) {
	s := new(session.Session)
	if err := json.Unmarshal(r.Data, s); err != nil {
		return nil, fmt.Errorf("decode stored session %s: %w", r.ID, err)
	}
	return s, nil
}

// SessionReader reads session rows.
type SessionReader interface {
	Session(id session.ID) (*session.Session, bool, error)
	Sessions(q SessionQuery) ([]*session.Session, error)
	// RawSessions returns the stored bytes of Sessions, for views that show many and hold few.
	RawSessions(q SessionQuery) ([]RawSession, error)
	// Unfinished returns the sessions marked by SetUnfinished, longest untouched first, by (updated, id).
	Unfinished(limit int) ([]session.ID, error)
}

// SessionWriter writes session rows.
type SessionWriter interface {
	// PutSession inserts or replaces the row.
	PutSession(s *session.Session) error
	// DeleteSession removes the session with its events, messages, inbox, epoch and asks. Its spend stays.
	DeleteSession(id session.ID) error
	// SetUnfinished marks whether the session has work that a restart must look at. A session that has no row is left
	// alone; a new row is not marked.
	SetUnfinished(id session.ID, unfinished bool) error
}

// MessageQuery selects messages of one session.
type MessageQuery struct {
	After  int64 // only seq > After; -1 from the start
	Before int64 // only seq < Before; 0 to the end
	Newest bool  // newest first
	Limit  int   // 0 is all
}

// MessageReader reads projected messages.
type MessageReader interface {
	Message(id session.ID, m session.MessageID) (session.Message, bool, error)
	// MessageOwner returns the session that has the message.
	MessageOwner(m session.MessageID) (session.ID, bool, error)
	Messages(id session.ID, q MessageQuery) ([]session.Message, error)
	// RawMessages returns the stored bytes of messages, for views that pass them on unread.
	RawMessages(id session.ID, q MessageQuery) ([]RawMessage, error)
	// NewestOf returns the newest message of the type.
	NewestOf(id session.ID, t session.MessageType) (session.Message, bool, error)
	// ShellByCall returns the newest shell message with the call id.
	ShellByCall(id session.ID, callID string) (*session.Shell, bool, error)
}

// RawMessage is a stored message. Data is its wire form.
type RawMessage struct {
	ID   session.MessageID
	Seq  int64
	Type session.MessageType
	Data jsontext.Value
}

// MessageWriter writes projected messages.
type MessageWriter interface {
	// PutMessage inserts or replaces the message, which holds what the session's events up to the seq through say; its
	// Seq and type never change after the insert. An id that another session uses is an error of code conflict.
	//
	// A turn that streams is not put for each checkpoint, whose event says it all: whoever reads the turn is given it
	// with the checkpoints behind through (CatchUp).
	PutMessage(id session.ID, m session.Message, through int64) error
	// DeleteMessage removes the message, if there is one.
	DeleteMessage(m session.MessageID) error
	// DeleteMessages removes the messages with seq > after.
	DeleteMessages(id session.ID, after int64) error
}

// InboxReader reads admitted prompts.
type InboxReader interface {
	// Input returns the prompt with the id, pending or promoted, of whatever session.
	Input(m session.MessageID) (*session.Input, bool, error)
	// Pending returns the session's pending prompts of the delivery ("" any), by (Order, AdmittedSeq).
	Pending(id session.ID, d session.Delivery, limit int) ([]*session.Input, error)
	// CountPending counts them.
	CountPending(id session.ID) (int, error)
}

// InboxWriter writes admitted prompts.
type InboxWriter interface {
	// PutInput inserts or replaces the row. An id that another session uses is an error of code conflict.
	PutInput(in *session.Input) error
	DeleteInput(m session.MessageID) error
}

// Epoch is a session's context epoch: the baseline that every request of the epoch begins with, and the snapshot that
// sources are compared with (spec/v2 §11.3).
type Epoch struct {
	Baseline    string
	BaselineSeq int64 // system messages up to here are part of the baseline
	Snapshot    jsontext.Value
	Revision    int64
}

// EpochReader reads epochs.
type EpochReader interface {
	Epoch(id session.ID) (*Epoch, bool, error)
}

// EpochWriter writes epochs.
type EpochWriter interface {
	PutEpoch(id session.ID, e Epoch) error
	DeleteEpoch(id session.ID) error
}

// AskReader reads pending asks and saved approvals.
type AskReader interface {
	// Ask returns the ask with the id, pending or replied; Reply is "" while it is pending.
	Ask(a session.AskID) (*AskRow, bool, error)
	// Asks returns asks in order of asking: of one session by seq, or of all ("") by (time, session, seq).
	Asks(id session.ID, pendingOnly bool) ([]*AskRow, error)
	// Approvals returns the saved approvals of the project ("" all projects), oldest first, by (time, id).
	Approvals(p session.ProjectID) ([]Approval, error)
}

// AskRow is an ask and, once there is one, its reply.
type AskRow struct {
	session.PendingAsk
	Seq     int64           `json:"seq"`
	Reply   session.Reply   `json:"reply,omitzero"`
	Message string          `json:"message,omitzero"`
	By      session.ReplyBy `json:"by,omitzero"`
	Answers [][]string      `json:"answers,omitempty"`
}

// Approval allows an action on the resources that match, in one project, until it is revoked.
type Approval struct {
	ID        string            `json:"id"`
	ProjectID session.ProjectID `json:"projectID"`
	Action    string            `json:"action"`
	Resource  string            `json:"resource"`
	Time      int64             `json:"time,omitzero"`
}

// AskWriter writes asks and saved approvals.
type AskWriter interface {
	// PutAsk inserts or replaces the row. An id that another session uses is an error of code conflict.
	PutAsk(a *AskRow) error
	// PutApproval saves the approval unless one of the same project, action and resource exists. An id that exists
	// otherwise is an error of code conflict.
	PutApproval(a Approval) error
	DeleteApproval(id string) (existed bool, err error)
}

// Spend is one line of the immutable ledger: what one turn cost. It outlives its session.
type Spend struct {
	SessionID session.ID       `json:"sessionID"`
	Seq       int64            `json:"seq"`
	Time      int64            `json:"time"`
	Model     session.ModelRef `json:"model"`
	Cost      session.USD      `json:"cost"`
	Tokens    session.Tokens   `json:"tokens"`
}

// SpendReader reads the ledger.
type SpendReader interface {
	// Spent returns the lines with time >= since, of one session or of all (""), by (time, session, seq).
	Spent(id session.ID, since int64) ([]Spend, error)
}

// SpendWriter writes the ledger.
type SpendWriter interface {
	// AddSpend adds the line; a line with the same session and seq is kept as it is.
	AddSpend(s Spend) error
}
