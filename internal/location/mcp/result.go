package mcp

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// maxAttachment bounds one attached file of a result, in bytes.
const maxAttachment = 10 << 20

// convertResult returns the result of a call: its texts, and its images and documents as attachments.
func convertResult(call tool.Call, server string, r *sdk.CallToolResult) tool.Output {
	var out tool.Output
	var texts []string
	// Convert the content by its kind.
	for _, c := range r.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			texts = append(texts, c.Text)
		case *sdk.ImageContent:
			texts = append(texts, attach(&out, c.Data, c.MIMEType, "image")...)
		case *sdk.AudioContent:
			texts = append(texts, attach(&out, c.Data, c.MIMEType, "audio")...)
		case *sdk.EmbeddedResource:
			if c.Resource != nil {
				texts = append(texts, attachResource(&out, c.Resource)...)
			}
		case *sdk.ResourceLink:
			texts = append(texts, fmt.Sprintf("Resource %s: %s", c.URI, cmp.Or(c.Title, c.Name)))
		}
	}
	// Structured content is the text of a result without one.
	if r.StructuredContent != nil {
		asItIs := []json.Options{json.Deterministic(true), jsontext.AllowInvalidUTF8(true)}
		if value, err := json.Marshal(r.StructuredContent, asItIs...); err == nil {
			out.Structured = tool.EncodeObject(map[string]any{"structured": jsontext.Value(value)})
			if len(texts) == 0 {
				texts = append(texts, string(value))
			}
		}
	}
	// Mark text that imitates cairn's own tags.
	text := strings.ToValidUTF8(strings.Join(texts, "\n\n"), "\uFFFD")
	out.Content = session.TextContent(tool.MarkImitations(call, "MCP server "+server, text))
	return out
}

// attachedTypes are the media types that become attachments, as in OpenCode.
var attachedTypes = []string{"application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp"}

// attach adds data of a result as an attachment. It returns a note for the model instead if the data is too large or of
// another type.
func attach(out *tool.Output, data []byte, mime, what string) (note []string) {
	mime = strings.TrimSpace(strings.ToLower(cmp.Or(mime, http.DetectContentType(data))))
	switch {
	case !slices.Contains(attachedTypes, mime):
		const text = "(%s of type %.80q with %d bytes is left out: models cannot read it)"
		return []string{fmt.Sprintf(text, what, mime, len(data))}
	case len(data) > maxAttachment:
		const text = "(%s of type %s is left out: it has %d bytes, the limit is %d)"
		return []string{fmt.Sprintf(text, what, mime, len(data), maxAttachment)}
	}
	out.Attachments = append(out.Attachments, session.File{URI: session.EncodeDataURI(mime, data), Mime: mime})
	return nil
}

// attachResource returns the text of a resource, or adds its data as an attachment.
func attachResource(out *tool.Output, r *sdk.ResourceContents) []string {
	if r.Blob != nil {
		return attach(out, r.Blob, r.MIMEType, "the resource "+r.URI)
	}
	return []string{r.Text}
}

func joinText(list []session.ToolContent) string {
	var texts []string
	for _, c := range list {
		texts = append(texts, c.Text)
	}
	return strings.TrimSpace(strings.Join(texts, "\n\n"))
}
