package history

import (
	"encoding/base64"
	"testing"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

const pngHead = "\x89PNG\r\n\x1a\n"

func dataOf(mime, data string) string {
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString([]byte(data))
}

// inputOf returns the input of a request for the messages, with a baseline that covers nothing.
func inputOf(m *scope.Model, ms ...session.Message) *Input {
	h := New()
	h.ExtendMessages(ms)
	return &Input{Session: &session.Session{}, BaselineSeq: -1, Model: m, History: h}
}

func TestRejectedContent(t *testing.T) {
	image := &session.User{Text: "x", Files: []session.File{{URI: dataOf("image/png", pngHead)}}}
	image.Seq = 2
	thought := &session.Assistant{
		Model: session.ModelRef{ProviderID: "p", ID: "m"},
		Content: []session.Content{
			&session.Reasoning{Text: "hm", Metadata: []byte(`{"anthropic":{"signature":"s"}}`)},
			&session.Text{Text: "x"},
		},
	}
	thought.Seq = 3
	bad := func(status int, class llm.Class, message string) *llm.Error {
		return &llm.Error{Class: class, Status: status, Message: message}
	}
	tests := []struct {
		e    *llm.Error
		want session.ContentKind
	}{
		{bad(400, llm.InvalidRequest, "m is not a multimodal model"), session.ContentImages},
		{
			bad(400, llm.InvalidRequest, "'messages.1.content' : messages[1].content must be a string"),
			session.ContentImages,
		},
		{
			bad(
				500, llm.InvalidRequest,
				"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
			),
			session.ContentImages,
		},
		{
			bad(500, llm.InvalidRequest, "Failed to create new sequence: missing data required for image input"),
			session.ContentImages,
		},
		{
			bad(
				400,
				llm.InvalidRequest,
				"messages.3.content.0.image.source.base64: The image was specified using image/jpeg media type, but does not match",
			),
			session.ContentImages,
		},
		{bad(400, llm.InvalidRequest, "Invalid image data"), session.ContentImages},
		{
			bad(400, llm.InvalidRequest, "messages.1.content.0: Invalid `signature` in `thinking` block"),
			session.ContentReasoning,
		},
		{
			bad(
				400, llm.InvalidRequest,
				"`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified",
			),
			session.ContentReasoning,
		},
		{
			bad(400, llm.InvalidRequest, "The encrypted content could not be verified. reasoning"),
			session.ContentReasoning,
		},
		{bad(400, llm.InvalidRequest, "Could not process PDF"), ""}, // the conversation has no document
		{
			bad(
				400,
				llm.InvalidRequest,
				"This model doesn't support the image content block that you provided. Update the content block and try again.",
			),
			session.ContentImages,
		},
		{
			bad(
				400,
				llm.InvalidRequest,
				"This model doesn't support the document content block that you provided. Update the content block and try again.",
			),
			session.ContentDocuments,
		},
		{
			bad(
				400,
				llm.InvalidRequest,
				"Invalid 'messages[3]'. Content blocks are expected to be either text or image_url type.",
			),
			session.ContentDocuments,
		},
		{
			bad(400, llm.InvalidRequest, "The file type you uploaded is not supported. Please try again with a pdf"),
			session.ContentDocuments,
		},
		{
			bad(
				400, llm.InvalidRequest,
				"Invalid file data: 'input[4].content[0].file_data'. "+
					"Expected a base64-encoded data URL, but got unsupported MIME type",
			),
			session.ContentDocuments,
		},
		{
			bad(400, llm.InvalidRequest, "messages.2.content.2.document.source.type: Field required"),
			session.ContentDocuments,
		},
		{bad(400, llm.InvalidRequest, "thinking.budget_tokens: must be less than max_tokens"), ""},
		{bad(400, llm.InvalidRequest, "temperature is not supported"), ""},
		{bad(401, llm.Auth, "invalid image"), ""},
		{bad(0, llm.InvalidRequest, "invalid image"), ""},
		{bad(500, llm.Overloaded, "could not process image"), ""},
	}
	document := &session.User{Text: "x", Files: []session.File{{URI: dataOf("application/pdf", "%PDF-1.4")}}}
	document.Seq = 1
	for _, tt := range tests {
		model := &scope.Model{Ref: session.ModelRef{ProviderID: "p", ID: "m"}, Images: true, Documents: true}
		in := inputOf(model, image, thought)
		if tt.want == session.ContentDocuments {
			in = inputOf(model, document, image, thought)
		}
		out := in.RejectedContent(tt.e)
		if (out == nil) != (tt.want == "") || out != nil && (out.Kind != tt.want || out.Through != 3) {
			t.Errorf("%s: %+v, want %q", tt.e.Message, out, tt.want)
		}
		if out == nil {
			continue
		}
		if out.Digest != "" {
			t.Errorf("%s: excludes a single part, which the message does not name: %+v", tt.e.Message, out)
		}
		in.Session.Excluded = []session.Exclusion{*out}
		if again := in.RejectedContent(tt.e); again != nil {
			t.Errorf("%s: excluded again: %+v", tt.e.Message, again)
		}
	}
}

// Parts are excluded one by one up to a limit, then the whole kind is.
func TestTooManyRejectedParts(t *testing.T) {
	image := &session.User{Text: "x", Files: []session.File{{URI: dataOf("image/png", pngHead)}}}
	image.Seq = 2
	in := inputOf(&scope.Model{Images: true}, image)
	e := &llm.Error{
		Class: llm.InvalidRequest, Status: 400, Message: "invalid image",
		RejectedMedia: &llm.Media{MediaType: "image/png", Data: []byte(pngHead)},
	}
	for n := range maxExcludedParts {
		if out := in.RejectedContent(e); out == nil || out.Digest != contentDigest([]byte(pngHead)) {
			t.Fatalf("after %d: %+v", n, out)
		}
		in.Session.Excluded = append(
			in.Session.Excluded, session.Exclusion{Kind: session.ContentImages, Through: 2, Digest: "another"},
		)
	}
	if out := in.RejectedContent(e); out == nil ||
		*out != (session.Exclusion{Kind: session.ContentImages, Through: 2}) {
		t.Errorf("%+v", out)
	}
}

// The result of a hosted tool is lowered to text once the provider rejects it, or what it refers to is gone.
func TestRejectedHostedContent(t *testing.T) {
	ref := session.ModelRef{ProviderID: "p", ID: "m"}
	found := func(result string) *session.Assistant {
		it := &session.Tool{ID: "srvtoolu_1", Name: "web", Provider: &session.ToolProvider{Executed: true}}
		it.State.Status, it.State.Result = session.ToolCompleted, []byte(result)
		return &session.Assistant{Model: ref, Content: []session.Content{it}}
	}
	searched := found(
		`{"type":"web_search_tool_result","content":[{"type":"web_search_result","encrypted_content":"x"}]}`,
	)
	fetched := found(`{"type":"web_fetch_tool_result","content":{"content":{"type":"document"}}}`)
	cited := &session.Assistant{
		Model: ref,
		Content: []session.Content{
			&session.Text{Text: "x", Metadata: []byte(`{"anthropic":{"citations":[{"encrypted_index":"i"}]}}`)},
		},
	}
	stored := &session.Assistant{
		Model: ref,
		Content: []session.Content{
			&session.Reasoning{Text: "hm", Metadata: []byte(`{"openai":{"itemId":"rs_1"}}`)},
			&session.Text{Text: "x"},
		},
	}
	for _, tt := range []struct {
		message string
		turn    *session.Assistant
		want    session.ContentKind
	}{
		{
			"messages.1.content.1: Invalid `encrypted_content` in `search_result` block",
			searched, session.ContentReasoning,
		},
		{
			"messages.1.content.0.citations.0: Invalid `encrypted_index`",
			cited, session.ContentReasoning,
		},
		{
			"Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
			stored, session.ContentReasoning,
		},
		{
			"messages.1.content.1.content: Could not process PDF",
			fetched, session.ContentDocuments,
		},
		{
			"messages.1.content.1: file_id file_1 not found",
			searched, session.ContentReasoning,
		},
		{
			"messages.1.content.1.web_fetch_tool_result.content.content: Could not process PDF, another answer",
			searched, "",
		},
	} {
		tt.turn.Seq = 3
		in := inputOf(&scope.Model{Ref: ref}, tt.turn)
		e := &llm.Error{Class: llm.InvalidRequest, Status: 400, Message: tt.message}
		out := in.RejectedContent(e)
		if (out == nil) != (tt.want == "") || out != nil && *out != (session.Exclusion{Kind: tt.want, Through: 3}) {
			t.Errorf("%s: %+v, want %q", tt.message, out, tt.want)
		}
		if out == nil {
			continue
		}
		in.Session.Excluded = []session.Exclusion{*out}
		if again := in.RejectedContent(e); again != nil {
			t.Errorf("%s: excluded again: %+v", tt.message, again)
		}
		for _, m := range Lower(in.History.Messages(), in.Model, *out) {
			for _, p := range m.Parts {
				call, hosted := p.(llm.ToolCall)
				result, came := p.(llm.ToolResult)
				if hosted && !call.OtherProvider || came && (len(result.Raw) > 0 || len(result.Content) != 1) {
					t.Errorf("%s: not lowered to text: %+v", tt.message, p)
				}
			}
		}
	}
}
