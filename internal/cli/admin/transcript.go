package admin

import (
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/terminal"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
)

// transcript shows a session's history to a person.
type transcript struct {
	out      *terminal.Stream
	marks    terminal.Marks
	thinking bool    // with reasoning
	full     bool    // with the tools' output
	working  bool    // the session is working now
	fill     float64 // of the model's window by the next request, in percent; 0 is unknown
}

// print prints a session: a heading, facts about it, the summary, the messages and the todos.
func (t *transcript) print(s *session.Session, ms []session.Message) {
	// The heading, with the facts that are known.
	t.out.Printf("%s\n", t.out.PaintText(terminal.Bold, describe.SessionTitle(s)))
	about := []string{
		string(s.ID),
		terminal.FirstLine(s.Location.Directory, 100),
		time.UnixMilli(s.Time.Created).Format("2006-01-02 15:04"),
	}
	if s.Sandbox != "" {
		about = append(about, "sandbox "+string(s.Sandbox))
	}
	if n := s.Tokens.Sum(); n > 0 {
		about = append(about, terminal.FormatCount(n)+" tokens", "cost "+describe.FormatCost(s.Cost, s.Tokens))
	}
	if t.fill > 0 {
		about = append(about, terminal.FormatPercent(t.fill)+" of the window")
	}
	if hit := describe.FormatCacheHit(s.Tokens); hit != "" {
		about = append(about, hit+" of the input from the cache")
	}
	t.out.Printf("%s\n", t.out.PaintText(terminal.Dim, strings.Join(about, " "+t.marks.Dot+" ")))
	if len(s.Tags) > 0 {
		t.out.Printf("%s\n", t.out.PaintText(terminal.Dim, "tags: "+describe.FormatTags(s.Tags)))
	}
	// Notes about the whole session, then its messages in order.
	if s.Open {
		t.out.Printf("%s\n", t.out.PaintText(terminal.Yellow, "! "+describe.OpenNote))
	}
	if shared := describe.DescribeSharedFiles(s.Entries); shared != "" {
		t.out.Printf("%s\n", t.out.PaintText(terminal.Yellow, "! "+shared))
	}
	if s.Summary != nil {
		t.out.Printf("\n")
		t.out.WriteText(s.Summary.Text + "\n")
	}
	for _, m := range ms {
		t.printMessage(m)
	}
	t.printTodos(s.Todos)
}

func (t *transcript) printTodos(todos []session.Todo) {
	if len(todos) == 0 {
		return
	}
	t.printHeading(terminal.Cyan, "todos", "")
	for _, l := range describe.FormatTodos(todos) {
		t.out.Printf("%s\n", l)
	}
}

// printMessage prints one message. Messages of people and models have headings and blocks; what cairn added is a note
// of one line.
func (t *transcript) printMessage(m session.Message) {
	switch m := m.(type) {
	case *session.User:
		if line, report, ok := describe.FormatTaskReport(m); ok {
			t.printHeading(terminal.Cyan, line, "")
			t.printBlock(report)
			return
		}
		about := ""
		if len(m.Extensions) > 0 {
			about = "changed" + describe.FormatExtensions(m.Extensions)
		}
		t.printHeading(terminal.Cyan, "user", about)
		t.printBlock(m.DisplayText())
		// Files are named, not shown.
		for _, f := range m.Files {
			t.out.Printf("[%s]\n", describe.FileLabel(f))
		}
	case *session.Assistant:
		t.printAssistant(m)
	case *session.System:
		t.printNote("system message: " + terminal.FirstLine(m.Text, 120))
	case *session.Synthetic:
		t.printNote(describe.FormatSynthetic(m))
	case *session.Shell:
		t.printHeading(terminal.Cyan, "shell", describe.DescribeShellEnd(m.ShellEnd))
		t.printBlock("$ " + m.Command + "\n" + m.Output)
	case *session.AgentSwitch:
		t.printNote("agent: " + terminal.FirstLine(m.Agent, 60))
	case *session.ModelSwitch:
		t.printNote("model: " + terminal.FirstLine(m.Model.String(), 80))
	case *session.Compaction:
		about := ""
		if m.Before > 0 {
			about = fmt.Sprintf("%s -> %s tokens", terminal.FormatCount(m.Before), terminal.FormatCount(m.After))
		}
		t.printHeading(terminal.Yellow, "summary of the history", about)
		t.printBlock(m.Summary)
	}
}

func (t *transcript) printHeading(style, who, about string) {
	t.out.EndLine()
	t.out.Printf("\n%s", t.out.PaintText(style, who))
	if about != "" {
		t.out.Printf(" %s", t.out.PaintText(terminal.Dim, about))
	}
	t.out.Printf("\n")
}

