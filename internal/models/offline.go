package models

import (
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/session"
)

// Embedded returns the model that the program itself provides; nil without one.
func (m *Set) Embedded() *llm.EmbeddedModel { return m.pool.embedded }

// offlineModel returns a model of the provider "cairn", which needs no network.
func (t *Pool) offlineModel(ref session.ModelRef) (*scope.Model, error) {
	offered := []string{guide.ProviderID + "/" + guide.ModelID}
	switch {
	case ref.ID == guide.ModelID:
		return &scope.Model{Ref: ref, Client: guide.Model{}, APIName: ref.ID}, nil
	case t.embedded == nil:
	case ref.ID == t.embedded.ID:
		client, window, err := t.embedded.Open()
		if err != nil {
			return nil, session.Errorf(session.CodeInvalid, "%v", err).At("model")
		}
		return &scope.Model{Ref: ref, Client: client, APIName: ref.ID, Window: scope.Limits{Context: window}}, nil
	default:
		offered = append(offered, guide.ProviderID+"/"+t.embedded.ID)
	}
	return nil, session.NotFound("model", ref.String(), offered...).At("model")
}
