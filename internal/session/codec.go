package session

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// newData is the one table from kind to type: it returns an empty payload, nil for a kind that this build does not
// know.
func newData(k Kind) EventData {
	switch k {
	case KindCreated:
		return &Created{}
	case KindAgentSwitched:
		return &AgentSwitched{}
	case KindModelSwitched:
		return &ModelSwitched{}
	case KindMoved:
		return &Moved{}
	case KindPromptAdmitted:
		return &PromptAdmitted{}
	case KindPrompted:
		return &Prompted{}
	case KindContextUpdated:
		return &ContextUpdated{}
	case KindSynthetic:
		return &SyntheticAdded{}
	case KindShellStarted:
		return &ShellStarted{}
	case KindShellEnded:
		return &ShellEnded{}
	case KindStepStarted:
		return &StepStarted{}
	case KindStepEnded:
		return &StepEnded{}
	case KindStepFailed:
		return &StepFailed{}
	case KindTextStarted:
		return &TextStarted{}
	case KindTextEnded:
		return &TextEnded{}
	case KindReasoningStarted:
		return &ReasoningStarted{}
	case KindReasoningEnded:
		return &ReasoningEnded{}
	case KindToolInputStarted:
		return &ToolInputStarted{}
	case KindToolInputEnded:
		return &ToolInputEnded{}
	case KindToolCalled:
		return &ToolCalled{}
	case KindToolProgress:
		return &ToolProgress{}
	case KindToolSuccess:
		return &ToolSuccess{}
	case KindToolFailed:
		return &ToolFailed{}
	case KindRetried:
		return &Retried{}
	case KindCompactionStarted:
		return &CompactionStarted{}
	case KindCompactionEnded:
		return &CompactionEnded{}
	case KindRevertStaged:
		return &RevertStaged{}
	case KindRevertCleared:
		return &RevertCleared{}
	case KindRevertCommitted:
		return &RevertCommitted{}
	case KindRenamed:
		return &Renamed{}
	case KindArchived:
		return &Archived{}
	case KindPermissionSet:
		return &PermissionSet{}
	case KindBudgetSet:
		return &BudgetSet{}
	case KindInputWithdrawn:
		return &InputWithdrawn{}
	case KindInputEdited:
		return &InputEdited{}
	case KindInputRedirected:
		return &InputRedirected{}
	case KindInputReordered:
		return &InputReordered{}
	case KindContextBased:
		return &ContextBased{}
	case KindItemCheckpointed:
		return &ItemCheckpointed{}
	case KindPermissionAsked:
		return &PermissionAsked{}
	case KindPermissionReplied:
		return &PermissionReplied{}
	case KindInterrupted:
		return &Interrupted{}
	default:
		return nil
	}
}

// Kinds lists every kind that this build knows.
func Kinds() []Kind {
	return []Kind{
		KindCreated,
		KindAgentSwitched,
		KindModelSwitched,
		KindMoved,
		KindPromptAdmitted,
		KindPrompted,
		KindContextUpdated,
		KindSynthetic,
		KindShellStarted,
		KindShellEnded,
		KindStepStarted,
		KindStepEnded,
		KindStepFailed,
		KindTextStarted,
		KindTextEnded,
		KindReasoningStarted,
		KindReasoningEnded,
		KindToolInputStarted,
		KindToolInputEnded,
		KindToolCalled,
		KindToolProgress,
		KindToolSuccess,
		KindToolFailed,
		KindRetried,
		KindCompactionStarted,
		KindCompactionEnded,
		KindRevertStaged,
		KindRevertCleared,
		KindRevertCommitted,
		KindRenamed,
		KindArchived,
		KindPermissionSet,
		KindBudgetSet,
		KindInputWithdrawn,
		KindInputEdited,
		KindInputRedirected,
		KindInputReordered,
		KindContextBased,
		KindItemCheckpointed,
		KindPermissionAsked,
		KindPermissionReplied,
		KindInterrupted,
	}
}

// Kind returns KindCreated.
func (*Created) Kind() Kind { return KindCreated }

// Kind returns KindAgentSwitched.
func (*AgentSwitched) Kind() Kind { return KindAgentSwitched }

// Kind returns KindModelSwitched.
func (*ModelSwitched) Kind() Kind { return KindModelSwitched }

// Kind returns KindMoved.
func (*Moved) Kind() Kind { return KindMoved }

// Kind returns KindPromptAdmitted.
func (*PromptAdmitted) Kind() Kind { return KindPromptAdmitted }

// Kind returns KindPrompted.
func (*Prompted) Kind() Kind { return KindPrompted }

// Kind returns KindContextUpdated.
func (*ContextUpdated) Kind() Kind { return KindContextUpdated }

// Kind returns KindSynthetic.
func (*SyntheticAdded) Kind() Kind { return KindSynthetic }

// Kind returns KindShellStarted.
func (*ShellStarted) Kind() Kind { return KindShellStarted }

// Kind returns KindShellEnded.
func (*ShellEnded) Kind() Kind { return KindShellEnded }

