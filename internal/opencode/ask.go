package opencode

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Permission is a pending request for permission.
type Permission struct {
	ID         session.AskID  `json:"id"`
	SessionID  session.ID     `json:"sessionID"`
	Permission string         `json:"permission"`
	Patterns   []string       `json:"patterns"`
	Metadata   jsontext.Value `json:"metadata"`
	Always     []string       `json:"always"` // what a reply "always" will allow
	Tool       *Call          `json:"tool,omitzero"`
}

// Question is a pending request for answers.
type Question struct {
	ID        session.AskID      `json:"id"`
	SessionID session.ID         `json:"sessionID"`
	Questions []session.Question `json:"questions"`
	Tool      *Call              `json:"tool,omitzero"`
}

// Call names a call of a tool.
type Call struct {
	MessageID session.MessageID `json:"messageID"`
	CallID    string            `json:"callID"`
}

// PermissionOf shows an ask for permission.
func PermissionOf(id session.ID, a session.PendingAsk) Permission {
	return Permission{
		ID: a.ID, SessionID: id, Permission: a.Action, Patterns: listOr(a.Resources),
		Metadata: objectOr(askMetadata(a), emptyObject),
		Always:   listOr(a.Save), Tool: callOf(a.Source),
	}
}

// QuestionOf shows an ask for answers.
func QuestionOf(id session.ID, a session.PendingAsk) Question {
	return Question{ID: a.ID, SessionID: id, Questions: a.Questions, Tool: callOf(a.Source)}
}

func callOf(s *session.AskSource) *Call {
	if s == nil || s.CallID == "" {
		return nil
	}
	return &Call{MessageID: s.MessageID, CallID: s.CallID}
}

func listOr(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}

// askMetadata returns the metadata of an ask's call in OpenCode's shape.
func askMetadata(a session.PendingAsk) jsontext.Value {
	m := membersOfObject(a.Metadata)
	if a.Action != "bash" || m == nil {
		return a.Metadata
	}
	delete(m, "description")
	return objectOf(m)
}
