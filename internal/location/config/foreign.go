package config

import "github.com/go-json-experiment/json/jsontext"

// Foreign are keys of OpenCode that are read, checked and explained but not used. A key moves to Settings with the
// first feature that uses it.
type Foreign struct {
	MCP           map[string]MCP   `json:"mcp" doc:"no effect yet: MCP servers by name"`
	Plugin        []jsontext.Value `json:"plugin" doc:"no effect yet: names, or lists of a name and options"`
	Formatter     jsontext.Value   `json:"formatter" doc:"no effect yet: formatters by name, or false for none"`
	LSP           jsontext.Value   `json:"lsp" doc:"no effect yet: language servers by name, or false for none"`
	Watcher       Watcher          `json:"watcher" scope:"project" doc:"files to watch for changes"`
	Share         string           `json:"share" doc:"no effect yet: manual, auto or disabled"`
	Autoshare     bool             `json:"autoshare" doc:"older form of share: auto"`
	Autoupdate    jsontext.Value   `json:"autoupdate" scope:"user" doc:"true, false or notify"`
	Enterprise    Enterprise       `json:"enterprise" doc:"address to share sessions to"`
	SubagentDepth Natural          `json:"subagent_depth" scope:"project" doc:"maximum depth of subagents"`
	Layout        string           `json:"layout" scope:"project" doc:"has no effect"`
	Theme         jsontext.Value   `json:"theme" scope:"project" doc:"setting of OpenCode's terminal interface"`
	Keybinds      jsontext.Value   `json:"keybinds" scope:"project" doc:"setting of OpenCode's terminal interface"`
	TUI           jsontext.Value   `json:"tui" scope:"project" doc:"setting of OpenCode's terminal interface"`
}

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
	Timeout     Duration          `json:"timeout"`
}

// Watcher says what is not watched.
type Watcher struct {
	Ignore []string `json:"ignore"`
}

// Enterprise is the server to which sessions are shared.
type Enterprise struct {
	URL string `json:"url"`
}
