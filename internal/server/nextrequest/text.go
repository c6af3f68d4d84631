package nextrequest

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// maskText removes what looks like a secret, as an export does.
func maskText(s string) string { return string(redact.MaskText([]byte(s))) }

// showRequest returns the texts of the request.
func showRequest(req *llm.Request) *api.ContextText {
	out := &api.ContextText{System: []string{}, Tools: []api.ContextTool{}, Messages: []api.ContextMessage{}}
	for _, text := range req.System {
		out.System = append(out.System, maskText(text))
	}
	for _, t := range req.Tools {
		schema := t.Schema
		if len(t.Hosted) > 0 {
			schema = jsontext.Value(maskText(string(t.Hosted)))
		}
		out.Tools = append(out.Tools, api.ContextTool{Name: t.Name, Description: t.Description, Schema: schema})
	}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, api.ContextMessage{Role: string(m.Role), Parts: showParts(m.Parts)})
	}
	return out
}

func showParts(parts []llm.Part) []api.ContextPart {
	out := []api.ContextPart{}
	// Each part has one entry. A result has one for each part of its content, with the name of the tool.
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			out = append(out, api.ContextPart{Type: "text", Text: maskText(p.Text)})
		case llm.Reasoning:
			out = append(out, api.ContextPart{Type: "reasoning", Text: maskText(p.Text)})
		case llm.ToolCall:
			out = append(out, api.ContextPart{Type: "call", Name: p.Name, Text: maskText(string(p.Input))})
		case llm.ToolResult:
			if len(p.Raw) > 0 {
				out = append(out, api.ContextPart{Type: "result", Name: p.Name, Text: maskText(string(p.Raw))})
			}
			for _, inner := range showParts(p.Content) {
				if inner.Type == "text" {
					inner.Type = "result"
				}
				if inner.Name == "" {
					inner.Name = p.Name
				}
				out = append(out, inner)
			}
		case llm.Media:
			out = append(out, api.ContextPart{
				Type: "media", Name: p.Name, Mime: p.MediaType, Text: fmt.Sprintf("%d bytes", len(p.Data)),
			})
		}
	}
	return out
}
