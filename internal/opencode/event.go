package opencode

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// Event is a V1 bus event. Properties is one of the types of this file.
type Event struct {
	Type       string `json:"type"`
	Properties any    `json:"properties"`
	Durable    bool   `json:"-"` // readers of all directories also receive it as a sync payload
	Version    int    `json:"-"` // version of the sync payload; 0 means 1
}

// The properties of events.
type (
	// SessionInfo belongs to session.created, session.updated and session.deleted.
	SessionInfo struct {
		SessionID session.ID `json:"sessionID"`
		Info      Session    `json:"info"`
	}
	// MessageInfo belongs to message.updated.
	MessageInfo struct {
		SessionID session.ID `json:"sessionID"`
		Info      Info       `json:"info"`
	}
	// MessageGone belongs to message.removed.
	MessageGone struct {
		SessionID session.ID        `json:"sessionID"`
		MessageID session.MessageID `json:"messageID"`
	}
	// PartGone belongs to message.part.removed.
	PartGone struct {
		SessionID session.ID        `json:"sessionID"`
		MessageID session.MessageID `json:"messageID"`
		PartID    session.PartID    `json:"partID"`
	}
	// PartInfo belongs to message.part.updated.
	PartInfo struct {
		SessionID session.ID `json:"sessionID"`
		Part      Part       `json:"part"`
		Time      int64      `json:"time"`
	}
	// Delta belongs to message.part.delta: text appended to a part.
	Delta struct {
		SessionID session.ID        `json:"sessionID"`
		MessageID session.MessageID `json:"messageID"`
		PartID    session.PartID    `json:"partID"`
		Field     string            `json:"field"`
		Delta     string            `json:"delta"`
	}
	// Status belongs to session.status.
	Status struct {
		SessionID session.ID `json:"sessionID"`
		Status    State      `json:"status"`
	}
	// SessionOnly belongs to session.idle and session.compacted.
	SessionOnly struct {
		SessionID session.ID `json:"sessionID"`
	}
	// Diff belongs to session.diff.
	Diff struct {
		SessionID session.ID `json:"sessionID"`
		Diff      []FileDiff `json:"diff"`
	}
	// Failure belongs to session.error.
	Failure struct {
		SessionID session.ID `json:"sessionID,omitzero"`
		Error     *Error     `json:"error,omitzero"`
	}
	// Todos belongs to todo.updated.
	Todos struct {
		SessionID session.ID     `json:"sessionID"`
		Todos     []session.Todo `json:"todos"`
	}
	// PermissionReply belongs to permission.replied.
	PermissionReply struct {
		SessionID session.ID    `json:"sessionID"`
		RequestID session.AskID `json:"requestID"`
		Reply     session.Reply `json:"reply"`
	}
	// QuestionAnswer belongs to question.replied.
	QuestionAnswer struct {
		SessionID session.ID    `json:"sessionID"`
		RequestID session.AskID `json:"requestID"`
		Answers   [][]string    `json:"answers"`
	}
	// QuestionRejection belongs to question.rejected.
	QuestionRejection struct {
		SessionID session.ID    `json:"sessionID"`
		RequestID session.AskID `json:"requestID"`
	}
)

// State is the activity of a session.
type State struct {
	Type    string `json:"type" enum:"idle,busy,retry"`
	Attempt int    `json:"attempt,omitzero"`
	Message string `json:"message,omitzero"`
	Next    int64  `json:"next,omitzero"`
}

// StateOf converts a status by its name; statuses that V1 does not have are busy.
func StateOf(kind string, attempt int, message string, next int64) State {
	switch kind {
	case "idle":
		return State{Type: "idle"}
	case "retry":
		return State{Type: "retry", Attempt: attempt, Message: message, Next: next}
	default:
		return State{Type: "busy"}
	}
}

func replyEvent(id session.ID, d *session.PermissionReplied) Event {
	switch {
	case !strings.HasPrefix(string(d.AskID), string(session.PrefixQuestion)):
		return Event{Type: "permission.replied", Properties: PermissionReply{id, d.AskID, d.Reply}}
	case d.Reply == session.ReplyReject:
		return Event{Type: "question.rejected", Properties: QuestionRejection{id, d.AskID}}
	default:
		return Event{Type: "question.replied", Properties: QuestionAnswer{id, d.AskID, d.Answers}}
	}
}
