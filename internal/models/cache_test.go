package models

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/models/catalog"
)

// Building the models of one more location, with as many facts as models.dev has. They are parsed once.
func BenchmarkBuild(b *testing.B) {
	home := b.TempDir()
	var facts strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&facts, `,"m%d":{"name":"Model","tool_call":true,"limit":{"context":200000,"output":8000},`+
			`"cost":{"input":1,"output":2},"modalities":{"input":["text","image"],"output":["text"]}}`, i)
	}
	kept := fmt.Sprintf(`{"from":%q,"facts":{"p":{"env":["K"],"models":{%s}}}}`, catalog.Source, facts.String()[1:])
	dirs := config.Directories{Data: filepath.Join(home, "data"), Cache: home}
	if err := os.WriteFile(filepath.Join(home, "models.json"), []byte(kept), 0o600); err != nil {
		b.Fatal(err)
	}
	table := NewPool(Options{Dirs: dirs, Getenv: func(string) string { return "" }, Transport: http.DefaultTransport})
	b.ReportAllocs()
	for b.Loop() {
		m, err := table.Build(&config.Config{})
		if err != nil {
			b.Fatal(err)
		}
		if len(m.Catalog.Models()) != 2000 {
			b.Fatal(len(m.Catalog.Models()))
		}
	}
}

// roundTrip answers requests without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A command fetches a list that is old once, and neither begins at its start nor goes on after its end.
func TestRefreshStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fetched := 0
		home := t.TempDir()
		getenv := func(string) string { return "" }
		p := NewPool(Options{Dirs: config.Directories{Cache: home, Data: home}, Getenv: getenv})
		p.Facts.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			fetched++
			body := io.NopCloser(strings.NewReader(`{"p":{"models":{"m":{}}}}`))
			return &http.Response{StatusCode: http.StatusOK, Body: body, Header: http.Header{}}, nil
		})
		short, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if err := p.RefreshStale(short); err != nil || fetched != 0 {
			t.Errorf("a short command: %v, %d fetches", err, fetched)
		}
		for range 2 {
			if err := p.RefreshStale(t.Context()); err != nil || fetched != 1 {
				t.Errorf("%v, %d fetches", err, fetched)
			}
		}
	})
}

// Providers whose protocol or address is unknown are neither usable nor the default, however new their models are.
func TestUnreachableProviders(t *testing.T) {
	list := filepath.Join(t.TempDir(), "api.json")
	const row = `%q: {"env": [%q], "npm": %q, "models": {%q: {"release_date": %q, "tool_call": true}}}`
	rows := []string{
		fmt.Sprintf(row, "odd", "ODD_KEY", "odd-ai-provider", "new", "2030-01-01"),
		fmt.Sprintf(row, "bare", "BARE_KEY", "@ai-sdk/openai-compatible", "new", "2030-01-01"),
		fmt.Sprintf(row, "azure", "AZURE_API_KEY", "@ai-sdk/azure", "new", "2030-01-01"),
		fmt.Sprintf(row, "openai", "OPENAI_API_KEY", "@ai-sdk/openai", "old", "2020-01-01"),
	}
	if err := os.WriteFile(list, []byte("{"+strings.Join(rows, ",")+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newTestSet(t, nil, `{}`, map[string]string{
		"CAIRN_MODELS_PATH": list, "ODD_KEY": "k", "BARE_KEY": "k", "AZURE_API_KEY": "k", "OPENAI_API_KEY": "k",
	})
	if ref, err := m.Default(); err != nil || ref.String() != "openai/old" {
		t.Errorf("the default is %s, %v", ref, err)
	}
	for _, p := range m.Catalog.Providers() {
		if p.Available != (p.ID == "openai") {
			t.Errorf("%s: available is %t", p.ID, p.Available)
		}
	}
	if n := len(m.Catalog.Available()); n != 1 {
		t.Errorf("%d models are available", n)
	}
}
