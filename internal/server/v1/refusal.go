package v1

import (
	"net/http"
	"path"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// isSessionWork reports whether the request gives a session work or changes it as a whole. Terminal interfaces ignore
// the responses of these operations and rely on the streams.
func isSessionWork(r *http.Request) bool {
	if r.Method != http.MethodPost || r.PathValue("sessionID") == "" {
		return false
	}
	switch path.Base(r.URL.Path) {
	case "message", "prompt_async", "command", "init", "shell", "summarize", "revert", "unrevert", "fork", "share":
		return true
	}
	return false
}

// maxRefusal bounds the message of a refusal in bytes.
const maxRefusal = 1024

// publishRefusal sends the refusal of a request about an idle session to the streams of its directory, and that the
// session is idle: clients wait for that after an error, too. Refusals about a session that works send nothing, as
// other clients would take them for the end of its work. Neither do requests without the rights for it, and about
// sessions that do not exist.
func (d *dependencies) publishRefusal(r *http.Request, e *session.Error) {
	if !isSessionWork(r) || e.Code == session.CodeDenied {
		return
	}
	s, err := store.ReadSession(r.Context(), d.Store, session.ID(r.PathValue("sessionID")))
	if err != nil {
		return
	}
	message := e.Error()
	if e.Field != "" && !strings.Contains(message, e.Field) {
		message += " at " + e.Field
	}
	if d.Runs.Status(s.ID).Type != engine.StatusIdle {
		return
	}
	d.publishSessionError(s, session.ClipText(message, maxRefusal))
	idle := opencode.Status{SessionID: s.ID, Status: opencode.State{Type: "idle"}}
	d.publish(s, "session.status", idle)
	d.publish(s, "session.idle", opencode.SessionOnly{SessionID: s.ID})
}

// publishSessionError sends an error that no stored event has to the streams of the session's directory.
func (d *dependencies) publishSessionError(s *session.Session, message string) {
	reason := &opencode.Error{Name: "UnknownError", Data: opencode.ErrorData{Message: message}}
	d.publish(s, "session.error", opencode.Failure{SessionID: s.ID, Error: reason})
}

// publish sends an event that is not stored to the streams of the session's directory.
func (d *dependencies) publish(s *session.Session, kind string, properties any) {
	d.notices.Send(notice{s.Location.Directory, s.ProjectID, kind, properties})
}
