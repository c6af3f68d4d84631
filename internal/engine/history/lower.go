package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// Lower turns stored messages into the messages of a request, without the excluded content. It is total: any history
// lowers to a conversation in which every local call is followed by exactly one result before anything else, call ids
// are unique, and opaque provider data goes only to the model that produced it (LO-1 to LO-8). A note takes the place
// of excluded files.
func Lower(ms []session.Message, m *scope.Model, excluded ...session.Exclusion) []llm.Message {
	return newMessageLowerer(m, excluded).lowerAll(ms)
}

// messageLowerer lowers the messages of one history, in their order.
type messageLowerer struct {
	model    *scope.Model
	excluded []session.Exclusion
	seq      int64           // of the current message
	format   *session.Format // of the newest prompt
	out      []llm.Message
	used     map[string]int // call ids, with how often each was requested
}

func newMessageLowerer(m *scope.Model, excluded []session.Exclusion) *messageLowerer {
	return &messageLowerer{model: m, excluded: excluded, used: map[string]int{}}
}

func (l *messageLowerer) lowerAll(ms []session.Message) []llm.Message {
	for _, m := range ms {
		l.seq = m.Meta().Seq
		l.addMessage(m)
	}
	return l.out
}

// isExcluded reports whether content of the kind with the data is excluded in the current message.
func (l *messageLowerer) isExcluded(kind session.ContentKind, data []byte) bool {
	return slices.ContainsFunc(l.excluded, func(x session.Exclusion) bool {
		return x.Kind == kind && l.seq <= x.Through && (x.Digest == "" || x.Digest == contentDigest(data))
	})
}

func (l *messageLowerer) add(role llm.Role, parts ...llm.Part) {
	if len(parts) > 0 {
		l.out = append(l.out, llm.Message{Role: role, Parts: parts})
	}
}

func (l *messageLowerer) addMessage(msg session.Message) {
	switch m := msg.(type) {
	case *session.User:
		l.addUser(m)
	case *session.Synthetic:
		l.add(llm.RoleUser, TextParts(m.Text)...)
	case *session.System:
		l.add(llm.RoleSystem, TextParts(m.Text)...)
	case *session.Shell:
		text := "The user ran this command in the shell:\n" + m.Command + "\n\nIts output:\n" + m.Output
		if m.Exit != nil && *m.Exit != 0 {
			text += fmt.Sprintf("\n\nIt ended with exit code %d.", *m.Exit)
		}
		l.add(llm.RoleUser, llm.Text{Text: text})
	case *session.Compaction:
		l.add(llm.RoleUser, llm.Text{Text: SummaryText(m)})
	case *session.Assistant:
		l.addAssistant(m)
	case *session.AgentSwitch, *session.ModelSwitch:
	}
}

func (l *messageLowerer) addUser(m *session.User) {
	l.format = m.Format
	parts := TextParts(m.Text)
	for _, f := range m.Files {
		parts = appendPart(parts, l.lowerFile(f))
	}
	for _, a := range m.Agents {
		parts = appendPart(parts, llm.Text{Text: session.MentionText(a)})
	}
	if len(m.Subtasks) > 0 {
		parts = appendPart(parts, llm.Text{Text: subtaskText})
	}
	if len(parts) == 0 {
		parts = TextParts("(empty message)")
	}
	l.add(llm.RoleUser, parts...)
}

// subtaskText takes the place of subtasks, whose calls and results follow. It is OpenCode's.
const subtaskText = "The following tool was executed by the user"

// appendPart appends a part. Text after text becomes one part with a blank line between, because protocols concatenate
// texts without one.
func appendPart(parts []llm.Part, p llm.Part) []llm.Part {
	if after, ok := p.(llm.Text); ok && len(parts) > 0 {
		if before, ok := parts[len(parts)-1].(llm.Text); ok {
			parts[len(parts)-1] = llm.Text{Text: before.Text + "\n\n" + after.Text}
			return parts
		}
	}
	return append(parts, p)
}

