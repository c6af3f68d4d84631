package config

import "github.com/go-json-experiment/json/jsontext"

// MCP is a server of tools: a program to start, or an address.
type MCP struct {
	Type        string            `json:"type" doc:"local or remote"`
	Command     []string          `json:"command" doc:"program and arguments of a local server"`
	Cwd         string            `json:"cwd"`
	Environment map[string]string `json:"environment"`
	URL         string            `json:"url" doc:"address of a remote server"`
	Headers     map[string]string `json:"headers"`
	OAuth       jsontext.Value    `json:"oauth" doc:"clientId, clientSecret, scope, callbackPort and redirectUri, or false"`
	Enabled     *bool             `json:"enabled"`
	Timeout     Duration          `json:"timeout" doc:"of connecting and of each list of what it offers"`
	Wait        bool              `json:"wait" doc:"a turn waits for the first attempt to connect"`
}
