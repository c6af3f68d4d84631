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

// Kind returns KindCreated.
func (*Created) Kind() Kind { return KindCreated }

// Kind returns KindMetadataSet.
func (*MetadataSet) Kind() Kind { return KindMetadataSet }

// Kind returns KindInstructionFound.
func (*InstructionDiscovered) Kind() Kind { return KindInstructionFound }

// Kind returns KindContextEntrySet.
func (*ContextEntrySet) Kind() Kind { return KindContextEntrySet }

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

// Kind returns KindCompactionAdmitted.
func (*CompactionAdmitted) Kind() Kind { return KindCompactionAdmitted }

// Kind returns KindCompactionFailed.
func (*CompactionFailed) Kind() Kind { return KindCompactionFailed }

// Kind returns KindCompactionUndone.
func (*CompactionUndone) Kind() Kind { return KindCompactionUndone }

// Kind returns KindOutputsPruned.
func (*OutputsPruned) Kind() Kind { return KindOutputsPruned }

// Kind returns KindRevertStaged.
func (*RevertStaged) Kind() Kind { return KindRevertStaged }

// Kind returns KindRevertCleared.
func (*RevertCleared) Kind() Kind { return KindRevertCleared }

// Kind returns KindRevertAdvanced.
func (*RevertAdvanced) Kind() Kind { return KindRevertAdvanced }

// Kind returns KindFilesWriting.
func (*FilesWriting) Kind() Kind { return KindFilesWriting }

// Kind returns KindTreeCaptured.
func (*TreeCaptured) Kind() Kind { return KindTreeCaptured }

// Kind returns KindTreeChanged.
func (*TreeChanged) Kind() Kind { return KindTreeChanged }

// Kind returns KindDiffUpdated.
func (*DiffUpdated) Kind() Kind { return KindDiffUpdated }

// Kind returns KindRevertCommitted.
func (*RevertCommitted) Kind() Kind { return KindRevertCommitted }

// Kind returns KindRenamed.
func (*Renamed) Kind() Kind { return KindRenamed }

// Kind returns KindSummarized.
func (*Summarized) Kind() Kind { return KindSummarized }

// Kind returns KindArchived.
func (*Archived) Kind() Kind { return KindArchived }

// Kind returns KindPermissionSet.
func (*PermissionSet) Kind() Kind { return KindPermissionSet }

// Kind returns KindBudgetSet.
func (*BudgetSet) Kind() Kind { return KindBudgetSet }

// Kind returns KindTodosSet.
func (*TodosSet) Kind() Kind { return KindTodosSet }

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

// Kind returns KindJobStarted.
func (*JobStarted) Kind() Kind { return KindJobStarted }

// Kind returns KindJobEnded.
func (*JobEnded) Kind() Kind { return KindJobEnded }

// Version returns 2.
func (*StepEnded) Version() int { return 2 }

// Version returns 2.
func (*StepFailed) Version() int { return 2 }

// Kind returns KindMessageRemoved.
func (*MessageRemoved) Kind() Kind { return KindMessageRemoved }

// Kind returns KindMessageEdited.
func (*MessageEdited) Kind() Kind { return KindMessageEdited }

// Kind returns KindPartRemoved.
func (*PartRemoved) Kind() Kind { return KindPartRemoved }

// Kind returns KindPartEdited.
func (*PartEdited) Kind() Kind { return KindPartEdited }

// Kind returns KindMessageImported.
func (*MessageImported) Kind() Kind { return KindMessageImported }

// Kind returns KindMessagesCopied.
func (*MessagesCopied) Kind() Kind { return KindMessagesCopied }

// Kind returns KindImported.
func (*Imported) Kind() Kind { return KindImported }

// Kind returns KindDeleted.
func (*Deleted) Kind() Kind { return KindDeleted }
