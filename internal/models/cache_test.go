package models

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/catalog"
	"github.com/cairn-dev/cairn/internal/config"
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
