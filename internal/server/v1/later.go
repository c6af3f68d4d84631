package v1

import (
	"net/http"

	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/exchange"
	"github.com/cairn-dev/cairn/internal/session"
)

// laterRoutes are the operations on a session whose capability is not there yet: they answer as an OpenCode in which nothing
// is shared, reverted or summarised, and refuse to begin it.
func laterRoutes() []Route {
	return []Route{
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
	return exchange.In("params", session.Errorf(session.CodeInvalid, "sharing is disabled: cairn shares no sessions"))
}

func (a *API) revert(_ http.ResponseWriter, r *http.Request) error {
	b, err := exchange.Decode[struct {
		MessageID *session.MessageID `json:"messageID"`
		PartID    session.PartID     `json:"partID"`
	}](r)
	switch {
	case err != nil:
		return err
	case b.MessageID == nil:
		return exchange.Bad("body", "messageID", "Missing key")
	}
	if err := checkMessageID(*b.MessageID); err != nil {
		return err
	}
	if b.PartID != "" {
		if err := session.CheckID("partID", session.PrefixPart, string(b.PartID)); err != nil {
			return exchange.In("body", err)
		}
	}
	if _, err := a.resting(r); err != nil {
		return err
	}
	return exchange.Bad("body", "messageID", "cairn cannot revert sessions yet; fork the session at the message instead")
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
	b, err := exchange.Decode[struct {
		ProviderID *string `json:"providerID"`
		ModelID    *string `json:"modelID"`
		Auto       bool    `json:"auto"`
	}](r)
	switch {
	case err != nil:
		return err
	case b.ProviderID == nil:
		return exchange.Bad("body", "providerID", "Missing key")
	case b.ModelID == nil:
		return exchange.Bad("body", "modelID", "Missing key")
	}
	if _, err := a.read(r); err != nil {
		return err
	}
	return exchange.In("params", session.Errorf(session.CodeInvalid, "cairn cannot summarise sessions yet"))
}

// resting returns the session of the request, which must not be at work.
func (a *API) resting(r *http.Request) (*session.Session, error) {
	s, err := a.read(r)
	if err == nil && a.engine.Status(s.ID).Type != engine.StatusIdle {
		err = session.Conflict("session", string(s.ID), "Session is busy: "+string(s.ID))
	}
	return s, err
}
