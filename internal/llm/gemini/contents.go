package gemini

import (
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// part is a piece of a content. Exactly one kind is set; Raw is a part that is sent back verbatim.
type part struct {
	Text      *string        `json:"text,omitzero"`
	Thought   bool           `json:"thought,omitzero"`
	Inline    *blob          `json:"inlineData,omitzero"`
	File      *fileData      `json:"fileData,omitzero"`
	Call      *functionCall  `json:"functionCall,omitzero"`
	Response  *response      `json:"functionResponse,omitzero"`
	Signature jsontext.Value `json:"thoughtSignature,omitzero"`
	Raw       wire.Object    `json:",embed"`
}

type blob struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}

type fileData struct {
	MimeType string `json:"mimeType,omitempty"`
	URI      string `json:"fileUri"`
}

type functionCall struct {
	ID   string         `json:"id,omitempty"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
}

type response struct {
	ID       string `json:"id,omitempty"`
	Name     string `json:"name"`
	Response struct {
		Name    string `json:"name"`
		Content string `json:"content"`
	} `json:"response"`
}

func joinTexts(texts []string) *string {
	s := strings.Join(texts, "\n")
	return &s
}

func textPart(s string) part { return part{Text: &s} }

// conversation collects the contents. Consecutive content of the model is one content, and so are the results of its
// calls, whose number the vendor checks; content between them waits.
type conversation struct {
	d           Dialect
	strict      bool // the model refuses calls without a signature
	out         []content
	results     bool              // the last content holds results
	names       map[string]string // of calls by id
	sent        map[string]string // the vendor's ids of calls by cairn's
	updates     wire.PendingUpdates
	attachments []part // images of the previous answer, sent by the user after the results of its calls
}

func (d Dialect) encodeContents(req *llm.Request) []content {
	c := conversation{
		d: d, strict: refusesUnsigned(req.Model), out: []content{}, names: map[string]string{},
		sent: map[string]string{},
	}
	for _, m := range req.Messages {
		switch m.Role {
		case llm.RoleSystem:
			if c.updates.Add(m.Parts) {
				c.addPending()
			}
		case llm.RoleUser:
			c.addPending()
			c.add("user", userParts(m.Parts))
		case llm.RoleAssistant:
			c.addPending()
			c.add("model", c.modelParts(m.Parts))
		case llm.RoleTool:
			c.addResults(m.Parts)
		}
	}
	c.addPending()
	return c.out
}

// add appends parts, to the last content if it has the same role and is not a list of results.
func (c *conversation) add(role string, parts []part) {
	if len(parts) == 0 {
		return
	}
	if n := len(c.out); n > 0 && c.out[n-1].Role == role && !c.results {
		c.out[n-1].Parts = append(c.out[n-1].Parts, parts...)
		return
	}
	c.results = false
	c.out = append(c.out, content{Role: role, Parts: parts})
}

// addPending adds what waited for the end of a list of results.
func (c *conversation) addPending() {
	c.add("user", c.attachments)
	c.attachments = nil
	for _, text := range c.updates.TakeTexts() {
		c.add("user", []part{textPart(text)})
	}
}

func (c *conversation) addResults(parts []llm.Part) {
	for r := range llm.PartsOf[llm.ToolResult](parts) {
		name := c.names[r.ID]
		if name == "" {
			name = wire.NormalizeToolName(r.Name)
		}
		text, media := resultContent(r)
		own := part{Response: &response{ID: c.sent[r.ID], Name: name}}
		own.Response.Response.Name, own.Response.Response.Content = name, text
		if !c.results {
			c.out = append(c.out, content{Role: "user"})
			c.results = true
		}
		last := &c.out[len(c.out)-1]
		last.Parts = append(append(last.Parts, own), media...)
		c.updates.MarkAnswered()
	}
}

func userParts(parts []llm.Part) []part {
	return wire.ConvertParts(parts, textPart, mediaPart, mediaNote)
}

// modelParts returns an answer of the model as parts. Signatures go back where they came from, because the API checks
// them; hosted calls and their results become texts, and their media follow as attachments.
func (c *conversation) modelParts(parts []llm.Part) []part {
	var out []part
	isFirst := true // call of the answer
	// Convert part by part, because signatures depend on the order.
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Text != "" {
				out = append(out, part{Text: &p.Text, Signature: c.signatureOf(p.Metadata)})
			}
		case llm.Reasoning:
			if signature := c.signatureOf(p.Metadata); p.Text != "" || signature != nil {
				out = append(out, part{Text: &p.Text, Thought: true, Signature: signature})
			}
		case llm.ToolCall:
			// A hosted call is sent back verbatim or as a note. A generated image is sent with its result only.
			if p.Hosted {
				if !c.isGeneratedImage(p.Metadata) {
					out = append(out, c.encodeHosted(p.Metadata, wire.HostedCallNote(p)))
				}
				continue
			}
			out = append(out, c.encodeCall(p, isFirst))
			isFirst = false
		case llm.ToolResult:
			text, media := resultContent(p)
			// A generated image goes back into the answer with its signature; other media follow as attachments.
			if c.isGeneratedImage(p.Metadata) && len(media) > 0 {
				media[0].Signature = c.signatureOf(p.Metadata)
				out = append(out, media...)
				continue
			}
			if len(media) > 0 {
				text = wire.AttachmentFollows
				c.attachments = append(c.attachments, userParts(wire.AttachmentParts(p))...)
			}
			out = append(out, c.encodeHosted(p.Metadata, wire.HostedResultNote(p, text)))
		case llm.Media:
			out = append(out, textPart(mediaNote(p)))
		}
	}
	return out
}

// anySignature replaces the signature of a call that another model made, for models that refuse calls without one.
const anySignature = `"skip_thought_signature_validator"`

// refusesUnsigned reports whether a model may refuse calls without a signature: all from Gemini 3 on, also under names
// such as gemini-flash-latest. Earlier ones ignore signatures.
func refusesUnsigned(model string) bool {
	return strings.Contains(model, "gemini-") && !strings.Contains(model, "gemini-1") &&
		!strings.Contains(model, "gemini-2")
}

// encodeCall encodes a call. Only the first call of an answer has a signature.
func (c *conversation) encodeCall(p llm.ToolCall, isFirst bool) part {
	c.updates.AddCalls(1)
	c.names[p.ID] = wire.NormalizeToolName(p.Name)
	c.sent[p.ID] = wire.DecodeString(wire.ReadMetadata(p.Metadata, c.d.metadataNamespace())[keyCallID])
	out := part{
		Call:      &functionCall{ID: c.sent[p.ID], Name: c.names[p.ID], Args: wire.NormalizeInput(p.Input)},
		Signature: c.signatureOf(p.Metadata),
	}
	if out.Signature == nil && isFirst && c.strict {
		out.Signature = jsontext.Value(anySignature)
	}
	return out
}

func (c *conversation) signatureOf(m llm.Metadata) jsontext.Value {
	if v := wire.ReadMetadata(m, c.d.metadataNamespace())[keySignature]; wire.IsNonEmptyString(v) {
		return v
	}
	return nil
}

// isGeneratedImage reports whether a call is an image that this vendor's model generated.
func (c *conversation) isGeneratedImage(m llm.Metadata) bool {
	return wire.ReadMetadata(m, c.d.metadataNamespace())[keyImage] != nil
}

// encodeHosted returns a part of this vendor's hosted tool verbatim, else the note.
func (c *conversation) encodeHosted(m llm.Metadata, note string) part {
	if raw, ok := wire.ReadObject(wire.ReadMetadata(m, c.d.metadataNamespace())[keyPart]); ok && len(raw) > 0 {
		return part{Raw: raw}
	}
	return textPart(note)
}

// mediaPart returns m as a part if the models accept its type and size.
func mediaPart(m llm.Media) (part, bool) {
	kind := wire.MediaType(m.MediaType)
	family, _, _ := strings.Cut(kind, "/")
	switch {
	case family == "image", family == "audio", family == "video", kind == "application/pdf":
	default:
		return part{}, false
	}
	switch {
	case len(m.Data) > wire.MaxMedia:
		return part{}, false
	case len(m.Data) > 0:
		return part{Inline: &blob{MimeType: kind, Data: base64.StdEncoding.EncodeToString(m.Data)}}, true
	case m.URL != "":
		return part{File: &fileData{MimeType: kind, URI: m.URL}}, true
	}
	return part{}, false
}

func mediaNote(m llm.Media) string {
	return wire.MediaNote(m, "this model's interface takes images, sounds, films and PDF documents only")
}

func resultContent(r llm.ToolResult) (string, []part) {
	lines, media := wire.SplitResult(r, mediaPart, mediaNote)
	if len(lines) == 0 && len(media) > 0 {
		lines = append(lines, "The media follow.")
	}
	return strings.Join(lines, "\n"), media
}
