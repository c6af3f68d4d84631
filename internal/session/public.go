package session

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// IsPublic reports whether the kind is part of the V2 API: OpenCode's kinds, and the changes of the inbox and the
// further events of compactions, which only cairn has. Streams send only these kinds unless all are requested.
func (k Kind) IsPublic() bool {
	switch k {
	case KindAgentSwitched, KindModelSwitched, KindMoved, KindPromptAdmitted, KindPrompted, KindContextUpdated,
		KindSynthetic, KindShellStarted, KindShellEnded, KindStepStarted, KindStepEnded, KindStepFailed,
		KindTextStarted, KindTextEnded, KindReasoningStarted, KindReasoningEnded, KindToolInputStarted,
		KindToolInputEnded, KindToolCalled, KindToolProgress, KindToolSuccess, KindToolFailed, KindRetried,
		KindCompactionStarted, KindCompactionEnded, KindCompactionAdmitted, KindCompactionFailed, KindCompactionUndone,
		KindRevertStaged, KindRevertCleared, KindRevertCommitted,
		KindInputWithdrawn, KindInputEdited, KindInputRedirected, KindInputReordered:
		return true
	default:
		return false
	}
}

// The V2 forms of events that cairn stores in its own form.
type (
	// QuestionAsked is an ask for answers.
	QuestionAsked struct {
		ID        AskID         `json:"id"`
		SessionID ID            `json:"sessionID"`
		Questions []Question    `json:"questions"`
		Tool      *QuestionTool `json:"tool,omitzero"`
	}
	// QuestionTool is the call that made the ask.
	QuestionTool struct {
		MessageID MessageID `json:"messageID"`
		CallID    string    `json:"callID"`
	}
	// AskReplied is the reply to an ask for a permission.
	AskReplied struct {
		SessionID ID    `json:"sessionID"`
		RequestID AskID `json:"requestID"`
		Reply     Reply `json:"reply"`
	}
	// QuestionReplied holds the answers.
	QuestionReplied struct {
		SessionID ID         `json:"sessionID"`
		RequestID AskID      `json:"requestID"`
		Answers   [][]string `json:"answers"`
	}
	// QuestionRejected is the refusal to answer.
	QuestionRejected struct {
		SessionID ID    `json:"sessionID"`
		RequestID AskID `json:"requestID"`
	}
	// SessionChanged is the creation, a change or the deletion of a session. Info is the session as it is now, or its
	// Tombstone.
	SessionChanged struct {
		SessionID ID         `json:"sessionID"`
		Info      PublicInfo `json:"info"`
	}
	// PublicInfo is a session in the events of V2, which have the form of V1's.
	PublicInfo struct {
		ID        ID             `json:"id"`
		ParentID  ID             `json:"parentID,omitzero"`
		Slug      string         `json:"slug"`
		ProjectID ProjectID      `json:"projectID"`
		Workspace string         `json:"workspaceID,omitzero"`
		Directory string         `json:"directory"`
		Path      string         `json:"path"`
		Title     string         `json:"title"`
		Agent     string         `json:"agent,omitzero"`
		Model     *ModelRef      `json:"model,omitzero"`
		Version   string         `json:"version"`
		Cost      USD            `json:"cost"`
		Tokens    Tokens         `json:"tokens"`
		Metadata  jsontext.Value `json:"metadata,omitzero"`
		Time      SessionTime    `json:"time"`
	}
	// SessionFailed has the reason why the work of a session ended.
	SessionFailed struct {
		SessionID ID           `json:"sessionID"`
		Error     *PublicError `json:"error"`
	}
	// TodosUpdated is the new list of todos.
	TodosUpdated struct {
		SessionID ID     `json:"sessionID"`
		Todos     []Todo `json:"todos"`
	}
)

// PublicForm returns the V2 form of the event: the stored payload, or, for asks, replies, todos and deletion,
// OpenCode's own event. ok is false for kinds that V2 does not have.
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
		return KindDeleted, SessionChanged{e.SessionID, d.Info.PublicInfo()}, true
	case *TodosSet:
		return "todo.updated", TodosUpdated{e.SessionID, d.Todos}, true
	default:
		return e.Data.Kind(), e.Data, e.Data.Kind().IsPublic()
	}
}

// PublicInfo returns the session as events of V2 have it.
func (s *Session) PublicInfo() PublicInfo {
	return PublicInfo{
		ID: s.ID, ParentID: s.ParentID, Slug: s.Slug, ProjectID: s.ProjectID, Workspace: s.Location.WorkspaceID,
		Directory: s.Location.Directory, Path: s.Path(), Title: s.Title, Agent: s.Agent, Model: s.Model,
		Version: s.Version, Cost: s.Cost, Tokens: s.Tokens, Metadata: s.Metadata, Time: s.Time,
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

// PublicForm returns the ask without the fields that only cairn's clients know.
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

// QuestionForm returns the V2 form of an ask for answers.
func (a PendingAsk) QuestionForm() QuestionAsked {
	q := QuestionAsked{ID: a.ID, SessionID: a.SessionID, Questions: a.Questions}
	if a.Source != nil {
		q.Tool = &QuestionTool{MessageID: a.Source.MessageID, CallID: a.Source.CallID}
	}
	return q
}
