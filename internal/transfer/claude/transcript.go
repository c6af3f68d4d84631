package claude

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// empty is what Claude Code writes for a message without content.
const empty = "(no content)"

// transcript makes the messages of one conversation.
type transcript struct {
	file    *file
	builder *foreign.Builder
	rows    []*row          // of the conversation, oldest first
	next    int             // index in rows
	turns   map[string]bool // ids of the provider's messages that have their turn
	model   session.ModelRef
}

// convert adds the messages of all rows.
func (t *transcript) convert() {
	t.model = session.ModelRef{ProviderID: "anthropic", ID: "unknown"}
	for t.next < len(t.rows) {
		r := t.rows[t.next]
		t.next++
		switch {
		case r.kind == "assistant":
			t.addAnswer(r)
		case r.isBoundary():
			t.addCompaction(r)
		case r.kind == "attachment":
			t.addQueued(r)
		case r.kind == "system":
			t.addText(r, r.Text("content"))
		default:
			t.addUser(r)
		}
	}
}

// addCompaction adds the compaction of a boundary, with the summary in the row that follows.
func (t *transcript) addCompaction(r *row) {
	if t.next < len(t.rows) && t.rows[t.next].Bool("isCompactSummary") {
		summary := t.rows[t.next]
		t.next++
		data := r.Object.Object("compactMetadata")
		reason := session.CompactionAuto
		if data.Text("trigger") == "manual" {
			reason = session.CompactionManual
		}
		c := t.readContent(summary)
		t.builder.Compaction(r.id, summary.at, foreign.Summary{Reason: reason, Text: c.text(), Before: data.Int("preTokens")})
		return
	}
	t.builder.System(r.id, r.at, r.Text("content"))
}

// addQueued adds a prompt that was written while the model worked, unless it has a row of its own.
func (t *transcript) addQueued(r *row) {
	a := r.Object.Object("attachment")
	if _, ok := t.file.byID[a.Text("source_uuid")]; ok {
		return
	}
	c := t.readBlocks(r, "attachment.prompt", a["prompt"])
	if a.Has("commandMode") && a.Text("commandMode") != "prompt" {
		t.builder.Synthetic(r.id, r.at, c.text())
		return
	}
	t.builder.User(r.id, r.at, c.text(), c.files)
}

// addUser adds what a user row says beside results of calls.
func (t *transcript) addUser(r *row) {
	c := t.readContent(r)
	if c.orphans > 0 {
		t.builder.Problem(r.name(), "tool_use_id", "the call of the result is missing")
	}
	t.builder.Synthetic(r.id+"\x00context", r.at, strings.Join(c.context, "\n\n"))
	switch {
	case r.Bool("isCompactSummary"): // older versions write no boundary
		t.builder.Compaction(r.id, r.at, foreign.Summary{Reason: session.CompactionAuto, Text: c.text()})
	case r.Bool("isMeta"):
		t.builder.Synthetic(r.id, r.at, c.text())
	case len(c.files) > 0:
		t.builder.User(r.id, r.at, c.text(), c.files)
	default:
		t.addText(r, c.text())
	}
}

// addText adds the text of a row: a prompt, or one of the forms in which Claude Code records its own commands.
func (t *transcript) addText(r *row, text string) {
	trimmed := strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(trimmed, "<bash-input>"):
		t.addShell(r, trimmed)
	case strings.HasPrefix(trimmed, "<command-name>"), strings.HasPrefix(trimmed, "<command-message>"):
		t.builder.User(r.id, r.at, commandLine(trimmed), nil)
	case isOwnText(trimmed):
		t.builder.Synthetic(r.id, r.at, text)
	default:
		t.builder.User(r.id, r.at, text, nil)
	}
}

// addShell adds a command of the user's, with the output in the row that follows.
func (t *transcript) addShell(r *row, text string) {
	output := ""
	if t.next < len(t.rows) {
		c := t.readContent(t.rows[t.next])
		if said := strings.TrimSpace(c.text()); strings.HasPrefix(said, "<bash-stdout>") {
			t.next++
			output = strings.TrimSpace(element(said, "bash-stdout") + "\n" + element(said, "bash-stderr"))
		}
	}
	t.builder.Shell(r.id, r.at, element(text, "bash-input"), output)
}

// commandLine returns a slash command as it was typed.
func commandLine(text string) string {
	name := element(text, "command-name")
	if name == "" {
		name = element(text, "command-message")
	}
	return strings.TrimSpace("/" + strings.TrimPrefix(name, "/") + " " + element(text, "command-args"))
}

// element returns the text within the first element of the name.
func element(text, name string) string {
	_, rest, _ := strings.Cut(text, "<"+name+">")
	end := strings.LastIndex(rest, "</"+name+">")
	if end < 0 {
		return strings.TrimSpace(rest)
	}
	return strings.TrimSpace(rest[:end])
}

// isOwnText reports whether Claude Code wrote the text of a user row.
func isOwnText(text string) bool {
	for _, start := range []string{
		"<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>", "<bash-stdout>", "<bash-stderr>",
		"<system-reminder>", "<task-notification>", "<teammate-message", "[Request interrupted by user",
		"<user-memory-input>",
	} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// content is what a user row contains.
type content struct {
	texts   []string
	context []string // texts that Claude Code adds to those of the user
	files   []session.File
	orphans int // results without a call
}

func (c *content) text() string { return strings.Join(c.texts, "\n\n") }

// readContent reads the content of a user row.
func (t *transcript) readContent(r *row) content {
	return t.readBlocks(r, "message.content", r.Object.Object("message")["content"])
}

// readBlocks reads content that is a string or a list of blocks.
func (t *transcript) readBlocks(r *row, field string, v jsontext.Value) content {
	var c content
	o := foreign.Object{"content": v}
	if v.Kind() == '"' {
		if text := o.Text("content"); text != empty {
			c.texts = []string{text}
		}
		return c
	}
	if v.Kind() != '[' {
		t.builder.Problem(r.name(), field, "it is neither a string nor a list")
		return c
	}
	for i, b := range o.Objects("content") {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch kind := b.Text("type"); kind {
		case "text":
			c.addText(b.Text("text"))
		case "image", "document":
			f, reason := readFile(b)
			if reason != "" {
				t.builder.Problem(r.name(), at, reason)
			} else {
				c.files = append(c.files, f)
			}
		case "tool_result":
			if !t.builder.HasCall(b.Text("tool_use_id")) {
				c.orphans++
			}
		default:
			t.builder.Problem(r.name(), at, "the kind of content is unknown")
		}
	}
	return c
}

func (c *content) addText(text string) {
	switch {
	case text == empty:
	case strings.HasPrefix(text, "<ide_"), strings.HasPrefix(text, "<system-reminder>"):
		c.context = append(c.context, text)
	default:
		c.texts = append(c.texts, text)
	}
}

// readFile returns the file of an image or document block.
func readFile(b foreign.Object) (session.File, string) {
	src := b.Object("source")
	if src.Text("type") == "text" {
		return foreign.DataFile("text/plain", b.Text("title"), foreign.EncodeText(src.Text("data")))
	}
	return foreign.DataFile(src.Text("media_type"), b.Text("title"), src.Text("data"))
}
