package session

import "github.com/go-json-experiment/json/jsontext"

// TurnFact holds the field of all events of a provider turn: the id of the turn's message.
type TurnFact struct {
	Fact
	AssistantMessageID MessageID `json:"assistantMessageID"`
}

// OfTurn returns the TurnFact of a turn's events. The time and the session are set with the event's Fact.
func OfTurn(id MessageID) TurnFact { return TurnFact{AssistantMessageID: id} }

// Turn returns f itself, so that every event of a turn has it.
func (f *TurnFact) Turn() *TurnFact { return f }

// TurnEvent is an event of a provider turn.
type TurnEvent interface {
	EventData
	Turn() *TurnFact
}

// ChangedTurn returns the id of the assistant message that the event changes, "" if it changes none. StepStarted, which
// begins the message, changes none.
func ChangedTurn(d EventData) MessageID {
	e, ok := d.(TurnEvent)
	if _, begins := d.(*StepStarted); !ok || begins {
		return ""
	}
	return e.Turn().AssistantMessageID
}

// A provider turn.
type (
	// StepStarted begins a turn's message, with its first output.
	StepStarted struct {
		TurnFact
		Agent    string    `json:"agent"`
		Model    ModelRef  `json:"model"`
		Snapshot string    `json:"snapshot,omitzero"`
		ParentID MessageID `json:"parentID,omitzero"` // the newest prompt that the turn answers
		StartID  PartID    `json:"startID,omitzero"`  // item id of the beginning; sorts before the other items

		Prefix *CachePrefix `json:"prefix,omitzero"` // fingerprint of the request

		Altered *Alteration `json:"altered,omitzero"` // the request, by extensions

		Subtasks bool `json:"subtasks,omitzero"` // the calls are subtasks of a prompt; no model is asked
	}
	// StepEnded completes a turn after all its tool calls are settled.
	StepEnded struct {
		TurnFact
		Finish     string         `json:"finish"`
		Cost       USD            `json:"cost"`
		Tokens     Tokens         `json:"tokens"`
		Snapshot   string         `json:"snapshot,omitzero"`
		Files      []string       `json:"files,omitzero"`
		Before     string         `json:"before,omitzero"`     // names the state of Files before, as Snapshot after
		Structured jsontext.Value `json:"structured,omitzero"` // the structured output
		Usage      jsontext.Value `json:"usage,omitzero"`      // the provider's own usage object, verbatim
		EndID      PartID         `json:"endID,omitzero"`      // item id of the end; sorts after the other items
	}
	// StepFailed completes a turn that failed. Its cost, if known, is charged too.
	StepFailed struct {
		TurnFact
		Error  Failure `json:"error"`
		Cost   USD     `json:"cost,omitzero"`
		Tokens *Tokens `json:"tokens,omitzero"`
		EndID  PartID  `json:"endID,omitzero"`
	}
	// Retried records that an attempt failed and that another is made at Next (milliseconds). Request is what the
	// attempt used, if it is known and no message of the attempt has it.
	Retried struct {
		Fact
		Attempt int          `json:"attempt"`
		Error   RetryError   `json:"error"`
		Next    int64        `json:"next,omitzero"`
		Request *RequestCost `json:"asked,omitzero"`
		// Exclude is content that the next attempt and every later request of the session leave out.
		Exclude *Exclusion `json:"exclude,omitzero"`
	}
	// Interrupted records that work stopped between two turns. Nothing continues by itself after it.
	Interrupted struct {
		Fact
		Error Failure `json:"error"`
	}
)

// IsOfSummary reports whether the attempt was one at the summary of a compaction. It leaves the turns as they are.
func (e *Retried) IsOfSummary() bool { return e.Error.Metadata["request"] == "summary" }

// RetryError is the reason why an attempt failed, in OpenCode's shape.
type RetryError struct {
	Message string `json:"message"`
	// Class is the llm.Class of the failure: what limits its retries after a restart. "" for an attempt that no provider
	// failed, and in events that were stored before the field.
	Class           string            `json:"class,omitzero"`
	StatusCode      int               `json:"statusCode,omitzero"`
	IsRetryable     bool              `json:"isRetryable"`
	ResponseHeaders map[string]string `json:"responseHeaders,omitzero"`
	ResponseBody    string            `json:"responseBody,omitzero"`
	Metadata        map[string]string `json:"metadata,omitzero"`
}

