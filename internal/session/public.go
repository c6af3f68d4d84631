package session

import "strings"

// IsPublic reports whether the kind belongs to OpenCode's V2 API. Streams show only these unless asked for all.
func (k Kind) IsPublic() bool {
	switch k {
	case KindAgentSwitched, KindModelSwitched, KindMoved, KindPromptAdmitted, KindPrompted, KindContextUpdated, KindSynthetic,
		KindShellStarted, KindShellEnded, KindStepStarted, KindStepEnded, KindStepFailed, KindTextStarted, KindTextEnded,
		KindReasoningStarted, KindReasoningEnded, KindToolInputStarted, KindToolInputEnded, KindToolCalled, KindToolProgress,
		KindToolSuccess, KindToolFailed, KindRetried, KindCompactionStarted, KindCompactionEnded,
		KindRevertStaged, KindRevertCleared, KindRevertCommitted:
		return true
	default:
		return false
	}
}

// The shapes in which OpenCode's clients are told of what is ours to keep otherwise.
type (
	// QuestionAsked is an ask for answers.
	QuestionAsked struct {
		ID        AskID         `json:"id"`
		SessionID ID            `json:"sessionID"`
		Questions []Question    `json:"questions"`
		Tool      *QuestionTool `json:"tool,omitzero"`
	}
	// QuestionTool is the call that asks.
	QuestionTool struct {
		MessageID MessageID `json:"messageID"`
		CallID    string    `json:"callID"`
	}
	// AskReplied says how an ask for a permission was decided.
	AskReplied struct {
		SessionID ID    `json:"sessionID"`
		RequestID AskID `json:"requestID"`
		Reply     Reply `json:"reply"`
	}
	// QuestionReplied says what was answered.
	QuestionReplied struct {
		SessionID ID         `json:"sessionID"`
		RequestID AskID      `json:"requestID"`
		Answers   [][]string `json:"answers"`
	}
	// QuestionRejected says that nothing will be answered.
	QuestionRejected struct {
		SessionID ID    `json:"sessionID"`
		RequestID AskID `json:"requestID"`
	}
	// SessionDeleted says that a session is gone. Info is what is kept of it.
	SessionDeleted struct {
		SessionID ID      `json:"sessionID"`
		Info      Session `json:"info"`
	}
	// TodosUpdated is the whole list.
	TodosUpdated struct {
		SessionID ID     `json:"sessionID"`
		Todos     []Todo `json:"todos"`
	}
)

// PublicForm is the event as OpenCode's clients of V2 are told of it: as it is, or asks, their replies, todos and the end of a session by their names
// for them. ok is false for what they have no word for.
func (e *Event) PublicForm() (kind Kind, data any, ok bool) {
	switch d := e.Data.(type) {
	case *PermissionAsked:
		ask := d.Ask
		ask.SessionID = e.SessionID
		if ask.IsQuestion() {
			return "question.v2.asked", ask.QuestionForm(), true
		}
		return "permission.v2.asked", ask.PublicForm(), true
	case *PermissionReplied:
		kind, data = d.publicForm(e.SessionID)
		return kind, data, true
	case *Deleted:
		return KindDeleted, SessionDeleted{e.SessionID, d.Info}, true
	case *TodosSet:
		return "todo.updated", TodosUpdated{e.SessionID, d.Todos}, true
	default:
		return e.Data.Kind(), e.Data, e.Data.Kind().IsPublic()
	}
}

func (d *PermissionReplied) publicForm(id ID) (Kind, any) {
	switch {
	case !strings.HasPrefix(string(d.AskID), string(PrefixQuestion)):
		return "permission.v2.replied", AskReplied{id, d.AskID, d.Reply}
	case d.Reply == ReplyReject:
		return "question.v2.rejected", QuestionRejected{id, d.AskID}
	default:
		return "question.v2.replied", QuestionReplied{id, d.AskID, d.Answers}
	}
}

// PublicForm is the ask without what only our own clients know.
func (a PendingAsk) PublicForm() PendingAsk {
	if a.Resources == nil {
		a.Resources = []string{}
	}
	a.Agent, a.Time, a.Firm = "", 0, false
	if a.Source != nil {
		a.Source = &AskSource{Type: a.Source.Type, MessageID: a.Source.MessageID, CallID: a.Source.CallID}
	}
	return a
}

// QuestionForm is an ask for answers as clients are told of it.
func (a PendingAsk) QuestionForm() QuestionAsked {
	q := QuestionAsked{ID: a.ID, SessionID: a.SessionID, Questions: a.Questions}
	if a.Source != nil {
		q.Tool = &QuestionTool{MessageID: a.Source.MessageID, CallID: a.Source.CallID}
	}
	return q
}
