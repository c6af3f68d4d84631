// Package logfile reads and writes exported logs: the events of sessions, and what is stored outside of the log, as
// lines of JSON.
//
//	{"format":"cairn-log","version":1,"cairn":"0.9.0","sessions":["ses_…"]}
//	{"event":"evt_…","session":"ses_…","seq":0,"kind":"session.created","version":1,"data":{…},"private":{…}}
//	{"content":"2c1a…","size":5,"offset":0,"data":"aGVsbG8="}
//	{"output":"tool_…-ses_…","size":5,"offset":0,"data":"aGVsbG8="}
//	{"lines":4,"sha256":"…"}
//
// The first line names the format and the sessions. The events follow, those of one session together and in the order
// of their seqs, the sessions in the order of the first line; data and private are the stored bytes. Then come the
// contents of files that a revert or a diff needs, each under git's id of it, and the files with the output of tools,
// in chunks that follow one another. The last line has the number of lines before it and the SHA-256 of their bytes.
//
// A Writer writes one form only, and a Reader accepts no other: an equal log is an equal file. Both hold one line at a
// time.
package logfile

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Format and Version are those of the first line.
const (
	Format  = "cairn-log"
	Version = 1
)

// The bounds of a file. JSON is nested 10,000 deep at most (jsontext).
const (
	MaxLine     = 64 << 20 // bytes of one line
	MaxFile     = 8 << 30  // bytes of all lines
	MaxSessions = 10_000
	MaxChunk    = 192 << 10 // bytes of the data of a chunk, before base64
	MaxContent  = 64 << 20  // bytes of a content: more is never stored (location/snapshot)
)

// Header is the first line.
type Header struct {
	Format    string       `json:"format"`
	Version   int          `json:"version"`
	Cairn     string       `json:"cairn"`              // the version of the program that wrote the file
	Sanitized bool         `json:"sanitized,omitzero"` // texts were replaced: the file is no copy of the sessions
	Sessions  []session.ID `json:"sessions"`
}

// CheckImport returns a *FormatError if the file is not made for an import.
func (h *Header) CheckImport() error {
	if !h.Sanitized {
		return nil
	}
	return &FormatError{1, "the file was exported with --sanitize, which replaces texts: it is for people to read; " +
		"export the sessions without it to import them"}
}

// Trailer is the last line.
type Trailer struct {
	Lines   int64  `json:"lines"`
	Missing int    `json:"missing,omitzero"` // contents that events name and that were not stored any more
	SHA256  string `json:"sha256"`
}

// ChunkKind says what a chunk is a part of.
type ChunkKind string

// The kinds of chunks.
const (
	ChunkContent ChunkKind = "content" // of a file that calls changed; the name is git's id of it
	ChunkOutput  ChunkKind = "output"  // of a tool; the name is that of the managed file
)

// Chunk is a part of what is stored outside of the log.
type Chunk struct {
	Kind   ChunkKind
	Name   string
	Size   int64 // of the whole
	Offset int64
	Data   []byte
}

// IsLast reports whether nothing follows of the same content or file.
func (c *Chunk) IsLast() bool { return c.Offset+int64(len(c.Data)) == c.Size }

// FormatError says what is wrong with a line, and what to do.
type FormatError struct {
	Line int64
	What string
}

func (e *FormatError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// appendEvent appends the line of an event, without the line break.
func appendEvent(b []byte, row *store.EventRow) []byte {
	b = appendQuoted(append(b, `{"event":`...), string(row.ID))
	b = appendQuoted(append(b, `,"session":`...), string(row.SessionID))
	b = strconv.AppendInt(append(b, `,"seq":`...), row.Seq, 10)
	b = appendQuoted(append(b, `,"kind":`...), string(row.Kind))
	b = strconv.AppendInt(append(b, `,"version":`...), int64(row.Version), 10)
	b = append(append(b, `,"data":`...), row.Data...)
	if len(row.Private) > 0 {
		b = append(append(b, `,"private":`...), row.Private...)
	}
	return append(b, '}')
}

// appendQuoted appends a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendQuoted(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // an error is invalid UTF-8, which it replaces
	return b
}
