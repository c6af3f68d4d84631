package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// lower turns history into what a model is sent. It is pure and total: any history lowers to a conversation in which
// every local call is followed by exactly one result before anything else is said, ids are unique, and opaque provider
// data goes only to the model it came from (spec/v2 §14, LO-1 to LO-8). What is excluded is left out, and said to be.
func lower(ms []session.Message, m *location.Model, excluded ...session.Exclusion) []llm.Message {
	l := lowering{model: m, excluded: excluded, used: map[string]int{}}
	for _, msg := range ms {
		l.seq = msg.Meta().Seq
		l.message(msg)
	}
	return l.out
}

type lowering struct {
	model    *location.Model
	excluded []session.Exclusion
	seq      int64           // of the message that is lowered
	format   *session.Format // that the newest prompt wants
	out      []llm.Message
	used     map[string]int // call ids, with how often each was asked for
}

// leaves reports whether the message is one whose content of the kind, with that data, is left out.
func (l *lowering) leaves(kind session.ContentKind, data []byte) bool {
	return slices.ContainsFunc(l.excluded, func(x session.Exclusion) bool {
		return x.Kind == kind && l.seq <= x.Through && (x.Digest == "" || x.Digest == digest(data))
	})
}

func (l *lowering) say(role llm.Role, parts ...llm.Part) {
	if len(parts) > 0 {
		l.out = append(l.out, llm.Message{Role: role, Parts: parts})
	}
}

func (l *lowering) message(msg session.Message) {
	switch m := msg.(type) {
	case *session.User:
		l.user(m)
	case *session.Synthetic:
		l.say(llm.RoleUser, text(m.Text)...)
	case *session.System:
		l.say(llm.RoleSystem, text(m.Text)...)
	case *session.Shell:
		l.say(llm.RoleUser, llm.Text{Text: "The user ran this command in the shell:\n" + m.Command + "\n\nIts output:\n" + m.Output})
	case *session.Compaction:
		l.say(llm.RoleUser, llm.Text{Text: checkpoint(m)})
	case *session.Assistant:
		l.assistant(m)
	case *session.AgentSwitch, *session.ModelSwitch:
	}
}

// checkpoint presents a summary as history, not as instructions.
func checkpoint(m *session.Compaction) string {
	s := "What follows is a record of the conversation so far, not a request.\n\n<summary>\n" + m.Summary + "\n</summary>"
	if m.Recent != "" {
		s += "\n\n<recent>\n" + m.Recent + "\n</recent>"
	}
	return s
}

func text(s string) []llm.Part {
	if s == "" {
		return nil
	}
	return []llm.Part{llm.Text{Text: s}}
}

func (l *lowering) user(m *session.User) {
	l.format = m.Format
	parts := text(m.Text)
	for _, f := range m.Files {
		parts = joined(parts, l.file(f))
	}
	if len(parts) == 0 {
		parts = text("(empty message)")
	}
	l.say(llm.RoleUser, parts...)
}

// joined adds a part; text after text stands in one part, a blank line between: protocols put texts together as they
// are.
func joined(parts []llm.Part, p llm.Part) []llm.Part {
	if after, ok := p.(llm.Text); ok && len(parts) > 0 {
		if before, ok := parts[len(parts)-1].(llm.Text); ok {
			parts[len(parts)-1] = llm.Text{Text: before.Text + "\n\n" + after.Text}
			return parts
		}
	}
	return append(parts, p)
}

// file lowers an attachment: media that the model reads as media, text as text, all else as a note. Files that are
// only named are left to the tools, which ask.
func (l *lowering) file(f session.File) llm.Part {
	mime, name := f.Mime, f.Name
	if name == "" {
		name = "attachment"
	}
	kind, data, ok := session.DataURI(f.URI)
	if !ok {
		uri := f.URI
		if path, ok := filePath(uri); ok {
			uri = path
		}
		if f.Text != "" {
			return llm.Text{Text: fmt.Sprintf("[The user attached %s. The tool read says of it:]\n%s", uri, f.Text)}
		}
		return llm.Text{Text: fmt.Sprintf("[The user refers to the file %s. Read it with a tool if you need it.]", uri)}
	}
	if mime == "" {
		mime = kind
	}
	switch {
	case len(data) == 0:
		return llm.Text{Text: fmt.Sprintf("[The file %s of type %s is empty.]", name, mime)}
	case strings.HasPrefix(mime, "image/") && l.leaves(session.ContentImages, data), mime == "application/pdf" && l.leaves(session.ContentDocuments, data):
		return llm.Text{Text: fmt.Sprintf("[The file %s of type %s is left out: the model's provider could not process it.]", name, mime)}
	case strings.HasPrefix(mime, "image/") && l.model.Images, mime == "application/pdf" && l.model.Documents:
		return llm.Media{MediaType: mime, Data: data, Name: name}
	case strings.HasPrefix(mime, "text/") || mime == "application/json":
		return llm.Text{Text: fmt.Sprintf("<file name=%q>\n%s\n</file>", name, strings.ToValidUTF8(string(data), "\uFFFD"))}
	default:
		return llm.Text{Text: fmt.Sprintf("[The file %s of type %s is attached, but this model cannot read it.]", name, mime)}
	}
}

