// Package opencodev1 makes sessions of OpenCode's V1 objects, which its storage files and its databases hold. Ids are
// kept, and messages keep their original form, so that an export shows what OpenCode had.
package opencodev1

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// Row is a row or a file of the source that holds one object.
type Row struct {
	Name   string // for a problem
	ID     string // of the object, if its place says it; else the object has it
	Data   []byte // JSON
	Reason string // why it could not be read; "" if it was
}

// Message is a message with its parts in their order.
type Message struct {
	Row
	Parts []Row
}

// Builder makes one session of its rows.
type Builder struct {
	session  foreign.Session
	messages opencode.MessageImporter
	seen     map[session.MessageID]bool
	info     foreign.Object
	cost     session.USD       // of the turns
	tokens   session.Tokens    // of the turns
	prompt   session.MessageID // newest
	empty    int               // messages without parts
	more     int               // problems that are not listed
}

// NewBuilder begins the session with the id, which must be valid.
func NewBuilder(id string) *Builder {
	return &Builder{
		session: foreign.Session{Program: foreign.OpenCode, ID: id}, seen: map[session.MessageID]bool{},
	}
}

// Problem records that a row, or a field of it, was left out.
func (b *Builder) Problem(row, field, reason string) {
	if len(b.session.Problems) >= maxProblems {
		b.more++
		return
	}
	b.session.Problems = append(b.session.Problems, foreign.Problem{Row: row, Field: field, Reason: reason})
}

// maxProblems bounds the list of problems of a session.
const maxProblems = 1000

// CountRow counts a row that makes no message.
func (b *Builder) CountRow() { b.session.Rows++ }

// Info sets what the source says of the session. Members that OpenCode does not write in this form are left out.
// Without it, the session has what its messages say.
func (b *Builder) Info(row Row) {
	b.session.Rows++
	in, reason := row.object()
	if reason != "" {
		b.Problem(row.Name, "", reason)
		return
	}
	in["id"] = foreign.Quote(b.session.ID)
	in = reduceSummary(in)
	b.info = in
	// A member of another type is left out by itself, all others stay.
	valid, refused := keepValid(in, defaultInfo(b.session.ID), func(o foreign.Object) error {
		_, err := opencode.FromOpenCode(o.Value())
		return err
	})
	for _, name := range refused {
		b.Problem(row.Name, name, notOpenCode)
	}
	if s, err := opencode.FromOpenCode(valid.Value()); err == nil {
		b.setSession(s, valid)
	}
}

// defaultInfo has the members that a session must have.
func defaultInfo(id string) foreign.Object {
	return foreign.Object{
		"id": foreign.Quote(id), "title": foreign.Quote(""), "version": foreign.Quote(""),
		"time": jsontext.Value(`{"created":0,"updated":0}`),
	}
}

const notOpenCode = "it does not have the form that OpenCode writes"

func (b *Builder) setSession(from *session.Session, info foreign.Object) {
	s := &b.session
	s.Original = from
	s.ParentID, s.Directory = info.Text("parentID"), info.Text("directory")
	if s.ParentID == s.ID {
		s.ParentID = ""
	}
	s.Title, s.Version, s.Agent, s.Model = from.Title, from.Version, from.Agent, from.Model
	s.Created, s.Updated, s.Archived = from.Time.Created, from.Time.Updated, from.Time.Archived
	s.Cost, s.Tokens = from.Cost, from.Tokens
}

// reduceSummary is OpenCode's second migration in memory: the changes of files that are stored with a session become
// their counts. Their texts are left out, since its messages have them too.
func reduceSummary(in foreign.Object) foreign.Object {
	summary := in.Object("summary")
	if summary == nil || !summary.Has("diffs") {
		return in
	}
	c := countChanges(summary.Objects("diffs"))
	n := func(v int) jsontext.Value { return jsontext.Value(strconv.Itoa(v)) }
	counts := foreign.Object{"additions": n(c.Additions), "deletions": n(c.Deletions), "files": n(c.Files)}
	return in.With("summary", counts.Value())
}

func countChanges(diffs []foreign.Object) *session.Changes {
	c := &session.Changes{Files: len(diffs)}
	for _, d := range diffs {
		c.Additions += int(d.Int("additions"))
		c.Deletions += int(d.Int("deletions"))
	}
	return c
}

