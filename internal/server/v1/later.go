package v1

import (
	"net/http"

	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// laterRoutes are the operations on a session whose capability is not there yet: they answer as an OpenCode in which nothing
// is shared or reverted, and refuse to begin it.
func laterRoutes() []Route {
	return []Route{
		{post, "/session/{sessionID}/fork", "session.fork", (*API).fork},
		{post, "/session/{sessionID}/share", "session.share", (*API).share},
		{del, "/session/{sessionID}/share", "session.unshare", (*API).session},
		{post, "/session/{sessionID}/revert", "session.revert", (*API).revert},
		{post, "/session/{sessionID}/unrevert", "session.unrevert", (*API).unrevert},
		{post, "/session/{sessionID}/summarize", "session.summarize", (*API).summarize},
	}
}

// share refuses: nothing of a session leaves this machine.
func (a *API) share(_ http.ResponseWriter, r *http.Request) error {
	if _, err := a.read(r); err != nil {
		return err
	}
	return httpio.WithPart("params", session.Errorf(session.CodeInvalid, "sharing is disabled: cairn shares no sessions"))
}

// forkAt is the body of session.fork, revertTo that of session.revert, and summaryOrder that of session.summarize.
type (
	forkAt struct {
		MessageID session.MessageID `json:"messageID"`
	}
	revertTo struct {
		MessageID session.MessageID `json:"messageID"`
		PartID    session.PartID    `json:"partID"`
	}
	summaryOrder struct {
		ProviderID string `json:"providerID"`
		ModelID    string `json:"modelID"`
		Auto       bool   `json:"auto"`
	}
)

func (a *API) fork(_ http.ResponseWriter, r *http.Request) error {
	b, err := httpio.DecodeOptional[forkAt](r)
	if err == nil {
		err = checkMessageID(b.MessageID)
	}
	if err != nil {
		return err
	}
	_, err = a.read(r)
	return notYet(err, "fork sessions")
}

func (a *API) revert(_ http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[revertTo](r)
	if err == nil {
		err = needs("messageID", string(b.MessageID))
	}
	if err == nil {
		err = checkMessageID(b.MessageID)
	}
	if err == nil && b.PartID != "" {
		err = httpio.WithPart("body", session.CheckID("partID", session.PrefixPart, string(b.PartID)))
	}
	if err != nil {
		return err
	}
	_, err = a.resting(r)
	return notYet(err, "revert sessions")
}

// unrevert changes nothing: nothing is reverted.
func (a *API) unrevert(w http.ResponseWriter, r *http.Request) error {
	s, err := a.resting(r)
	if err != nil {
		return err
	}
	return write(w, opencode.SessionOf(s))
}

func (a *API) summarize(_ http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[summaryOrder](r)
	if err == nil {
		err = needs("providerID", b.ProviderID, "modelID", b.ModelID)
	}
	if err != nil {
		return err
	}
	_, err = a.read(r)
	return notYet(err, "summarise sessions")
}

// notYet says what cannot be done with a session that could be read.
func notYet(err error, what string) error {
	if err != nil {
		return err
	}
	return httpio.WithPart("params", session.Errorf(session.CodeInvalid, "cairn cannot %s yet", what))
}

// resting returns the session of the request, which must not be at work.
func (a *API) resting(r *http.Request) (*session.Session, error) {
	s, err := a.read(r)
	if err == nil && a.engine.Status(s.ID).Type != engine.StatusIdle {
		err = session.Conflict("session", string(s.ID), "is busy")
	}
	return s, err
}
