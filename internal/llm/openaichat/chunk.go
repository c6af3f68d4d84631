package openaichat

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// chunk is one frame of a streamed answer, or a complete answer from a server that does not stream. Fields whose types
// differ between vendors stay undecoded.
type chunk struct {
	ID      jsontext.Value `json:"id"`
	Object  jsontext.Value `json:"object"`
	Choices []alternative  `json:"choices"`
	Usage   jsontext.Value `json:"usage"`
	Error   jsontext.Value `json:"error"`
	Groq    groqFields     `json:"x_groq"`
	Copilot struct {
		Credits jsontext.Value `json:"total_nano_aiu"`
	} `json:"copilot_usage"`
	// Citations are the sources of the whole answer.
	Citations jsontext.Value `json:"citations"`
}

type groqFields struct {
	Usage jsontext.Value `json:"usage"`
}

type alternative struct {
	Index        int            `json:"index"`
	Delta        *delta         `json:"delta"`
	Message      *delta         `json:"message"` // the answer so far, or all of it
	FinishReason jsontext.Value `json:"finish_reason"`
	Usage        jsontext.Value `json:"usage"`
	Error        jsontext.Value `json:"error"`
}

type delta struct {
	Content          jsontext.Value   `json:"content"`
	Refusal          jsontext.Value   `json:"refusal"`
	ReasoningContent jsontext.Value   `json:"reasoning_content"`
	Reasoning        jsontext.Value   `json:"reasoning"`
	ReasoningText    jsontext.Value   `json:"reasoning_text"`
	ReasoningDetails jsontext.Value   `json:"reasoning_details"`
	ToolCalls        []callDelta      `json:"tool_calls"`
	Images           []generatedImage `json:"images"`
	Annotations      jsontext.Value   `json:"annotations"`
	Executed         jsontext.Value   `json:"executed_tools"` // hosted tools of the vendor
	FunctionCall     *functionDelta   `json:"function_call"`
}

type generatedImage struct {
	ImageURL struct {
		URL jsontext.Value `json:"url"`
	} `json:"image_url"`
}

type callDelta struct {
	Index        *int           `json:"index"`
	ID           jsontext.Value `json:"id"`
	Function     functionDelta  `json:"function"`
	ExtraContent jsontext.Value `json:"extra_content"`
}

// isEmpty reports whether the piece is part of no call.
func (d *callDelta) isEmpty() bool {
	f := d.Function
	return d.Index == nil && !wire.IsNonEmptyString(d.ID) && !wire.IsNonEmptyString(f.Name) &&
		(!wire.IsPresent(f.Arguments) || string(f.Arguments) == `""`) && !wire.IsPresent(d.ExtraContent)
}

type functionDelta struct {
	Name      jsontext.Value `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
}

// contentPart is a part of a content list, which some vendors stream.
type contentPart struct {
	Text     jsontext.Value `json:"text"`
	Thinking jsontext.Value `json:"thinking"` // a text, or parts with texts
}

// parseChunk decodes a frame. Its choices must be a list.
func parseChunk(data []byte) (chunk, error) {
	var c chunk
	err := wire.DecodeLenient(data, &c)
	if err == nil && c.Choices == nil {
		err = wire.CheckList(data, "choices")
	}
	return c, err
}

// findReasoning returns the first reasoning field with text, and its name. Vendors that fill two fields repeat the same
// text.
func (d *delta) findReasoning() (string, jsontext.Value) {
	switch {
	case wire.IsNonEmptyString(d.ReasoningContent):
		return "reasoning_content", d.ReasoningContent
	case wire.IsNonEmptyString(d.Reasoning):
		return "reasoning", d.Reasoning
	case wire.IsNonEmptyString(d.ReasoningText):
		return "reasoning_text", d.ReasoningText
	default:
		return "", nil
	}
}
