package wire

import (
	"encoding/base64"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// DecodeImage returns a generated image from its base64 form; false if it is not an image or too large.
func DecodeImage(mediaType, data string) (llm.Media, bool) {
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

// DecodeDataURL returns the image in a data URL; false if the URL has no image.
func DecodeDataURL(url string) (llm.Media, bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	kind, data, both := strings.Cut(rest, ";base64,")
	if !ok || !both {
		return llm.Media{}, false
	}
	return DecodeImage(kind, data)
}

// UnshownNote returns the text that replaces generated media that is not a valid image, with its address if it has one.
func UnshownNote(what, address string) string {
	if address != "" && !strings.HasPrefix(address, "data:") {
		return "[the model sent " + what + ": " + Clip(address, maxWord) + "]"
	}
	return "[the model sent " + what + ", which cannot be shown]"
}

// ImageEvents returns the events of images that a model generated without a call: one hosted call with its result.
func ImageEvents(id string, meta llm.Metadata, pictures ...llm.Media) []llm.Event {
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
