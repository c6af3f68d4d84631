package searchindex

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Kind is what of a session a text is.
type Kind string

// The kinds of texts.
const (
	Title   Kind = "title"
	Prompt  Kind = "prompt"
	Answer  Kind = "answer"
	Tool    Kind = "tool"    // a call: its input and its output
	Shell   Kind = "shell"   // a command of the user, and its output
	Summary Kind = "summary" // of a compaction
)

// kinds are the kinds by their number in the index.
var kinds = []Kind{Title, Prompt, Answer, Tool, Shell, Summary}

// The roles of texts.
const (
	RoleUser      = "user"      // a title, a prompt or a shell command
	RoleAssistant = "assistant" // an answer, a call or a summary
)

// role returns who wrote a text of the kind.
func (k Kind) role() string {
	switch k {
	case Answer, Tool, Summary:
		return RoleAssistant
	default:
		return RoleUser
	}
}

// maxText bounds what is indexed of one text, in bytes. Of a longer one it is the beginning and the end.
const maxText = 32 << 10

// document is a text with what it can be selected by. Part is its number among those of its message.
type document struct {
	kind   Kind
	part   int
	partID session.PartID
	tool   string
	agent  string
	failed bool
	time   int64 // milliseconds
	text   string
}

// documentOfTitle returns the document of a session's title.
func documentOfTitle(s *session.Session) document {
	return document{kind: Title, time: s.Time.Created, text: s.Title}
}

// documentsOf returns the texts of a message. A turn has none before it has ended.
func documentsOf(m session.Message) []document {
	out := readDocuments(m)
	for i := range out {
		out[i].text = terminal.CleanOutput(out[i].text) // a colour is no part of a word
	}
	return out
}

func readDocuments(m session.Message) []document {
	one := document{time: m.Meta().Time.Created}
	switch m := m.(type) {
	case *session.User:
		one.kind, one.agent, one.text = Prompt, m.Agent, joinPrompt(m)
	case *session.Shell:
		one.kind, one.agent, one.text = Shell, m.Agent, m.Command+"\n"+m.Output
		one.failed = m.Exit != nil && *m.Exit != 0
	case *session.Compaction:
		one.kind, one.text = Summary, m.Summary
	case *session.Assistant:
		if m.Open() {
			return nil
		}
		return documentsOfTurn(m)
	default: // written by the system
		return nil
	}
	return []document{one}
}

// ownTool is the tool that searches the index.
const ownTool = "session_search"

func documentsOfTurn(m *session.Assistant) (out []document) {
	for i, c := range m.Content {
		d := document{part: i, partID: c.ItemID(), agent: m.Agent, time: m.Time.Created}
		switch c := c.(type) {
		case *session.Text:
			d.kind, d.text = Answer, c.Text
		case *session.Tool:
			if c.Name == ownTool { // its input is a search, and its output what was found
				continue
			}
			d.kind, d.tool, d.text = Tool, c.Name, joinCall(c)
			d.failed = c.State.HasFailed()
			d.time = cmp.Or(c.Time.Created, d.time)
		}
		if d.text != "" {
			out = append(out, d)
		}
	}
	if m.Error != nil {
		out = append(out, document{
			kind: Answer, part: len(m.Content), agent: m.Agent, failed: true, time: m.Time.Created, text: m.Error.Message,
		})
	}
	return out
}

func joinPrompt(m *session.User) string {
	lines := []string{m.Text}
	for _, f := range m.Files {
		lines = append(lines, f.Name)
		if !strings.HasPrefix(f.URI, "data:") {
			lines = append(lines, f.URI)
		}
	}
	for _, s := range m.Subtasks {
		lines = append(lines, s.Prompt)
	}
	return strings.Join(lines, "\n")
}

// joinCall returns the texts of a call's input and of its output.
func joinCall(t *session.Tool) string {
	lines := append([]string{}, findTexts(t.State.Input)...)
	for _, c := range t.State.Content {
		lines = append(lines, c.Name, c.Text)
	}
	if t.State.Error != nil {
		lines = append(lines, t.State.Error.Message)
	}
	lines = append(lines, t.State.OutputPaths...)
	return strings.Join(lines, "\n")
}

// findTexts returns the strings of a JSON value but for the names of members.
func findTexts(v jsontext.Value) (out []string) {
	dec := jsontext.NewDecoder(strings.NewReader(string(v)))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return out // at the end, or of a call that was cut off
		}
		kind, n := dec.StackIndex(dec.StackDepth())
		isName := kind == '{' && n%2 == 1
		if token.Kind() == '"' && !isName {
			out = append(out, token.String())
		}
	}
}

// clipText returns what is indexed of a text.
func clipText(text string) string {
	if len(text) <= maxText {
		return text
	}
	const tail = maxText / 4
	return session.ClipText(text, maxText-tail) + "\n" + strings.ToValidUTF8(text[len(text)-tail:], "")
}

// newMark returns the word by which texts are selected that have a value, such as a tool's name.
func newMark(field, value string) string {
	sum := sha256.Sum256([]byte(field + "\x00" + value))
	return "m" + hex.EncodeToString(sum[:8])
}

// markDocument returns the marks of a text.
func (d *document) markDocument(s *session.Session) []string {
	marks := []string{
		newMark("session", string(s.ID)), newMark("kind", string(d.kind)),
	}
	if d.tool != "" {
		marks = append(marks, newMark("tool", d.tool))
	}
	if agent := cmp.Or(d.agent, s.Agent); agent != "" {
		marks = append(marks, newMark("agent", agent))
	}
	if d.failed {
		marks = append(marks, newMark("failed", ""))
	}
	return marks
}

// kindNumber returns the number of a kind in the index.
func kindNumber(k Kind) int { return slices.Index(kinds, k) }
