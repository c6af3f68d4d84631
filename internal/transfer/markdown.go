package transfer

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// WriteMarkdown writes the session for people: prompts, answers and a line for each call. It returns how
// many texts had secrets, which were replaced.
func (e *Export) WriteMarkdown(ctx context.Context, w io.Writer, s *session.Session) (replaced int, err error) {
	f := e.NewFilter()
	if e.Sanitize {
		if s, err = e.sanitizeSession(s); err != nil {
			return 0, err
		}
	}
	if s, err = f.Session(s); err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintf(w, "# %s\n", f.Text("", describe.SessionTitle(s))); err != nil {
		return 0, err
	}
	err = e.readPages(ctx, s, func(m session.Message) error {
		m, err := f.Message(m)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, f.Text("", formatMarkdown(m)))
		return err
	})
	return f.Replaced(), err
}

// readPages reads the messages of the session, a page at a time.
func (e *Export) readPages(ctx context.Context, s *session.Session, give func(session.Message) error) error {
	q := api.MessageQuery{Oldest: true, Limit: pageSize}
	for {
		page, err := e.API.Messages(ctx, s.ID, q)
		if err != nil {
			return err
		}
		for _, m := range page.Data {
			if e.Sanitize {
				if m, err = e.sanitizeMessage(m); err != nil {
					return err
				}
			}
			if err := give(m); err != nil {
				return err
			}
		}
		if len(page.Data) < q.Limit || page.Cursor.Next == "" {
			return nil
		}
		q.Cursor = page.Cursor.Next
	}
}

// formatMarkdown returns a message as a section, "" for messages that people do not see.
func formatMarkdown(m session.Message) string {
	var b strings.Builder
	switch m := m.(type) {
	case *session.User:
		if heading, report, ok := describe.ReadTaskReport(m); ok {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", heading, report)
			break
		}
		fmt.Fprintf(&b, "\n## Prompt\n\n%s\n", m.DisplayText())
		for _, f := range m.Files {
			fmt.Fprintf(&b, "\n*%s*\n", describe.FileLabel(f))
		}
	case *session.Assistant:
		fmt.Fprintf(&b, "\n## %s\n", terminal.FirstLine(m.Model.String(), 80))
		for _, c := range m.Content {
			switch c := c.(type) {
			case *session.Text:
				fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(c.Text))
			case *session.Tool:
				fmt.Fprintf(&b, "\n- %s%s\n", describe.DescribeCall(c.Name, c.State.Input), describeOutcome(c))
			}
		}
		if m.Error != nil {
			fmt.Fprintf(&b, "\n*%s*\n", terminal.FirstLine(m.Error.Message, 400))
		}
	case *session.Shell:
		fmt.Fprintf(&b, "\n## Command\n\n%s\n", fence("$ "+m.Command+"\n"+m.Output))
	case *session.Compaction:
		fmt.Fprintf(&b, "\n## Summary for the model\n\n%s\n", m.Summary)
	}
	return b.String()
}

// describeOutcome says what a call counted, or how it failed; "" if there is nothing to say.
func describeOutcome(c *session.Tool) string {
	if c.State.Error != nil {
		return ": " + terminal.FirstLine(c.State.Error.Message, 300)
	}
	o := describe.DescribeOutcome(c.Name, c.State.Input, c.State.Structured)
	if o.Failure != "" {
		return o.Counts + ": " + o.Failure
	}
	return o.Counts
}

// fence returns a block of code whose fences are longer than any in the text.
func fence(text string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + "\n" + strings.TrimRight(text, "\n") + "\n" + mark
}
