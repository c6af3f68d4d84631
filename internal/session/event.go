package session

import "github.com/go-json-experiment/json/jsontext"

// Event is a durable fact of one session. Seq is contiguous within the session, from 0 or, in a fork, from the
// number after its copied messages, and is the only order of events.
// Every Event is committed. Live-only progress is a Fragment, which has no Seq and cannot be appended.
type Event struct {
	ID        EventID
	SessionID ID
	Seq       int64
	Position  int64 // rank among all events of the store, for readers of many sessions; rises with gaps
	Version   int
	Data      EventData
	Private   *Private
}

// EventData is the payload of an event: one of the event types of this package, by pointer, or an Unknown.
type EventData interface {
	Kind() Kind
	Version() int
	Stamp() *Fact
}

// Fact holds the fields of all payloads. Timestamp is the logical time of the fact in milliseconds, set by the engine;
// the log sets SessionID.
type Fact struct {
	Timestamp int64          `json:"timestamp"`
	SessionID ID             `json:"sessionID"`
	Extra     jsontext.Value `json:",embed"`
}

// Deleted records that a session was deleted. It outlives the session: readers of all sessions get it, while the
// session's own log is gone (Kind.OutlivesSession).
type Deleted struct {
	Fact
	Info Session `json:"info"` // its Tombstone
}

// Stamp returns f itself, so that every payload has it.
func (f *Fact) Stamp() *Fact { return f }

// Version returns 1, the version of payloads that do not define their own.
func (*Fact) Version() int { return 1 }

// Private is the part of an event that models and clients never see. Of exports, only that of whole logs has it.
type Private struct {
	Epoch  *Epoch  `json:"epoch,omitzero"`
	Answer *Answer `json:"answer,omitzero"`
	Before *Epoch  `json:"before,omitzero"` // the epoch that a compaction ends, for its undoing
}

// Answer is the provider's end of a turn whose tool calls are not settled yet. It is stored with the turn's calls, so
// that a restart can complete the turn with its cost.
type Answer struct {
	Finish string         `json:"finish"`
	Cost   USD            `json:"cost"`
	Tokens Tokens         `json:"tokens"`
	Usage  jsontext.Value `json:"usage,omitzero"`
}

// Epoch is a change of the session's context epoch that takes effect with the event: a new baseline, or, with a nil
// Baseline, only a new snapshot to compare sources with.
type Epoch struct {
	Baseline *string        `json:"baseline,omitzero"`
	Snapshot jsontext.Value `json:"snapshot"`
	Revision int64          `json:"revision"` // after the change; must be the stored revision plus 1
	// Since is the seq up to which an earlier Baseline, which comes back, covers the context; nil is the event's.
	Since *int64 `json:"since,omitzero"`
}

// EndsEpoch reports whether the session's context epoch ends with the event and no other begins: the session has another
// location, or came from another store.
func (e Event) EndsEpoch() bool {
	switch d := e.Data.(type) {
	case *Moved:
		return true
	case *Imported:
		return d.Log != nil
	default:
		return false
	}
}

// Kind is the wire name of an event type, without version.
type Kind string

