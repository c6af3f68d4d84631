package openaichat

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// The metadata keys of an answer's sources.
const (
	keyAnnotations = "annotations"
	keyCitations   = "citations"
	keyExecuted    = "executedTools"
)

// sources collects the sources of an answer within a limit.
type sources struct {
	lists map[string][]jsontext.Value
	size  int
}

// appendList appends to a list that arrives in parts.
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

// replaceList replaces a list that arrives complete in each frame.
func (s *sources) replaceList(key string, v jsontext.Value) {
	if list, ok := wire.ReadList(v); ok && len(list) > 0 {
		for _, old := range s.lists[key] {
			s.size -= len(old)
		}
		delete(s.lists, key)
		s.appendList(key, v)
	}
}

// takeAll returns the collected lists and resets s.
func (s *sources) takeAll() map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	for key, list := range s.lists {
		out[key] = wire.MarshalOr(list, nil)
	}
	*s = sources{}
	return out
}
