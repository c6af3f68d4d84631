package session

import "sync"

// events has a constructor for every event kind that this build knows, in the order of documentation.
var events = [...]func() EventData{
	newEvent[Created],
	newEvent[AgentSwitched],
	newEvent[ModelSwitched],
	newEvent[Moved],
	newEvent[PromptAdmitted],
	newEvent[Prompted],
	newEvent[ContextUpdated],
	newEvent[SyntheticAdded],
	newEvent[ShellStarted],
	newEvent[ShellEnded],
	newEvent[StepStarted],
	newEvent[StepEnded],
	newEvent[StepFailed],
	newEvent[TextStarted],
	newEvent[TextEnded],
	newEvent[ReasoningStarted],
	newEvent[ReasoningEnded],
	newEvent[ToolInputStarted],
	newEvent[ToolInputEnded],
	newEvent[ToolCalled],
	newEvent[ToolProgress],
	newEvent[ToolSuccess],
	newEvent[ToolFailed],
	newEvent[Retried],
	newEvent[CompactionStarted],
	newEvent[CompactionEnded],
	newEvent[CompactionAdmitted],
	newEvent[CompactionFailed],
	newEvent[CompactionUndone],
	newEvent[OutputsPruned],
	newEvent[RevertStaged],
	newEvent[RevertCleared],
	newEvent[RevertAdvanced],
	newEvent[RevertCommitted],
	newEvent[FilesWriting],
	newEvent[TreeCaptured],
	newEvent[TreeChanged],
	newEvent[DiffUpdated],
	newEvent[Renamed],
	newEvent[Summarized],
	newEvent[Archived],
	newEvent[Shared],
	newEvent[Tagged],
	newEvent[PermissionSet],
	newEvent[BudgetSet],
	newEvent[TodosSet],
	newEvent[MetadataSet],
	newEvent[InstructionDiscovered],
	newEvent[ContextEntrySet],
	newEvent[InputWithdrawn],
	newEvent[InputEdited],
	newEvent[InputRedirected],
	newEvent[InputReordered],
	newEvent[ContextBased],
	newEvent[ItemCheckpointed],
	newEvent[PermissionAsked],
	newEvent[PermissionReplied],
	newEvent[Interrupted],
	newEvent[JobStarted],
	newEvent[JobEnded],
	newEvent[MessageRemoved],
	newEvent[MessageEdited],
	newEvent[PartRemoved],
	newEvent[PartEdited],
	newEvent[MessageImported],
	newEvent[MessagesCopied],
	newEvent[Imported],
	newEvent[Deleted],
}

func newEvent[T any, P interface {
	*T
	EventData
}]() EventData {
	return P(new(T))
}

// makers returns the constructors by kind.
var makers = sync.OnceValue(func() map[Kind]func() EventData {
	by := make(map[Kind]func() EventData, len(events))
	for _, event := range events {
		by[event().Kind()] = event
	}
	return by
})

// newData returns an empty event of the kind, nil if this build does not know it.
func newData(k Kind) EventData {
	if event := makers()[k]; event != nil {
		return event()
	}
	return nil
}

// ListKinds lists every kind that this build knows.
func ListKinds() []Kind {
	kinds := make([]Kind, len(events))
	for i, event := range events {
		kinds[i] = event().Kind()
	}
	return kinds
}

// The kinds of the events, in the same order. A payload without one does not compile as EventData.

