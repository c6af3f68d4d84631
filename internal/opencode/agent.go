package opencode

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/location/command"
	"github.com/cairn-dev/cairn/internal/session"
)

// Agent is an agent that sessions can use.
type Agent struct {
	Name        string                    `json:"name"`
	Description string                    `json:"description,omitzero"`
	Mode        session.AgentMode         `json:"mode"`
	Native      bool                      `json:"native,omitzero"` // it is built in
	Hidden      bool                      `json:"hidden,omitzero"`
	TopP        jsontext.Value            `json:"topP,omitzero" is:"number"`
	Temperature jsontext.Value            `json:"temperature,omitzero" is:"number"`
	Color       string                    `json:"color,omitzero"`
	Permission  []Rule                    `json:"permission"`
	Model       *AgentModel               `json:"model,omitzero"`
	Variant     string                    `json:"variant,omitzero"`
	Prompt      string                    `json:"prompt,omitzero"`
	Options     map[string]jsontext.Value `json:"options"`
	Steps       int                       `json:"steps,omitzero"`
}

// AgentModel is the model that an agent wants.
type AgentModel struct {
	ModelID    string `json:"modelID"`
	ProviderID string `json:"providerID"`
}

// AgentOf shows an agent with the rules that hold for it, lowest layer first. In OpenCode's one list a ceiling is its
// denies at the end.
func AgentOf(a session.Agent, native bool, layers []permission.Layer) Agent {
	v := Agent{
		Name: a.ID, Description: a.Description, Mode: a.Mode, Native: native, Hidden: a.Hidden, Color: a.Color,
		Steps:      a.Steps,
		Permission: RulesOf(flattenRules(layers)), Prompt: a.System, Options: maps.Clone(a.Request.Body),
	}
	if v.Options == nil {
		v.Options = map[string]jsontext.Value{}
	}
	v.TopP, v.Temperature = takeNumber(v.Options, "top_p"), takeNumber(v.Options, "temperature")
	if m := a.Model; m != nil {
		v.Model, v.Variant = &AgentModel{m.ID, m.ProviderID}, m.Variant
	}
	return v
}

func flattenRules(layers []permission.Layer) []session.Rule {
	var rules, denies []session.Rule
	for _, l := range layers {
		for i, r := range l.Rules {
			switch {
			case !l.Ceiling:
				rules = append(rules, r)
			case isLifted(r, l.Rules[i+1:]):
			case r.Effect == session.Deny || l.Strict && r.Effect == session.Ask:
				denies = append(denies, r)
			}
		}
	}
	return append(rules, denies...)
}

// isLifted reports whether a later rule of its layer allows all that the rule is about.
func isLifted(r session.Rule, later []session.Rule) bool {
	return slices.ContainsFunc(later, func(o session.Rule) bool {
		return o.Effect == session.Allow && o.Action == r.Action && (o.Resource == "*" || o.Resource == r.Resource)
	})
}

// takeNumber removes a number from the options and returns it, or nil.
func takeNumber(options map[string]jsontext.Value, name string) jsontext.Value {
	v, ok := options[name]
	if !ok || v.Kind() != '0' {
		return nil
	}
	delete(options, name)
	return v
}

// Command is a named prompt template.
type Command struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitzero"`
	Agent       string   `json:"agent,omitzero"`
	Model       string   `json:"model,omitzero"`
	Source      string   `json:"source,omitzero" enum:"command,mcp,skill"`
	Template    string   `json:"template"`
	Subtask     bool     `json:"subtask,omitzero"`
	Hints       []string `json:"hints"`
}

// Skill is a skill that agents can load.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	Location    string `json:"location"`
	Content     string `json:"content"`
}

// Tool is a tool's definition as models receive it.
type Tool struct {
	ID          string         `json:"id"`
	Description string         `json:"description"`
	Parameters  jsontext.Value `json:"parameters"`
}

// CommandsOf converts the commands of a location.
func CommandsOf(all []command.Command) []Command {
	out := []Command{}
	for _, c := range all {
		shown := Command{
			Name:        c.Name,
			Description: c.Description,
			Agent:       c.Agent,
			Source:      string(c.Source),
			Template:    c.Template,
			Hints:       c.Placeholders(),
		}
		if c.Model != nil {
			shown.Model = c.Model.String()
		}
		shown.Subtask = c.Subtask != nil && *c.Subtask
		out = append(out, shown)
	}
	return out
}
