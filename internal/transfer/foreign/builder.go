package foreign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// defaultAgent is the agent of turns whose source names none.
const defaultAgent = "build"

// maxProblems bounds the list of problems of a session; the last one says how many more there are.
const maxProblems = 1000

// Builder makes the messages of a session from the rows of a source, in their order. Rows of a turn may come after
// others have begun, as results do.
type Builder struct {
	session  Session
	ids      IDs
	last     int64                // time of the newest message
	prompt   session.MessageID    // newest
	calls    map[string]*openCall // by the program's id of the call
	turns    []*Turn
	sizes    map[session.Message]int
	problems int
}

// openCall is a call that may still get its result.
type openCall struct {
	turn *Turn
	tool *session.Tool
}

// NewBuilder begins a session. s has the Program and the ID, and whatever else the caller knows of it.
func NewBuilder(s Session) *Builder {
	return &Builder{
		session: s, ids: NewIDs(s.Program, s.ID), calls: map[string]*openCall{}, sizes: map[session.Message]int{},
	}
}

// Session returns the session that is being made, for its fields other than the messages.
func (b *Builder) Session() *Session { return &b.session }

// SetID changes the id of the session, before its first message.
func (b *Builder) SetID(id string) {
	b.session.ID, b.ids = id, NewIDs(b.session.Program, id)
}

// Problem records that a row, or a field of it, was left out.
func (b *Builder) Problem(row, field, reason string) {
	b.session.Problems = addProblem(b.session.Problems, &b.problems, Problem{cleanText(row), field, reason})
}

// Row counts a row of the session, of the time in milliseconds, 0 without one.
func (b *Builder) Row(at int64) {
	b.session.Rows++
	b.session.Created = cmp.Or(b.session.Created, at) // stays when the person goes back to the first prompt
	b.session.Updated = max(b.session.Updated, at)
}

func addProblem(list []Problem, count *int, p Problem) []Problem {
	*count++
	if *count <= maxProblems {
		return append(list, p)
	}
	list[maxProblems-1] = Problem{Reason: fmt.Sprintf("%d more problems are not listed", *count-maxProblems+1)}
	return list
}

// head returns the head of the message that the row makes. Times never go back, and no two messages have the same, so
// that their ids are in order.
func (b *Builder) head(row string, at int64, t session.MessageType) session.Head {
	at = max(at, b.last+1)
	if b.last == 0 && at == 1 { // the first row has no time
		at = max(1, b.session.Created)
	}
	b.last = at
	return session.Head{ID: b.ids.Message(row, at), Type: t, Time: session.MessageTime{Created: at}}
}

func (b *Builder) add(m session.Message) {
	b.session.Messages = append(b.session.Messages, m)
}

// User adds a prompt of a person. One without text and files is left out.
func (b *Builder) User(row string, at int64, text string, files []session.File) {
	if text = cleanText(text); strings.TrimSpace(text) == "" && len(files) == 0 {
		return
	}
	m := &session.User{Head: b.head(row, at, session.TypeUser)}
	m.Text = b.fit(m, row, text)
	for _, f := range files {
		if b.fits(m, len(f.URI)) {
			m.Files = append(m.Files, f)
		} else {
			b.Problem(row, "files", tooLarge)
		}
	}
	b.prompt = m.ID
	b.add(m)
}

// Synthetic adds a message to the model that the program wrote, not the person.
func (b *Builder) Synthetic(row string, at int64, text string) {
	if text = cleanText(text); strings.TrimSpace(text) == "" {
		return
	}
	m := &session.Synthetic{Head: b.head(row, at, session.TypeSynthetic)}
	m.Text = b.fit(m, row, text)
	b.add(m)
}

// System adds a change of the system context.
func (b *Builder) System(row string, at int64, text string) {
	if text = cleanText(text); strings.TrimSpace(text) == "" {
		return
	}
	m := &session.System{Head: b.head(row, at, session.TypeSystem)}
	m.Text = b.fit(m, row, text)
	b.add(m)
}

// Shell adds a command that the person ran beside the conversation.
func (b *Builder) Shell(row string, at int64, command, output string) {
	m := &session.Shell{Head: b.head(row, at, session.TypeShell)}
	m.Time.Completed = m.Time.Created
	m.CallID = "call_" + strings.TrimPrefix(string(m.ID), string(session.PrefixMessage)+"_")
	m.Command, m.Output = b.fit(m, row, cleanText(command)), b.fit(m, row, cleanText(output))
	m.AnswerID, m.Agent = b.ids.Message(row+"\x00answer", m.Time.Created), defaultAgent
	m.NoteID, m.PartID = b.ids.Part(row, 0, m.Time.Created), b.ids.Part(row, 1, m.Time.Created)
	b.add(m)
}