// LacksSummary reports whether the session does not say how much it changed.
func (b *Builder) LacksSummary() bool {
	return b.session.Original != nil && b.session.Original.Changes == nil
}

// Changes sets how much the session changed in files, for a source that stores it beside the session.
func (b *Builder) Changes(diffs []foreign.Object) { b.session.Original.Changes = countChanges(diffs) }

// Directory sets where the program worked, if the session does not say it.
func (b *Builder) Directory(path string) { b.session.Directory = cmp.Or(b.session.Directory, path) }

// Todos sets the todo list. Entries that are not whole are repaired.
func (b *Builder) Todos(list []foreign.Object) {
	for _, o := range list {
		t := foreign.NewTodo(o.Text("content"), o.Text("status"))
		if p := session.TodoPriority(o.Text("priority")); p == session.TodoHigh || p == session.TodoLow {
			t.Priority = p
		}
		b.session.Todos = append(b.session.Todos, t)
	}
}

// Done ends the session and returns it.
func (b *Builder) Done() foreign.Session {
	b.take(b.messages.Flush())
	s := &b.session
	if b.empty > 0 {
		b.Problem(s.ID, "parts", "messages without parts: "+strconv.Itoa(b.empty))
	}
	if b.more > 0 {
		s.Problems = append(s.Problems, foreign.Problem{Reason: strconv.Itoa(b.more) + " more problems are not listed"})
	}
	// A session of an older version does not sum up its turns.
	if !b.info.Has("cost") {
		s.Cost = b.cost
	}
	if !b.info.Has("tokens") {
		s.Tokens = b.tokens
	}
	for _, m := range s.Messages {
		at := m.Meta().Time
		if s.Created == 0 || s.Created > at.Created && at.Created > 0 {
			s.Created = at.Created
		}
		s.Updated = max(s.Updated, at.Created, at.Completed)
	}
	s.Updated = max(s.Updated, s.Created)
	// A session whose own row cannot be read has what is known of it otherwise.
	if s.Original == nil {
		s.Original, _ = opencode.FromOpenCode(defaultInfo(s.ID).Value()) // it is valid
	}
	if o := s.Original; o != nil {
		o.Cost, o.Tokens, o.Agent, o.Model = s.Cost, s.Tokens, cmp.Or(o.Agent, s.Agent), cmp.Or(o.Model, s.Model)
		o.Time.Created, o.Time.Updated = s.Created, cmp.Or(o.Time.Updated, s.Updated)
	}
	return *s
}

// Append adds a message that has the native form already.
func (b *Builder) Append(m session.Message) {
	b.session.Rows++
	b.take([]session.Message{m})
}

// take appends messages that are complete.
func (b *Builder) take(ms []session.Message) {
	for _, m := range ms {
		b.session.Messages = append(b.session.Messages, m)
		a, ok := m.(*session.Assistant)
		if !ok {
			continue
		}
		if a.Agent != "" {
			b.session.Agent = a.Agent
		}
		if a.Model.ID != "" {
			model := a.Model
			b.session.Model = &model
		}
		if a.Cost != nil {
			b.cost += *a.Cost
		}
		if u := a.Tokens; u != nil {
			b.tokens.Input += u.Input
			b.tokens.Output += u.Output
			b.tokens.Reasoning += u.Reasoning
			b.tokens.Cache.Read += u.Cache.Read
			b.tokens.Cache.Write += u.Cache.Write
		}
	}
}

// object parses the row's JSON.
func (r Row) object() (foreign.Object, string) {
	if r.Reason != "" {
		return nil, r.Reason
	}
	o, reason := foreign.ParseObject(r.Data)
	if reason != "" {
		return nil, reason
	}
	return o, ""
}

// keepValid returns the object without the members that check refuses, whose names it returns. Defaults stand for
// members that are missing or refused.
func keepValid(in, defaults foreign.Object, check func(foreign.Object) error) (foreign.Object, []string) {
	whole := maps.Clone(defaults)
	maps.Copy(whole, in)
	if check(whole) == nil {
		return whole, nil
	}
	out := maps.Clone(defaults)
	var refused []string
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if with := out.With(name, in[name]); check(with) == nil {
			out = with
		} else {
			refused = append(refused, name)
		}
	}
	return out, refused
}