// Exclusion is a kind of content that a provider rejected. Content of the kind in messages with a seq up to Through
// is not sent again.
type Exclusion struct {
	Kind    ContentKind `json:"kind"`
	Through int64       `json:"through"`
	// Digest is the hexadecimal SHA-256 of the one excluded piece of content; "" excludes all content of the kind.
	Digest string `json:"digest,omitzero"`
}

// isSupersetOf reports whether x excludes everything that the earlier exclusion excludes.
func (x *Exclusion) isSupersetOf(earlier Exclusion) bool {
	return earlier.Kind == x.Kind && (x.Digest == "" || earlier.Digest == x.Digest)
}

// ContentKind is a kind of content that a provider may reject.
type ContentKind string

// The content kinds.
const (
	ContentImages    ContentKind = "images"
	ContentDocuments ContentKind = "documents"
	ContentReasoning ContentKind = "reasoning" // thinking blocks with their provider metadata
)

// The items of a turn. PartID is the item's own id; TextID, ReasoningID and CallID are the provider's names for it.
type (
	// TextStarted begins a text block.
	TextStarted struct {
		TurnFact
		TextID string `json:"textID"`
		PartID PartID `json:"partID,omitzero"`
	}
	// TextEnded completes a text block with its whole text.
	TextEnded struct {
		TurnFact
		TextID           string         `json:"textID"`
		PartID           PartID         `json:"partID,omitzero"`
		Text             string         `json:"text"`
		Partial          bool           `json:"partial,omitzero"`
		ProviderMetadata jsontext.Value `json:"providerMetadata,omitzero"`
		Replaced         *Replacement   `json:"replaced,omitzero"` // the model's text; nil: Text is the model's
	}
	// ReasoningStarted begins a thinking block.
	ReasoningStarted struct {
		TurnFact
		ReasoningID      string         `json:"reasoningID"`
		PartID           PartID         `json:"partID,omitzero"`
		ProviderMetadata jsontext.Value `json:"providerMetadata,omitzero"`
	}
	// ReasoningEnded completes a thinking block with its whole text.
	ReasoningEnded struct {
		TurnFact
		ReasoningID      string         `json:"reasoningID"`
		PartID           PartID         `json:"partID,omitzero"`
		Text             string         `json:"text"`
		Partial          bool           `json:"partial,omitzero"`
		ProviderMetadata jsontext.Value `json:"providerMetadata,omitzero"`
	}
	// ToolInputStarted begins the arguments of a call.
	ToolInputStarted struct {
		TurnFact
		CallID string `json:"callID"`
		PartID PartID `json:"partID,omitzero"`
		Name   string `json:"name"`
	}
	// ToolInputEnded completes the arguments with their raw text.
	ToolInputEnded struct {
		TurnFact
		CallID string `json:"callID"`
		PartID PartID `json:"partID,omitzero"`
		Text   string `json:"text"`
	}
	// ToolCalled makes a call durable before its effects start.
	ToolCalled struct {
		TurnFact
		CallID   string         `json:"callID"`
		PartID   PartID         `json:"partID,omitzero"`
		Tool     string         `json:"tool"`
		Input    jsontext.Value `json:"input"`
		Provider CallProvider   `json:"provider"`

		Extensions *CallExtensions `json:"extensions,omitzero"` // nil if none took part
	}
	// ToolProgress replaces the shown state of a running call.
	ToolProgress struct {
		TurnFact
		CallID     string         `json:"callID"`
		PartID     PartID         `json:"partID,omitzero"`
		Structured jsontext.Value `json:"structured"`
		Content    []ToolContent  `json:"content"`
		Title      string         `json:"title,omitzero"`
	}
	// ToolSuccess settles a call with its result.
	ToolSuccess struct {
		TurnFact
		CallID      string         `json:"callID"`
		PartID      PartID         `json:"partID,omitzero"`
		Structured  jsontext.Value `json:"structured"`
		Content     []ToolContent  `json:"content"`
		OutputPaths []string       `json:"outputPaths,omitzero"`
		Result      jsontext.Value `json:"result,omitzero"`
		Provider    CallProvider   `json:"provider"`
		Title       string         `json:"title,omitzero"`
		Attachments []File         `json:"attachments,omitzero"`
		Waited      int64          `json:"waited,omitzero"`   // milliseconds the call waited for replies
		Replaced    *Replacement   `json:"replaced,omitzero"` // the tool's own output, by extensions

		EnvironmentBy []string `json:"environmentBy,omitempty"` // extensions that added variables to the command
	}
	// ToolFailed settles a call with its failure.
	ToolFailed struct {
		TurnFact
		CallID   string         `json:"callID"`
		PartID   PartID         `json:"partID,omitzero"`
		Error    Failure        `json:"error"`
		Result   jsontext.Value `json:"result,omitzero"`
		Provider CallProvider   `json:"provider"`

		Structured jsontext.Value `json:"structured,omitzero"` // of a result, as far as the call came
		Waited     int64          `json:"waited,omitzero"`     // milliseconds the call waited for replies

		EnvironmentBy []string `json:"environmentBy,omitempty"` // as ToolSuccess has it
	}
	// ItemCheckpointed stores the text of an open item from byte Offset on, so that a crash loses little of a stream.
	// Text ends at a character boundary.
	ItemCheckpointed struct {
		TurnFact
		PartID PartID `json:"partID"`
		Offset int    `json:"offset"`
		Text   string `json:"text"`
	}
)