// lowerFile lowers an attachment: media that the model accepts as media, text as text, everything else as a note. A
// file that is only named is not read here: the tools read it, with permission.
func (l *messageLowerer) lowerFile(f session.File) llm.Part {
	mime, name := f.Mime, f.Name
	if name == "" {
		name = "attachment"
	}
	// Without content it is a reference: what is known of it, or how to read it.
	kind, data, ok := session.DataURI(f.URI)
	if !ok {
		uri := f.URI
		if path, ok := FilePath(uri); ok {
			uri = path
		}
		if f.Text != "" {
			return llm.Text{Text: fmt.Sprintf("[The user attached %s. The tool read says of it:]\n%s", uri, f.Text)}
		}
		if strings.HasPrefix(uri, "http") {
			return formatText("[The user refers to the page %s, which was not fetched.]", uri)
		}
		return formatText("[The user refers to the file %s. Read it with a tool if you need it.]", uri)
	}
	if mime == "" {
		mime = kind
	}
	// With content it is what the model can read; what it cannot read is named.
	image, document := strings.HasPrefix(mime, "image/"), mime == "application/pdf"
	switch {
	case len(data) == 0:
		return formatText("[The file %s of type %s is empty.]", name, mime)
	case image && l.isExcluded(session.ContentImages, data), document && l.isExcluded(session.ContentDocuments, data):
		return formatText("[The file %s of type %s is left out: the model's provider could not process it.]", name, mime)
	case image && l.model.Images, document && l.model.Documents:
		return llm.Media{MediaType: mime, Data: data, Name: name}
	case strings.HasPrefix(mime, "text/") || mime == "application/json":
		return formatText("<file name=%q>\n%s\n</file>", name, strings.ToValidUTF8(string(data), "\uFFFD"))
	default:
		return formatText("[The file %s of type %s is attached, but this model cannot read it.]", name, mime)
	}
}

// addAssistant lowers one turn. Of a failed turn only what happened is sent: the calls that ran, and its text if the
// user stopped it.
func (l *messageLowerer) addAssistant(m *session.Assistant) {
	// Signatures and ids are of use to the same model only. A failed turn loses them: it is not replayed as it was.
	same := m.Model.ProviderID == l.model.Ref.ProviderID && m.Model.ID == l.model.Ref.ID
	reuse := same && m.Error == nil && !l.isExcluded(session.ContentReasoning, nil)
	happened := func(t *session.Tool) bool { return m.Error == nil || t.Time.Ran != 0 }
	if m.Error != nil && m.Error.Reason != session.ReasonAborted && !slices.ContainsFunc(m.Tools(), happened) {
		return
	}
	// Lower the items. Results of local calls are messages of their own, after the answer.
	var parts, results []llm.Part
	for _, c := range m.Content {
		switch it := c.(type) {
		case *session.Text:
			if it.Text != "" {
				parts = append(parts, llm.Text{Text: it.Text, Metadata: decodeMetadata(it.Metadata, reuse)})
			}
		case *session.Reasoning:
			if !l.isExcluded(session.ContentReasoning, nil) {
				parts = append(parts, lowerReasoning(it, same, reuse)...)
			}
		case *session.Tool:
			if !happened(it) {
				continue
			}
			call, result := l.lowerTool(it, reuse)
			call.OtherProvider = call.Hosted && (m.Model.ProviderID != l.model.Ref.ProviderID || l.degradeToText(&result))
			parts = append(parts, call)
			if result.Hosted {
				parts = append(parts, result)
			} else {
				results = append(results, result)
			}
		}
	}
	// Reasoning alone is no answer: providers reject it, unless they paused there.
	if !isReasoning(parts) || m.Finish == session.FinishPaused {
		l.add(llm.RoleAssistant, parts...)
	}
	for _, r := range results {
		l.add(llm.RoleTool, r)
	}
	// An answer that missed the schema is followed by the request to repeat it.
	if session.IsUnformed(m.Finish) {
		l.add(llm.RoleUser, llm.Text{Text: retryText(l.format, m)})
	}
}

// isReasoning reports whether all parts of a turn are reasoning. Most providers reject an answer without text and
// calls, such as an interrupted one.
func isReasoning(parts []llm.Part) bool {
	return !slices.ContainsFunc(parts, func(p llm.Part) bool {
		_, ok := p.(llm.Reasoning)
		return !ok
	})
}

// degradeToText turns the result of a hosted tool into text and reports true where the provider rejected what is
// attached to it, or the documents in it: then it can no longer go back as it came.
func (l *messageLowerer) degradeToText(r *llm.ToolResult) bool {
	documents := isFetchedDocument(*r) && l.isExcluded(session.ContentDocuments, nil)
	if !documents && !l.isExcluded(session.ContentReasoning, nil) {
		return false
	}
	if len(r.Content) == 0 && len(r.Raw) > 0 {
		r.Content = []llm.Part{llm.Text{Text: string(r.Raw)}}
	}
	r.Raw = nil
	return true
}

