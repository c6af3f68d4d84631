package config

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

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

// MCPSource says in a request which server is meant, in the spellings of OpenCode's contracts.
type MCPSource struct {
	Type        string            `json:"type" enum:"local,remote"`
	Command     []string          `json:"command,omitzero"`
	Cwd         string            `json:"cwd,omitzero"`
	Environment map[string]string `json:"environment,omitzero"`
	URL         string            `json:"url,omitzero"`
	Headers     map[string]string `json:"headers,omitzero"`
	OAuth       jsontext.Value    `json:"oauth,omitzero"`
}

// NewServer returns the configuration of the server with a timeout in milliseconds; 0 is a default. Without enabled it is
// enabled.
func (s MCPSource) NewServer(enabled *bool, timeout int64) MCP {
	return MCP{
		Type: s.Type, Command: s.Command, Cwd: s.Cwd, Environment: s.Environment, URL: s.URL, Headers: s.Headers,
		OAuth: s.OAuth, Enabled: enabled, Timeout: Duration(time.Duration(timeout) * time.Millisecond),
	}
}

// noteUntrustedServers notes the servers of a project's file that need trust.
func (c *Config) noteUntrustedServers(file string, servers *document.Node) {
	if c.untrustedFiles == nil {
		c.untrustedFiles = map[string][]string{}
	}
	for _, server := range servers.Members {
		c.UntrustedServers = append(c.UntrustedServers, server.Key)
		c.untrustedFiles[server.Key] = append(c.untrustedFiles[server.Key], file)
	}
}

// ServerFiles returns the documents that configure an MCP server, as messages name them: files, or a variable. Those that
// wait for trust come first, then those that have effect, the highest layer first.
func (c *Config) ServerFiles(name string) []string {
	out := slices.Clone(c.untrustedFiles[name])
	slices.Reverse(out)
	if _, ok := c.MCP[name]; ok { // else Explain may find a member of another server
		for _, origin := range c.Explain("mcp." + name) {
			out = append(out, origin.Source.File)
			for _, below := range origin.Overrode {
				out = append(out, below.Source.File)
			}
		}
	}
	return removeRepeated(out)
}

// removeRepeated returns the texts without those that came before.
func removeRepeated(list []string) (out []string) {
	for _, one := range list {
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}
