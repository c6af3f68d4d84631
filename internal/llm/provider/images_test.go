package provider_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// TestImagesReachOtherProviders: an image that one provider's model generated is shown to the models of all others,
// whatever the wires are.
func TestImagesReachOtherProviders(t *testing.T) {
	pixels := []byte("\x89PNG\r\n\x1a\npixels")
	for name, raw := range map[string]string{
		"OpenAI": `{"id":"ig_1","type":"image_generation_call","status":"completed"}`, "Google": `{}`,
	} {
		parts := []llm.Part{
			llm.ToolCall{ID: "ig_1", Name: llm.ImageTool, Input: jsontext.Value(`{}`), Hosted: true, OtherProvider: true},
			llm.ToolResult{
				ID: "ig_1", Name: llm.ImageTool, Hosted: true, Raw: jsontext.Value(raw),
				Content: []llm.Part{llm.Media{MediaType: "image/png", Name: "image.png", Data: pixels}},
			},
		}
		for _, wire := range []provider.Wire{
			provider.Chat, provider.Responses, provider.Messages, provider.Gemini, provider.Converse,
		} {
			row := provider.NewCompatible("own", "Own", "https://own.test/v1")
			body := bodyOf(t, row, wire, parts)
			if !strings.Contains(body, base64.StdEncoding.EncodeToString(pixels)) ||
				!strings.Contains(body, "attachment follows") {
				t.Errorf("image of %s over %q is missing in %s", name, wire, body)
			}
		}
	}
}
