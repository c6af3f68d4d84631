package script

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Variable is the environment variable by which test programs get a script file.
const Variable = "CAIRN_SCRIPT"

// Embed returns the model cairn/script, which plays a script file; nil for "". All sessions of the process go on in the
// same script.
func Embed(file string) *llm.EmbeddedModel {
	if file == "" {
		return nil
	}
	open := sync.OnceValues(func() (*Player, error) {
		s, err := Load(filepath.Clean(file))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Variable, err)
		}
		return New(s), nil
	})
	return &llm.EmbeddedModel{
		ID: "script", Name: "Script (not a language model)",
		Open: func() (llm.Model, int64, error) {
			player, err := open()
			if err != nil {
				return nil, 0, err
			}
			return player, player.ContextWindow(), nil
		},
	}
}
