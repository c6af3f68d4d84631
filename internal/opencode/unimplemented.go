package opencode

import (
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
)

// Requests and responses of operations whose capability cairn does not have.
type (
	MCPServer struct {
		Name   string    `json:"name"`
		Config MCPConfig `json:"config"`
	}
	MCPConfig struct {
		config.MCPSource
		Enabled *bool `json:"enabled,omitzero"`
		Timeout int64 `json:"timeout,omitzero"` // milliseconds
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