func (*Created) Kind() Kind               { return KindCreated }
func (*AgentSwitched) Kind() Kind         { return KindAgentSwitched }
func (*ModelSwitched) Kind() Kind         { return KindModelSwitched }
func (*Moved) Kind() Kind                 { return KindMoved }
func (*PromptAdmitted) Kind() Kind        { return KindPromptAdmitted }
func (*Prompted) Kind() Kind              { return KindPrompted }
func (*ContextUpdated) Kind() Kind        { return KindContextUpdated }
func (*SyntheticAdded) Kind() Kind        { return KindSynthetic }
func (*ShellStarted) Kind() Kind          { return KindShellStarted }
func (*ShellEnded) Kind() Kind            { return KindShellEnded }
func (*StepStarted) Kind() Kind           { return KindStepStarted }
func (*StepEnded) Kind() Kind             { return KindStepEnded }
func (*StepFailed) Kind() Kind            { return KindStepFailed }
func (*TextStarted) Kind() Kind           { return KindTextStarted }
func (*TextEnded) Kind() Kind             { return KindTextEnded }
func (*ReasoningStarted) Kind() Kind      { return KindReasoningStarted }
func (*ReasoningEnded) Kind() Kind        { return KindReasoningEnded }
func (*ToolInputStarted) Kind() Kind      { return KindToolInputStarted }
func (*ToolInputEnded) Kind() Kind        { return KindToolInputEnded }
func (*ToolCalled) Kind() Kind            { return KindToolCalled }
func (*ToolProgress) Kind() Kind          { return KindToolProgress }
func (*ToolSuccess) Kind() Kind           { return KindToolSuccess }
func (*ToolFailed) Kind() Kind            { return KindToolFailed }
func (*Retried) Kind() Kind               { return KindRetried }
func (*CompactionStarted) Kind() Kind     { return KindCompactionStarted }
func (*CompactionEnded) Kind() Kind       { return KindCompactionEnded }
func (*CompactionAdmitted) Kind() Kind    { return KindCompactionAdmitted }
func (*CompactionFailed) Kind() Kind      { return KindCompactionFailed }
func (*CompactionUndone) Kind() Kind      { return KindCompactionUndone }
func (*OutputsPruned) Kind() Kind         { return KindOutputsPruned }
func (*RevertStaged) Kind() Kind          { return KindRevertStaged }
func (*RevertCleared) Kind() Kind         { return KindRevertCleared }
func (*RevertAdvanced) Kind() Kind        { return KindRevertAdvanced }
func (*RevertCommitted) Kind() Kind       { return KindRevertCommitted }
func (*FilesWriting) Kind() Kind          { return KindFilesWriting }
func (*TreeCaptured) Kind() Kind          { return KindTreeCaptured }
func (*TreeChanged) Kind() Kind           { return KindTreeChanged }
func (*DiffUpdated) Kind() Kind           { return KindDiffUpdated }
func (*Renamed) Kind() Kind               { return KindRenamed }
func (*Summarized) Kind() Kind            { return KindSummarized }
func (*Archived) Kind() Kind              { return KindArchived }
func (*Shared) Kind() Kind                { return KindShared }
func (*Tagged) Kind() Kind                { return KindTagged }
func (*PermissionSet) Kind() Kind         { return KindPermissionSet }
func (*BudgetSet) Kind() Kind             { return KindBudgetSet }
func (*TodosSet) Kind() Kind              { return KindTodosSet }
func (*MetadataSet) Kind() Kind           { return KindMetadataSet }
func (*InstructionDiscovered) Kind() Kind { return KindInstructionFound }
func (*ContextEntrySet) Kind() Kind       { return KindContextEntrySet }
func (*InputWithdrawn) Kind() Kind        { return KindInputWithdrawn }
func (*InputEdited) Kind() Kind           { return KindInputEdited }
func (*InputRedirected) Kind() Kind       { return KindInputRedirected }
func (*InputReordered) Kind() Kind        { return KindInputReordered }
func (*ContextBased) Kind() Kind          { return KindContextBased }
func (*ItemCheckpointed) Kind() Kind      { return KindItemCheckpointed }
func (*PermissionAsked) Kind() Kind       { return KindPermissionAsked }
func (*PermissionReplied) Kind() Kind     { return KindPermissionReplied }
func (*Interrupted) Kind() Kind           { return KindInterrupted }
func (*JobStarted) Kind() Kind            { return KindJobStarted }
func (*JobEnded) Kind() Kind              { return KindJobEnded }
func (*MessageRemoved) Kind() Kind        { return KindMessageRemoved }
func (*MessageEdited) Kind() Kind         { return KindMessageEdited }
func (*PartRemoved) Kind() Kind           { return KindPartRemoved }
func (*PartEdited) Kind() Kind            { return KindPartEdited }
func (*MessageImported) Kind() Kind       { return KindMessageImported }
func (*MessagesCopied) Kind() Kind        { return KindMessagesCopied }
func (*Imported) Kind() Kind              { return KindImported }
func (*Deleted) Kind() Kind               { return KindDeleted }

// The versions that are not 1.

func (*StepEnded) Version() int  { return 2 }
func (*StepFailed) Version() int { return 2 }
