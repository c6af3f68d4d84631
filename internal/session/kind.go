package session

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
	case KindJobStarted:
		return &JobStarted{}
	case KindJobEnded:
		return &JobEnded{}
	case KindBudgetSet:
		return &BudgetSet{}
	case KindTodosSet:
		return &TodosSet{}
	case KindMetadataSet:
		return &MetadataSet{}
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
	case KindMessageRemoved:
		return &MessageRemoved{}
	case KindMessageEdited:
		return &MessageEdited{}
	case KindPartRemoved:
		return &PartRemoved{}
	case KindPartEdited:
		return &PartEdited{}
	case KindMessageImported:
		return &MessageImported{}
	case KindImported:
		return &Imported{}
	case KindDeleted:
		return &Deleted{}
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
		KindTodosSet,
		KindMetadataSet,
		KindInputWithdrawn,
		KindInputEdited,
		KindInputRedirected,
		KindInputReordered,
		KindContextBased,
		KindItemCheckpointed,
		KindPermissionAsked,
		KindPermissionReplied,
		KindInterrupted,
		KindJobStarted,
		KindJobEnded,
		KindMessageRemoved,
		KindMessageEdited,
		KindPartRemoved,
		KindPartEdited,
		KindMessageImported,
		KindImported,
		KindDeleted,
	}
}

// Kind returns KindCreated.
func (*Created) Kind() Kind { return KindCreated }

// Kind returns KindMetadataSet.
func (*MetadataSet) Kind() Kind { return KindMetadataSet }

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

// Kind returns KindImported.
func (*Imported) Kind() Kind { return KindImported }

// Kind returns KindDeleted.
func (*Deleted) Kind() Kind { return KindDeleted }