// Kind returns KindStepStarted.
func (*StepStarted) Kind() Kind { return KindStepStarted }

// Kind returns KindStepEnded.
func (*StepEnded) Kind() Kind { return KindStepEnded }

// Kind returns KindStepFailed.
func (*StepFailed) Kind() Kind { return KindStepFailed }

// Kind returns KindTextStarted.
func (*TextStarted) Kind() Kind { return KindTextStarted }

// Kind returns KindTextEnded.
func (*TextEnded) Kind() Kind { return KindTextEnded }

// Kind returns KindReasoningStarted.
func (*ReasoningStarted) Kind() Kind { return KindReasoningStarted }

// Kind returns KindReasoningEnded.
func (*ReasoningEnded) Kind() Kind { return KindReasoningEnded }

// Kind returns KindToolInputStarted.
func (*ToolInputStarted) Kind() Kind { return KindToolInputStarted }

// Kind returns KindToolInputEnded.
func (*ToolInputEnded) Kind() Kind { return KindToolInputEnded }

// Kind returns KindToolCalled.
func (*ToolCalled) Kind() Kind { return KindToolCalled }

// Kind returns KindToolProgress.
func (*ToolProgress) Kind() Kind { return KindToolProgress }

// Kind returns KindToolSuccess.
func (*ToolSuccess) Kind() Kind { return KindToolSuccess }

// Kind returns KindToolFailed.
func (*ToolFailed) Kind() Kind { return KindToolFailed }

// Kind returns KindRetried.
func (*Retried) Kind() Kind { return KindRetried }

// Kind returns KindCompactionStarted.
func (*CompactionStarted) Kind() Kind { return KindCompactionStarted }

// Kind returns KindCompactionEnded.
func (*CompactionEnded) Kind() Kind { return KindCompactionEnded }

// Kind returns KindRevertStaged.
func (*RevertStaged) Kind() Kind { return KindRevertStaged }

// Kind returns KindRevertCleared.
func (*RevertCleared) Kind() Kind { return KindRevertCleared }

// Kind returns KindRevertCommitted.
func (*RevertCommitted) Kind() Kind { return KindRevertCommitted }

// Kind returns KindRenamed.
func (*Renamed) Kind() Kind { return KindRenamed }

// Kind returns KindArchived.
func (*Archived) Kind() Kind { return KindArchived }

// Kind returns KindPermissionSet.
func (*PermissionSet) Kind() Kind { return KindPermissionSet }

// Kind returns KindBudgetSet.
func (*BudgetSet) Kind() Kind { return KindBudgetSet }

// Kind returns KindInputWithdrawn.
func (*InputWithdrawn) Kind() Kind { return KindInputWithdrawn }

// Kind returns KindInputEdited.
func (*InputEdited) Kind() Kind { return KindInputEdited }

// Kind returns KindInputRedirected.
func (*InputRedirected) Kind() Kind { return KindInputRedirected }

// Kind returns KindInputReordered.
func (*InputReordered) Kind() Kind { return KindInputReordered }

// Kind returns KindContextBased.
func (*ContextBased) Kind() Kind { return KindContextBased }

// Kind returns KindItemCheckpointed.
func (*ItemCheckpointed) Kind() Kind { return KindItemCheckpointed }

// Kind returns KindPermissionAsked.
func (*PermissionAsked) Kind() Kind { return KindPermissionAsked }

// Kind returns KindPermissionReplied.
func (*PermissionReplied) Kind() Kind { return KindPermissionReplied }

// Kind returns KindInterrupted.
func (*Interrupted) Kind() Kind { return KindInterrupted }

// Version returns 1.
func (*Created) Version() int { return 1 }

// Version returns 1.
func (*AgentSwitched) Version() int { return 1 }

// Version returns 1.
func (*ModelSwitched) Version() int { return 1 }

// Version returns 1.
func (*Moved) Version() int { return 1 }

// Version returns 1.
func (*PromptAdmitted) Version() int { return 1 }

// Version returns 1.
func (*Prompted) Version() int { return 1 }

// Version returns 1.
func (*ContextUpdated) Version() int { return 1 }

// Version returns 1.
func (*SyntheticAdded) Version() int { return 1 }

// Version returns 1.
func (*ShellStarted) Version() int { return 1 }

// Version returns 1.
func (*ShellEnded) Version() int { return 1 }

// Version returns 1.
func (*StepStarted) Version() int { return 1 }

// Version returns 2.
func (*StepEnded) Version() int { return 2 }

// Version returns 2.
func (*StepFailed) Version() int { return 2 }

// Version returns 1.
func (*TextStarted) Version() int { return 1 }

// Version returns 1.
func (*TextEnded) Version() int { return 1 }

// Version returns 1.
func (*ReasoningStarted) Version() int { return 1 }

// Version returns 1.
func (*ReasoningEnded) Version() int { return 1 }

// Version returns 1.
func (*ToolInputStarted) Version() int { return 1 }

