// Package foreign holds sessions of other programs in cairn's form, as the importers of the packages beside it read
// them. Importers are pure functions from bytes to sessions: they open no files and know no store.
package foreign

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/cairn-dev/cairn/internal/session"
)

// The programs, as --from names them and as session.Import.From records them.
const (
	OpenCode = "opencode"
	Claude   = "claude"
	Codex    = "codex"
	Gemini   = "gemini"
	Crush    = "crush"
)

// Session is a session of another program. Its messages are whole: no turn and no call is open, and none is empty.
// Their ids come from IDs, so that reading the same source again makes the same ones.
type Session struct {
	Program   string
	ID        string // in the program
	ParentID  string // the program's id of the session that started it as a subagent, or that it was forked from; ""
	Directory string // absolute, where the program worked; "" if the source does not say
	Title     string // "" if the source has none
	Version   string // of the program that wrote it; ""
	Agent     string
	Model     *session.ModelRef // of the newest turn; nil if the source names none
	Created   int64             // milliseconds since the Unix epoch
	Updated   int64             // of the newest row
	Archived  int64             // 0 unless it is archived
	Cost      session.USD       // as the source gives it
	Tokens    session.Tokens    // all turns
	Messages  []session.Message // oldest first
	Todos     []session.Todo

	// Original holds what OpenCode says of a session beyond these fields, such as its slug, its rules and a staged
	// revert. It is nil for other programs only.
	Original *session.Session

	Rows     int       // rows of the source that belong to the session, those without a message included
	Problems []Problem // rows that were left out, oldest first
}

// Problem is a row of a source that cannot be read, and is left out.
type Problem struct {
	Row    string // its id, or its position, such as "line 12"
	Field  string // "" if the row as a whole is meant
	Reason string // one sentence for the user, without the row's text
}

// IDs makes the ids of a session of another program: the same for the same names and times.
type IDs struct{ seed string }

// NewIDs returns the ids of a session. id is the program's.
func NewIDs(program, id string) IDs { return IDs{program + "\x00" + id} }

// Session returns the id of the session, which was created at the time in milliseconds.
func (s IDs) Session(created int64) session.ID {
	return session.ID(s.make(session.PrefixSession, ^timeBits(created), ""))
}

// Message returns the id of the message that the row with the name makes. Names are unique among the messages.
func (s IDs) Message(row string, created int64) session.MessageID {
	return session.MessageID(s.make(session.PrefixMessage, timeBits(created), row))
}

// Part returns the id of the item with the number in the message of the row. The ids of a message sort by the number,
// up to maxPart, which OpenCode's clients rely on.
func (s IDs) Part(row string, n int, created int64) session.PartID {
	id := []byte(s.make(session.PrefixPart, timeBits(created), row+"\x00"+strconv.Itoa(n)))
	// The number comes first in what is a digest in other ids.
	n = min(n, maxPart)
	for i := numberEnd - 1; i >= timeEnd; i-- {
		id[i] = base62[n%len(base62)]
		n /= len(base62)
	}
	return session.PartID(id)
}

// Rename returns another id of the same kind for one of this session's ids, so that the session can be stored beside an
// earlier reading of it. salt says which one. An id of the usual length keeps its time and its number.
func Rename(id, salt string) string {
	tail := digest(salt + "\x00" + id)
	if len(id) != idLength {
		return id[:min(len(id), session.MaxIDLength-len(tail)-1)] + "-" + tail
	}
	return id[:numberEnd] + tail[:idLength-numberEnd]
}

// idLength is the length of the ids that OpenCode and this package make.
const idLength = timeEnd + 14

// Where the time of an id ends, and the number of an item.
const (
	timeEnd   = len("prt_") + 12
	numberEnd = timeEnd + 3
)

// maxPart is the greatest number of an item that an id can hold.
const maxPart = len(base62)*len(base62)*len(base62) - 1

// base62 are the characters of ids, in the order in which they sort.
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// timeBits are the 48 bits with which an id of the time begins.
func timeBits(ms int64) uint64 { return uint64(ms) << 12 }

// make returns an id in the form of session.IDs.New, with a digest in place of what is random.
func (s IDs) make(p session.Prefix, bits uint64, name string) string {
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], bits)
	return string(p) + "_" + hex.EncodeToString(at[2:]) + digest(s.seed+"\x00"+string(p)+"\x00"+name)
}

// digest returns 14 characters of base 62.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	tail := sum[:14]
	for i, b := range tail {
		tail[i] = base62[int(b)%len(base62)]
	}
	return string(tail)
}
