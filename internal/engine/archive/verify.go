package archive

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/logfile"
	"github.com/cairn-dev/cairn/internal/session"
)

// contents is what a verified file has.
type contents struct {
	trailer  logfile.Trailer
	sessions []session.ID
	first    map[session.ID]firstEvent // of each session
	pins     map[session.ID][]string   // the contents that each session needs and the file has
	grants   map[session.ID]int        // events of each session that lose rights
	missing  []session.ID              // the sessions that are imported; Archive.findMissing sets it
}

// firstEvent is what the first event of a session says, and where it is.
type firstEvent struct {
	line, seq int64
	parent    session.ID // of a subagent
}

// lineOf returns the line of an event.
func (c *contents) lineOf(id session.ID, seq int64) int64 {
	p := c.first[id]
	return p.line + max(seq, p.seq) - p.seq
}

// verify reads the whole file. What is wrong with it is a *logfile.FormatError.
func verify(from io.ReadSeeker) (*contents, error) {
	out := &contents{
		first: map[session.ID]firstEvent{}, pins: map[session.ID][]string{}, grants: map[session.ID]int{},
	}
	v := &verifier{contents: out, has: map[string]bool{}}
	r, err := forEachLine(from, v.check)
	if err != nil {
		return nil, err
	}
	if err := r.Header.CheckImport(); err != nil {
		return nil, err
	}
	out.trailer, out.sessions = r.Trailer, r.Header.Sessions
	// Pin what the file has of what each session names.
	for id, ids := range out.pins {
		out.pins[id] = slices.DeleteFunc(ids, func(content string) bool { return !v.has[content] })
	}
	return out, nil
}

// forEachLine reads the file from its beginning to its verified end.
func forEachLine(from io.ReadSeeker, f func(*logfile.Reader, logfile.Item) error) (*logfile.Reader, error) {
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r, err := logfile.NewReader(from)
	if err != nil {
		return nil, err
	}
	for {
		item, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err == nil {
			err = f(r, item)
		}
		if err != nil {
			return nil, err
		}
	}
}

// verifier checks what the format leaves open: which contents and outputs belong to the sessions.
type verifier struct {
	*contents

	named contentList     // by the events
	has   map[string]bool // contents of the file
	next  int             // position in named behind the content that was read last
	owner int             // position in the sessions of that of the output that was read last
	last  string          // name of that output
}

func (v *verifier) check(r *logfile.Reader, item logfile.Item) error {
	switch {
	case item.Event != nil:
		return v.checkEvent(item)
	case item.Chunk.Offset > 0:
		return nil
	case item.Chunk.Kind == logfile.ChunkContent:
		return v.checkContent(item)
	default:
		return v.checkOutput(r.Header.Sessions, item)
	}
}

func (v *verifier) checkEvent(item logfile.Item) error {
	row := *item.Event
	if _, ok := v.first[row.SessionID]; !ok {
		first := firstEvent{line: item.Line, seq: row.Seq}
		e, err := eventlog.Decode(row)
		if err != nil {
			return err
		}
		if created, ok := e.Data.(*session.Created); ok {
			first.parent = created.Info.ParentID
		}
		v.first[row.SessionID] = first
	}
	_, dropped, err := dropGrants(row)
	if err != nil {
		return err
	}
	if dropped {
		v.grants[row.SessionID]++
	}
	if namesContents(row.Kind) {
		e, err := eventlog.Decode(row)
		if err != nil {
			return err
		}
		ids := listContents(e.Data)
		v.named.add(ids)
		v.pins[row.SessionID] = append(v.pins[row.SessionID], ids...)
	}
	return nil
}

// checkContent checks that an event names the content, and that contents come in the order in which they are named.
func (v *verifier) checkContent(item logfile.Item) error {
	at := slices.Index(v.named.ids[v.next:], item.Chunk.Name)
	if at < 0 {
		return &logfile.FormatError{Line: item.Line, What: fmt.Sprintf("no event before needs the content %s in this place; "+
			"the file was changed: copy or export it again", session.ClipText(item.Chunk.Name, 60))}
	}
	v.next += at + 1
	v.has[item.Chunk.Name] = true
	return nil
}

// checkOutput checks that the output belongs to one of the sessions, and that outputs come in their order.
func (v *verifier) checkOutput(sessions []session.ID, item logfile.Item) error {
	name := item.Chunk.Name
	for v.owner < len(sessions) && !isOutputOf(sessions[v.owner], name) {
		v.owner, v.last = v.owner+1, ""
	}
	if v.owner == len(sessions) || name <= v.last {
		return &logfile.FormatError{Line: item.Line, What: fmt.Sprintf("the output %s is not one of the sessions in this "+
			"place; the file was changed: copy or export it again", session.ClipText(name, 80))}
	}
	v.last = name
	return nil
}

// isOutputOf reports whether a file with the output of a tool belongs to the session: tool_…-ses_….
func isOutputOf(id session.ID, name string) bool {
	tool, ok := strings.CutSuffix(name, "-"+string(id))
	return ok && session.CheckID("output", session.PrefixTool, tool) == nil && !strings.ContainsAny(name, `/\:.`+"\x00")
}
