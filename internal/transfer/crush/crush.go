// Package crush reads the database that Crush keeps in a project, .crush/crush.db.
//
// A message holds its parts as JSON: text, reasoning, calls and results, files, and how it finished. Results are
// messages of their own. A subagent's session names its parent. The versions of files are not read.
package crush

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/sqlitefile"
)

// Read gives the sessions of the database, one at a time, and returns the problems that belong to no session. Its error
// is that of give, of the context, or of a database that cannot be read.
func Read(ctx context.Context, path string, give func(foreign.Session) error) ([]foreign.Problem, error) {
	db, err := sqlitefile.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	r := &reader{db: db, directory: projectOf(path)}
	if err = r.read(ctx, give); err == nil {
		err = db.Check()
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return r.problems, err
}

// projectOf returns the folder whose .crush folder has the database, "" for a database elsewhere.
func projectOf(path string) string {
	path, err := filepath.Abs(path)
	if dir := filepath.Dir(path); err == nil && filepath.Base(dir) == ".crush" {
		return filepath.Dir(dir)
	}
	return ""
}

// reader is the reading of one database.
type reader struct {
	db        *sqlitefile.DB
	directory string
	problems  []foreign.Problem
}

// titlePrefix begins the id of a session in which Crush asked for the title of another one.
const titlePrefix = "title-"

// read gives the sessions. One that lies in a damaged part of the database is a problem, and the others are read.
func (r *reader) read(ctx context.Context, give func(foreign.Session) error) error {
	for _, table := range []string{"sessions", "messages"} {
		columns, err := r.db.Columns(table)
		if err != nil {
			return err
		}
		if len(columns) == 0 {
			return errors.New("the database has no table of Crush's sessions")
		}
	}
	for row, err := range r.db.Rows(`SELECT id FROM sessions ORDER BY created_at, rowid`) {
		if err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		id := row.Text(0)
		if id == "" {
			r.problems = append(r.problems, foreign.Problem{Row: "sessions", Field: "id", Reason: "a session has no id"})
			continue
		}
		if strings.HasPrefix(id, titlePrefix) {
			continue
		}
		s, err := r.readSession(id)
		if errors.Is(err, sqlitefile.ErrDamaged) {
			s.Problems = append(s.Problems, foreign.Problem{Row: id, Reason: err.Error()})
		} else if err != nil {
			return fmt.Errorf("read session %s: %w", id, err)
		}
		if err := give(s); err != nil {
			return err
		}
	}
	return nil
}

// readSession reads one session. With an error it returns what was read until then.
func (r *reader) readSession(id string) (foreign.Session, error) {
	c := &converter{Builder: foreign.NewBuilder(foreign.Session{Program: foreign.Crush, ID: id, Directory: r.directory})}
	for row, err := range r.db.Rows(`SELECT * FROM sessions WHERE id = ?1`, id) {
		if err != nil {
			return c.Done(), err
		}
		c.readInfo(row.Object())
	}
	// The times are seconds, so that the order of the rows counts among those of one time.
	const messages = `SELECT * FROM messages WHERE session_id = ?1 ORDER BY created_at, rowid`
	for row, err := range r.db.Rows(messages, id) {
		if err != nil {
			return c.Done(), err
		}
		c.addMessage(row.Object())
	}
	return c.Done(), nil
}

// converter makes the messages of a session.
type converter struct {
	*foreign.Builder
	summary string // id of the message that replaces those before it; "" without one
}

// readInfo sets what the row of the session says. Its tokens are those of the newest turn.
func (c *converter) readInfo(row foreign.Object) {
	s := c.Session()
	s.Rows++
	s.Title, s.ParentID, c.summary = row.Text("title"), row.Text("parent_session_id"), row.Text("summary_message_id")
	if s.ParentID == s.ID {
		s.ParentID = ""
	}
	s.Created, s.Updated = row.Time("created_at"), row.Time("updated_at")
	s.Tokens = session.Tokens{Input: row.Int("prompt_tokens"), Output: row.Int("completion_tokens")}
	if usd, err := session.ParseUSD(string(row["cost"])); err == nil && usd >= 0 {
		s.Cost = usd
	}
	if text := row.Text("todos"); text != "" {
		list, reason := foreign.ParseObject([]byte(`{"todos":` + text + `}`))
		if reason != "" {
			c.Problem(s.ID, "todos", reason)
		}
		s.Todos = todosOf(list)
	}
}

func todosOf(o foreign.Object) []session.Todo {
	var out []session.Todo
	for _, t := range o.Objects("todos") {
		out = append(out, foreign.NewTodo(t.Text("content"), t.Text("status")))
	}
	return out
}

// message is a row of messages.
type message struct {
	row   string
	at    int64
	ended int64
	model session.ModelRef
	parts []part
}

// part is a part of a message: its type and its data.
type part struct {
	kind string
	foreign.Object
}

// addMessage adds the message of the row, or a problem.
func (c *converter) addMessage(row foreign.Object) {
	m := message{row: row.Text("id"), at: row.Time("created_at")}
	m.ended = max(m.at, row.Time("finished_at"), row.Time("updated_at"))
	m.model = session.ModelRef{
		ID: cmp.Or(row.Text("model"), "unknown"), ProviderID: cmp.Or(row.Text("provider"), "unknown"),
	}
	c.Row(m.ended)
	if m.row == "" {
		c.Problem("messages", "id", "a message has no id")
		return
	}
	list, reason := foreign.ParseObject([]byte(`{"parts":` + row.Text("parts") + `}`))
	if reason == "" && list["parts"].Kind() != '[' {
		reason = "it is not a list"
	}
	if reason != "" {
		c.Problem(m.row, "parts", reason)
		return
	}
	for _, p := range list.Objects("parts") {
		m.parts = append(m.parts, part{p.Text("type"), p.Object("data")})
	}
	// The summary of a conversation is an answer that replaces what is before it.
	isSummary := row.Int("is_summary_message") == 1 || m.row == c.summary
	switch role := row.Text("role"); {
	case role == "assistant" && isSummary:
		c.addSummary(m)
	case role == "assistant":
		c.addTurn(m)
	case role == "user":
		c.addPrompt(m)
	case role == "tool":
		c.addResults(m)
	case role == "system":
		c.System(m.row, m.at, m.text())
	default:
		c.Problem(m.row, "role", "its role is not known")
	}
}

// text returns the texts of the message.
func (m message) text() string {
	var texts []string
	for _, p := range m.parts {
		if p.kind == "text" {
			texts = append(texts, p.Text("text"))
		}
	}
	return strings.Join(texts, "\n")
}
