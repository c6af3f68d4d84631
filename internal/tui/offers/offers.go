// Package offers reads the models, agents and commands that a directory offers for prompts.
package offers

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// PromptOffers are the models, agents and commands of a directory.
type PromptOffers struct {
	Agents   []session.Agent
	Models   []api.Model
	Commands []api.Command
	Default  *session.ModelRef // the model of sessions and agents without one; nil is unknown
}

// ReadOffers reads what the directory of the client offers; lists that cannot be read are empty.
func ReadOffers(ctx context.Context, c *api.Client) (o PromptOffers) {
	if x, err := c.Location(ctx); err == nil {
		o.Default = x.Model
	}
	if x, err := c.Agents(ctx); err == nil {
		o.Agents = x.Data
	}
	if x, err := c.Commands(ctx); err == nil {
		o.Commands = x.Data
	}
	if x, err := c.Models(ctx); err == nil {
		o.Models = x.Data
	}
	return o
}

// HasOnlyGuide reports whether no model can be used but the built-in guide.
func (o *PromptOffers) HasOnlyGuide() bool {
	return len(o.Models) > 0 && !slices.ContainsFunc(o.Models, func(x api.Model) bool { return !x.IsGuide() })
}

// FindModel returns a model beside the built-in guide, nil if there is only the guide.
func (o *PromptOffers) FindModel() *api.Model {
	i := slices.IndexFunc(o.Models, func(x api.Model) bool { return x.ProviderID != api.GuideProvider })
	if i < 0 {
		return nil
	}
	return &o.Models[i]
}

// ChooseModel returns the model that answers an agent's prompt in a session without a choice; the zero value is
// unknown.
func (o *PromptOffers) ChooseModel(agent string) session.ModelRef {
	for _, a := range o.Agents {
		if a.ID == agent && a.Model != nil {
			return *a.Model
		}
	}
	if o.Default != nil {
		return *o.Default
	}
	return session.ModelRef{}
}

// ListEfforts returns the variants of a model, the ones with the least reasoning first; without variants nil.
func (o *PromptOffers) ListEfforts(of session.ModelRef) (names []string) {
	for _, x := range o.Models {
		if x.ID != of.ID || x.ProviderID != of.ProviderID {
			continue
		}
		for _, v := range x.Variants {
			names = append(names, v.ID)
		}
	}
	order := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	slices.SortStableFunc(names, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return names
}

// MainAgents returns the agents that prompts can choose.
func (o *PromptOffers) MainAgents() []session.Agent {
	return slices.DeleteFunc(slices.Clone(o.Agents), func(a session.Agent) bool { return !a.IsSelectable() })
}
