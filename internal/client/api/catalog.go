package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Model is a model that can be used at a location.
type Model struct {
	ID           string            `json:"id"`
	ProviderID   string            `json:"providerID"`
	Family       string            `json:"family,omitzero"`
	Name         string            `json:"name"`
	API          ModelAPI          `json:"api"`
	Capabilities ModelCapabilities `json:"capabilities"`
	Request      ModelRequestParts `json:"request"`
	Variants     []ModelVariant    `json:"variants"`
	Time         ModelTime         `json:"time"`
	Cost         []ModelCost       `json:"cost"`
	Status       string            `json:"status"` // alpha, beta, deprecated, active
	Enabled      bool              `json:"enabled"`
	Limit        ModelLimit        `json:"limit"`
	Extra        jsontext.Value    `json:",embed"`
}

// Ref names the model.
func (m Model) Ref() session.ModelRef { return session.ModelRef{ID: m.ID, ProviderID: m.ProviderID} }

// The model that answers without any login. It is no language model.
const (
	GuideProvider = "cairn"
	GuideModel    = "guide"
)

// IsGuide reports whether the model is the built-in guide.
func (m Model) IsGuide() bool { return m.ProviderID == GuideProvider && m.ID == GuideModel }

// ModelAPI says how a model is called: type "aisdk" with a package, or "native" with settings.
type ModelAPI struct {
	ID       string         `json:"id,omitzero"`
	Type     string         `json:"type"`
	Package  string         `json:"package,omitzero"`
	URL      string         `json:"url,omitzero"`
	Settings jsontext.Value `json:"settings,omitzero"` // never a key
}

// ModelCapabilities says what a model can do. Input and Output are modalities: text, image, pdf, audio, video.
type ModelCapabilities struct {
	Tools  bool     `json:"tools"`
	Input  []string `json:"input"`
	Output []string `json:"output"`
}

// ModelRequestParts are the headers and the body members that are added to each request. Secrets are never shown.
type ModelRequestParts struct {
	Headers map[string]string         `json:"headers"`
	Body    map[string]jsontext.Value `json:"body"`
	Variant string                    `json:"variant,omitzero"`
}

// ModelVariant is a named set of request options.
type ModelVariant struct {
	ID      string                    `json:"id"`
	Headers map[string]string         `json:"headers"`
	Body    map[string]jsontext.Value `json:"body"`
}

// ModelTime holds the release date of a model, in milliseconds.
type ModelTime struct {
	Released int64 `json:"released"`
}

// ModelCost is a price in dollars per million tokens; Tier says from which context size on it holds.
type ModelCost struct {
	Tier   *CostTier   `json:"tier,omitzero"`
	Input  session.USD `json:"input"`
	Output session.USD `json:"output"`
	Cache  CacheCost   `json:"cache"`
}

// CostTier is a context size from which on a price holds.
type CostTier struct {
	Type string `json:"type"` // "context"
	Size int64  `json:"size"`
}

// CacheCost is the price of cached tokens.
type CacheCost struct {
	Read  session.USD `json:"read"`
	Write session.USD `json:"write"`
}

// ModelLimit counts the tokens that fit. Input 0 is unknown.
type ModelLimit struct {
	Context int64 `json:"context"`
	Input   int64 `json:"input,omitzero"`
	Output  int64 `json:"output"`
}

// Skill is one that an agent of the location can load. Problem says what keeps one from being used, or is odd about it;
// only who asks for all hears of these.
type Skill struct {
	Name        string `json:"name,omitzero"`
	Description string `json:"description,omitzero"`
	Location    string `json:"location"` // its SKILL.md
	Content     string `json:"content"`
	Problem     string `json:"problem,omitzero"`
}

// Plugin is a plugin or a file of tools of a location.
type Plugin struct {
	ID       string          `json:"id"`
	Source   PluginSource    `json:"source"`
	Features map[string]bool `json:"features"` // of OpenCode 2.0: server
	State    PluginState     `json:"state"`
	Hooks    []string        `json:"hooks,omitzero"`
	Tools    []string        `json:"tools,omitzero"`
	Logins   []string        `json:"logins,omitzero"` // ids of the providers at which it logs in
}

// PluginSource says where a plugin comes from: a package with its name and version, a local script or directory, or,
// built in, what concerns all plugins.
type PluginSource struct {
	Type   string `json:"type" enum:"builtin,package,local"`
	Target string `json:"target,omitzero"` // of a package
	Path   string `json:"path,omitzero"`   // of a local one
}

// PluginState says whether a plugin runs.
type PluginState struct {
	Status string `json:"status" enum:"active,failed"`
	Error  string `json:"error,omitzero"` // why it, or a part of it, does not run
}

// Command is a prompt with a name, of which the user says what differs. Only who asks for all hears of Source and
// Hints.
type Command struct {
	Name        string            `json:"name"`
	Template    string            `json:"template"`
	Description string            `json:"description,omitzero"`
	Agent       string            `json:"agent,omitzero"`
	Model       *session.ModelRef `json:"model,omitzero"`
	Subtask     *bool             `json:"subtask,omitzero"`
	Source      string            `json:"source,omitzero"` // command or skill
	Hints       []string          `json:"hints,omitzero"`  // where in the template it goes what the user says
}

// ExpandRequest asks for the prompt of a command.
type ExpandRequest struct {
	Command   string `json:"command"`
	Arguments string `json:"arguments,omitzero"` // as typed

	// SessionID is the session for which the prompt is: its rules decide what the template may run, and people are asked
	// in it. Without one, what needs an answer is refused.
	SessionID session.ID        `json:"sessionID,omitzero"`
	Agent     string            `json:"agent,omitzero"` // of the prompt; "" is the session's, or the default
	Asks      session.AskPolicy `json:"asks,omitzero"`  // as of a prompt
}

// Expansion is the prompt of a command. It was not given to any session.
type Expansion struct {
	Prompt     session.Prompt `json:"prompt"`
	Extensions []string       `json:"extensions,omitzero"` // those that changed it
}

// Provider is a vendor that can be used at a location.
type Provider struct {
	ID            string               `json:"id"`
	IntegrationID string               `json:"integrationID,omitzero"`
	Name          string               `json:"name"`
	Disabled      bool                 `json:"disabled,omitzero"`
	API           ModelAPI             `json:"api"`
	Request       session.AgentRequest `json:"request"`
	Extra         jsontext.Value       `json:",embed"`
}
