package opencodedb

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/opencodev1"
)

// maxMessage is the size of a message in bytes of JSON that an import accepts.
const maxMessage = 11 << 20

// readV2 reads a session of the tables of 2.x. With an error it returns what was read until then.
func (r *reader) readV2(id string) (foreign.Session, error) {
	c := &converter{Builder: opencodev1.NewBuilder(id), id: session.ID(id), ids: foreign.NewIDs(foreign.OpenCode, id)}
	for row, err := range r.db.Rows(`SELECT * FROM session_v2 WHERE id = ?1`, id) {
		if err != nil {
			return c.Done(), err
		}
		c.Info(opencodev1.Row{Name: id, Data: infoOf(row.Object()).Value()})
	}
	todos, err := r.readTodos(id)
	c.Todos(todos)
	if err != nil {
		return c.Done(), err
	}
	const messages = `SELECT id, type, time_created, data FROM session_message WHERE session_id = ?1 ORDER BY seq, id`
	for row, err := range r.db.Rows(messages, id) {
		if err != nil {
			return c.Done(), err
		}
		m := message{row: row.Text(0), kind: row.Text(1), created: max(row.Int(2), 0)}
		data, reason := row.Bytes(3)
		if reason == "" {
			m.Object, reason = foreign.ParseObject(data)
		}
		c.addRow(m, reason)
	}
	return c.Done(), nil
}

// message is a row of session_message.
type message struct {
	foreign.Object
	row, kind string
	created   int64
}

// converter makes the messages of a session of 2.x.
type converter struct {
	*opencodev1.Builder
	id     session.ID
	ids    foreign.IDs
	prompt session.MessageID // newest
}

// addRow adds the message of the row, or a problem.
func (c *converter) addRow(m message, reason string) {
	if reason == "" && foreign.CheckID(session.PrefixMessage, m.row) != nil {
		reason = "its id is not valid"
	}
	var out session.Message
	if reason == "" {
		out, reason = c.convert(m)
	}
	if out != nil {
		stored, err := json.Marshal(out)
		switch {
		case err != nil:
			reason = notOpenCode
		case len(stored) > maxMessage:
			reason = fmt.Sprintf("it is larger than %d MiB", maxMessage>>20)
		default:
			c.Append(out)
			return
		}
	}
	c.CountRow()
	if reason != "" {
		c.Problem(m.row, "", reason)
	}
}

const notOpenCode = "it does not have the form that OpenCode writes"

// convert returns the message of a row. It is nil without a reason for rows that say nothing of the conversation.
func (c *converter) convert(m message) (session.Message, string) {
	if at := m.Object.Object("time").Int("created"); at > 0 {
		m.created = at
	}
	head := session.Head{
		ID: session.MessageID(m.row), Type: session.MessageType(m.kind), Time: session.MessageTime{Created: m.created},
	}
	switch head.Type {
	case session.TypeUser:
		return c.convertUser(head, m)
	case session.TypeAssistant:
		return c.convertAssistant(head, m)
	case session.TypeShell:
		return c.convertShell(head, m), ""
	case session.TypeCompaction:
		return c.convertCompaction(head, m), ""
	case session.TypeSystem:
		return &session.System{Head: head, Text: m.Text("text")}, ""
	case session.TypeAgentSwitch:
		return &session.AgentSwitch{Head: head, Agent: m.Text("agent")}, ""
	case session.TypeModelSwitch:
		return &session.ModelSwitch{Head: head, Model: modelOf(m.Object)}, ""
	case session.TypeSynthetic, "skill":
		head.Type = session.TypeSynthetic
		return &session.Synthetic{Head: head, SessionID: c.id, Text: m.Text("text")}, ""
	case "idle", "location-switched":
		return nil, ""
	}
	return nil, "its type is not known"
}

// convertUser converts a prompt. Attached skills are texts of it.
func (c *converter) convertUser(head session.Head, m message) (session.Message, string) {
	u := &session.User{Head: head, Text: m.Text("text")}
	for i, f := range m.Objects("files") {
		file, reason := convertFile(f)
		if reason != "" {
			c.Problem(m.row, fmt.Sprintf("files[%d]", i), reason)
			continue
		}
		u.Files = append(u.Files, file)
	}
	for _, a := range m.Objects("agents") {
		if name := a.Text("name"); name != "" {
			u.Agents = append(u.Agents, session.AgentMention{Name: name})
		}
	}
	for _, s := range m.Objects("skills") {
		if text := s.Text("text"); text != "" {
			u.Text += "\n\n" + text
		}
	}
	if strings.TrimSpace(u.Text) == "" && len(u.Files)+len(u.Agents) == 0 {
		return nil, "the prompt is empty"
	}
	c.prompt = u.ID
	return u, ""
}

// convertFile converts an attachment: with its content in base64, or with a URI.
func convertFile(f foreign.Object) (session.File, string) {
	if data := f.Text("data"); data != "" {
		return foreign.DataFile(f.Text("mime"), f.Text("name"), data)
	}
	uri := cmp.Or(f.Text("uri"), f.Object("source").Text("uri"))
	if strings.HasPrefix(uri, "file:") {
		return session.File{URI: uri, Mime: f.Text("mime"), Name: f.Text("name")}, ""
	}
	return foreign.FileOfURI(uri, f.Text("name"))
}

// convertShell converts a command that the user ran. One that did not end was stopped.
func (c *converter) convertShell(head session.Head, m message) session.Message {
	head.Time.Completed = max(m.Object.Object("time").Int("completed"), head.Time.Created, 1)
	s := &session.Shell{Head: head, CallID: cmp.Or(m.Text("callID"), m.Text("shellID"), m.row), Command: m.Text("command")}
	s.Output = cmp.Or(m.Object.Object("output").Text("output"), m.Text("output"))
	s.AnswerID, s.Agent = c.ids.Message(m.row+"\x00answer", head.Time.Created), "build"
	s.NoteID, s.PartID = c.ids.Part(m.row, 0, head.Time.Created), c.ids.Part(m.row, 1, head.Time.Created)
	if exit := int(m.Int("exit")); m.Has("exit") && m.Text("status") != "running" {
		s.Exit = &exit
	} else {
		s.Stopped = true
	}
	return s
}

// convertCompaction converts a summary, nil for one that failed or was not written to its end.
func (c *converter) convertCompaction(head session.Head, m message) session.Message {
	if status := m.Text("status"); status != "" && status != "completed" || m.Text("summary") == "" {
		return nil
	}
	s := &session.Compaction{
		Head: head, Reason: session.CompactionManual, Summary: m.Text("summary"), Recent: m.Text("recent"),
	}
	if m.Text("reason") == session.CompactionAuto {
		s.Reason = session.CompactionAuto
	}
	request := m.row + "\x00request"
	s.Started, s.Agent = head.Time.Created, "build"
	s.RequestID, s.AskID = c.ids.Message(request, head.Time.Created), c.ids.Part(request, 0, head.Time.Created)
	s.StartID, s.TextID = c.ids.Part(m.row, 0, head.Time.Created), c.ids.Part(m.row, 1, head.Time.Created)
	s.EndID = c.ids.Part(m.row, 2, head.Time.Created)
	return s
}

// modelOf returns the object's model.
func modelOf(o foreign.Object) session.ModelRef {
	m := o.Object("model")
	return session.ModelRef{
		ID: cmp.Or(m.Text("id"), "unknown"), ProviderID: cmp.Or(m.Text("providerID"), "unknown"), Variant: m.Text("variant"),
	}
}
