package plugin_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/extension"
)

// BenchmarkPoint is what one plugin costs at a point on top of its own work.
func BenchmarkPoint(b *testing.B) {
	w := newWorld(b)
	set, state, _ := w.open(map[string]string{"all.ts": all})
	run := extension.NewChain(extension.Config{Extensions: set.Extensions(state)}).Begin()
	b.Run("call", func(b *testing.B) {
		for b.Loop() {
			v := extension.Call{Tool: "bash", Input: jsontext.Value(`{"command":"ls"}`)}
			if _, err := run.Call(b.Context(), &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("options", func(b *testing.B) { // two hooks
		for b.Loop() {
			v := extension.Options{Agent: "build"}
			if _, err := run.Options(b.Context(), &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