// The event kinds: first those of OpenCode's V2 API, then cairn's own.
const (
	KindCreated            Kind = "session.created"
	KindAgentSwitched      Kind = "session.next.agent.switched"
	KindModelSwitched      Kind = "session.next.model.switched"
	KindMoved              Kind = "session.next.moved"
	KindPromptAdmitted     Kind = "session.next.prompt.admitted"
	KindPrompted           Kind = "session.next.prompted"
	KindContextUpdated     Kind = "session.next.context.updated"
	KindSynthetic          Kind = "session.next.synthetic"
	KindShellStarted       Kind = "session.next.shell.started"
	KindShellEnded         Kind = "session.next.shell.ended"
	KindStepStarted        Kind = "session.next.step.started"
	KindStepEnded          Kind = "session.next.step.ended"
	KindStepFailed         Kind = "session.next.step.failed"
	KindTextStarted        Kind = "session.next.text.started"
	KindTextEnded          Kind = "session.next.text.ended"
	KindReasoningStarted   Kind = "session.next.reasoning.started"
	KindReasoningEnded     Kind = "session.next.reasoning.ended"
	KindToolInputStarted   Kind = "session.next.tool.input.started"
	KindToolInputEnded     Kind = "session.next.tool.input.ended"
	KindToolCalled         Kind = "session.next.tool.called"
	KindToolProgress       Kind = "session.next.tool.progress"
	KindToolSuccess        Kind = "session.next.tool.success"
	KindToolFailed         Kind = "session.next.tool.failed"
	KindRetried            Kind = "session.next.retried"
	KindCompactionStarted  Kind = "session.next.compaction.started"
	KindCompactionEnded    Kind = "session.next.compaction.ended"
	KindCompactionAdmitted Kind = "session.next.compaction.admitted"
	KindCompactionFailed   Kind = "session.next.compaction.failed"
	KindCompactionUndone   Kind = "session.next.compaction.undone"
	KindOutputsPruned      Kind = "session.next.outputs.pruned"
	KindRevertStaged       Kind = "session.next.revert.staged"
	KindRevertCleared      Kind = "session.next.revert.cleared"
	KindRevertAdvanced     Kind = "session.next.revert.advanced"
	KindRevertCommitted    Kind = "session.next.revert.committed"
	KindFilesWriting       Kind = "session.next.files.writing"
	KindTreeCaptured       Kind = "session.next.tree.captured"
	KindTreeChanged        Kind = "session.next.tree.changed"
	KindDiffUpdated        Kind = "session.next.diff.updated"

	KindRenamed           Kind = "session.next.renamed"
	KindSummarized        Kind = "session.next.summarized"
	KindArchived          Kind = "session.next.archived"
	KindShared            Kind = "session.next.shared"
	KindTagged            Kind = "session.next.tagged"
	KindPermissionSet     Kind = "session.next.permission.set"
	KindBudgetSet         Kind = "session.next.budget.set"
	KindTodosSet          Kind = "session.next.todos.set"
	KindMetadataSet       Kind = "session.next.metadata.set"
	KindInstructionFound  Kind = "session.next.instruction.discovered"
	KindContextEntrySet   Kind = "session.next.context.entry.set"
	KindInputWithdrawn    Kind = "session.next.input.withdrawn"
	KindInputEdited       Kind = "session.next.input.edited"
	KindInputRedirected   Kind = "session.next.input.redirected"
	KindInputReordered    Kind = "session.next.input.reordered"
	KindContextBased      Kind = "session.next.context.based"
	KindItemCheckpointed  Kind = "session.next.item.checkpointed"
	KindPermissionAsked   Kind = "session.next.permission.asked"
	KindPermissionReplied Kind = "session.next.permission.replied"
	KindInterrupted       Kind = "session.next.interrupted"
	KindJobStarted        Kind = "session.next.job.started"
	KindJobEnded          Kind = "session.next.job.ended"
	KindMessageRemoved    Kind = "session.next.message.removed"
	KindMessageEdited     Kind = "session.next.message.edited"
	KindPartRemoved       Kind = "session.next.part.removed"
	KindPartEdited        Kind = "session.next.part.edited"
	KindMessageImported   Kind = "session.next.message.imported"
	KindMessagesCopied    Kind = "session.next.messages.copied"
	KindImported          Kind = "session.next.imported"
	KindDeleted           Kind = "session.deleted"
)

// OutlivesSession reports whether events of the kind remain when their session is deleted: they are among the events of
// all sessions and not part of the session's own log.
func (k Kind) OutlivesSession() bool { return k == KindDeleted }

