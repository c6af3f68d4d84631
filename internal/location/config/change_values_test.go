package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/location/config"
)

// Of several values, all or none are written.
func TestChangeValues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := &config.Config{Dirs: config.Directories{Config: dir, State: t.TempDir()}}
	good, bad := jsontext.Value(`{"type":"local","command":["a"]}`), jsontext.Value(`{"type":7}`)
	if _, err := c.ChangeValues(t.Context(), false, map[string]jsontext.Value{`mcp."a"`: good, `mcp."b"`: bad}); err == nil {
		t.Fatal("an invalid value was written")
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 {
		t.Errorf("the directory has %v", list)
	}
	file, err := c.ChangeValues(t.Context(), false, map[string]jsontext.Value{`mcp."a"`: good, `mcp."b"`: good})
	if text, readErr := os.ReadFile(file); err != nil || readErr != nil || filepath.Dir(file) != dir || len(text) < 2*len(good) {
		t.Errorf("%s has %s: %v, %v", file, text, err, readErr)
	}
}
