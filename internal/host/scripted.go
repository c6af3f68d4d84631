package host

import (
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/llm/script"
	"github.com/cairn-dev/cairn/internal/session"
)

// scriptVariable names the script file of the model cairn/script.
const scriptVariable = "CAIRN_SCRIPT"

// builtin returns the models that need no provider.
func (t *modelTable) builtin(ref session.ModelRef) (*location.Model, error) {
	switch ref.ID {
	case guide.ModelID:
		return &location.Model{Ref: ref, Client: guide.Model{}, APIName: ref.ID}, nil
	case script.ScriptModel:
		player, err := t.script()
		if err != nil {
			return nil, err
		}
		return &location.Model{Ref: ref, Client: player, APIName: ref.ID}, nil
	default:
		return nil, session.NotFound("model", ref.String(), script.ProviderID+"/"+guide.ModelID, script.ProviderID+"/"+script.ScriptModel).At("model")
	}
}

func (t *modelTable) script() (*script.Player, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.player != nil {
		return t.player, nil
	}
	file := t.getenv(scriptVariable)
	if file == "" {
		return nil, session.Errorf(session.CodeInvalid, "the model cairn/script plays a script file: set %s to its path", scriptVariable).At("model")
	}
	s, err := script.Load(filepath.Clean(file))
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "the script: %v", err).At("model")
	}
	t.player = script.New(s)
	return t.player, nil
}
