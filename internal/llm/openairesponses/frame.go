package openairesponses

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// frame is one event of a streamed answer.
type frame struct {
	Type         string         `json:"type"`
	Sequence     *int64         `json:"sequence_number"`
	Response     *response      `json:"response"`
	Item         *outputItem    `json:"item"`
	ItemID       jsontext.Value `json:"item_id"`
	OutputIndex  *int           `json:"output_index"`
	ContentIndex int            `json:"content_index"`
	SummaryIndex int            `json:"summary_index"`
	Delta        jsontext.Value `json:"delta"`
	Text         jsontext.Value `json:"text"`
	Refusal      jsontext.Value `json:"refusal"`
	Arguments    jsontext.Value `json:"arguments"`
	Error        jsontext.Value `json:"error"`
	Copilot      struct {
		Credits jsontext.Value `json:"total_nano_aiu"`
	} `json:"copilot_usage"`
}

// response is the complete answer, which some events contain.
type response struct {
	Object     string         `json:"object"`
	ID         jsontext.Value `json:"id"`
	Status     string         `json:"status"`
	Store      bool           `json:"store"`
	Output     []outputItem   `json:"output"`
	Usage      jsontext.Value `json:"usage"`
	Error      jsontext.Value `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// outputItem is a message, a piece of reasoning or a call. Raw is the complete item.
type outputItem struct {
	Type      string         `json:"type"`
	ID        jsontext.Value `json:"id"`
	Status    jsontext.Value `json:"status"`
	Phase     jsontext.Value `json:"phase"`
	Content   []contentPart  `json:"content"`
	Summary   []contentPart  `json:"summary"`
	Encrypted jsontext.Value `json:"encrypted_content"`
	CallID    jsontext.Value `json:"call_id"`
	Name      jsontext.Value `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
	Error     jsontext.Value `json:"error"`
	Raw       jsontext.Value `json:"-"`
}

type contentPart struct {
	Type        string         `json:"type"`
	Text        jsontext.Value `json:"text"`
	Refusal     jsontext.Value `json:"refusal"`
	Annotations jsontext.Value `json:"annotations"`
}

// UnmarshalJSON keeps the complete item next to its fields, because hosted calls are stored verbatim.
func (o *outputItem) UnmarshalJSON(data []byte) error {
	type fields outputItem
	var f fields
	if err := wire.DecodeLenient(data, &f); err != nil {
		return err
	}
	*o = outputItem(f)
	o.Raw = append(jsontext.Value(nil), data...)
	return nil
}
