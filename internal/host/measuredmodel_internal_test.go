package host

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/telemetry"
)

// TestAbortedIsNoFailure: what the user stopped, or whose caller left, has not failed.
func TestAbortedIsNoFailure(t *testing.T) {
	m := &measures{registry: telemetry.NewRegistry()}
	m.makeMetrics()
	for _, err := range []error{nil, &llm.Error{Class: llm.Aborted}} {
		r := &measuredRequest{measuredModel: measuredModel{measures: m}, vendor: "v", name: "n"}
		if err != nil {
			r.note(nil, err)
		}
		r.end()
	}
	m.observe(t.Context(), extension.Activity{Tool: "bash"}).End(extension.Outcome{Failure: session.ReasonAborted})
	var out bytes.Buffer
	if err := m.registry.WritePrometheus(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Contains(text, "aborted") || !strings.Contains(text, `outcome="stopped"} 1`) {
		t.Error(text)
	}
}
