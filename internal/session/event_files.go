package session

// What a session does to files.
type (
	// FilesWriting records the exact changes that a call is about to make. Whether it made them is known from the
	// files.
	FilesWriting struct {
		Fact
		MessageID MessageID    `json:"messageID"`         // of the turn
		PromptID  MessageID    `json:"promptID,omitzero"` // which the turn answers
		CallID    string       `json:"callID"`
		PartID    PartID       `json:"partID,omitzero"`
		Files     []FileChange `json:"files"`
		// Failed says that the call failed, so that it need not have made the changes. It is set in forks; otherwise
		// the failure of the call says so.
		Failed bool `json:"failed,omitzero"`
	}
	// TreeCaptured records that a command of a call may change any file from now on. If Error is set, its changes will
	// not be known, for that reason.
	TreeCaptured struct {
		Fact
		MessageID MessageID `json:"messageID"`         // of the turn
		PromptID  MessageID `json:"promptID,omitzero"` // which the turn answers
		CallID    string    `json:"callID"`
		PartID    PartID    `json:"partID,omitzero"`
		Error     string    `json:"error,omitzero"`
	}
	// TreeChanged records what a command of a call changed: what differs in the worktree, less what other calls wrote
	// meanwhile. Commands of the sessions Beside ran at the same time and may have made some of the changes.
	TreeChanged struct {
		Fact
		MessageID MessageID    `json:"messageID"`         // of the turn
		PromptID  MessageID    `json:"promptID,omitzero"` // which the turn answers
		CallID    string       `json:"callID"`
		PartID    PartID       `json:"partID,omitzero"`
		Files     []FileChange `json:"files,omitzero"`
		Beside    []ID         `json:"beside,omitzero"`
		Omitted   []FilePath   `json:"omitted,omitempty"` // changed as well; no snapshot has them
		// Late are those of the files that changed after the work that ran the command had ended, and before the capture:
		// the user may have changed them.
		Late []FilePath `json:"late,omitempty"`
		// Transient are files that the command left as it found them, although a command beside it began or ended while
		// they were in the state Before: that state lasted for a moment. After is what the command found and left.
		Transient []FileChange `json:"transient,omitzero"`
		Error     string       `json:"error,omitzero"` // why Files are not known
	}
	// DiffUpdated records what the answers to a prompt, and the whole session, have changed until now. The diffs of the
	// session have no patches.
	DiffUpdated struct {
		Fact
		MessageID MessageID     `json:"messageID"` // of the prompt
		Diffs     []ChangedFile `json:"diffs"`
		Session   []ChangedFile `json:"session,omitzero"`
		Total     Changes       `json:"total"`
	}
)

// Revert.
type (
	// RevertStaged stages a revert. Its files are restored after it.
	RevertStaged struct {
		Fact
		Revert Revert `json:"revert"`
	}
	// RevertAdvanced records that the staged revert entered a phase. Kept are files of the revert that it could not
	// change. Total, unless nil, is what the session changed without what is reverted.
	RevertAdvanced struct {
		Fact
		Phase RevertPhase `json:"phase"`
		Kept  []KeptFile  `json:"kept,omitzero"`
		Total *Changes    `json:"total,omitzero"`
	}
	// RevertCleared takes the staged revert back: the messages are visible again, and the files are as before it,
	// except for Kept. Total, unless nil, is what the session changed. With Replaced, another revert follows at once.
	RevertCleared struct {
		Fact
		Kept     []KeptFile `json:"kept,omitzero"`
		Total    *Changes   `json:"total,omitzero"`
		Replaced bool       `json:"replaced,omitzero"`
	}
	// RevertCommitted removes the messages after MessageID, and with Exclusive the message itself. Removed are all that
	// go, in order, with the second ids under which V1 shows some of them.
	RevertCommitted struct {
		Fact
		MessageID MessageID   `json:"messageID"`
		Exclusive bool        `json:"exclusive,omitzero"`
		Removed   []MessageID `json:"removed,omitzero"`
		FilesOnly bool        `json:"filesOnly,omitzero"` // no message goes
	}
)
