// Package store is what cairn requires of a database: transactions as closures over a small set of rows. A driver
// implements it (sqlstore holds the SQL; sqlite the connections, files and transactions) and must pass the exam in
// storetest.
//
// Contract:
//
//   - Update runs its function in one transaction: everything that the function wrote is visible and stored, or
//     nothing is. Transactions are serialized. Once Update returns nil for a Durable transaction, the data survives a
//     power cut.
//   - View runs its function on one consistent snapshot. It may run beside an Update and sees nothing of it.
//   - The store decides how rows are kept, never what they mean. Stored JSON is deterministic; unknown fields survive
//     a round trip.
//   - Bytes that differ from the ones that were written are never returned: reading them is an ErrDamaged that names
//     the session. Reads of all sessions leave damaged rows out (Events, Asks and Spent with an empty session id;
//     Approvals, Projects) or return them without data (RawSessions), so that damage in one session does not stop the others.
//
// A limit of 0 means no limit. The function of an Update or a View must not call the store again.
package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Store is a database of sessions. It is safe for concurrent use.
type Store interface {
	// Update runs f in a transaction and commits it with durability d. It may run f more than once, so f must not
	// touch anything outside tx except variables that it sets anew on each run. Many Updates may share one commit.
	// An error of f rolls back the changes of this f only and is returned unchanged. A failed commit is an
	// ErrUnavailable, and nothing of the transaction was stored unless the error is an ErrUncertain too. A panic of
	// f counts as an error of f. ctx bounds the wait for the transaction to begin; once begun, it runs to its end.
	Update(ctx context.Context, d Durability, f func(Tx) error) error

	// View runs f on a snapshot.
	View(ctx context.Context, f func(Reader) error) error

	// Close waits for running transactions and releases the database.
	Close() error
}

// Durability is the condition that a commit waits for.
type Durability int

const (
	// Relaxed commits are atomic and ordered, and survive the death of the process. A power cut may lose the newest of
	// them, always a suffix, unless a Durable commit followed.
	Relaxed Durability = iota
	// Durable commits, and all commits before them, survive a power cut.
	Durable
)

var (
	// ErrUnavailable means that the store cannot do it now: disk full, read-only, damaged, closed.
	ErrUnavailable = errors.New("store unavailable")
	// ErrUncertain means that a commit may or may not have happened.
	ErrUncertain = errors.New("commit outcome unknown")
	// ErrClosed means that this process closed the store. It is an ErrUnavailable too.
	ErrClosed = errors.New("store closed")
	// ErrFull means that the disk is full. It is an ErrUnavailable too.
	ErrFull = errors.New("disk full")
	// ErrReadOnly means that the store was opened read-only. It is an ErrUnavailable too.
	ErrReadOnly = errors.New("store is read-only")
	// ErrGone means that the database was removed, moved or replaced while this process had it open: writes are
	// refused, and reads may return old data. It is an ErrUnavailable too.
	ErrGone = errors.New("the database is gone")
	// ErrLeaseLost means that the lease file was removed or replaced while this process owned the data, so that another
	// process may own it: writes are refused until this process ends. It is an ErrUnavailable too.
	ErrLeaseLost = errors.New("the lease is lost")
	// ErrDamaged means that stored bytes are not the ones that were written. Every ErrDamaged is a *Damage and an
	// ErrUnavailable too.
	ErrDamaged = errors.New("stored data is damaged")
)

