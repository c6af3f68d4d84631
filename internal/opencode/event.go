package opencode

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// Event is one that V1 clients see on the bus. Properties is one of the types of this file.
type Event struct {
	Type       string `json:"type"`
	Properties any    `json:"properties"`
	Durable    bool   `json:"-"` // OpenCode keeps it: readers of all directories get it as a sync payload too
	Version    int    `json:"-"` // the form in which it keeps it; 0 is the first
}

// The properties of events.
type (
	// SessionInfo is of session.created, session.updated and session.deleted.
	SessionInfo struct {
		SessionID session.ID `json:"sessionID"`
		Info      Session    `json:"info"`
	}
	// MessageInfo is of message.updated.
	MessageInfo struct {
		SessionID session.ID `json:"sessionID"`
		Info      Info       `json:"info"`
	}
	// MessageGone is of message.removed.
	MessageGone struct {
		SessionID session.ID        `json:"sessionID"`
		MessageID session.MessageID `json:"messageID"`
	}
	// PartGone is of message.part.removed.
	PartGone struct {
		SessionID session.ID        `json:"sessionID"`
		MessageID session.MessageID `json:"messageID"`
		PartID    session.PartID    `json:"partID"`
	}
	// PartInfo is of message.part.updated.
	PartInfo struct {
		SessionID session.ID `json:"sessionID"`
		Part      Part       `json:"part"`
		Time      int64      `json:"time"`
	}
	// Delta is of message.part.delta: what a part gains.
	Delta struct {
		SessionID session.ID        `json:"sessionID"`
		MessageID session.MessageID `json:"messageID"`
		PartID    session.PartID    `json:"partID"`
		Field     string            `json:"field"`
		Delta     string            `json:"delta"`
	}
	// Status is of session.status.
	Status struct {
		SessionID session.ID `json:"sessionID"`
		Status    State      `json:"status"`
	}
	// SessionOnly is of session.idle and session.compacted.
	SessionOnly struct {
		SessionID session.ID `json:"sessionID"`
	}
	// Diff is of session.diff.
	Diff struct {
		SessionID session.ID `json:"sessionID"`
		Diff      []FileDiff `json:"diff"`
	}
	// Failure is of session.error.
	Failure struct {
		SessionID session.ID `json:"sessionID,omitzero"`
		Error     *Error     `json:"error,omitzero"`
	}
	// Todos is of todo.updated.
	Todos struct {
		SessionID session.ID     `json:"sessionID"`
		Todos     []session.Todo `json:"todos"`
	}
	// Replied is of permission.replied.
	Replied struct {
		SessionID session.ID    `json:"sessionID"`
		RequestID session.AskID `json:"requestID"`
		Reply     session.Reply `json:"reply"`
	}
	// Answered is of question.replied.
	Answered struct {
		SessionID session.ID    `json:"sessionID"`
		RequestID session.AskID `json:"requestID"`
		Answers   [][]string    `json:"answers"`
	}
	// Rejected is of question.rejected.
	Rejected struct {
		SessionID session.ID    `json:"sessionID"`
		RequestID session.AskID `json:"requestID"`
	}
)

// State is what a session is doing.
type State struct {
	Type    string `json:"type" enum:"idle,busy,retry"`
	Attempt int    `json:"attempt,omitzero"`
	Message string `json:"message,omitzero"`
	Next    int64  `json:"next,omitzero"`
}

// StateOf shows a status by its name: those that V1 does not know are busy.
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

func replied(id session.ID, d *session.PermissionReplied) Event {
	switch {
	case !strings.HasPrefix(string(d.AskID), string(session.PrefixQuestion)):
		return Event{Type: "permission.replied", Properties: Replied{id, d.AskID, d.Reply}}
	case d.Reply == session.ReplyReject:
		return Event{Type: "question.rejected", Properties: Rejected{id, d.AskID}}
	default:
		return Event{Type: "question.replied", Properties: Answered{id, d.AskID, d.Answers}}
	}
}