// CallProvider is the provider's part in a call; Executed means that the provider runs it.
type CallProvider struct {
	Executed bool           `json:"executed"`
	Metadata jsontext.Value `json:"metadata,omitzero"`
}

// A compaction replaces the model-visible past by a summary; the log keeps everything. It is requested through the
// inbox (CompactionAdmitted) or begins by itself when the next request would not fit the model's window. A model writes
// the summary between CompactionStarted and CompactionEnded. A compaction that fails leaves the session as it was.
type (
	// CompactionAdmitted puts a request for a compaction into the inbox. Prompts that follow it wait for it.
	CompactionAdmitted struct {
		Fact
		MessageID MessageID         `json:"messageID"`
		Delivery  Delivery          `json:"delivery"`
		Request   CompactionRequest `json:"request"`

		Restricted bool `json:"restricted,omitzero"` // as Input has it
	}
	// CompactionStarted records that a summary is being written. It takes the request out of the inbox.
	CompactionStarted struct {
		Fact
		MessageID  MessageID `json:"messageID"`
		Reason     string    `json:"reason"`
		Extensions []string  `json:"extensions,omitzero"` // that added to the instructions for the summary
		SummaryAs
	}
	// CompactionEnded replaces the model-visible past.
	CompactionEnded struct {
		Fact
		MessageID MessageID `json:"messageID"`
		Reason    string    `json:"reason"`
		Text      string    `json:"text"`
		Recent    string    `json:"recent"`

		Record  *Record      `json:"record,omitzero"`
		Kept    Kept         `json:"kept,omitzero"`
		Before  int64        `json:"before,omitzero"`
		After   int64        `json:"after,omitzero"`
		Request *RequestCost `json:"asked,omitzero"`
		// Continue reports that the work goes on; a synthetic message to the model follows in the same transaction.
		Continue bool `json:"continue,omitzero"`
		// StoppedBy are the extensions that end the work here.
		StoppedBy []string `json:"stoppedBy,omitzero"`
		SummaryAs
	}
	// CompactionFailed records that a compaction left the session as it was. Its cost, if known, is charged.
	CompactionFailed struct {
		Fact
		MessageID MessageID    `json:"messageID"`
		Reason    string       `json:"reason"`
		Error     Failure      `json:"error"`
		Request   *RequestCost `json:"asked,omitzero"`
		SummaryAs
	}
	// CompactionUndone makes the past visible again that the compaction replaced.
	CompactionUndone struct {
		Fact
		MessageID MessageID `json:"messageID"`
		SummaryAs
	}
	// OutputsPruned hides the outputs of calls of a turn from the model. Paths[i] is a file that holds the output of
	// PartIDs[i], "" without one.
	OutputsPruned struct {
		TurnFact
		PartIDs []PartID `json:"partIDs"`
		Paths   []string `json:"paths,omitzero"`
	}
)

// FinishPaused is the Finish of a turn that the provider paused; the next turn continues it.
const FinishPaused = "paused"
