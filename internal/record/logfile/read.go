package logfile

import (
	"bufio"
	"bytes"
	"crypto/sha1" //nolint:gosec // git's names of contents
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Reader reads an exported log and checks it: the form of each line, that each event can be decoded, the order of the
// lines, and the checksum. What is wrong with the file is a *FormatError.
type Reader struct {
	Header  Header
	Trailer Trailer // once Next has returned io.EOF

	from *bufio.Reader
	sum  hash.Hash
	line int64 // number of the line that was read last
	size int64 // bytes until then
	buf  []byte

	at      int   // position in Header.Sessions of the session whose events are read; -1 before the first
	next    int64 // the seq that must follow in it
	section int   // 0 in the events, 1 in the contents, 2 in the outputs, 3 behind the end
	file    *openFile
	done    map[string]bool // names of the contents and outputs that were read
}

// openFile is a content or output whose chunks are being read.
type openFile struct {
	kind   ChunkKind
	name   string
	size   int64
	offset int64
	sum    hash.Hash // nil unless the name follows from the content
}

// Item is a line: an event or a chunk.
type Item struct {
	Line  int64
	Event *store.EventRow
	Chunk *Chunk
}

// HasFormat reports whether a file that begins with these bytes is an exported log, whole or not.
func HasFormat(begin []byte) bool {
	return bytes.HasPrefix(begin, []byte(`{"format":"`+Format+`"`))
}

// NewReader reads the first line.
func NewReader(from io.Reader) (*Reader, error) {
	r := &Reader{from: bufio.NewReaderSize(from, 256<<10), sum: sha256.New(), at: -1, done: map[string]bool{}}
	line, err := r.readLine()
	if err != nil {
		return nil, err
	}
	h := &r.Header
	if err := json.Unmarshal(line, h, json.RejectUnknownMembers(true)); err != nil || h.Format != Format {
		return nil, r.invalid("this is not the first line of an exported log, which begins with {\"format\":%q", Format)
	}
	switch canonical, err := json.Marshal(h, json.Deterministic(true)); {
	case h.Version != Version:
		return nil, r.invalid("the file has version %d of the format, and this cairn reads version %d; "+
			"import it with cairn %s or a newer one", h.Version, Version, session.ClipText(h.Cairn, 40))
	case err != nil || !bytes.Equal(line, canonical):
		return nil, r.invalid("the line is not in the form that cairn export writes; export the sessions again")
	case len(h.Sessions) == 0 || len(h.Sessions) > MaxSessions:
		return nil, r.invalid("it names %d sessions; an exported log has 1 to %d", len(h.Sessions), MaxSessions)
	}
	seen := map[session.ID]bool{}
	for _, id := range h.Sessions {
		if err := session.CheckID("sessions", session.PrefixSession, string(id)); err != nil {
			return nil, r.invalid("%v", err)
		}
		if seen[id] {
			return nil, r.invalid("it names the session %s twice", id)
		}
		seen[id] = true
	}
	return r, nil
}

// Next returns the next line. It returns io.EOF when the last line was read and the checksum is right. The values of an
// Item are valid until the next call.
func (r *Reader) Next() (Item, error) {
	if r.section == 3 {
		return Item{}, io.EOF
	}
	line, err := r.readLine()
	if err != nil {
		return Item{}, err
	}
	// The first member says what the line is.
	switch {
	case bytes.HasPrefix(line, []byte(`{"event":`)):
		row, err := r.readEvent(line)
		return Item{Line: r.line, Event: row}, err
	case bytes.HasPrefix(line, []byte(`{"content":`)):
		c, err := r.readChunk(line, ChunkContent)
		return Item{Line: r.line, Chunk: c}, err
	case bytes.HasPrefix(line, []byte(`{"output":`)):
		c, err := r.readChunk(line, ChunkOutput)
		return Item{Line: r.line, Chunk: c}, err
	case bytes.HasPrefix(line, []byte(`{"lines":`)):
		return Item{}, r.readTrailer(line)
	case bytes.HasPrefix(line, []byte(errorPrefix)):
		return Item{}, r.invalid("%v; export it again", readError(line))
	default:
		return Item{}, r.invalid("the line is not an event, a content, an output or the end of an exported log; " + again)
	}
}

// again is what to do with a damaged file.
const again = "the file was changed: copy or export it again"

// readLine returns the next line without its line break.
func (r *Reader) readLine() ([]byte, error) {
	_, _ = r.sum.Write(r.buf) // the line before; never fails
	r.line++
	r.buf = r.buf[:0]
	for {
		part, err := r.from.ReadSlice('\n')
		r.buf = append(r.buf, part...)
		r.size += int64(len(part))
		switch {
		case len(r.buf) > MaxLine:
			return nil, r.invalid("the line has more than %d bytes", MaxLine)
		case r.size > MaxFile:
			return nil, r.invalid("the file has more than %d bytes", int64(MaxFile))
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return nil, r.invalid("the file is cut off here: its last line, with the checksum, is missing; " +
				"copy or export it again")
		case err != nil:
			return nil, err
		}
		return r.buf[:len(r.buf)-1], nil
	}
}

func (r *Reader) invalid(format string, args ...any) error {
	return &FormatError{r.line, fmt.Sprintf(format, args...)}
}

// eventLine is the line of an event.
type eventLine struct {
	ID      session.EventID `json:"event"`
	Session session.ID      `json:"session"`
	Seq     int64           `json:"seq"`
	Kind    session.Kind    `json:"kind"`
	Version int             `json:"version"`
	Data    jsontext.Value  `json:"data"`
	Private jsontext.Value  `json:"private"`
}

// readEvent checks the line of an event.
func (r *Reader) readEvent(line []byte) (*store.EventRow, error) {
	var e eventLine
	if err := json.Unmarshal(line, &e, json.RejectUnknownMembers(true)); err != nil {
		return nil, r.invalid("the event is not valid: %s; %s", describeJSON(err), again)
	}
	row := &store.EventRow{
		ID: e.ID, SessionID: e.Session, Seq: e.Seq, Kind: e.Kind, Version: e.Version, Data: e.Data, Private: e.Private,
	}
	if !bytes.Equal(line, appendEvent(nil, row)) {
		return nil, r.invalid("the event is not in the form that cairn export writes; " + again)
	}
	if err := session.CheckID("event", session.PrefixEvent, string(e.ID)); err != nil {
		return nil, r.invalid("%v", err)
	}
	if err := r.checkContent(row); err != nil {
		return nil, err
	}
	return row, r.checkPlace(row)
}

// checkContent decodes the event.
func (r *Reader) checkContent(row *store.EventRow) error {
	data, err := session.DecodeData(row.Kind, row.Version, row.Data)
	if err != nil {
		return r.invalid("%v; %s", err, again)
	}
	if len(row.Private) > 0 {
		if err := json.Unmarshal(row.Private, &session.Private{}); err != nil {
			return r.invalid("the private part of the event is not valid: %s; %s", describeJSON(err), again)
		}
	}
	switch _, isUnknown := data.(*session.Unknown); {
	case isUnknown:
		return r.invalid("this cairn does not know the event %s, version %d: the log was exported by cairn %s; update cairn",
			session.ClipText(string(row.Kind), 60), row.Version, session.ClipText(r.Header.Cairn, 40))
	case row.Kind.OutlivesSession():
		return r.invalid("the event %s is not part of a session's log; %s", row.Kind, again)
	case data.Stamp().SessionID != row.SessionID:
		return r.invalid("the event is one of session %q; %s", session.ClipText(string(data.Stamp().SessionID), 60), again)
	}
	created, creates := data.(*session.Created)
	isFirst := r.at < 0 || row.SessionID != r.Header.Sessions[r.at]
	switch {
	case creates != isFirst:
		return r.invalid("exactly the first event of a session creates it; " + again)
	case creates && (created.Info.ID != row.SessionID || created.FirstSeq() != row.Seq):
		return r.invalid("the event creates session %q from seq %d on; %s",
			session.ClipText(string(created.Info.ID), 60), created.FirstSeq(), again)
	}
	return nil
}

// checkPlace checks that the event follows those before it.
func (r *Reader) checkPlace(row *store.EventRow) error {
	if r.section > 0 {
		return r.invalid("events come before contents and outputs; " + again)
	}
	if r.at < 0 || row.SessionID != r.Header.Sessions[r.at] {
		r.at++
		if r.at >= len(r.Header.Sessions) || row.SessionID != r.Header.Sessions[r.at] {
			return r.invalid("the sessions are not in the order of the first line; " + again)
		}
		r.next = row.Seq
	}
	if row.Seq != r.next {
		return r.invalid("the event has seq %d, but %d follows; %s", row.Seq, r.next, again)
	}
	r.next++
	return nil
}

// chunkLine is the line of a chunk.
type chunkLine struct {
	Content string `json:"content"`
	Output  string `json:"output"`
	Size    int64  `json:"size"`
	Offset  int64  `json:"offset"`
	Data    []byte `json:"data"`
}

// readChunk checks the line of a chunk.
func (r *Reader) readChunk(line []byte, kind ChunkKind) (*Chunk, error) {
	var l chunkLine
	if err := json.Unmarshal(line, &l, json.RejectUnknownMembers(true)); err != nil {
		return nil, r.invalid("the %s is not valid: %s; %s", kind, describeJSON(err), again)
	}
	c := &Chunk{kind, l.Content + l.Output, l.Size, l.Offset, l.Data}
	if !bytes.Equal(line, appendChunk(nil, c)) || len(c.Data) > MaxChunk {
		return nil, r.invalid("the %s is not in the form that cairn export writes; %s", kind, again)
	}
	// Contents come before outputs, and both behind all events.
	section := map[ChunkKind]int{ChunkContent: 1, ChunkOutput: 2}[kind]
	if section < r.section || r.at != len(r.Header.Sessions)-1 {
		return nil, r.invalid("the %s is not in its place, behind the events of all sessions; %s", kind, again)
	}
	r.section = section
	return c, r.followFile(c)
}

// followFile checks that the chunk continues the open file, or begins another one.
func (r *Reader) followFile(c *Chunk) error {
	if r.file == nil {
		if c.Kind == ChunkContent && c.Size > MaxContent {
			return r.invalid("the %s has %d bytes, the limit is %d; %s", c.Kind, c.Size, MaxContent, again)
		}
		if c.Offset != 0 || c.Size < 0 || r.done[string(c.Kind)+c.Name] {
			return r.invalid("the %s does not begin here; %s", c.Kind, again)
		}
		r.file = &openFile{kind: c.Kind, name: c.Name, size: c.Size}
		if c.Kind == ChunkContent {
			r.file.sum = sha1.New()                               //nolint:gosec // git's names of contents
			_, _ = fmt.Fprintf(r.file.sum, "blob %d\x00", c.Size) // never fails
		}
	}
	f := r.file
	end := c.Offset + int64(len(c.Data))
	if f.kind != c.Kind || f.name != c.Name || f.size != c.Size || f.offset != c.Offset || end > c.Size ||
		len(c.Data) == 0 && c.Size > 0 {
		return r.invalid("the chunk does not continue the %s %s; %s", f.kind, session.ClipText(f.name, 60), again)
	}
	f.offset = end
	if f.sum != nil {
		_, _ = f.sum.Write(c.Data) // never fails
	}
	if !c.IsLast() {
		return nil
	}
	// The whole is here: a content has the id that its bytes give.
	if f.sum != nil && hex.EncodeToString(f.sum.Sum(nil)) != f.name {
		return r.invalid("the bytes are not those of the content %s; %s", session.ClipText(f.name, 60), again)
	}
	r.done[string(f.kind)+f.name] = true
	r.file = nil
	return nil
}

// readTrailer checks the last line and that nothing follows.
func (r *Reader) readTrailer(line []byte) error {
	var t Trailer
	if err := json.Unmarshal(line, &t, json.RejectUnknownMembers(true)); err != nil {
		return r.invalid("the last line is not valid: %s; %s", describeJSON(err), again)
	}
	digest := hex.EncodeToString(r.sum.Sum(nil)) // readLine adds a line when it reads the next one
	canonical, err := json.Marshal(&t, json.Deterministic(true))
	switch {
	case err != nil || !bytes.Equal(line, canonical):
		return r.invalid("the last line is not in the form that cairn export writes; " + again)
	case t.Lines != r.line-1:
		return r.invalid("%d lines come before this one, and the file had %d when it was exported; %s", r.line-1, t.Lines,
			again)
	case t.SHA256 != digest:
		return r.invalid("the checksum is not that of the lines before it: one of them was changed; " +
			"copy or export the file again")
	case r.at != len(r.Header.Sessions)-1:
		return r.invalid("the events of session %s are missing; %s", r.Header.Sessions[r.at+1], again)
	case r.file != nil:
		return r.invalid("the %s %s is not complete; %s", r.file.kind, session.ClipText(r.file.name, 60), again)
	}
	if _, err := r.from.ReadByte(); !errors.Is(err, io.EOF) {
		r.line++
		return r.invalid("something follows the last line; " + again)
	}
	r.Trailer, r.section = t, 3
	return io.EOF
}

// describeJSON returns what is wrong with a line, without its bytes.
func describeJSON(err error) string {
	if e, ok := errors.AsType[*json.SemanticError](err); ok && e.JSONPointer != "" {
		return "the member " + session.ClipText(strings.TrimPrefix(string(e.JSONPointer), "/"), 60) + " has another type"
	}
	return "it is not the JSON that is expected"
}
