package openaichat

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// What of an answer's sources is kept with its text.
const (
	keyAnnotations = "annotations"
	keyCitations   = "citations"
	keyExecuted    = "executedTools"
)

// sources gathers what a vendor says of where an answer was found, so much and no more.
type sources struct {
	lists map[string][]jsontext.Value
	size  int
}

// appendList appends to a list, of which each frame brings a part.
func (s *sources) appendList(key string, v jsontext.Value) {
	list, ok := wire.ReadList(v)
	if !ok || s.size+len(v) > wire.MaxKept {
		return
	}
	if s.lists == nil {
		s.lists = map[string][]jsontext.Value{}
	}
	s.size += len(v)
	s.lists[key] = append(s.lists[key], list...)
}

// replaceList replaces a list, which each frame brings whole.
func (s *sources) replaceList(key string, v jsontext.Value) {
	if list, ok := wire.ReadList(v); ok && len(list) > 0 {
		for _, old := range s.lists[key] {
			s.size -= len(old)
		}
		delete(s.lists, key)
		s.appendList(key, v)
	}
}

// takeAll returns what was gathered and starts anew.
func (s *sources) takeAll() map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	for key, list := range s.lists {
		out[key] = wire.MarshalOr(list, nil)
	}
	*s = sources{}
	return out
}
