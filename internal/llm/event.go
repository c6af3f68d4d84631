package llm

import "github.com/go-json-experiment/json/jsontext"

// Event is one thing a model's stream says. The set is closed: the types of this file.
//
// Order, for every block id: one start, deltas, one end, with the whole value in neither (the consumer concatenates).
// Blocks may interleave. A ToolCallEvent follows the ToolInputEnd of its id. Ids are unique within one stream;
// protocols that repeat them are renumbered by the protocol package.
type Event interface{ event() }

type (
	// Opened says that the provider accepted the request and began to answer. First event of every stream.
	Opened struct{ RequestID string }

	// TextStart begins a text block.
	TextStart struct{ ID string }
	// TextDelta continues it. Delta is valid UTF-8 and not empty.
	TextDelta struct{ ID, Delta string }
	// TextEnd completes it.
	TextEnd struct {
		ID       string
		Metadata Metadata
	}

	// ReasoningStart begins a thinking block.
	ReasoningStart struct {
		ID       string
		Metadata Metadata
	}
	// ReasoningDelta continues it.
	ReasoningDelta struct{ ID, Delta string }
	// ReasoningEnd completes it. Metadata replaces what the start carried when it is not empty.
	ReasoningEnd struct {
		ID       string
		Metadata Metadata
	}

	// ToolInputStart begins the arguments of a call whose id is the call's id.
	ToolInputStart struct{ ID, Name string }
	// ToolInputDelta continues the raw argument text.
	ToolInputDelta struct{ ID, Delta string }
	// ToolInputEnd completes it.
	ToolInputEnd struct{ ID string }

	// ToolCallEvent is a complete call. Input is the argument text as sent; it is valid JSON unless Invalid says
	// what is wrong with it, in which case the call must be settled as a failure that tells the model.
	ToolCallEvent struct {
		ID       string
		Name     string
		Input    jsontext.Value
		Raw      string
		Invalid  string
		Hosted   bool
		Metadata Metadata
	}
	// HostedResult is the outcome of a call that the provider ran itself. Content holds what of it is media, which Result
	// then lacks; pictures that a model makes without a call come as the result of one named ImageTool.
	HostedResult struct {
		ID       string
		Name     string
		Result   jsontext.Value
		Content  []Part
		IsError  bool
		Metadata Metadata
	}

	// Finish ends a good stream, once, as its last event.
	Finish struct {
		Reason   FinishReason
		Usage    Usage
		Metadata Metadata
	}
)

// ImageTool is the name of the call whose results are pictures that a model made.
const ImageTool = "image_generation"

func (Opened) event()         {}
func (TextStart) event()      {}
func (TextDelta) event()      {}
func (TextEnd) event()        {}
func (ReasoningStart) event() {}
func (ReasoningDelta) event() {}
func (ReasoningEnd) event()   {}
func (ToolInputStart) event() {}
func (ToolInputDelta) event() {}
func (ToolInputEnd) event()   {}
func (ToolCallEvent) event()  {}
func (HostedResult) event()   {}
func (Finish) event()         {}

// FinishReason is why a turn ended, in OpenCode's words (spec/v2 §20.2).
type FinishReason string

// The finish reasons.
const (
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"
	FinishToolCalls     FinishReason = "tool-calls"
	FinishContentFilter FinishReason = "content-filter"
	FinishError         FinishReason = "error"
	FinishUnknown       FinishReason = "unknown"
	// FinishPaused is no end: the provider, busy with a tool of its own, wants the conversation back as it is, with this
	// answer as its last message, to go on.
	FinishPaused FinishReason = "paused"
)

// Usage counts tokens. Input includes CacheRead and CacheWrite; Output includes Reasoning. All are ≥ 0: what a
// provider reports as negative or not finite is 0 (spec/v1 §31).
type Usage struct {
	Input      int64
	Output     int64
	Reasoning  int64
	CacheRead  int64
	CacheWrite int64
	Total      int64          // as the provider says; 0 if it does not
	LongWrite  int64          // of CacheWrite, what is kept for an hour, at a higher price
	Billed     *int64         // in pico-dollars, where the provider says what it charges
	Raw        jsontext.Value // the provider's own object, verbatim
}