// lowerReasoning gives reasoning back as reasoning to the model that produced it, and as plain text to any other.
func lowerReasoning(it *session.Reasoning, same, reuse bool) []llm.Part {
	meta := decodeMetadata(it.Metadata, reuse)
	switch {
	case same && (it.Text != "" || len(meta) > 0):
		return []llm.Part{llm.Reasoning{Text: it.Text, Metadata: meta}}
	case !same && it.Text != "":
		return []llm.Part{llm.Text{Text: it.Text}}
	default:
		return nil
	}
}

func (l *messageLowerer) lowerTool(it *session.Tool, reuse bool) (llm.ToolCall, llm.ToolResult) {
	hosted := it.Provider != nil && it.Provider.Executed
	call := llm.ToolCall{ID: l.uniqueCallID(it), Name: it.Name, Input: callInput(it), Hosted: hosted}
	if call.Name == "" {
		call.Name = "unknown"
	}
	result := llm.ToolResult{ID: call.ID, Name: call.Name, Hosted: hosted}
	if it.Provider != nil {
		call.Metadata = decodeMetadata(it.Provider.Metadata, reuse)
		result.Metadata = decodeMetadata(it.Provider.ResultMetadata, reuse)
		if hosted {
			result.Raw = it.State.Result
		}
	}
	result.Content, result.IsError = l.lowerOutcome(&it.State)
	if it.Time.Pruned != 0 && !hosted && !result.IsError {
		result.Content = TextParts(prunedText(it.State.OutputPaths))
	}
	if len(result.Raw) > 0 && !result.IsError && len(it.State.Content) == 0 {
		result.Content = nil // Raw has all of it
	}
	return call, result
}

// prunedText takes the place of an output that was pruned.
func prunedText(paths []string) string {
	const pruned = "[The output of this earlier call was removed from the conversation to save space."
	if len(paths) == 0 {
		return pruned + " Call the tool again if you need it.]"
	}
	return pruned + " To see it again, read " + strings.Join(paths, " and ") + ".]"
}

// uniqueCallID returns the provider's id, made unique where a conversation repeats it.
func (l *messageLowerer) uniqueCallID(it *session.Tool) string {
	id := it.ID
	if id == "" {
		id = string(it.PartID)
	}
	if id == "" {
		id = "call"
	}
	unique := id
	for l.used[unique] > 0 { // an id may come a thousand times: continue from the last number
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

// lowerOutcome returns the result of a call for the model. A call without an outcome, which only a truncated history
// has, failed.
func (l *messageLowerer) lowerOutcome(s *session.ToolState) (parts []llm.Part, isError bool) {
	for _, c := range s.Content {
		switch c.Type {
		case "file":
			parts = append(parts, l.lowerFile(session.File{URI: c.URI, Mime: c.Mime, Name: c.Name}))
		default:
			parts = append(parts, TextParts(c.Text)...)
		}
	}
	switch s.Status {
	case session.ToolCompleted:
		if len(parts) == 0 {
			parts = TextParts(structuredText(s.Structured))
		}
		return parts, false
	case session.ToolError:
		msg := "the tool failed"
		if s.Error != nil && s.Error.Message != "" {
			msg = s.Error.Message
		}
		return append(TextParts(msg), parts...), true
	default:
		return TextParts("The tool was interrupted: its outcome is unknown."), true
	}
}

func structuredText(v jsontext.Value) string {
	if len(v) == 0 || string(v) == "{}" {
		return "(no output)"
	}
	return string(v)
}

// decodeMetadata decodes opaque provider data for the model that produced it; without reuse it returns nil.
func decodeMetadata(v jsontext.Value, reuse bool) llm.Metadata {
	if !reuse || len(v) == 0 {
		return nil
	}
	var m llm.Metadata
	if json.Unmarshal(v, &m) != nil {
		return nil
	}
	return m
}

// OutputText returns the output of a call as text, without media.
func OutputText(t *session.Tool) string {
	var texts []string
	for _, c := range t.State.Content {
		if c.Type != "file" {
			texts = append(texts, c.Text)
		}
	}
	if len(texts) == 0 {
		return structuredText(t.State.Structured)
	}
	return strings.Join(texts, "\n")
}
