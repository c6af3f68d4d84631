package v1

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// Bodies of operations of what there is not yet. They are read only to say what is wrong with them.
type (
	organisationChoice struct {
		AccountID string `json:"accountID"`
		OrgID     string `json:"orgID"`
	}
	newWorktree struct {
		Name         string `json:"name"`
		StartCommand string `json:"startCommand"`
	}
	worktree struct {
		Directory string `json:"directory"`
	}
	sessionMove struct {
		SessionID   session.ID                `json:"sessionID"`
		Destination map[string]jsontext.Value `json:"destination"`
		MoveChanges bool                      `json:"moveChanges"`
	}
	projectCopy struct {
		Strategy  string `json:"strategy"`
		Directory string `json:"directory"`
		Name      string `json:"name"`
	}
	goneCopy struct {
		Directory string `json:"directory"`
		Force     *bool  `json:"force"`
	}
	nameFor struct {
		Context string `json:"context"`
	}
	loginCode struct {
		Code string `json:"code"`
	}
	history map[string]int // sessions, and how far they are known
)

func (b organisationChoice) check() error { return needs("accountID", b.AccountID, "orgID", b.OrgID) }
func (newWorktree) check() error          { return nil }
func (b worktree) check() error           { return needs("directory", b.Directory) }
func (b projectCopy) check() error        { return needs("strategy", b.Strategy, "directory", b.Directory) }
func (nameFor) check() error              { return nil }
func (b loginCode) check() error          { return needs("code", b.Code) }
func (history) check() error              { return nil }

func (b sessionMove) check() error {
	if b.Destination == nil {
		return httpio.Invalid("body", "destination", "Missing key")
	}
	return httpio.WithPart("body", session.CheckID("sessionID", session.PrefixSession, string(b.SessionID)))
}

func (b goneCopy) check() error {
	if b.Force == nil {
		return httpio.Invalid("body", "force", "Missing key")
	}
	return needs("directory", b.Directory)
}

// reading refuses bodies that are none of the operation's.
func reading[T interface{ check() error }](then handler) handler {
	return func(a *API, w http.ResponseWriter, r *http.Request) error {
		b, err := httpio.DecodeOptional[T](r)
		if err == nil {
			err = b.check()
		}
		if err != nil {
			return err
		}
		return then(a, w, r)
	}
}
