package opencode

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Requests and responses of operations whose capability cairn does not have.
type (
	OrganisationChoice struct {
		AccountID string `json:"accountID"`
		OrgID     string `json:"orgID"`
	}
	NewWorktree struct {
		Name         string `json:"name,omitzero"`
		StartCommand string `json:"startCommand,omitzero"`
	}
	Worktree struct {
		Directory string `json:"directory"`
	}
	SessionMove struct {
		SessionID   session.ID                `json:"sessionID"`
		Destination map[string]jsontext.Value `json:"destination"`
		MoveChanges bool                      `json:"moveChanges,omitzero"`
	}
	ProjectCopy struct {
		Strategy  string `json:"strategy"`
		Directory string `json:"directory"`
		Name      string `json:"name,omitzero"`
	}
	RemovedCopy struct {
		Directory string `json:"directory"`
		Force     *bool  `json:"force,omitzero"`
	}
	CopyName struct {
		Context string `json:"context,omitzero"`
	}
	MCPServer struct {
		Name   string    `json:"name"`
		Config MCPConfig `json:"config"`
	}
	MCPConfig struct {
		Type        string            `json:"type" enum:"local,remote"`
		Command     []string          `json:"command,omitzero"`
		Cwd         string            `json:"cwd,omitzero"`
		Environment map[string]string `json:"environment,omitzero"`
		URL         string            `json:"url,omitzero"`
		Headers     map[string]string `json:"headers,omitzero"`
		OAuth       jsontext.Value    `json:"oauth,omitzero"`
		Enabled     bool              `json:"enabled,omitzero"`
		Timeout     int64             `json:"timeout,omitzero"` // milliseconds
	}
	Capabilities struct {
		Background bool `json:"backgroundSubagents"`
	}
	ConsoleState struct {
		Providers     []string `json:"consoleManagedProviders"`
		Active        string   `json:"activeOrgName,omitzero"`
		Organisations int      `json:"switchableOrgCount"`
	}
	Organisations struct {
		Orgs []Organisation `json:"orgs"`
	}
	Organisation struct {
		AccountID    string `json:"accountID"`
		AccountEmail string `json:"accountEmail"`
		AccountURL   string `json:"accountUrl"`
		OrgID        string `json:"orgID"`
		OrgName      string `json:"orgName"`
		Active       bool   `json:"active"`
	}
	WorkspaceType struct {
		Type string `json:"type"`
	}
	ForkPoint struct {
		MessageID session.MessageID `json:"messageID,omitzero"`
	}
	RevertPoint struct {
		MessageID session.MessageID `json:"messageID"`
		PartID    session.PartID    `json:"partID,omitzero"`
	}
	MCPCode struct {
		Code string `json:"code"`
	}
)