func (t *transcript) printNote(text string) {
	t.out.Printf("\n%s\n", t.out.PaintText(terminal.Dim, text))
}

func (t *transcript) printBlock(text string) {
	t.out.WriteText(strings.TrimRight(text, "\n"))
	t.out.EndLine()
}

// printAssistant prints an answer: its content in order, then how it ended if that is not as usual.
func (t *transcript) printAssistant(m *session.Assistant) {
	t.printHeading(terminal.Green, m.Agent, terminal.FirstLine(m.Model.String(), 80))
	if changed := m.Prefix.UnexpectedChange(); changed != "" {
		t.out.Printf("%s\n", t.out.PaintText(terminal.Yellow, describe.CacheNote(changed)))
	}
	// The content. Reasoning is shown on demand only.
	for _, c := range m.Content {
		switch c := c.(type) {
		case *session.Text:
			t.printBlock(c.Text)
			if c.Partial {
				t.out.Printf("%s\n", t.out.PaintText(terminal.Dim, "(incomplete)"))
			}
		case *session.Reasoning:
			if t.thinking {
				t.printBlock(t.out.PaintText(terminal.Dim, terminal.ReplaceControls(c.Text)))
			}
		case *session.Tool:
			t.printCall(c)
		}
	}
	// Why it ended: an error, an unusual finish reason, or an answer of reasoning only, which would look empty.
	if m.Error != nil {
		t.out.Printf("%s %s\n", t.out.PaintText(terminal.Red, t.marks.Bad), terminal.FirstLine(m.Error.Message, 400))
	} else if how := session.DescribeFinish(m.Finish); how != "" {
		t.out.Printf("%s %s\n", t.out.PaintText(terminal.Yellow, "!"), how)
	} else if !m.Open() && !t.thinking && isReasoningOnly(m) {
		t.out.Printf("%s the answer has no text; --thinking shows its reasoning\n", t.out.PaintText(terminal.Yellow, "!"))
	}
	// An open answer is being written, or was interrupted.
	switch {
	case m.Open() && t.working:
		t.out.Printf("%s\n", t.out.PaintText(terminal.Dim, "(working)"))
	case m.Open():
		t.out.Printf("%s\n", t.out.PaintText(terminal.Dim, "(interrupted; the next cairn run or cairn serve continues it)"))
	}
}

// printCall prints a call with its outcome, and with --full its result. A call that completed may have failed all the
// same, such as a command with an exit code.
func (t *transcript) printCall(c *session.Tool) {
	what := describe.DescribeCall(c.Name, c.State.Input)
	done := describe.Outcome{}
	if c.State.Status == session.ToolCompleted {
		done = describe.DescribeOutcome(c.Name, c.State.Input, c.State.Structured)
	}
	what += done.Counts
	// One line with the outcome, and what it has to show. With --full, the whole result follows.
	switch {
	case c.State.Status == session.ToolCompleted:
		style, mark := terminal.Green, t.marks.Good
		if done.Failure != "" {
			style, mark, what = terminal.Red, t.marks.Bad, what+": "+done.Failure
		}
		t.out.Printf("%s %s\n", t.out.PaintText(style, mark), what)
		for _, l := range done.Lines {
			if !t.full {
				t.out.Printf("%s\n", t.out.PaintText(terminal.Dim, "    "+l))
			}
		}
	case c.State.Status == session.ToolError:
		why := ""
		if c.State.Error != nil {
			why = ": " + terminal.FirstLine(c.State.Error.Message, 300)
		}
		t.out.Printf("%s %s%s\n", t.out.PaintText(terminal.Red, t.marks.Bad), what, why)
	default:
		t.out.Printf("%s %s\n", t.out.PaintText(terminal.Cyan, t.marks.Call), what)
	}
	for _, l := range describe.ListExtensionNotes(c) {
		t.out.Printf("%s\n", t.out.PaintText(terminal.Dim, "    "+l))
	}
	// With --full, the whole result, indented.
	if !t.full {
		return
	}
	for _, part := range c.State.Content {
		text := part.Text
		if part.Type == "file" {
			text = fmt.Sprintf("[%s %s]", part.Mime, part.Name)
		}
		for l := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
			t.out.WriteText("    " + l)
		}
	}
}

// isReasoningOnly reports whether the answer has reasoning, and neither text nor a call.
func isReasoningOnly(m *session.Assistant) bool {
	for _, c := range m.Content {
		if _, ok := c.(*session.Reasoning); !ok {
			return false
		}
	}
	return len(m.Content) > 0
}
