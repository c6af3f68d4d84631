package transfer

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/describe/markdown"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/transfer/redaction"
)

// maxHTMLOutput bounds the output of a call on the page: bytes.
const maxHTMLOutput = 64 << 10

// PageStyle is the style of a page, in light and dark. A page has no other one.
const PageStyle = `:root{color-scheme:light dark;--line:#8884;--soft:#8881}
body{font:16px/1.55 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
pre,code{font:13px/1.45 ui-monospace,monospace}pre{overflow-x:auto;padding:.6rem;background:var(--soft);border-radius:6px}
section{margin:1.4rem 0;overflow-x:auto}.prompt{border-left:4px solid #3b82f6;padding-left:1rem;white-space:pre-wrap}
.meta,summary{color:#888;font-size:.85rem}summary{cursor:pointer}details{margin:.4rem 0}
.bad{color:#dc2626}.add{color:#16a34a}.del{color:#dc2626}table{border-collapse:collapse}td,th{border:1px solid var(--line);padding:.2rem .5rem}
img{max-width:100%}`

// WriteHTML writes the session as one page for people, which needs no script and loads nothing: prompts, answers, calls
// with their output and diffs, todos and costs. It returns how many texts had secrets, which were replaced.
func (e *Export) WriteHTML(ctx context.Context, w io.Writer, s *session.Session) (replaced int, err error) {
	if e.Sanitize {
		if s, err = e.sanitizeSession(s); err != nil {
			return 0, err
		}
	}
	p := NewPage(w, e.NewFilter())
	if err := p.WriteHead(s); err != nil {
		return 0, err
	}
	if err := e.readPages(ctx, s, p.WriteMessage); err != nil {
		return p.filter.Replaced(), err
	}
	return p.filter.Replaced(), p.WriteEnd()
}

// ListItems calls give with the session and the messages from which its page is written, without their secrets.
func (e *Export) ListItems(ctx context.Context, s *session.Session, give func(jsontext.Value) error) error {
	f := e.NewFilter()
	giveFiltered := func(item jsontext.Value, err error) error {
		if err == nil {
			item, err = f.JSON(item)
		}
		if err != nil {
			return err
		}
		return give(item)
	}
	if err := giveFiltered(json.Marshal(s, jsontext.AllowInvalidUTF8(true))); err != nil {
		return err
	}
	return e.readPages(ctx, s, func(m session.Message) error { return giveFiltered(session.EncodeMessage(m)) })
}

// Page is a page that is being written.
type Page struct {
	w      io.Writer
	filter *redaction.Filter
	out    bytes.Buffer
}

// NewPage returns a page that is written to w piece by piece: the head, messages, the end. It has no secrets that the
// filter recognises.
func NewPage(w io.Writer, filter *redaction.Filter) *Page { return &Page{w: w, filter: filter} }

// WriteHead writes what is before the messages.
func (p *Page) WriteHead(s *session.Session) error {
	s, err := p.filter.Session(s)
	if err != nil {
		return err
	}
	p.addHead(s)
	return p.flush()
}

// WriteMessage writes a message; nothing of messages that people do not see.
func (p *Page) WriteMessage(m session.Message) error {
	m, err := p.filter.Message(m)
	if err != nil {
		return err
	}
	p.addMessage(m)
	return p.flush()
}

// PageEnd is what is behind the messages of a page.
const PageEnd = "</main></body></html>\n"

// WriteEnd ends the page.
func (p *Page) WriteEnd() error {
	p.out.WriteString(PageEnd)
	return p.flush()
}

// WriteReload ends the page, and has the browser load it again.
func (p *Page) WriteReload() error {
	p.out.WriteString("<meta http-equiv=\"refresh\" content=\"0\">")
	return p.WriteEnd()
}

func (p *Page) flush() error {
	_, err := p.w.Write(p.out.Bytes())
	p.out.Reset()
	return err
}

// clean returns the text without secrets, colours of terminals, and marks that change how text reads.
func (p *Page) clean(text string) string {
	return p.filter.Text("", terminal.ReplaceControls(terminal.CleanOutput(text)))
}

// text returns the text without secrets, as HTML.
func (p *Page) text(text string) string { return html.EscapeString(p.clean(text)) }

