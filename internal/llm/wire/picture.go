package wire

import (
	"encoding/base64"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Picture returns an image that a model made, of which it sent the bytes in base64. False means that it is none, or too
// large.
func Picture(mediaType, data string) (llm.Media, bool) {
	kind := MediaType(mediaType)
	if !strings.HasPrefix(kind, "image/") || len(data) > MaxMedia*4/3+4 {
		return llm.Media{}, false
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		return llm.Media{}, false
	}
	_, form, _ := strings.Cut(kind, "/")
	form, _, _ = strings.Cut(form, "+")
	return llm.Media{MediaType: kind, Data: raw, Name: "image." + form}, true
}

// PictureAt is Picture for a data URL.
func PictureAt(url string) (llm.Media, bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	kind, data, both := strings.Cut(rest, ";base64,")
	if !ok || !both {
		return llm.Media{}, false
	}
	return Picture(kind, data)
}

// Unshown tells of what a model made that is no picture: the address where it is to be had, if it has one.
func Unshown(what, address string) string {
	if address != "" && !strings.HasPrefix(address, "data:") {
		return "[the model sent " + what + ": " + Clip(address, maxWord) + "]"
	}
	return "[the model sent " + what + ", which cannot be shown]"
}

// Media are the pictures among the parts of a result.
func Media(r llm.ToolResult) (out []llm.Media) {
	for _, p := range r.Content {
		if m, ok := p.(llm.Media); ok {
			out = append(out, m)
		}
	}
	return out
}

// Made are the events of pictures that a model made without a call: one call that nobody asked for, with its result.
func Made(id string, meta llm.Metadata, pictures ...llm.Media) []llm.Event {
	content := make([]llm.Part, len(pictures))
	for i, m := range pictures {
		content[i] = m
	}
	return []llm.Event{
		llm.ToolInputStart{ID: id, Name: llm.ImageTool},
		llm.ToolInputDelta{ID: id, Delta: "{}"},
		llm.ToolInputEnd{ID: id},
		llm.ToolCallEvent{ID: id, Name: llm.ImageTool, Input: []byte("{}"), Raw: "{}", Hosted: true, Metadata: meta},
		llm.HostedResult{ID: id, Name: llm.ImageTool, Result: []byte("{}"), Content: content, Metadata: meta},
	}
}