// assistant lowers one turn. A turn that failed is sent only where it says something that happened: the calls that ran,
// or what it had said when the user stopped it.
func (l *lowering) assistant(m *session.Assistant) {
	same := m.Model.ProviderID == l.model.Ref.ProviderID && m.Model.ID == l.model.Ref.ID
	reuse := same && m.Error == nil && !l.leaves(session.ContentReasoning, nil)
	happened := func(t *session.Tool) bool { return m.Error == nil || t.Time.Ran != 0 }
	if m.Error != nil && m.Error.Reason != session.ReasonAborted && !slices.ContainsFunc(m.Tools(), happened) {
		return
	}
	var parts, results []llm.Part
	for _, c := range m.Content {
		switch it := c.(type) {
		case *session.Text:
			if it.Text != "" {
				parts = append(parts, llm.Text{Text: it.Text, Metadata: opaque(it.Metadata, reuse)})
			}
		case *session.Reasoning:
			if !l.leaves(session.ContentReasoning, nil) {
				parts = append(parts, reasoning(it, same, reuse)...)
			}
		case *session.Tool:
			if !happened(it) {
				continue
			}
			call, result := l.tool(it, reuse)
			call.Elsewhere = call.Hosted && (m.Model.ProviderID != l.model.Ref.ProviderID || l.tells(&result))
			parts = append(parts, call)
			if result.Hosted {
				parts = append(parts, result)
			} else {
				results = append(results, result)
			}
		}
	}
	l.say(llm.RoleAssistant, parts...)
	for _, r := range results {
		l.say(llm.RoleTool, r)
	}
	if session.Unformed(m.Finish) {
		l.say(llm.RoleUser, llm.Text{Text: again(l.format, m)})
	}
}

// tells reports whether what a provider's tool found is only told, although the provider made it: it has refused what it
// attached, or the documents in it. The result is then text.
func (l *lowering) tells(r *llm.ToolResult) bool {
	if !l.leaves(session.ContentReasoning, nil) && (!fetched(*r) || !l.leaves(session.ContentDocuments, nil)) {
		return false
	}
	if len(r.Content) == 0 && len(r.Raw) > 0 {
		r.Content = []llm.Part{llm.Text{Text: string(r.Raw)}}
	}
	r.Raw = nil
	return true
}

// reasoning goes back as reasoning to the model that thought it, and as plain text to any other.
func reasoning(it *session.Reasoning, same, reuse bool) []llm.Part {
	meta := opaque(it.Metadata, reuse)
	switch {
	case same && (it.Text != "" || len(meta) > 0):
		return []llm.Part{llm.Reasoning{Text: it.Text, Metadata: meta}}
	case !same && it.Text != "":
		return []llm.Part{llm.Text{Text: it.Text}}
	default:
		return nil
	}
}

func (l *lowering) tool(it *session.Tool, reuse bool) (llm.ToolCall, llm.ToolResult) {
	hosted := it.Provider != nil && it.Provider.Executed
	call := llm.ToolCall{ID: l.callID(it), Name: it.Name, Input: callInput(it), Hosted: hosted}
	if call.Name == "" {
		call.Name = "unknown"
	}
	result := llm.ToolResult{ID: call.ID, Name: call.Name, Hosted: hosted}
	if it.Provider != nil {
		call.Metadata = opaque(it.Provider.Metadata, reuse)
		result.Metadata = opaque(it.Provider.ResultMetadata, reuse)
		if hosted {
			result.Raw = it.State.Result
		}
	}
	result.Content, result.IsError = l.outcome(&it.State)
	if len(result.Raw) > 0 && !result.IsError && len(it.State.Content) == 0 {
		result.Content = nil // what it found is all in Raw
	}
	return call, result
}

// callID is the provider's id, made unique where a conversation repeats it.
func (l *lowering) callID(it *session.Tool) string {
	id := it.ID
	if id == "" {
		id = string(it.PartID)
	}
	if id == "" {
		id = "call"
	}
	unique := id
	for l.used[unique] > 0 { // the same id may come a thousand times: go on where it ended
		l.used[id]++
		unique = fmt.Sprintf("%s_%d", id, l.used[id])
	}
	l.used[unique] = 1
	return unique
}

func callInput(it *session.Tool) jsontext.Value {
	in := it.State.Input
	if it.State.Status == session.ToolPending {
		in = jsontext.Value(it.RawInput())
	}
	if !in.IsValid() || in.Kind() != '{' {
		return jsontext.Value(`{}`)
	}
	return in
}

// outcome is what the model reads of a call. A call without one, which only a cut-off history has, failed.
func (l *lowering) outcome(s *session.ToolState) (parts []llm.Part, isError bool) {
	for _, c := range s.Content {
		switch c.Type {
		case "file":
			parts = append(parts, l.file(session.File{URI: c.URI, Mime: c.Mime, Name: c.Name}))
		default:
			parts = append(parts, text(c.Text)...)
		}
	}
	switch s.Status {
	case session.ToolCompleted:
		if len(parts) == 0 {
			parts = text(structured(s.Structured))
		}
		return parts, false
	case session.ToolError:
		msg := "the tool failed"
		if s.Error != nil && s.Error.Message != "" {
			msg = s.Error.Message
		}
		return append(text(msg), parts...), true
	default:
		return text("The tool was interrupted: its outcome is unknown."), true
	}
}

func structured(v jsontext.Value) string {
	if len(v) == 0 || string(v) == "{}" {
		return "(no output)"
	}
	return string(v)
}

// opaque decodes provider data for the model that made it, and withholds it from all others.
func opaque(v jsontext.Value, reuse bool) llm.Metadata {
	if !reuse || len(v) == 0 {
		return nil
	}
	var m llm.Metadata
	if json.Unmarshal(v, &m) != nil {
		return nil
	}
	return m
}