// Version returns 1.
func (*ToolInputEnded) Version() int { return 1 }

// Version returns 1.
func (*ToolCalled) Version() int { return 1 }

// Version returns 1.
func (*ToolProgress) Version() int { return 1 }

// Version returns 1.
func (*ToolSuccess) Version() int { return 1 }

// Version returns 1.
func (*ToolFailed) Version() int { return 1 }

// Version returns 1.
func (*Retried) Version() int { return 1 }

// Version returns 1.
func (*CompactionStarted) Version() int { return 1 }

// Version returns 1.
func (*CompactionEnded) Version() int { return 1 }

// Version returns 1.
func (*RevertStaged) Version() int { return 1 }

// Version returns 1.
func (*RevertCleared) Version() int { return 1 }

// Version returns 1.
func (*RevertCommitted) Version() int { return 1 }

// Version returns 1.
func (*Renamed) Version() int { return 1 }

// Version returns 1.
func (*Archived) Version() int { return 1 }

// Version returns 1.
func (*PermissionSet) Version() int { return 1 }

// Version returns 1.
func (*BudgetSet) Version() int { return 1 }

// Version returns 1.
func (*InputWithdrawn) Version() int { return 1 }

// Version returns 1.
func (*InputEdited) Version() int { return 1 }

// Version returns 1.
func (*InputRedirected) Version() int { return 1 }

// Version returns 1.
func (*InputReordered) Version() int { return 1 }

// Version returns 1.
func (*ContextBased) Version() int { return 1 }

// Version returns 1.
func (*ItemCheckpointed) Version() int { return 1 }

// Version returns 1.
func (*PermissionAsked) Version() int { return 1 }

// Version returns 1.
func (*PermissionReplied) Version() int { return 1 }

// Version returns 1.
func (*Interrupted) Version() int { return 1 }

// Kind returns the kind as it was stored.
func (u *Unknown) Kind() Kind { return u.UnknownKind }

// Version returns the version as it was stored.
func (u *Unknown) Version() int { return u.UnknownVersion }

// Stamp returns the fact that could be read.
func (u *Unknown) Stamp() *Fact { return &u.head }

// EncodeData returns the stored form of a payload, deterministic and compact.
func EncodeData(d EventData) (jsontext.Value, error) {
	if u, ok := d.(*Unknown); ok {
		return u.Raw, nil
	}
	b, err := json.Marshal(d, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", d.Kind(), err)
	}
	return b, nil
}

// DecodeData reads a stored payload. Old versions are up-cast to the current one; a kind or version that this build
// does not know becomes an Unknown, so that a newer cairn's log can be read, tailed and copied without loss.
func DecodeData(k Kind, version int, raw jsontext.Value) (EventData, error) {
	d := newData(k)
	if d == nil || version > d.Version() {
		u := &Unknown{UnknownKind: k, UnknownVersion: version, Raw: raw.Clone()}
		_ = json.Unmarshal(raw, &u.head) // best effort: a foreign payload may have no such fields
		u.head.Extra = nil
		return u, nil
	}
	raw, err := upcast(k, version, raw)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, fmt.Errorf("decode %s version %d: %w", k, version, err)
	}
	return d, nil
}

// upcast rewrites an old version's payload into the current form. One case per change of form, never removed.
func upcast(k Kind, version int, raw jsontext.Value) (jsontext.Value, error) {
	if version < 1 {
		return nil, fmt.Errorf("decode %s: there is no version %d", k, version)
	}
	// Version 1 of step.ended and step.failed differs from 2 only by fields that may be absent (spec/v2 §5).
	return raw, nil
}

// MarshalJSON writes the V2 wire form: {id, type, durable{aggregateID, seq, version}, data}. Private stays out.
func (e Event) MarshalJSON() ([]byte, error) {
	data, err := EncodeData(e.Data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(wireEvent{
		ID: e.ID, Type: e.Data.Kind(),
		Durable: &wireDurable{AggregateID: e.SessionID, Seq: e.Seq, Version: e.Version},
		Data:    data,
	})
}

// UnmarshalJSON reads the wire form of a durable event. One of an older version is in the current form, and says so.
func (e *Event) UnmarshalJSON(b []byte) error {
	var w wireEvent
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	if w.Durable == nil {
		return fmt.Errorf("event %s of type %s is not durable", w.ID, w.Type)
	}
	data, err := DecodeData(w.Type, w.Durable.Version, w.Data)
	if err != nil {
		return err
	}
	*e = Event{ID: w.ID, SessionID: w.Durable.AggregateID, Seq: w.Durable.Seq, Version: data.Version(), Data: data}
	return nil
}

type wireEvent struct {
	ID      EventID        `json:"id"`
	Type    Kind           `json:"type"`
	Durable *wireDurable   `json:"durable,omitzero"`
	Data    jsontext.Value `json:"data"`
}

type wireDurable struct {
	AggregateID ID    `json:"aggregateID"`
	Seq         int64 `json:"seq"`
	Version     int   `json:"version"`
}
