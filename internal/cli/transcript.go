package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// transcript shows a session's history to a person.
type transcript struct {
	out      *stream
	marks    marks
	thinking bool // with reasoning
	full     bool // with the tools' output
	atWork   bool // somebody works on the session now
}

func (t *transcript) print(s *session.Session, ms []session.Message) {
	t.out.printf("%s\n", t.out.paint(bold, title(s)))
	about := []string{string(s.ID), line(s.Location.Directory, 100), time.UnixMilli(s.Time.Created).Format("2006-01-02 15:04")}
	if n := s.Tokens.Sum(); n > 0 {
		about = append(about, thousands(n)+" tokens", "$"+money(s.Cost))
	}
	if hit := cacheHit(s.Tokens); hit != "" {
		about = append(about, hit+" of the input from the cache")
	}
	t.out.printf("%s\n", t.out.paint(dim, strings.Join(about, " "+t.marks.dot+" ")))
	for _, m := range ms {
		t.message(m)
	}
	t.todos(s.Todos)
}

func (t *transcript) todos(todos []session.Todo) {
	if len(todos) == 0 {
		return
	}
	t.heading(cyan, "todos", "")
	for _, todo := range todos {
		box := map[session.TodoStatus]string{session.TodoCompleted: "[x]", session.TodoInProgress: "[>]", session.TodoCancelled: "[-]"}[todo.Status]
		if box == "" {
			box = "[ ]"
		}
		t.out.printf("%s %s\n", box, line(todo.Content, 200))
	}
}

func (t *transcript) message(m session.Message) {
	switch m := m.(type) {
	case *session.User:
		t.heading(cyan, "user", "")
		t.block(m.Text)
		for _, f := range m.Files {
			name := f.Name
			if name == "" {
				name, _, _ = strings.Cut(f.URI, ",")
			}
			t.out.printf("[%s %s]\n", line(f.Mime, 40), line(name, 100))
		}
	case *session.Assistant:
		t.assistant(m)
	case *session.System:
		t.note("told the model: " + line(m.Text, 120))
	case *session.Synthetic:
		t.note(line(m.Text, 120))
	case *session.Shell:
		t.heading(cyan, "shell", "")
		t.block("$ " + m.Command + "\n" + m.Output)
	case *session.AgentSwitch:
		t.note("agent: " + line(m.Agent, 60))
	case *session.ModelSwitch:
		t.note("model: " + line(m.Model.String(), 80))
	case *session.Compaction:
		t.heading(yellow, "the past, summed up", "")
		t.block(m.Summary)
	}
}

func (t *transcript) heading(style, who, about string) {
	t.out.freshLine()
	t.out.printf("\n%s", t.out.paint(style, who))
	if about != "" {
		t.out.printf(" %s", t.out.paint(dim, about))
	}
	t.out.printf("\n")
}

func (t *transcript) note(text string) { t.out.printf("\n%s\n", t.out.paint(dim, text)) }

func (t *transcript) block(text string) {
	t.out.say(strings.TrimRight(text, "\n"))
	t.out.freshLine()
}

func (t *transcript) assistant(m *session.Assistant) {
	t.heading(green, m.Agent, line(m.Model.String(), 80))
	if changed := m.Prefix.Alarm(); changed != "" {
		t.out.printf("%s\n", t.out.paint(yellow, cacheLost(changed)))
	}
	for _, c := range m.Content {
		switch c := c.(type) {
		case *session.Text:
			t.block(c.Text)
			if c.Partial {
				t.out.printf("%s\n", t.out.paint(dim, "(cut short)"))
			}
		case *session.Reasoning:
			if t.thinking {
				t.block(t.out.paint(dim, harmless(c.Text)))
			}
		case *session.Tool:
			t.tool(c)
		}
	}
	if m.Error != nil {
		t.out.printf("%s %s\n", t.out.paint(red, t.marks.bad), line(m.Error.Message, 400))
	}
	switch {
	case m.Open() && t.atWork:
		t.out.printf("%s\n", t.out.paint(dim, "(at work)"))
	case m.Open():
		t.out.printf("%s\n", t.out.paint(dim, "(cut off; the next cairn run or cairn serve goes on with it)"))
	}
}

func (t *transcript) tool(c *session.Tool) {
	what := describe(c.Name, c.State.Input)
	switch c.State.Status {
	case session.ToolCompleted:
		t.out.printf("%s %s\n", t.out.paint(green, t.marks.good), what)
	case session.ToolError:
		why := ""
		if c.State.Error != nil {
			why = ": " + line(c.State.Error.Message, 300)
		}
		t.out.printf("%s %s%s\n", t.out.paint(red, t.marks.bad), what, why)
	default:
		t.out.printf("%s %s\n", t.out.paint(cyan, t.marks.call), what)
	}
	if !t.full {
		return
	}
	for _, part := range c.State.Content {
		text := part.Text
		if part.Type == "file" {
			text = fmt.Sprintf("[%s %s]", part.Mime, part.Name)
		}
		for l := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
			t.out.say("    " + l)
		}
	}
}