// Damage is an ErrDamaged with what is damaged. Other sessions can be used.
type Damage struct {
	SessionID session.ID // "" for the whole store
	Seq       int64      // of the event or message; -1 for other rows
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

// Reader reads a snapshot. Values that it returns belong to the caller. A missing row is not an error. Functions of
// this package (FindMessage, ReadMessages, …) return single and decoded rows of its queries.
type Reader interface {
	EventReader
	SessionReader
	MessageReader
	InboxReader
	EpochReader
	AskReader
	ApprovalReader
	SpendReader
	ProjectReader
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
	ApprovalWriter
	SpendWriter
	ProjectWriter
}

// EventRow is an event as it is stored: the payload's bytes, complete and not decoded.
type EventRow struct {
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
	// Head returns the seq of the session's newest event, -1 if it has no events. Of all sessions ("") it returns the
	// highest position that an event ever had, 0 if there never was an event.
	Head(id session.ID) (int64, error)
	// Events returns up to limit events of the session with seq > after, in order; given kinds select from them. Of all
	// sessions ("") it returns events with position > after, in order of position.
	Events(id session.ID, after int64, limit int, kinds ...session.Kind) ([]EventRow, error)
}

// EventWriter appends to the log. Only package eventlog calls it.
type EventWriter interface {
	// InsertEvent stores the event and returns its position. A seq that is not Head+1 is an error, except that the event
	// that creates a session (session.Created) may have any; ids are not compared.
	//
	// An event of a kind that outlives its session (Kind.OutlivesSession) is not part of the session's own log: it is
	// found among the events of all sessions only, its seq is not checked, and a new session may have the same id.
	InsertEvent(r EventRow) (position int64, err error)
}

// SessionQuery selects sessions. The fields with names are its filters: the names are those of the query of a request
// and of a cursor, which holds them. A new filter is a field here, and a condition in sqlstore, a case of storetest's
// exam and of sqlite's plans, and a field of api.SessionQuery with its value.
type SessionQuery struct {
	// Search is a substring of the title, case-insensitive, taken literally.
	Search    string            `json:"search,omitzero" query:"search"`
	Directory string            `json:"directory,omitzero" query:"directory"` // exact; "" any
	Moved     *Moved            `json:"moved,omitzero" query:"-"`             // with Directory: what the list has besides
	ProjectID session.ProjectID `json:"project,omitzero" query:"project"`     // exact; "" any
	RecordID  session.RecordID  `json:"record,omitzero" query:"-"`            // exact; "" any
	// Within is the directory of a repository, for RecordID only. The list then also has sessions of the project "global"
	// in the directory and below, unless their record is that of another repository: a session that began before the
	// directory became part of the repository stays in "global". Not with Recent.
	Within   string      `json:"within,omitzero" query:"within"`
	Subpath  string      `json:"subpath,omitzero" query:"subpath"`                     // this Path or one below it; "" any
	ParentID *session.ID `json:"parent,omitzero" query:"parent"`                       // exact; nil any; "" only roots
	Archived bool        `json:"archived,omitzero" query:"archived" enum:"true,false"` // include archived sessions

	// Tag has tags, separated by commas: only sessions with all of them.
	Tag string `json:"tag,omitzero" query:"tag"`

	Ancestor session.ID `json:"-" query:"-"` // sessions at any depth below this one; "" any; not with Recent
	// Ephemeral selects ephemeral sessions only.
	Ephemeral bool           `json:"-" query:"-"`
	Oldest    bool           `json:"-" query:"-"` // oldest first instead of newest first, by (created, id)
	Recent    bool           `json:"-" query:"-"` // most recently changed first, by (updated, id); not with Oldest or After
	Since     int64          `json:"-" query:"-"` // with Recent: only sessions that last changed then or later
	Before    int64          `json:"-" query:"-"` // with Recent: only sessions that last changed before; 0 any
	After     *SessionAnchor `json:"-" query:"-"` // continue after this one, in the order of the query
	Limit     int            `json:"-" query:"-"`
}

// Moved selects the sessions of a record in directories from which its project was moved.
type Moved struct {
	RecordID    session.RecordID `json:"record"`
	Directories []string         `json:"directories"` // at most MaxEarlier
}

// NewMoved returns nil without a record or a directory.
func NewMoved(id session.RecordID, directories []string) *Moved {
	if id == "" || len(directories) == 0 {
		return nil
	}
	return &Moved{RecordID: id, Directories: directories}
}

// SessionAnchor is a position in a list of sessions.
type SessionAnchor struct {
	Created int64
	ID      session.ID
}

// RawSession is a stored session. Data is its wire form without the record, nil if the row is damaged: only its ID, or
// not even that, is right then.
type RawSession struct {
	ID       session.ID
	RecordID session.RecordID // "" without one
	Created  int64
	Updated  int64
	Data     jsontext.Value
}

// Session decodes the row. Its record is that of the row: rows of an earlier version have one in Data, too, which may have
// been deleted since.
func (r RawSession) Session() (*session.Session, error) {
	s := new(session.Session)
	if err := json.Unmarshal(r.Data, s); err != nil {
		return nil, fmt.Errorf("decode stored session %s: %w", r.ID, err)
	}
	s.RecordID = r.RecordID
	return s, nil
}

// SessionReader reads session rows.
type SessionReader interface {
	// Session returns the session, false if it does not exist.
	Session(id session.ID) (*session.Session, bool, error)
	// RawSessions returns the stored bytes of sessions, for views that list many and decode few. Damaged rows have no
	// data.
	RawSessions(q SessionQuery) ([]RawSession, error)
	// Unfinished returns the sessions marked by SetUnfinished, least recently changed first, by (updated, id).
	Unfinished(limit int) ([]session.ID, error)
}

// SessionWriter writes session rows.
type SessionWriter interface {
	// PutSession inserts or replaces the row. If the record that it names does not exist, the row keeps the one that it
	// has: records are deleted, and sessions adopted, without a change of the session's log.
	PutSession(s *session.Session) error
	// DeleteSession removes the session with its events, messages, inbox, epoch, asks and the approvals that it
	// holds. Its spend stays.
	DeleteSession(id session.ID) error
	// SetUnfinished marks whether the session has work that a restart must look at. Without a session row it does
	// nothing; a new row is not marked.
	SetUnfinished(id session.ID, unfinished bool) error
}

// MessageQuery selects messages of one session.
type MessageQuery struct {
	After  int64               // only seq > After; -1 from the start
	Before int64               // only seq < Before; 0 to the end
	Type   session.MessageType // "" any
	CallID string              // of a shell message; "" any
	Newest bool                // newest first
	Limit  int
}

// MessageReader reads projected messages.
type MessageReader interface {
	// Message returns the message and the session that has it, "" if there is no such message. With an error that is
	// an ErrDamaged it still returns the session.
	Message(m session.MessageID) (owner session.ID, found session.Message, err error)
	// RawMessages calls f for each message with its stored bytes. The row is valid during the call only, and f must not
	// use the transaction. The first error of f ends the query and is returned.
	RawMessages(id session.ID, q MessageQuery, f func(*RawMessage) error) error
}

// RawMessage is a stored message. Data is its wire form.
type RawMessage struct {
	ID   session.MessageID
	Seq  int64
	Type session.MessageType
	Data jsontext.Value
}

// Message decodes the row.
func (r *RawMessage) Message() (session.Message, error) {
	m, err := session.DecodeMessageOf(r.Type, r.Data)
	if err != nil {
		return nil, err
	}
	m.Meta().Seq = r.Seq
	return m, nil
}

// MessageWriter writes projected messages.
type MessageWriter interface {
	// PutMessage inserts or replaces the message, into which the session's events up to seq through are folded. Its Seq
	// and type never change after the insert. An id that another session uses is an error of code conflict.
	//
	// A streaming turn is not put again for each checkpoint, because the checkpoint's event holds the text: reads apply
	// the checkpoints with seq > through (ApplyCheckpoints).
	//
	// stored is what session.EncodeMessage returns for the message, nil if the caller has not called it.
	PutMessage(id session.ID, m session.Message, stored jsontext.Value, through int64) error
	// DeleteMessages removes the messages with after < seq < before; a before of 0 is the end.
	DeleteMessages(id session.ID, after, before int64) error
}

// InputQuery selects admitted prompts: one by its id, or the pending prompts of a session.
type InputQuery struct {
	ID        session.MessageID // this prompt of any session, pending or promoted; the other fields are ignored
	SessionID session.ID
	Delivery  session.Delivery // "" any
	Limit     int
}

// InboxReader reads admitted prompts.
type InboxReader interface {
	// Inputs returns the prompts; those of a session by (Order, AdmittedSeq).
	Inputs(q InputQuery) ([]*session.Input, error)
}

// InboxWriter writes admitted prompts.
type InboxWriter interface {
	// PutInput inserts or replaces the row. An id that another session uses is an error of code conflict.
	PutInput(in *session.Input) error
	// DeleteInput removes the row, if it exists.
	DeleteInput(m session.MessageID) error
}

// Epoch is a session's context epoch: the baseline with which every request of the epoch begins, and the snapshot that
// sources are compared with.
type Epoch struct {
	Baseline    string
	BaselineSeq int64 // system messages up to here are part of the baseline
	Snapshot    jsontext.Value
	Revision    int64
}

// EpochReader reads epochs.
type EpochReader interface {
	// Epoch returns the session's epoch, false if it has none.
	Epoch(id session.ID) (*Epoch, bool, error)
}

// EpochWriter writes epochs.
type EpochWriter interface {
	// PutEpoch inserts or replaces the session's epoch; nil ends it.
	PutEpoch(id session.ID, e *Epoch) error
}

// AskQuery selects asks.
type AskQuery struct {
	ID        session.AskID // this ask of any session, pending or replied; the other fields are ignored
	SessionID session.ID    // "" all
	Pending   bool          // only asks without a reply
}

// AskReader reads asks.
type AskReader interface {
	// Asks returns asks in order of asking: those of one session by seq, those of all by (time, session, seq).
	Asks(q AskQuery) ([]*AskRow, error)
}

// AskRow is an ask and, once it is answered, its reply. Reply is "" while it is pending.
type AskRow struct {
	session.PendingAsk
	Seq     int64           `json:"seq"`
	Reply   session.Reply   `json:"reply,omitzero"`
	Message string          `json:"message,omitzero"`
	By      session.ReplyBy `json:"by,omitzero"`
	Answers [][]string      `json:"answers,omitempty"`
}

// AskWriter writes asks.
type AskWriter interface {
	// PutAsk inserts or replaces the row. An id that another session uses is an error of code conflict.
	PutAsk(a *AskRow) error
}

// Approval allows an action on the resources that match, in the project of one record, until its lifetime ends or it is
// revoked.
type Approval struct {
	ID       string           `json:"id"`
	RecordID session.RecordID `json:"recordID"`
	Action   string           `json:"action"`
	Resource string           `json:"resource"`
	Lifetime session.Lifetime `json:"lifetime"`
	Holder   string           `json:"holder,omitzero"` // the session or the process that the lifetime ends with
	Time     int64            `json:"time,omitzero"`
}

// ApprovalReader reads saved approvals.
type ApprovalReader interface {
	// Approvals returns the approvals of the record ("" all records), oldest first, by (time, id).
	Approvals(id session.RecordID) ([]Approval, error)
}

// ApprovalWriter writes saved approvals.
type ApprovalWriter interface {
	// PutApproval saves the approval unless one that differs only in id and time exists. An id that exists for another
	// approval is an error of code conflict.
	PutApproval(a Approval) error
	// DeleteApproval removes the approval and reports whether it existed.
	DeleteApproval(id string) (existed bool, err error)
}

// Spend is what one turn cost, one immutable line. It outlives its session.
type Spend struct {
	SessionID session.ID       `json:"sessionID"`
	Seq       int64            `json:"seq"`
	Time      int64            `json:"time"`
	Model     session.ModelRef `json:"model"`
	Cost      session.USD      `json:"cost"`
	Tokens    session.Tokens   `json:"tokens"`
}

// SpendReader reads what turns cost.
type SpendReader interface {
	// Spent returns the lines with time >= since, of one session or of all (""), by (time, session, seq).
	Spent(id session.ID, since int64) ([]Spend, error)
}

// SpendWriter writes what turns cost.
type SpendWriter interface {
	// AddSpend adds the line; an existing line with the same session and seq stays as it is.
	AddSpend(s Spend) error
}