// The life of a session.
type (
	// Created is the first event of every session. It has the seq 0. In a fork, its seq is that of the last copied
	// message plus 1, as the messages have seqs without events of their own.
	Created struct {
		Fact
		Info   Session `json:"info"`
		Copied int64   `json:"copied,omitzero"` // messages in the MessagesCopied events that follow
	}
	// Renamed sets the title; By is "user" or "auto". An automatic title never replaces a user's. Request is the
	// cost of the model request for the title, if there was one, even if it failed.
	Renamed struct {
		Fact
		Title   string       `json:"title"`
		By      string       `json:"by,omitzero"`
		Request *RequestCost `json:"asked,omitzero"`
	}
	// Summarized replaces the session's summary; without a text a user removes it. A summary of a model, which is
	// Generated, never replaces a user's. Request is the cost of the model request, even if it gave no text.
	Summarized struct {
		Fact
		ProseSummary
		Request *RequestCost `json:"asked,omitzero"`
	}
	// Archived hides the session from lists; At 0 shows it again.
	Archived struct {
		Fact
		At int64 `json:"at"`
	}
	// Shared records that the session is shared, or with a nil Share that it is not.
	Shared struct {
		Fact
		Share *Share `json:"share"`
	}
	// Tagged replaces the session's tags: all of them, sorted, each once.
	Tagged struct {
		Fact
		Tags []string `json:"tags"`
	}
	// PermissionSet replaces the session's own rules.
	PermissionSet struct {
		Fact
		Rules []Rule `json:"rules"`
	}
	// BudgetSet replaces the session's budget; nil removes it.
	BudgetSet struct {
		Fact
		Budget *Budget `json:"budget"`
	}
	// TodosSet replaces the session's list of todos.
	TodosSet struct {
		Fact
		Todos []Todo `json:"todos"`
	}
	// MetadataSet replaces the metadata that clients store with the session.
	MetadataSet struct {
		Fact
		Metadata jsontext.Value `json:"metadata"`
	}
	// InstructionDiscovered adds an instruction file to those of the session.
	InstructionDiscovered struct {
		Fact
		NestedInstruction
	}
	// ContextEntrySet sets an entry of the system context; without a value it removes the entry.
	ContextEntrySet struct {
		Fact
		ContextEntry
	}
	// AgentSwitched selects the agent of the next turn.
	AgentSwitched struct {
		Fact
		MessageID MessageID `json:"messageID"`
		Agent     string    `json:"agent"`
	}
	// ModelSwitched selects the model of the next turn.
	ModelSwitched struct {
		Fact
		MessageID MessageID `json:"messageID"`
		Model     ModelRef  `json:"model"`
	}
	// Moved gives the session another Location and ends its context epoch.
	Moved struct {
		Fact
		Location     Location  `json:"location"`
		Subdirectory string    `json:"subdirectory,omitzero"`
		ProjectID    ProjectID `json:"projectID,omitzero"` // "" if it is the same as before, as RecordID
		RecordID     RecordID  `json:"recordID,omitzero"`
		Changes      bool      `json:"changes,omitzero"` // the uncommitted changes of the earlier place are at this one too
	}
)

// The inbox.
type (
	// PromptAdmitted puts a prompt into the inbox. A prompt with Hold starts no work; it waits for a later wake.
	PromptAdmitted struct {
		Fact
		MessageID MessageID `json:"messageID"`
		Prompt    Prompt    `json:"prompt"`
		Delivery  Delivery  `json:"delivery"`
		Asks      AskPolicy `json:"asks,omitzero"`
		Hold      bool      `json:"hold,omitzero"`
		NoReply   bool      `json:"noReply,omitzero"` // with Hold; as Input has it
		Recovery  Recovery  `json:"recovery,omitzero"`

		Restricted bool `json:"restricted,omitzero"` // as Input has it

		Original   *Prompt  `json:"original,omitzero"`    // what the caller sent, if extensions changed it
		Extensions []string `json:"extensions,omitempty"` // that did, in their order
	}
	// Prompted promotes a prompt from the inbox to the history. Its Timestamp is the time of admission.
	Prompted struct {
		Fact
		MessageID MessageID `json:"messageID"`
		Prompt    Prompt    `json:"prompt"`
		Delivery  Delivery  `json:"delivery"`
		Asks      AskPolicy `json:"asks,omitzero"`
		NoReply   bool      `json:"noReply,omitzero"` // no turn answers it by itself
		Recovery  Recovery  `json:"recovery,omitzero"`

		Restricted bool     `json:"restricted,omitzero"`  // also if earlier work of the drain is
		Extensions []string `json:"extensions,omitempty"` // that changed it, in their order
	}
	// InputWithdrawn removes a pending prompt from the inbox.
	InputWithdrawn struct {
		Fact
		MessageID MessageID `json:"messageID"`
	}
	// InputEdited replaces the content of a pending prompt.
	InputEdited struct {
		Fact
		MessageID MessageID `json:"messageID"`
		Prompt    Prompt    `json:"prompt"`

		Restricted bool `json:"restricted,omitzero"` // the prompt becomes restricted
	}
	// InputRedirected switches a pending prompt between steer and queue.
	InputRedirected struct {
		Fact
		MessageID MessageID `json:"messageID"`
		Delivery  Delivery  `json:"delivery"`
	}
	// InputReordered sets a new order of all pending prompts.
	InputReordered struct {
		Fact
		MessageIDs []MessageID `json:"messageIDs"`
	}
)