// Summary is the summary of a compaction.
type Summary struct {
	Reason string // session.CompactionAuto or session.CompactionManual
	Text   string
	Before int64 // tokens of the request before it; 0 if unknown
}

// Compaction adds a summary that replaces all messages before it.
func (b *Builder) Compaction(row string, at int64, c Summary) {
	request := b.head(row+"\x00request", at, session.TypeCompaction)
	m := &session.Compaction{Head: b.head(row, at, session.TypeCompaction), Reason: c.Reason, Before: c.Before}
	m.Time.Completed, m.Started = m.Time.Created, request.Time.Created
	m.Summary = b.fit(m, row, cleanText(c.Text))
	part := func(n int) session.PartID { return b.ids.Part(row, n, m.Time.Created) }
	m.RequestID, m.AskID = request.ID, b.ids.Part(row+"\x00request", 0, request.Time.Created)
	m.StartID, m.TextID, m.EndID, m.Agent = part(0), part(1), part(maxPart), defaultAgent
	b.add(m)
}

// Turn begins a turn of the model. The row is the name of the turn: that of the provider's message, or of the first
// row of it.
func (b *Builder) Turn(row string, at int64, model session.ModelRef) *Turn {
	a := &session.Assistant{Head: b.head(row, at, session.TypeAssistant), Agent: defaultAgent, Model: model}
	a.Content = []session.Content{}
	a.ParentID = b.prompt
	if b.session.Agent != "" {
		a.Agent = b.session.Agent
	}
	a.StartID, a.EndID = b.ids.Part(row, 0, a.Time.Created), b.ids.Part(row, maxPart, a.Time.Created)
	a.Time.Completed = a.Time.Created
	t := &Turn{builder: b, row: row, answer: a}
	b.turns = append(b.turns, t)
	b.add(a)
	return t
}

// Result is the outcome of a call.
type Result struct {
	Text   string
	Files  []session.File
	Title  string
	Reason session.Reason // why it failed; "" if it did not
}

// Settle gives a call its outcome; the first one counts. It reports whether there is such a call.
func (b *Builder) Settle(row string, at int64, callID string, r Result) bool {
	c := b.calls[callID]
	if c == nil {
		return false
	}
	s := &c.tool.State
	if s.Status.IsSettled() {
		return true
	}
	m := c.turn.answer
	at = max(at, c.tool.Time.Created)
	c.tool.Time.Ran, c.tool.Time.Completed = c.tool.Time.Created, at
	m.Time.Completed = max(m.Time.Completed, at)
	s.Title = cleanText(r.Title)
	text := b.fit(m, row, cleanText(r.Text))
	if r.Reason != "" {
		text = cmp.Or(text, "the tool failed")
		s.Status, s.Error = session.ToolError, session.Fail(r.Reason, text)
		return true
	}
	s.Status = session.ToolCompleted
	if text != "" || len(r.Files) == 0 {
		s.Content = session.TextContent(text)
	}
	for _, f := range r.Files {
		if !b.fits(m, len(f.URI)) {
			b.Problem(row, "files", tooLarge)
			continue
		}
		s.Content = append(s.Content, session.ToolContent{Type: "file", URI: f.URI, Mime: f.Mime, Name: f.Name})
	}
	return true
}

// Done ends what is open, and returns the session.
func (b *Builder) Done() Session {
	s := &b.session
	for _, t := range b.turns {
		t.end()
	}
	// A turn may be left without anything; all others are whole.
	s.Messages = slices.DeleteFunc(s.Messages, func(m session.Message) bool {
		a, ok := m.(*session.Assistant)
		return ok && len(a.Content) == 0 && a.Error == nil
	})
	if len(s.Messages) > 0 {
		first := s.Messages[0].Meta().Time.Created
		if s.Created == 0 || s.Created > first {
			s.Created = first
		}
		s.Updated = max(s.Updated, b.last)
	}
	s.Updated = max(s.Updated, s.Created)
	id := b.ids.Session(s.Created)
	for _, m := range s.Messages {
		if y, ok := m.(*session.Synthetic); ok {
			y.SessionID = id
		}
	}
	s.Title = strings.TrimSpace(cleanText(s.Title))
	return *s
}

// Turn is a turn of the model that is being made.
type Turn struct {
	builder *Builder
	row     string
	answer  *session.Assistant
	items   int
	finish  string // as the source gives it, in our words
	tokens  session.Tokens
}

