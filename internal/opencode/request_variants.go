package opencode

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// The variants of the requests whose members depend on their type, for documents: the requests themselves are decoded
// as PartInput, Format and credentials with all members.
type (
	TextPartInput struct {
		ID        session.PartID            `json:"id,omitzero"`
		Type      string                    `json:"type"`
		Text      string                    `json:"text"`
		Synthetic bool                      `json:"synthetic,omitzero"`
		Ignored   bool                      `json:"ignored,omitzero"`
		Time      map[string]int64          `json:"time,omitzero"`
		Metadata  map[string]jsontext.Value `json:"metadata,omitzero"`
	}
	FilePartInput struct {
		ID       session.PartID            `json:"id,omitzero"`
		Type     string                    `json:"type"`
		Mime     string                    `json:"mime"`
		Filename string                    `json:"filename,omitzero"`
		URL      string                    `json:"url"`
		Source   map[string]jsontext.Value `json:"source,omitzero"`
	}
	AgentPartInput struct {
		ID     session.PartID            `json:"id,omitzero"`
		Type   string                    `json:"type"`
		Name   string                    `json:"name"`
		Source map[string]jsontext.Value `json:"source,omitzero"`
	}
	SubtaskPartInput struct {
		ID          session.PartID `json:"id,omitzero"`
		Type        string         `json:"type"`
		Prompt      string         `json:"prompt"`
		Description string         `json:"description"`
		Agent       string         `json:"agent"`
		Model       *Model         `json:"model,omitzero"`
		Command     string         `json:"command,omitzero"`
	}
	KeyInput struct {
		Type     string            `json:"type"`
		Key      string            `json:"key"`
		Metadata map[string]string `json:"metadata,omitzero"`
	}
	TokensInput struct {
		Type          string `json:"type"`
		Refresh       string `json:"refresh"`
		Access        string `json:"access,omitzero"`
		Expires       int64  `json:"expires"`
		AccountID     string `json:"accountId,omitzero"`
		EnterpriseURL string `json:"enterpriseUrl,omitzero"`
	}
	TextFormat struct {
		Type string `json:"type"`
	}
	SchemaFormat struct {
		Type       string                    `json:"type"`
		Schema     map[string]jsontext.Value `json:"schema"`
		RetryCount int                       `json:"retryCount,omitzero"`
	}
)
