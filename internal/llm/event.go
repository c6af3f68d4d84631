package llm

import "github.com/go-json-experiment/json/jsontext"

// Event is one element of a model's stream. The set of types is closed: it is the types of this file.
//
// For every block id there is one start, then deltas, then one end; neither start nor end repeats the value, so the
// consumer concatenates the deltas. Blocks may interleave. A ToolCallEvent follows the ToolInputEnd of its id. Ids are
// unique within one stream; the protocol package renumbers ids that a provider repeats.
type Event interface{ event() }

type (
	// ResponseStart is the first event of every stream: the provider accepted the request and began to answer.
	ResponseStart struct{ RequestID string }

	// TextStart begins a text block.
	TextStart struct{ ID string }
	// TextDelta continues the block. Delta is valid UTF-8 and not empty.
	TextDelta struct{ ID, Delta string }
	// TextEnd completes the block.
	TextEnd struct {
		ID       string
		Metadata Metadata
	}

	// ReasoningStart begins a thinking block.
	ReasoningStart struct {
		ID       string
		Metadata Metadata
	}
	// ReasoningDelta continues the block.
	ReasoningDelta struct{ ID, Delta string }
	// ReasoningEnd completes the block. Its Metadata, if not empty, replaces that of the start.
	ReasoningEnd struct {
		ID       string
		Metadata Metadata
	}

	// ToolInputStart begins the arguments of a call. Its ID is the call's id.
	ToolInputStart struct{ ID, Name string }
	// ToolInputDelta continues the raw argument text.
	ToolInputDelta struct{ ID, Delta string }
	// ToolInputEnd completes the argument text.
	ToolInputEnd struct{ ID string }

	// ToolCallEvent is a complete call. Input is the argument text as sent. If Invalid is set, the text is not valid JSON
	// for the reason given, and the call must be settled as a failure that the model sees.
	ToolCallEvent struct {
		ID       string
		Name     string
		Input    jsontext.Value
		Raw      string
		Invalid  string
		Hosted   bool
		Metadata Metadata
	}
	// HostedResult is the outcome of a call that the provider ran itself. Content holds the result's media, which Result
	// then lacks. Images that a model generates without a call arrive as the result of a call named ImageTool.
	HostedResult struct {
		ID       string
		Name     string
		Result   jsontext.Value
		Content  []Part
		IsError  bool
		Metadata Metadata
	}

	// Finish ends a successful stream. It occurs once, as the last event.
	Finish struct {
		Reason   FinishReason
		Usage    Usage
		Metadata Metadata
	}
)

// ImageTool is the name of the call whose results are generated images.
const ImageTool = "image_generation"

func (ResponseStart) event()  {}
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

// FinishReason is the reason why a turn ended.
type FinishReason string

// The finish reasons.
const (
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"
	FinishToolCalls     FinishReason = "tool-calls"
	FinishContentFilter FinishReason = "content-filter"
	FinishError         FinishReason = "error"
	FinishUnknown       FinishReason = "unknown"
	// FinishPaused is not an end: the provider is still running a tool of its own and expects the conversation again, with
	// this answer as the last message, to continue.
	FinishPaused FinishReason = "paused"
)

// Usage counts tokens. Input includes CacheRead and CacheWrite; Output includes Reasoning. All counts are at least 0: a
// value that a provider reports as negative or not finite is 0.
type Usage struct {
	Input      int64
	Output     int64
	Reasoning  int64
	CacheRead  int64
	CacheWrite int64
	Total      int64          // as reported by the provider; 0 if it is not
	LongWrite  int64          // the part of CacheWrite that is cached for an hour, at a higher price
	Billed     *int64         // in pico-dollars, if the provider reports its charge
	Raw        jsontext.Value // the provider's own object, verbatim
}
