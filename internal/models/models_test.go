package models

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/llm/provider"
	"github.com/cairn-dev/cairn/internal/location/config"
)

// newTestSet returns the models of a configuration file and an environment. local is what the servers of this machine
// offer.
func newTestSet(t *testing.T, local map[string][]provider.LocalModel, content string, env map[string]string) *Set {
	t.Helper()
	home := t.TempDir()
	for dir, file := range map[string]string{"project": ".keep", "config": "cairn.jsonc"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	getenv := func(name string) string {
		return map[string]string{"CAIRN_HOME": home, "HOME": home}[name] + env[name]
	}
	dirs, err := config.FindDirectories(getenv)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(t.Context(), config.Options{
		Directory: filepath.Join(home, "project"), Dirs: dirs, Env: getenv, All: true,
	})
	if err != nil {
		t.Fatalf("load the configuration: %v", err)
	}
	pool := NewPool(Options{Dirs: dirs, Getenv: getenv, Version: "test", Transport: http.DefaultTransport})
	now := time.Now()
	pool.localServers.askedAt, pool.localServers.changed, pool.localServers.byServer = now, now, local
	m, err := pool.Build(cfg)
	if err != nil {
		t.Fatalf("build the models: %v", err)
	}
	return m
}

// listModels returns the ids of a provider's models that can be used.
func listModels(t *testing.T, m *Set, providerID string) (ids []string) {
	t.Helper()
	for _, model := range m.Catalog.Available() {
		if model.ProviderID == providerID && IsSupported(model.API) {
			ids = append(ids, model.ID)
		}
	}
	return ids
}
