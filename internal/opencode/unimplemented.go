package opencode

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Requests and responses of operations whose capability cairn does not have.
type (
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
		Enabled     *bool             `json:"enabled,omitzero"`
		Timeout     int64             `json:"timeout,omitzero"` // milliseconds
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
