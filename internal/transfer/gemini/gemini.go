// Package gemini reads the chats of the Gemini CLI: one JSON object until spring 2026, JSON lines since.
package gemini

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// maxFile is how many bytes of a file are read.
const maxFile = 512 << 20

// message is a message of the chat.
type message struct {
	foreign.Object
	row string // its id, or its position in the file
	at  int64
}

// chat is a file that is being read.
type chat struct {
	builder  *foreign.Builder
	messages []message
	index    map[string]int // of messages, by row
	hasID    bool
	hasStart bool
	subagent bool
	folder   string // that the file is in, which is named for the parent of a subagent
}

// Read reads a chat and returns its session, and none if it has no conversation. name is the name of the file, which
// names the session if the file does not, and the parent of a subagent. The error is the reader's.
func Read(r io.Reader, name string) ([]foreign.Session, error) {
	name = strings.ReplaceAll(name, `\`, "/")
	base := strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".jsonl"), ".json")
	f := &chat{
		builder: foreign.NewBuilder(foreign.Session{Program: foreign.Gemini, ID: base}),
		index:   map[string]int{}, folder: path.Base(path.Dir(name)),
	}
	if err := f.readFile(r); err != nil {
		return nil, err
	}
	s := f.builder.Session()
	if f.subagent && f.folder != "chats" && f.folder != "." && f.folder != "/" && f.folder != s.ID {
		s.ParentID = f.folder
	}
	f.convert()
	out := f.builder.Done()
	if len(out.Messages)+len(out.Problems) == 0 {
		return nil, nil
	}
	return []foreign.Session{out}, nil
}

// readFile reads lines, or the one object that the lines are.
func (f *chat) readFile(r io.Reader) error {
	var lines []foreign.Line
	size := 0
	err := foreign.ReadLines(r, func(l foreign.Line) {
		if size += len(l.Text); size > maxFile {
			l.Text, l.Problem = nil, fmt.Sprintf("the file is larger than %d MiB", maxFile>>20)
		}
		lines = append(lines, l)
	})
	if err != nil || len(lines) == 0 {
		return err
	}
	first := bytes.TrimSpace(lines[0].Text)
	_, reason := foreign.ParseObject(lines[0].Text)
	switch {
	case bytes.Equal(first, []byte("{")), len(lines) == 1 && reason != "" && bytes.HasPrefix(first, []byte("{")):
		f.addDocument(lines)
	case !slices.ContainsFunc(lines, mayBeRow): // such as a binary file: its lines say nothing
		f.builder.Row(0)
		f.builder.Problem("document", "", "the file is no chat of the Gemini CLI: it has no JSON object")
	default:
		for _, l := range lines {
			f.addLine(l)
		}
	}
	return nil
}

// mayBeRow reports whether the line is a JSON object, or too long to be read.
func mayBeRow(l foreign.Line) bool {
	_, reason := foreign.ParseObject(l.Text)
	return l.Text == nil || reason == ""
}

// addLine takes a line in.
func (f *chat) addLine(l foreign.Line) {
	if l.Problem != "" {
		f.builder.Problem(l.Name(), "", l.Problem)
	}
	o, reason := foreign.ParseObject(l.Text)
	if l.Text != nil && reason != "" {
		f.builder.Problem(l.Name(), "", reason)
	}
	f.builder.Row(o.Time("timestamp"))
	switch set := o.Object("$set"); {
	case o == nil:
	case o.Has("$rewindTo"):
		f.rewind(l.Name(), o.Text("$rewindTo"))
	case o.Has("id") || o.Has("type"):
		f.addMessage(l.Name(), o)
	case set != nil:
		if set["messages"].Kind() == '[' {
			f.messages, f.index = nil, map[string]int{}
		}
		f.addMeta(l.Name(), set)
	case o.Has("sessionId"):
		f.addMeta(l.Name(), o)
	default:
		f.builder.Problem(l.Name(), "", "the kind of row is unknown")
	}
}

// addMessage takes a message in. One with the id of an earlier one replaces it, where that stands.
func (f *chat) addMessage(where string, o foreign.Object) {
	m := message{o, cmp.Or(o.Text("id"), where), o.Time("timestamp")}
	if i, ok := f.index[m.row]; ok {
		f.messages[i] = m
		return
	}
	f.index[m.row] = len(f.messages)
	f.messages = append(f.messages, m)
}

// rewind removes the message and those after it.
func (f *chat) rewind(row, id string) {
	at, ok := f.index[id]
	if !ok {
		f.builder.Problem(row, "$rewindTo", "the message is missing; all messages were kept")
		return
	}
	for _, m := range f.messages[at:] {
		delete(f.index, m.row)
	}
	f.messages = slices.Delete(f.messages, at, len(f.messages))
}

// addMeta takes facts about the session. Its id is the first one, so that a file that grows stays the same session.
func (f *chat) addMeta(where string, o foreign.Object) {
	s := f.builder.Session()
	if id := o.Text("sessionId"); id != "" && !f.hasID {
		f.builder.SetID(id)
		f.hasID = true
	}
	if start := o.Time("startTime"); start > 0 && !f.hasStart {
		s.Created, f.hasStart = start, true
	}
	s.Updated = max(s.Updated, o.Time("lastUpdated"))
	s.Title = cmp.Or(o.Text("summary"), s.Title)
	f.subagent = f.subagent || o.Text("kind") == "subagent"
	if all := o.Texts("directories"); len(all) > 0 && s.Directory == "" {
		s.Directory = all[0]
	}
	if o.Has("messages") && o["messages"].Kind() != '[' {
		f.builder.Problem(where, "messages", "it is not a list")
	}
	for i, v := range o.List("messages") {
		f.addValue(fmt.Sprintf("%s, message %d", where, i+1), v)
	}
}

// addValue takes a message in that is part of a larger value.
func (f *chat) addValue(where string, v jsontext.Value) {
	m, reason := foreign.ParseObject(v)
	if reason != "" {
		f.builder.Problem(where, "", reason)
		return
	}
	f.addMessage(where, m)
}

// addDocument takes the one object in that the lines are. If it is cut off, the messages before that come in.
func (f *chat) addDocument(lines []foreign.Line) {
	var text []byte
	for _, l := range lines {
		if l.Problem != "" {
			f.builder.Problem(l.Name(), "", l.Problem)
		}
		text = append(append(text, l.Text...), '\n')
	}
	f.builder.Row(0) // the object itself
	d := jsontext.NewDecoder(
		bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	)
	meta := foreign.Object{}
	where := "document"
	err := func() error {
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil {
				return err
			}
			member := name.String()
			if member == "messages" && d.PeekKind() == '[' {
				if where, err = f.addMessages(d); err != nil {
					return err
				}
				continue
			}
			value, err := d.ReadValue()
			if err != nil {
				return err
			}
			meta[member] = value.Clone()
		}
		_, err := d.ReadToken()
		return err
	}()
	f.addMeta("document", meta)
	if err != nil {
		f.builder.Problem(where, "", "the file is cut off or not valid JSON here; what follows was left out")
	}
}

// addMessages takes the list of messages in, and returns the name of the one that it ended at.
func (f *chat) addMessages(d *jsontext.Decoder) (where string, err error) {
	where = "messages"
	if _, err := d.ReadToken(); err != nil {
		return where, err
	}
	for i := 1; d.PeekKind() != ']'; i++ {
		where = fmt.Sprintf("message %d", i)
		v, err := d.ReadValue()
		if err != nil {
			return where, err
		}
		f.builder.Row(0)
		f.addValue(where, v.Clone())
	}
	_, err = d.ReadToken()
	return where, err
}