func (p *Page) addHead(s *session.Session) {
	title := p.text(describe.SessionTitle(s))
	fmt.Fprintf(&p.out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"+
		"<meta name=\"viewport\" content=\"width=device-width\">\n<title>%s</title>\n<style>%s</style></head>\n"+
		"<body dir=\"auto\"><header><h1>%s</h1>\n<p class=\"meta\">%s · %s · %s", title, PageStyle, title,
		html.EscapeString(string(s.ID)), p.text(s.Location.Directory), formatMinute(s.Time.Created))
	if s.Model != nil {
		fmt.Fprintf(&p.out, " · %s", html.EscapeString(s.Model.String()))
	}
	fmt.Fprintf(&p.out, " · %s", html.EscapeString(describe.FormatCost(s.Cost, s.Tokens)))
	if c := s.Changes; c != nil && c.Files > 0 {
		fmt.Fprintf(&p.out, " · %s <span class=\"add\">+%d</span> <span class=\"del\">-%d</span>",
			terminal.FormatPlural(c.Files, "changed file"), c.Additions, c.Deletions)
	}
	p.out.WriteString("</p>\n")
	if len(s.Todos) > 0 {
		p.out.WriteString("<ul>\n")
		for _, t := range describe.FormatTodos(s.Todos) {
			fmt.Fprintf(&p.out, "<li>%s</li>\n", p.text(t))
		}
		p.out.WriteString("</ul>\n")
	}
	p.out.WriteString("</header>\n<main>\n")
}

// formatMinute formats milliseconds since the Unix epoch.
func formatMinute(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04 UTC") }

// addMessage adds a message as a section, nothing for messages that people do not see.
func (p *Page) addMessage(m session.Message) {
	switch m := m.(type) {
	case *session.User:
		if heading, report, ok := describe.ReadTaskReport(m); ok {
			fmt.Fprintf(&p.out, "<section class=\"answer\"><p class=\"meta\">%s · %s</p>\n",
				p.text(heading), formatMinute(m.Time.Created))
			p.addMarkdown(report)
			p.out.WriteString("</section>\n")
			break
		}
		fmt.Fprintf(&p.out, "<section class=\"prompt\"><p class=\"meta\">%s</p>%s", formatMinute(m.Time.Created), p.text(m.DisplayText()))
		for _, f := range m.Files {
			fmt.Fprintf(&p.out, "\n<em>%s</em>", p.text(describe.FileLabel(f)))
		}
		p.out.WriteString("</section>\n")
	case *session.Assistant:
		p.addAnswer(m)
	case *session.Shell:
		p.addCall("$ "+m.Command, m.Output, false)
	case *session.Compaction:
		p.out.WriteString("<section><details><summary>Summary for the model</summary>")
		p.addMarkdown(m.Summary)
		p.out.WriteString("</details></section>\n")
	}
}

func (p *Page) addAnswer(m *session.Assistant) {
	fmt.Fprintf(&p.out, "<section class=\"answer\"><p class=\"meta\">%s · %s</p>\n",
		html.EscapeString(m.Model.String()), formatMinute(m.Time.Created))
	for _, c := range m.Content {
		switch c := c.(type) {
		case *session.Text:
			p.addMarkdown(c.Text)
		case *session.Reasoning:
			if strings.TrimSpace(c.Text) != "" {
				fmt.Fprintf(&p.out, "<details><summary>thinking</summary><pre>%s</pre></details>\n", p.text(c.Text))
			}
		case *session.Tool:
			what := describe.DescribeCall(c.Name, c.State.Input) + describeOutcome(c)
			p.addCall(what, describe.FormatTaskOutput(joinContent(c.State.Content)), c.State.Error != nil)
			p.addDiff(c.State.Structured)
		}
	}
	if m.Error != nil {
		fmt.Fprintf(&p.out, "<p class=\"bad\">%s</p>\n", p.text(m.Error.Message))
	}
	p.out.WriteString("</section>\n")
}

// joinContent returns the texts of a result.
func joinContent(all []session.ToolContent) string {
	var texts []string
	for _, c := range all {
		if c.Text != "" {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// addCall adds a line about a call, which opens its output.
func (p *Page) addCall(what, output string, failed bool) {
	class := ""
	if failed {
		class = ` class="bad"`
	}
	if output == "" {
		fmt.Fprintf(&p.out, "<p class=\"meta\"><span%s>%s</span></p>\n", class, p.text(what))
		return
	}
	text := session.ClipText(output, maxHTMLOutput)
	fmt.Fprintf(&p.out, "<details><summary><span%s>%s</span></summary><pre>%s</pre></details>\n",
		class, p.text(what), p.text(text))
}

// addDiff adds the change that a call made to files.
func (p *Page) addDiff(structured jsontext.Value) {
	diff := describe.ReadDiff(structured)
	if diff == "" {
		return
	}
	p.out.WriteString("<details open><summary>diff</summary><pre>")
	for line := range strings.Lines(session.ClipText(p.clean(diff), maxHTMLOutput)) {
		line = html.EscapeString(line)
		switch {
		case strings.HasPrefix(line, "+"):
			line = `<span class="add">` + line + "</span>"
		case strings.HasPrefix(line, "-"):
			line = `<span class="del">` + line + "</span>"
		}
		p.out.WriteString(line)
	}
	p.out.WriteString("</pre></details>\n")
}

// addMarkdown adds a text of a model.
func (p *Page) addMarkdown(text string) { p.out.WriteString(markdown.RenderHTML(p.clean(text))) }