// Messages beside the conversation.
type (
	// ContextUpdated appends a mid-conversation system message.
	ContextUpdated struct {
		Fact
		MessageID MessageID `json:"messageID"`
		Text      string    `json:"text"`
	}
	// ContextBased begins a context epoch without a promotion; the epoch is in Private.
	ContextBased struct{ Fact }
	// SyntheticAdded appends user text that the system wrote.
	SyntheticAdded struct {
		Fact
		MessageID MessageID      `json:"messageID"`
		Text      string         `json:"text"`
		Metadata  jsontext.Value `json:"metadata,omitzero"` // of the message
	}
	// ShellStarted begins a command that the user runs beside the conversation.
	ShellStarted struct {
		Fact
		MessageID MessageID `json:"messageID"`
		CallID    string    `json:"callID"`
		Command   string    `json:"command"`
		ShellAs
	}
	// ShellEnded completes the command.
	ShellEnded struct {
		Fact
		CallID string `json:"callID"`
		Output string `json:"output"`
		ShellEnd
	}
)

// Asks.
type (
	// PermissionAsked records an ask; the tool call waits for the reply.
	PermissionAsked struct {
		Fact
		Ask PendingAsk `json:"ask"`
	}
	// PermissionReplied records the one reply to an ask.
	PermissionReplied struct {
		Fact
		AskID   AskID   `json:"askID"`
		Reply   Reply   `json:"reply"`
		Message string  `json:"message,omitzero"`
		By      ReplyBy `json:"by,omitzero"`
		// Answers has one list for each question of the ask.
		Answers [][]string `json:"answers,omitempty"`
	}
)

// Jobs.
type (
	// JobStarted records a job before it starts.
	JobStarted struct {
		Fact
		Job Job `json:"job"`
	}
	// JobEnded records how a job ended.
	JobEnded struct {
		Fact
		JobID  JobID     `json:"jobID"`
		Status JobStatus `json:"status"`
		Exit   *int      `json:"exit,omitzero"`
		Error  string    `json:"error,omitzero"`
	}
)

// Import.
type (
	// MessageImported appends a message, in its stored form, to a session that is being imported. Older forks have one
	// for each message.
	MessageImported struct {
		Fact
		Message jsontext.Value `json:"message"`
	}
	// MessagesCopied appends messages, in their stored form, to a fork. They have the seqs First, First+1, ….
	MessagesCopied struct {
		Fact
		First    int64            `json:"first"`
		Messages []jsontext.Value `json:"messages"`

		decoded []Message // Messages, if the creator has them
	}
	// Imported completes an import. Until the first one the session is hidden from lists.
	Imported struct {
		Fact
		Archived int64 `json:"archived,omitzero"` // time of archiving at the source
		Updated  int64 `json:"updated,omitzero"`
		At       int64 `json:"at,omitzero"` // when it was imported here; the timestamp is that of the source

		Hash     string `json:"hash,omitzero"` // of all imported messages; "" leaves that of the session
		Messages int    `json:"messages,omitzero"`

		Title  string       `json:"title,omitzero"`  // at the source by now; "" leaves the session's
		Source *SourceState `json:"source,omitzero"` // nil leaves what the session has

		Log *LogImport `json:"log,omitzero"` // nil unless the events before this one came from an exported log
	}
	// SourceState is what the source of an imported session says of it beside its messages, when they have changed.
	SourceState struct {
		Agent  string    `json:"agent,omitzero"`
		Model  *ModelRef `json:"model,omitzero"`
		Cost   USD       `json:"cost"`
		Tokens Tokens    `json:"tokens"`
		Todos  []Todo    `json:"todos,omitzero"`
		Revert *Revert   `json:"revert,omitzero"` // without files
	}
	// LogImport says where a session lives whose events came from an exported log. Its context epoch ends: the next
	// turn writes a system context of this machine. Detached removes the parent, which did not come with it.
	LogImport struct {
		SHA256    string      `json:"sha256"` // of the exported log
		Location  Location    `json:"location"`
		ProjectID ProjectID   `json:"projectID"`
		RecordID  RecordID    `json:"recordID,omitzero"`
		Subpath   string      `json:"subpath,omitzero"`
		Sandbox   SandboxMode `json:"sandbox,omitzero"`
		Detached  bool        `json:"detached,omitzero"`
	}
)

