package openairesponses_test

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/openairesponses"
)

// What GitHub Copilot says that it charges goes with the usage.
func TestCredits(t *testing.T) {
	body := stream(
		created, says(0, `"hi"`),
		`{"type":"response.completed","response":{"usage":{"input_tokens":1}},"copilot_usage":{"total_nano_aiu":7}}`,
	)
	var billed int64
	for e, err := range (openairesponses.Dialect{}).Decode("", strings.NewReader(body)) {
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := e.(llm.Finish); ok && f.Usage.Billed != nil {
			billed = *f.Usage.Billed
		}
	}
	if billed != 70 {
		t.Errorf("%d pico-dollars", billed)
	}
}
