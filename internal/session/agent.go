package session

import "github.com/go-json-experiment/json/jsontext"

// Agent is a named configuration of the model: a system text, permission rules, a model and a limit of turns.
type Agent struct {
	ID          string         `json:"id"`
	Model       *ModelRef      `json:"model,omitzero"`
	Request     AgentRequest   `json:"request"`
	System      string         `json:"system,omitzero"`
	Description string         `json:"description,omitzero"`
	Mode        AgentMode      `json:"mode"`
	Hidden      bool           `json:"hidden"`
	Color       string         `json:"color,omitzero"`
	Steps       int            `json:"steps,omitzero"` // provider turns per promoted input; 0 is unlimited
	Permissions []Rule         `json:"permissions"`
	Extra       jsontext.Value `json:",embed"`
}

// AgentRequest holds what an agent adds to each request.
type AgentRequest struct {
	Headers map[string]string         `json:"headers"`
	Body    map[string]jsontext.Value `json:"body"`
}

// The built-in agents between which a session switches: one works, the other one changes nothing but its plan.
const (
	AgentBuild = "build"
	AgentPlan  = "plan"
)

// AgentMode is who may use an agent: users, other agents, or both.
type AgentMode string

// The agent modes.
const (
	ModePrimary  AgentMode = "primary"
	ModeSubagent AgentMode = "subagent"
	ModeAll      AgentMode = "all"
)

// IsSelectable reports whether users may choose the agent for a session.
func (a Agent) IsSelectable() bool { return a.Mode != ModeSubagent && !a.Hidden }

// IsMentionable reports whether users may mention the agent in a prompt.
func (a Agent) IsMentionable() bool { return !a.Hidden }
