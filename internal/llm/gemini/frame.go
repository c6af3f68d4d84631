package gemini

import (
	"github.com/go-json-experiment/json/jsontext"
)

// frame is one frame of a streamed answer, or a complete answer.
type frame struct {
	Candidates []candidate    `json:"candidates"`
	Usage      jsontext.Value `json:"usageMetadata"`
	ID         jsontext.Value `json:"responseId"`
	Error      jsontext.Value `json:"error"`
	Feedback   struct {
		Reason  string         `json:"blockReason"`
		Message jsontext.Value `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []answerPart `json:"parts"`
	} `json:"content"`
	Finish    string         `json:"finishReason"`
	Message   jsontext.Value `json:"finishMessage"`
	Grounding jsontext.Value `json:"groundingMetadata"`
	URLs      jsontext.Value `json:"urlContextMetadata"`
}

type answerPart struct {
	Text      jsontext.Value `json:"text"`
	Thought   bool           `json:"thought"`
	Signature jsontext.Value `json:"thoughtSignature"`
	Call      *struct {
		ID   jsontext.Value `json:"id"`
		Name jsontext.Value `json:"name"`
		Args jsontext.Value `json:"args"`
	} `json:"functionCall"`
	ToolCall     jsontext.Value `json:"toolCall"`     // of a hosted tool
	ToolResponse jsontext.Value `json:"toolResponse"` // of a hosted tool
	Code         jsontext.Value `json:"executableCode"`
	Result       jsontext.Value `json:"codeExecutionResult"`
	Inline       jsontext.Value `json:"inlineData"`
	File         jsontext.Value `json:"fileData"`
}
