package catalog

import (
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Facts are what is known of models, read once for the many catalogs that are made of them. They never change.
type Facts struct {
	raw  map[string]jsontext.Value  // by provider
	read map[string]*sourceProvider // those that can be understood whole
}

// Parse reads facts in the shape of models.dev's api.json.
func Parse(data []byte) (*Facts, error) {
	f := &Facts{read: map[string]*sourceProvider{}}
	if err := json.Unmarshal(data, &f.raw, foreign); err != nil {
		return nil, fmt.Errorf("read the model snapshot: %w", err)
	}
	for id, raw := range f.raw {
		if s, err := decode(id, raw); err == nil {
			f.read[id] = s
		}
	}
	return f, nil
}

// embedded are the facts that ship in the binary.
var embedded = sync.OnceValues(func() (*Facts, error) { return Parse(snapshot) })

// decode reads one provider; there may be nothing to read.
func decode(id string, raw jsontext.Value) (*sourceProvider, error) {
	s := &sourceProvider{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, s, foreign); err != nil {
			return nil, err
		}
	}
	s.ID = id
	for key, m := range s.Models {
		m.key = key
		s.Models[key] = m
	}
	return s, nil
}