// Text adds text.
func (t *Turn) Text(at int64, text string) {
	if text = cleanText(text); strings.TrimSpace(text) == "" {
		return
	}
	id, part := t.next("text", at)
	text = t.builder.fit(t.answer, t.row, text)
	at = max(at, t.answer.Time.Created)
	t.answer.Content = append(t.answer.Content, &session.Text{
		Type: "text", ID: id, PartID: part, Text: text, Time: &session.ItemTime{Created: at, Completed: at},
	})
}

// Reasoning adds a thought. Signatures and encrypted thoughts are not imported: they are valid for the account and the
// model that made them only.
func (t *Turn) Reasoning(at int64, text string) {
	if text = cleanText(text); strings.TrimSpace(text) == "" {
		return
	}
	id, part := t.next("reasoning", at)
	text = t.builder.fit(t.answer, t.row, text)
	at = max(at, t.answer.Time.Created)
	t.answer.Content = append(t.answer.Content, &session.Reasoning{
		Type: "reasoning", ID: id, PartID: part, Text: text, Time: &session.ItemTime{Created: at, Completed: at},
	})
}

// Call adds a call with its arguments. Without a result until the end it is interrupted.
func (t *Turn) Call(at int64, id, name string, input Object) {
	generated, part := t.next("call", at)
	id = cleanText(id)
	if id == "" || slices.ContainsFunc(t.answer.Tools(), func(o *session.Tool) bool { return o.ID == id }) {
		id = generated
	}
	if name = cleanText(name); name == "" {
		name = "unknown"
	}
	value := input.Value()
	if !t.builder.fits(t.answer, len(value)) {
		t.builder.Problem(t.row, "input", tooLarge)
		value = jsontext.Value("{}")
	}
	c := &session.Tool{Type: "tool", ID: id, PartID: part, Name: name}
	c.State.Input, c.Time.Created = value, max(at, t.answer.Time.Created)
	t.answer.Content = append(t.answer.Content, c)
	t.builder.calls[id] = &openCall{t, c}
	if name == "todowrite" {
		t.builder.setTodos(value)
	}
}

// next returns the ids of the next item, and takes note of the time.
func (t *Turn) next(kind string, at int64) (string, session.PartID) {
	t.items++
	t.answer.Time.Completed = max(t.answer.Time.Completed, at)
	return fmt.Sprintf("%s-%d", kind, t.items), t.builder.ids.Part(t.row, t.items, t.answer.Time.Created)
}

// Usage sets the tokens of the turn; the last one counts.
func (t *Turn) Usage(u session.Tokens) { t.tokens = u }

// Cost sets what the turn cost, in US dollars as the source writes them; the last one counts.
func (t *Turn) Cost(dollars string) {
	if usd, err := session.ParseUSD(dollars); err == nil && usd >= 0 {
		t.answer.Cost = &usd
	}
}

// Finish sets why the turn ended; "" leaves it to what the turn contains.
func (t *Turn) Finish(reason string) { t.finish = reason }

// Fail ends the turn with an error.
func (t *Turn) Fail(reason session.Reason, message string) {
	message = t.builder.fit(t.answer, t.row, cleanText(message))
	t.answer.Error = session.Fail(reason, message)
}

// end closes the calls without a result, and sets what a turn that ended has.
func (t *Turn) end() {
	a, tools := t.answer, t.answer.Tools()
	for _, c := range tools {
		if c.State.Status.IsSettled() {
			continue
		}
		c.State.Status = session.ToolError
		c.State.Error = session.Fail(session.ReasonInterrupted, "the source has no result of this call")
		c.Time.Ran, c.Time.Completed = c.Time.Created, a.Time.Completed
	}
	switch {
	case a.Error != nil:
		a.Finish = ""
	case len(tools) > 0:
		a.Finish = "tool-calls"
	case t.finish != "" && t.finish != "tool-calls":
		a.Finish = t.finish
	default:
		a.Finish = "stop"
	}
	if t.tokens != (session.Tokens{}) {
		a.Tokens = &t.tokens
		t.builder.session.addTokens(t.tokens)
	}
	if a.Cost != nil {
		t.builder.session.Cost += *a.Cost
	}
	if m := a.Model; m.ID != "" {
		t.builder.session.Model = &m
	}
}

func (s *Session) addTokens(u session.Tokens) {
	s.Tokens.Input += u.Input
	s.Tokens.Output += u.Output
	s.Tokens.Reasoning += u.Reasoning
	s.Tokens.Cache.Read += u.Cache.Read
	s.Tokens.Cache.Write += u.Cache.Write
}

// setTodos replaces the todos by those of a call of todowrite.
func (b *Builder) setTodos(input jsontext.Value) {
	var in struct {
		Todos []session.Todo `json:"todos"`
	}
	if json.Unmarshal(input, &in) == nil {
		b.session.Todos = in.Todos
	}
}
