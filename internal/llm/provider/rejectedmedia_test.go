package provider_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/test/llmtest"
)

// pictures is a conversation with images A and B next to a text, C in a tool result, then A again and D, and a document
// E.
func pictures(model string) *llm.Request {
	image := func(letter string) llm.Part {
		return llm.Media{MediaType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n" + letter), Name: letter + ".png"}
	}
	req := &llm.Request{Model: model, System: []string{"You look."}, Messages: []llm.Message{
		llmtest.UserMessage(llmtest.TextPart("look"), image("A"), image("B")),
		llmtest.AssistantMessage(llmtest.TextPart("I look"), llmtest.ToolCall("c1")),
		llmtest.ToolMessage("c1", llmtest.TextPart("here"), image("C")),
		llmtest.AssistantMessage(llmtest.TextPart("I see")),
		llmtest.UserMessage(
			llmtest.TextPart("and"), image("A"), image("D"),
			llm.Media{MediaType: "application/pdf", Data: []byte("%PDF-E"), Name: "e.pdf"},
		),
	}}
	req.Breakpoints = llm.TurnBreakpoints(req)
	return req
}

// TestRejectedMedia: media that a provider names by its path in the body is found on each wire and with each spelling
// of paths; paths of other bodies are ignored.
func TestRejectedMedia(t *testing.T) {
	tests := []struct{ vendor, body, want string }{
		{
			"anthropic",
			`{"error":{"type":"invalid_request_error","message":"messages.0.content.1.image.source.base64: Could not process ` +
				`image"}}`,
			"A",
		},
		{
			"anthropic", `{"error":{"message":"messages.0.content.2.image.source.base64.data: image exceeds 5 MB maximum"}}`,
			"B",
		},
		{
			"anthropic",
			`{"error":{"message":"messages.2.content.0.tool_result.content.1.image.source.base64: Could not process image"}}`,
			"C",
		},
		{"anthropic", `{"error":{"message":"messages.4.content.2.image.source.base64.media_type: Input should be"}}`, "D"},
		{
			"anthropic", `{"error":{"message":"messages.4.content.3.pdf.source.base64.data: The PDF specified was not valid."}}`,
			"",
		},
		{
			"anthropic",
			`{"error":{"message":"messages.4.content.3.document.source.base64.data: The PDF specified was not valid."}}`, "E",
		},
		{"anthropic", `{"error":{"message":"messages.4.content.2: invalid image"}}`, "D"},
		{"anthropic", `{"error":{"message":"messages.2.content.0: invalid image"}}`, "C"},
		{"anthropic", `{"error":{"message":"messages.4: invalid image"}}`, ""},
		{"anthropic", `{"error":{"message":"messages.0.content.0: text content blocks must be non-empty"}}`, ""},
		{"anthropic", `{"error":{"message":"messages.9.content.0: no"}}`, ""},
		{"anthropic", `{"error":{"message":"messages.0.content.99999999999999999999: no"}}`, ""},
		{"anthropic", `{"error":{"message":"Could not process image"}}`, ""},
		{
			"openai", `{"error":{"message":"Invalid 'input[1].content[2].image_url'.","param":"input[1].content[2].image_url"}}`,
			"B",
		},
		{
			"openai",
			`{"error":{"message":"The image data you provided does not represent a valid image.",` +
				`"param":"input[6].content[1]"}}`,
			"A",
		},
		{"openai", `{"error":{"message":"Invalid file data: 'input[6].content[3].file_data'."}}`, "E"},
		{"openai", `{"error":{"message":"Invalid 'input[4].output[1].image_url'."}}`, "C"},
		{"openai", `{"error":{"message":"Invalid 'input[4].output[1].image.source'."}}`, ""},
		{"openai", `{"error":{"message":"Invalid 'messages[1].content[2]'."}}`, ""},
		{"chat", `{"error":{"message":"Invalid image.","param":"messages[1].content[1].image_url.url"}}`, "A"},
		{"chat", `{"error":{"message":"Invalid 'messages[1].content[2].image_url'."}}`, "B"},
		// of the vendor behind it
		{"chat", `{"error":{"message":"messages.1.content.2.image.source.base64: Could not process image"}}`, ""},
		{
			"google",
			`{"error":{"code":400,"message":"Unable to process input image.",` +
				`"details":[{"fieldViolations":[{"field":"contents[0].parts[2].inline_data.data"}]}]}}`,
			"B",
		},
		{
			"google",
			`{"error":{"code":400,"message":"* GenerateContentRequest.contents[4].parts[1].inlineData.mime_type: unsupported"}}`,
			"A",
		},
		{
			"amazon-bedrock",
			`{"message":"The model returned the following errors: messages.0.content.2.image.source.base64: Could not ` +
				`process image"}`,
			"B",
		},
		{
			"amazon-bedrock",
			`{"message":"The model returned the following errors: messages.2.content.0.tool_result.content.1.image.source.bas` +
				`e64.data: invalid"}`,
			"C",
		},
		{
			"amazon-bedrock",
			`{"message":"1 validation error detected: Value at 'messages.5.member.content.3.member.image.source.bytes' ` +
				`failed to satisfy constraint"}`,
			"D",
		},
		{
			"amazon-bedrock",
			`{"message":"Malformed input request: #/messages/0/content/1/image/source/bytes: no, ` +
				`please reformat your input and try again."}`,
			"A",
		},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprint(tt.vendor, i), func(t *testing.T) {
			var sent []byte
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				sent, _ = io.ReadAll(r.Body)
				refuse(http.StatusBadRequest, tt.body)(w, r)
			})
			vendor, known := provider.Find(tt.vendor)
			if !known {
				vendor = provider.NewCompatible("test", "Test", s.URL)
			}
			if tt.vendor == "openai" {
				vendor.Wire = provider.Responses
			}
			vendor.BaseURL = s.URL
			m, err := provider.New(provider.Config{
				Vendor: vendor, Key: secret, Facts: provider.Facts{ModelID: "anthropic.claude-x"}, Transport: s.Client().Transport,
			})
			if err != nil {
				t.Fatal(err)
			}
			got, out := "", stream(t.Context(), m, pictures("anthropic.claude-x"))
			if out.err == nil {
				t.Fatalf("%+v", out)
			}
			if n := out.err.RejectedMedia; n != nil {
				got = string(n.Data[len(n.Data)-1:])
			}
			if got != tt.want {
				t.Errorf("%s names %q, want %q in\n%s", tt.body, got, tt.want, sent)
			}
		})
	}
}
