package tool

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Limits bound the text of one call.
type Limits struct {
	Lines int // newlines plus one
	Bytes int // of UTF-8
}

// The default limits.
const (
	MaxLines = 2000
	MaxBytes = 51200
)

const (
	maxTitle      = 200      // bytes
	maxStructured = 4 << 20  // bytes; a file holds a larger structured value
	maxMessage    = 16 << 10 // bytes of an error message
)

func (l Limits) withDefaults() Limits {
	if l.Lines <= 0 {
		l.Lines = MaxLines
	}
	if l.Bytes <= 0 {
		l.Bytes = MaxBytes
	}
	return l
}

// formatPreview returns the beginning and the end of a text within the limits, with the marker between them. If the
// limits are too small, it returns the marker alone.
func (l Limits) formatPreview(head, tail []byte, marker string) string {
	lines, room := l.Lines-4, l.Bytes-len(marker)-4
	if lines <= 0 || room <= 0 {
		return marker
	}
	head = firstLines(head, (lines+1)/2)
	tail = lastLines(tail, lines/2)
	if len(head)+len(tail) > room {
		head = head[:runeBefore(head, min(len(head), (room+1)/2))]
		tail = tail[runeAfter(tail, max(0, len(tail)-room/2)):]
	}
	return strings.TrimRight(string(head), "\r\n") + "\n\n" + marker + "\n\n" + strings.TrimLeft(string(tail), "\r\n")
}

func firstLines(p []byte, n int) []byte {
	at := 0
	for range n {
		i := bytes.IndexByte(p[at:], '\n')
		if i < 0 {
			return p
		}
		at += i + 1
	}
	return p[:at]
}

// lastLines returns the last n lines. A newline at the end of p begins no further line.
func lastLines(p []byte, n int) []byte {
	if n == 0 {
		return nil
	}
	at := len(bytes.TrimSuffix(p, []byte{'\n'}))
	for range n {
		i := bytes.LastIndexByte(p[:at], '\n')
		if i < 0 {
			return p
		}
		at = i
	}
	return p[at+1:]
}

// formatMarker returns the note that stands for omitted text.
func (d CaptureResult) formatMarker() string {
	size := fmt.Sprintf("The middle of this output is left out (%d lines, %d bytes in all).", d.Lines, d.Bytes)
	switch {
	case d.Path == "":
		return fmt.Sprintf("[%s The full text could not be kept.]", size)
	case d.missing > 0:
		return fmt.Sprintf("[%s Its beginning and end are in %s, without %d bytes between them (%s): "+
			"grep that file, or read it with offset and limit.]",
			size, d.Path, d.missing, d.reason)
	default:
		return fmt.Sprintf("[%s All of it is in %s: grep that file, or read it with offset and limit.]", size, d.Path)
	}
}

// boundOutput fits an output into the limits. Text beyond them goes to a managed file of the session, and so does a
// structured value beyond maxStructured; one that is no JSON is dropped. The title has a limit of its own. Media are
// neither counted nor dropped.
func (r *Registry) boundOutput(ctx context.Context, id session.ID, def Definition, out Output) Output {
	// Tools that bound their own output get twice the limits, so that it is not cut a second time.
	limits := r.config.Limits
	if def.Bounded {
		limits = Limits{2 * limits.Lines, 2 * limits.Bytes}
	}
	// Normalize the title and the structured value.
	out.Title = oneLine(out.Title)
	if out.Structured != nil && !out.Structured.IsValid() {
		r.config.Log.ErrorContext(ctx, "a tool's structured output is not JSON", "tool", def.Name)
		out.Structured = nil
	}
	// Collect the text. Content of other types stays.
	var texts strings.Builder
	var files []session.ToolContent
	out.Content = slices.Clone(out.Content) // the tool's slice stays unchanged
	for i, c := range out.Content {
		if c.Type != "text" {
			files = append(files, c)
			continue
		}
		texts.WriteString(c.Text)
		out.Content[i].Text = string(sanitizeUTF8([]byte(c.Text)))
	}
	// Without content, the model receives the structured value, so this is measured.
	measured := texts.String()
	if len(out.Content) == 0 && out.Structured != nil {
		measured = indentJSON(out.Structured)
	}
	// Write the text through a capture, and replace it if it was cut.
	c := NewCapture(r.config.Outputs, limits, r.config.Log).SetSession(id)
	_, _ = c.Write([]byte(measured))
	if done := c.Finish(ctx); done.Cut {
		out.Content = append(session.TextContent(done.Text), files...)
		if done.Path != "" {
			out.OutputPaths = append(out.OutputPaths, done.Path)
		}
	}
	if len(out.Structured) > maxStructured {
		out = r.storeStructured(ctx, id, out)
	}
	return out
}

// storeStructured moves the structured value to a managed file, which the text names.
func (r *Registry) storeStructured(ctx context.Context, id session.ID, out Output) Output {
	c := NewCapture(r.config.Outputs, r.config.Limits, r.config.Log).SetSession(id)
	_, _ = c.Write(out.Structured)
	done := c.Finish(ctx)
	note := fmt.Sprintf("[The structured value has %d bytes and could not be kept.]", done.Bytes)
	if done.Path != "" {
		note = fmt.Sprintf("[The structured value, of %d bytes, is in %s.]", done.Bytes, done.Path)
		out.OutputPaths = append(out.OutputPaths, done.Path)
	}
	out.Content = append(out.Content, session.ToolContent{Type: "text", Text: note})
	out.Structured = jsontext.Value(fmt.Sprintf(`{"truncated":true,"bytes":%d}`, done.Bytes))
	return out
}

func indentJSON(v jsontext.Value) string {
	v = v.Clone()
	_ = v.Indent(jsontext.WithIndent("  ")) // v is valid, see boundOutput
	return string(v)
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(string(sanitizeUTF8([]byte(s)))), " ")
	return session.ClipText(s, maxTitle)
}