// PendingAsk is a durable request for a permission, or, with Questions, for answers. Agent is the agent whose turn made
// the call (PM-11).
type PendingAsk struct {
	ID        AskID          `json:"id"`
	SessionID ID             `json:"sessionID"`
	Action    string         `json:"action"`
	Resources []string       `json:"resources"`
	Save      []string       `json:"save,omitzero"`
	Metadata  jsontext.Value `json:"metadata,omitzero"`
	Source    *AskSource     `json:"source,omitzero"`
	Agent     string         `json:"agent,omitzero"`
	Time      int64          `json:"time,omitzero"`
	Firm      bool           `json:"firm,omitzero"`       // only a person may allow it, no ask policy
	Questions []Question     `json:"questions,omitempty"` // asked instead of a permission; the id is a que_…
}

// IsQuestion reports whether the ask is for answers instead of a permission.
func (a PendingAsk) IsQuestion() bool { return len(a.Questions) > 0 }

// AskSource is the tool call that made an ask.
type AskSource struct {
	Type      string    `json:"type"` // "tool"
	MessageID MessageID `json:"messageID"`
	CallID    string    `json:"callID"`
	PartID    PartID    `json:"partID,omitzero"`
}

// Reply answers an ask.
type Reply string

// The replies.
const (
	ReplyOnce   Reply = "once"
	ReplyAlways Reply = "always"
	ReplyReject Reply = "reject"
)

// Lifetime is the scope in which the approval of a reply "always" holds.
type Lifetime string

// The lifetimes of approvals. All hold in one project, and end when they are revoked.
const (
	LifetimeSession Lifetime = "session" // in the session that asked, until it is deleted
	LifetimeProcess Lifetime = "process" // until the process that owns the store ends
	LifetimeProject Lifetime = "project"
)

// ReplyBy names what made a reply.
type ReplyBy string

// The sources of replies.
const (
	ByUser      ReplyBy = "user"      // a person
	ByPolicy    ReplyBy = "policy"    // the ask policy of the prompt
	ByCascade   ReplyBy = "cascade"   // the reply to another ask
	ByInterrupt ReplyBy = "interrupt" // the end of the work that asked
	ByRule      ReplyBy = "rule"      // a rule or approval that came later, or the call of a later process
)

// Unknown is an event of a kind or version that this build does not know. It is kept verbatim and changes nothing.
type Unknown struct {
	UnknownKind    Kind
	UnknownVersion int
	Raw            jsontext.Value
	head           Fact
}

// FirstSeq returns the seq of the event.
func (e *Created) FirstSeq() int64 {
	if e.Copied == 0 {
		return 0
	}
	return e.Copied + 1
}

// NewMessagesCopied returns the event that appends ms, whose stored forms (EncodeMessage) are stored. The event owns
// both.
func NewMessagesCopied(first int64, ms []Message, stored []jsontext.Value) *MessagesCopied {
	return &MessagesCopied{First: first, Messages: stored, decoded: ms}
}

// DecodeCopies returns the messages with their seqs. stored are their stored forms if the creator of the event has
// encoded them, else nil.
func (e *MessagesCopied) DecodeCopies() (ms []Message, stored []jsontext.Value, err error) {
	if ms = e.decoded; ms != nil {
		stored = e.Messages
	} else {
		ms = make([]Message, len(e.Messages))
		for i, raw := range e.Messages {
			if ms[i], err = DecodeMessage(raw); err != nil {
				return nil, nil, err
			}
		}
	}
	for i, m := range ms {
		m.Meta().Seq = e.First + int64(i)
	}
	return ms, stored, nil
}

// BuildPromotion returns the event that promotes the prompt.
func (in *Input) BuildPromotion() *Prompted {
	e := &Prompted{
		MessageID: in.ID, Prompt: in.Prompt, Delivery: in.Delivery, Asks: in.Asks, Recovery: in.Recovery,
		Restricted: in.Restricted, Extensions: in.Extensions,
	}
	e.Timestamp = in.TimeCreated
	return e
}
