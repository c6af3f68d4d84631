package session

import "github.com/go-json-experiment/json/jsontext"

// TurnFact is what all events of a provider turn have: the id of the turn's message.
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
		ParentID MessageID `json:"parentID,omitzero"` // the newest prompt that it answers
		StartID  PartID    `json:"startID,omitzero"`  // of the beginning as an item: it sorts before the others

		Prefix *CachePrefix `json:"prefix,omitzero"` // of the request
	}
	// StepEnded completes a good turn, after all its tool calls are settled.
	StepEnded struct {
		TurnFact
		Finish     string         `json:"finish"`
		Cost       USD            `json:"cost"`
		Tokens     Tokens         `json:"tokens"`
		Snapshot   string         `json:"snapshot,omitzero"`
		Files      []string       `json:"files,omitzero"`
		Structured jsontext.Value `json:"structured,omitzero"` // the value that the prompt's format asked for
		Usage      jsontext.Value `json:"usage,omitzero"`      // the provider's own usage object, verbatim
		EndID      PartID         `json:"endID,omitzero"`      // of the end as an item: it sorts behind the others
	}
	// StepFailed completes a turn that went wrong. What it cost, when known, is charged all the same.
	StepFailed struct {
		TurnFact
		Error  Failure `json:"error"`
		Cost   USD     `json:"cost,omitzero"`
		Tokens *Tokens `json:"tokens,omitzero"`
		EndID  PartID  `json:"endID,omitzero"`
	}
	// Retried says that an attempt failed and another will be made at Next (milliseconds).
	Retried struct {
		Fact
		Attempt int        `json:"attempt"`
		Error   RetryError `json:"error"`
		Next    int64      `json:"next,omitzero"`
		// Exclude is what the next attempt, and every later request of the session, leaves out.
		Exclude *Exclusion `json:"exclude,omitzero"`
	}
	// Interrupted says that work was stopped between two turns: nothing continues by itself after it.
	Interrupted struct {
		Fact
		Error Failure `json:"error"`
	}
)

// RetryError is why an attempt failed, in OpenCode's shape.
type RetryError struct {
	Message         string            `json:"message"`
	StatusCode      int               `json:"statusCode,omitzero"`
	IsRetryable     bool              `json:"isRetryable"`
	ResponseHeaders map[string]string `json:"responseHeaders,omitzero"`
	ResponseBody    string            `json:"responseBody,omitzero"`
	Metadata        map[string]string `json:"metadata,omitzero"`
}

// Exclusion is a kind of content that a provider refused: what of it stands in messages up to Through is not sent again.
type Exclusion struct {
	Kind    ContentKind `json:"kind"`
	Through int64       `json:"through"`
	// Digest is the one piece of the kind that it is about, as the SHA-256 of its bytes in hexadecimal; empty: all.
	Digest string `json:"digest,omitzero"`
}

// supersedes reports whether nothing is left for an earlier exclusion to say.
func (x *Exclusion) supersedes(earlier Exclusion) bool {
	return earlier.Kind == x.Kind && (x.Digest == "" || earlier.Digest == x.Digest)
}

// ContentKind is a kind of content that a provider may choke on.
type ContentKind string

// The content kinds.
const (
	ContentImages    ContentKind = "images"
	ContentDocuments ContentKind = "documents"
	ContentReasoning ContentKind = "reasoning" // what providers attach to thoughts, and the thoughts with it
)

// The items of a turn. PartID is the item's own id; TextID, ReasoningID and CallID are the provider's names for it.
type (
	// TextStarted begins a text block.
	TextStarted struct {
		TurnFact
		TextID string `json:"textID"`
		PartID PartID `json:"partID,omitzero"`
	}
	// TextEnded completes it with its whole text.
	TextEnded struct {
		TurnFact
		TextID           string         `json:"textID"`
		PartID           PartID         `json:"partID,omitzero"`
		Text             string         `json:"text"`
		Partial          bool           `json:"partial,omitzero"`
		ProviderMetadata jsontext.Value `json:"providerMetadata,omitzero"`
	}
	// ReasoningStarted begins a thinking block.
	ReasoningStarted struct {
		TurnFact
		ReasoningID      string         `json:"reasoningID"`
		PartID           PartID         `json:"partID,omitzero"`
		ProviderMetadata jsontext.Value `json:"providerMetadata,omitzero"`
	}
	// ReasoningEnded completes it with its whole text.
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
	// ToolInputEnded completes them with their raw text.
	ToolInputEnded struct {
		TurnFact
		CallID string `json:"callID"`
		PartID PartID `json:"partID,omitzero"`
		Text   string `json:"text"`
	}
	// ToolCalled makes the call durable, before any side effect of it starts.
	ToolCalled struct {
		TurnFact
		CallID   string         `json:"callID"`
		PartID   PartID         `json:"partID,omitzero"`
		Tool     string         `json:"tool"`
		Input    jsontext.Value `json:"input"`
		Provider CallProvider   `json:"provider"`
	}
	// ToolProgress shows how a running call comes along.
	ToolProgress struct {
		TurnFact
		CallID     string         `json:"callID"`
		PartID     PartID         `json:"partID,omitzero"`
		Structured jsontext.Value `json:"structured"`
		Content    []ToolContent  `json:"content"`
		Title      string         `json:"title,omitzero"`
	}
	// ToolSuccess settles a call well.
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
	}
	// ToolFailed settles a call badly.
	ToolFailed struct {
		TurnFact
		CallID   string         `json:"callID"`
		PartID   PartID         `json:"partID,omitzero"`
		Error    Failure        `json:"error"`
		Result   jsontext.Value `json:"result,omitzero"`
		Provider CallProvider   `json:"provider"`
	}
	// ItemCheckpointed keeps what an open item holds from byte Offset on, so that a crash loses little of a stream.
	// Text ends at a character boundary.
	ItemCheckpointed struct {
		TurnFact
		PartID PartID `json:"partID"`
		Offset int    `json:"offset"`
		Text   string `json:"text"`
	}
)

// CallProvider says who runs a call.
type CallProvider struct {
	Executed bool           `json:"executed"`
	Metadata jsontext.Value `json:"metadata,omitzero"`
}

// Compaction and revert.
type (
	// CompactionStarted says that a summary is being made.
	CompactionStarted struct {
		Fact
		MessageID MessageID `json:"messageID"`
		Reason    string    `json:"reason"`
	}
	// CompactionEnded replaces the model-visible past.
	CompactionEnded struct {
		Fact
		MessageID MessageID `json:"messageID"`
		Reason    string    `json:"reason"`
		Text      string    `json:"text"`
		Recent    string    `json:"recent"`
	}
	// RevertStaged marks where the session would be cut.
	RevertStaged struct {
		Fact
		Revert Revert `json:"revert"`
	}
	// RevertCleared takes the mark away.
	RevertCleared struct{ Fact }
	// RevertCommitted cuts the session after MessageID.
	RevertCommitted struct {
		Fact
		MessageID MessageID `json:"messageID"`
	}
)

// FinishPaused is the Finish of a turn whose provider wants to go on with its own answer: the next turn does.
const FinishPaused = "paused"
