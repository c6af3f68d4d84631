package config

import "github.com/go-json-experiment/json/jsontext"

// Foreign are keys of OpenCode that are read, checked and explained but not used. A key moves to Settings with the
// first feature that uses it.
type Foreign struct {
	Watcher       Watcher        `json:"watcher" scope:"project" doc:"files to watch for changes"`
	Autoshare     bool           `json:"autoshare" doc:"older form of share: auto"`
	Autoupdate    jsontext.Value `json:"autoupdate" scope:"user" doc:"true, false or notify"`
	SubagentDepth Natural        `json:"subagent_depth" scope:"project" doc:"maximum depth of subagents"`
	Layout        string         `json:"layout" scope:"project" doc:"has no effect"`
	Theme         jsontext.Value `json:"theme" scope:"project" doc:"setting of OpenCode's terminal interface"`
	Keybinds      jsontext.Value `json:"keybinds" scope:"project" doc:"setting of OpenCode's terminal interface"`
	TUI           jsontext.Value `json:"tui" scope:"project" doc:"setting of OpenCode's terminal interface"`
}

// Watcher says what is not watched.
type Watcher struct {
	Ignore []string `json:"ignore"`
}
