package v1

import (
	"net/http"

	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

func shellRoutes() []Route {
	return []Route{{post, "/session/{sessionID}/shell", "session.shell", (*API).shell}}
}

// shellOrder is the body of session.shell.
type shellOrder struct {
	MessageID session.MessageID `json:"messageID"`
	Agent     string            `json:"agent"`
	Model     *opencode.Model   `json:"model"`
	Command   string            `json:"command"`
}

// shell runs a command of the user's and answers with the call as what it is shown.
func (a *API) shell(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[shellOrder](r)
	if err == nil {
		err = needs("agent", b.Agent, "command", b.Command)
	}
	if err == nil {
		err = checkMessageID(b.MessageID)
	}
	if err != nil {
		return err
	}
	q := command.ShellRequest{SessionID: sessionOf(r), ID: b.MessageID, Command: b.Command, Agent: b.Agent}
	if b.Model != nil {
		q.Model = &session.ModelRef{ID: b.Model.ModelID, ProviderID: b.Model.ProviderID, Variant: b.Model.Variant}
	}
	if _, err := a.read(r); err != nil {
		return err
	}
	ctx, end := a.long.Start(r, "")
	defer end()
	sh, err := a.engine.Commands.RunShell(ctx, q)
	switch {
	case err != nil && closing(ctx, r, err):
		return session.Errorf(session.CodeUnavailable, "cairn is shutting down; what the command printed is kept")
	case err != nil:
		return inBody(err)
	}
	m, err := view(r.Context(), a, func(rd store.Reader) (opencode.Message, error) { return readMessage(rd, q.SessionID, sh.AnswerID) })
	if err != nil {
		return err
	}
	return write(w, m)
}

// readShell returns the command of the user's that V1 shows as an answer with the id; nil if there is none.
func readShell(rd store.Reader, id session.ID, answer session.MessageID) (*session.Shell, error) {
	sh, ok, err := store.FindShell(rd, id, string(answer))
	if err != nil || !ok || !opencode.IsAnswerOf(sh, answer) {
		return nil, err
	}
	return sh, nil
}
