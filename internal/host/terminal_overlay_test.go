package host

import (
	"context"
	"errors"
	"testing"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/extension"
)

// The extensions of a location see the directory of a terminal and set variables of it. One that fails keeps the
// terminal from being opened; without extensions there is nothing to set.
func TestTerminalOverlay(t *testing.T) {
	overlay := func(all ...extension.Extension) (map[string]string, error) {
		p := &locationSetup{scope: &scope.Scope{Chain: extension.NewChain(extension.Config{Extensions: all})}}
		return p.terminalOverlay(t.Context(), "/w/sub")
	}
	if env, err := overlay(); err != nil || len(env) != 0 {
		t.Errorf("without extensions: %v, %v", env, err)
	}
	env, err := overlay(extension.Extension{ID: "dir", Environment: func(_ context.Context, v *extension.Environment) error {
		v.Variables = map[string]string{"DIR": v.Directory}
		return nil
	}})
	if err != nil || env["DIR"] != "/w/sub" {
		t.Errorf("with one: %v, %v", env, err)
	}
	_, err = overlay(extension.Extension{ID: "bad", Environment: func(context.Context, *extension.Environment) error {
		return errors.New("no vault")
	}})
	if want := "no terminal: the extension bad failed (environment): no vault"; err == nil || err.Error() != want {
		t.Errorf("one that fails: %v, want %s", err, want)
	}
}
