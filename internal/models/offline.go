package models

import (
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/engine/scope"

	"github.com/cairn-dev/cairn/internal/llm/guide"
	"github.com/cairn-dev/cairn/internal/llm/script"
	"github.com/cairn-dev/cairn/internal/session"
)

// ScriptVariable is the environment variable that names the script file of the model cairn/script.
const ScriptVariable = "CAIRN_SCRIPT"

// HasScript reports whether the environment names a script.
func (m *Set) HasScript() bool { return m.pool.getenv(ScriptVariable) != "" }

// offlineModel returns a model of the provider "cairn", which needs no network.
func (t *Pool) offlineModel(ref session.ModelRef) (*scope.Model, error) {
	switch ref.ID {
	case guide.ModelID:
		return &scope.Model{Ref: ref, Client: guide.Model{}, APIName: ref.ID}, nil
	case script.ScriptModel:
		player, err := t.scriptPlayer()
		if err != nil {
			return nil, err
		}
		limits := scope.Limits{Context: player.ContextWindow()}
		return &scope.Model{Ref: ref, Client: player, APIName: ref.ID, Window: limits}, nil
	default:
		offered := []string{script.ProviderID + "/" + guide.ModelID, script.ProviderID + "/" + script.ScriptModel}
		return nil, session.NotFound("model", ref.String(), offered...).At("model")
	}
}

// scriptPlayer returns the model that plays the script. All sessions of the process go on in the same one.
func (t *Pool) scriptPlayer() (*script.Player, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.player != nil {
		return t.player, nil
	}
	file := t.getenv(ScriptVariable)
	if file == "" {
		return nil, session.Errorf(session.CodeInvalid,
			"the model cairn/script plays a script file: set %s to its path", ScriptVariable).At("model")
	}
	s, err := script.Load(filepath.Clean(file))
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%s: %v", ScriptVariable, err).At("model")
	}
	t.player = script.New(s)
	return t.player, nil
}
