package models

import (
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/session"
)

// Embedded returns the models that the program itself provides.
func (m *Set) Embedded() []*llm.EmbeddedModel { return m.pool.embedded }

// offlineModel returns a model of the provider "cairn", which needs no network.
func (t *Pool) offlineModel(ref session.ModelRef) (*scope.Model, error) {
	if ref.ID == guide.ModelID {
		return &scope.Model{Ref: ref, Client: guide.Model{}, APIName: ref.ID, IsGuide: true}, nil
	}
	offered := []string{guide.ProviderID + "/" + guide.ModelID}
	for _, own := range t.embedded {
		if ref.ID != own.ID {
			offered = append(offered, guide.ProviderID+"/"+own.ID)
			continue
		}
		client, window, err := own.Open()
		if err != nil {
			return nil, session.Errorf(session.CodeInvalid, "%v", err).At("model")
		}
		return &scope.Model{
			Ref: ref, Client: client, APIName: ref.ID, Window: scope.Limits{Context: window},
			Images: own.Images, Documents: own.Documents,
		}, nil
	}
	return nil, session.NotFound("model", ref.String(), offered...).At("model")
}
