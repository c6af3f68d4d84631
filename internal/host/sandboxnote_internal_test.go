package host

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client"
)

// A system without a sandbox says so once for each home; one with it says nothing.
func TestNoteMissingSandbox(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	var notes []string
	o := client.Options{Note: func(text string) { notes = append(notes, text) }}
	noteMissingSandbox(state, o, func() error { return nil })
	if len(notes) != 0 {
		t.Errorf("with a sandbox: %q", notes)
	}
	for range 2 {
		noteMissingSandbox(state, o, func() error { return errors.New("it exists on Linux only") })
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "it exists on Linux only") {
		t.Errorf("without one: %q", notes)
	}
}
