package session

// KindNote is the kind of the notice of a Note.
const KindNote = "session.note"

// Note is a text for the people who follow a session, such as a hook's. It is live only: nothing stores it.
type Note struct {
	SessionID ID     `json:"sessionID"`
	Source    string `json:"source"` // such as hook/PreToolUse/1
	Text      string `json:"text"`
}
