package plugin_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cairn-dev/cairn/internal/extension"
)

// TestProjectSettingsOfBun: settings of Bun and variables that are files of the project have no effect on the program of
// the plugins, which runs in the project's directory: nobody has trusted them.
func TestProjectSettingsOfBun(t *testing.T) {
	w := newWorld(t)
	for name, text := range map[string]string{
		"bunfig.toml": `preload = ["./preload.js"]`,
		"preload.js":  `globalThis.intruder = "preloaded"`,
		".env":        "INTRUDER=from .env",
		".env.local":  "INTRUDER=from .env.local",
	} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := w.one(`
import { execSync } from "node:child_process"
export default async ({ $ }) => ({ "experimental.text.complete": async (i, o) => {
	const places = [process.cwd(), (await $` + "`pwd`.text()" + `).trim(), execSync("pwd").toString().trim(),
		Bun.spawnSync(["pwd"]).stdout.toString().trim()]
	o.text = [globalThis.intruder, process.env.INTRUDER, ...new Set(places)].join("|")
} })`)
	v := extension.Text{Text: "x"}
	if err := e.Text(t.Context(), &v); err != nil || v.Text != "||"+w.dir {
		t.Errorf("%q %v, want only the directory %s", v.Text, err, w.dir)
	}
}

// TestNothingIsInstalled: an import of a package that is not there fails; Bun does not fetch it.
func TestNothingIsInstalled(t *testing.T) {
	var asked atomic.Int32
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "no", http.StatusNotFound)
	}))
	defer registry.Close()
	w := newWorld(t)
	// The program starts in its cache, and Bun asks the registry that is set there.
	cache := filepath.Join(w.dir, "cache")
	if err := os.Mkdir(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	settings := "[install]\nregistry = \"" + registry.URL + "\"\n"
	if err := os.WriteFile(filepath.Join(cache, "bunfig.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	_, state, _ := w.open(map[string]string{"one.ts": `import x from "cairn-has-no-such-package"
export default async () => ({ x })`})
	if state.Error != "" || !strings.Contains(state.Plugins[0].Error, "cairn-has-no-such-package") {
		t.Errorf("%+v", state)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the registry was asked %d times", n)
	}
}
